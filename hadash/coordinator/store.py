"""How a pool of consumers is changed in ZooKeeper: every change is one transaction, which is refused when what it was
decided on has changed meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import replace

from kazoo.client import TransactionRequest
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import committed, reaching
from hadash.coordinator.decisions import Step
from hadash.coordinator.documents import NOBODY, AssignmentDocument, StateDocument
from hadash.coordinator.election import Fence
from hadash.coordinator.holding import Hold
from hadash.coordinator.pool import Isolation, PoolSettings
from hadash.coordinator.pool_view import Assigned, PoolError, PoolReader
from hadash.identity.names import decode
from hadash.sentences import Sentence, say

#: Largest document, in bytes. ZooKeeper refuses requests of more than a MiB (``jute.maxbuffer``), and a transaction
#: carries both documents of a Topic.
LARGEST_DOCUMENT = 480 * 1024

#: How often a change is tried again when somebody else changed the same node in between.
MAX_CONFLICTS = 10

#: For a transaction that wants a node to be there, whatever it says.
_ANY_VERSION = -1


class PoolStore(PoolReader):
    """A pool in ZooKeeper, and its changes. Every method raises ``StoreUnavailable`` when ZooKeeper does not answer."""

    # -- what a coordinator changes --------------------------------------------------------------------------------

    def write(
        self,
        topic: str,
        seen: Assigned,
        membership: int,
        step: Step,
        fence: Fence,
        hold: int | None = None,
    ) -> bool:
        """Write a step, in one transaction; false when it was not: somebody has written the documents, a member came,
        or another coordinator decides now.

        :param hold: the version of the Topic's hold, if there is one.

        When the reply is lost, the step may have been written: the caller reads again and goes on from there. (A
        transaction that comes late is refused, as its versions are gone by then.)

        :raises PoolError: the document has become too large.
        """
        transaction = self._client.transaction()
        fence.check(transaction)
        transaction.check(layout.membership(self.pool), membership)
        self._set(transaction, topic, seen, step.document)
        transaction.set_data(
            layout.assignment_state(self.pool, topic), step.standing.to_bytes(), seen.standing_version
        )
        if hold is not None and step.releases:
            transaction.delete(layout.hold(self.pool, topic), hold)
        elif hold is not None:
            transaction.check(layout.hold(self.pool, topic), hold)
        return self._committed(topic, transaction)

    def rewrite(self, topic: str, seen: Assigned, document: AssignmentDocument, fence: Fence) -> bool:
        """Write a Topic's document while its state stays, such as with new partitions; false when somebody else has
        written meanwhile.

        :raises PoolError: the document has become too large.
        """
        transaction = self._client.transaction()
        fence.check(transaction)
        transaction.check(layout.assignment_state(self.pool, topic), seen.standing_version)
        self._set(transaction, topic, seen, document)
        return self._committed(topic, transaction)

    def _listed(self, topic: str, transaction: TransactionRequest) -> bool:
        """Commit what changes which Topics the pool reads."""
        try:
            return self._committed(topic, transaction)
        finally:
            self._watched.forget(layout.assignments(self.pool))

    def _committed(self, topic: str, transaction: TransactionRequest) -> bool:
        try:
            with reaching():
                return committed(transaction)
        finally:
            # (Also when it is refused: it was decided on something that is not so any more. What ZooKeeper tells of
            # it may come later than the next look.)
            self._watched.forget(
                layout.assignment(self.pool, topic),
                layout.assignment_state(self.pool, topic),
                layout.membership(self.pool),
                layout.hold(self.pool, topic),
                layout.holds(self.pool),
            )

    def _set(
        self,
        transaction: TransactionRequest,
        topic: str,
        seen: Assigned,
        document: AssignmentDocument | None,
    ) -> None:
        path = layout.assignment(self.pool, topic)
        if document is None:
            transaction.check(path, seen.version)
        else:
            transaction.set_data(path, _bounded(topic, document), seen.version)

    # -- what people change ----------------------------------------------------------------------------------------

    def create(self, settings: PoolSettings | None = None) -> bool:
        """Create the pool; false when there is one."""
        transaction = self._client.transaction()
        transaction.create(layout.pool(self.pool))
        for path in (
            layout.assignments(self.pool),
            layout.assignment_states(self.pool),
            layout.pool_members(self.pool),
            layout.member_names(self.pool),
            layout.isolations(self.pool),
            layout.holds(self.pool),
            layout.membership(self.pool),
        ):
            transaction.create(path)
        transaction.create(layout.pool_settings(self.pool), (settings or PoolSettings()).to_bytes())
        with reaching():
            self._client.ensure_path(layout.CONSUMERS)
            return committed(transaction)

    def delete(self) -> None:
        """Delete the pool, in one transaction. It does nothing where there is none.

        :raises PoolError: it reads a Topic, a member is there, or somebody changes it all the time.
        """
        pool = layout.pool(self.pool)
        may_go = {layout.isolations(self.pool), layout.holds(self.pool)}
        for _ in range(MAX_CONFLICTS):
            with reaching():
                try:
                    below = {
                        f"{pool}/{name}": self._client.get_children(f"{pool}/{name}")
                        for name in self._client.get_children(pool)
                    }
                except NoNodeError:
                    if self._client.exists(pool) is None:
                        return
                    continue
                if topics := below.get(layout.assignments(self.pool)):
                    raise PoolError(still_reads(self.pool, sorted(map(decode, topics))))
                names = {*below.get(layout.pool_members(self.pool), ())}
                names |= {*below.get(layout.member_names(self.pool), ())}
                if names:
                    raise PoolError(still_has(self.pool, sorted(map(decode, names))))
                # (A folder that is not empty by then, because a member or a Topic came, has all of it refused.)
                transaction = self._client.transaction()
                for path, inner in below.items():
                    for name in inner if path in may_go else ():
                        transaction.delete(f"{path}/{name}")
                    transaction.delete(path)
                transaction.delete(pool)
                done = committed(transaction)
            self.forget()
            if done:
                return
        raise self._conflict()

    def register(
        self, topic: str, consumer: Mapping[str, str | int | float | bool], partitions: Iterable[int]
    ) -> None:
        """Let the pool read a Topic: its partitions belong to nobody until the coordinator assigns them.

        :param consumer: settings of the members' Kafka consumers, with ``bootstrap.servers`` and ``group.id``.
        :raises PoolError: the pool reads the Topic already, there is no such pool, or the document is too large.
        """
        document = AssignmentDocument(consumer, dict.fromkeys(partitions, NOBODY))
        AssignmentDocument.parse(layout.assignment(self.pool, topic), document.to_bytes())
        transaction = self._client.transaction()
        transaction.create(layout.assignment(self.pool, topic), _bounded(topic, document))
        transaction.create(layout.assignment_state(self.pool, topic), StateDocument().to_bytes())
        if self._listed(topic, transaction):
            return
        with reaching():
            if self._client.exists(layout.pool(self.pool)) is None:
                raise self._unknown()
        raise PoolError(say("The pool %(pool)s reads Topic %(topic)s already.", pool=self.pool, topic=topic))

    def remove(self, topic: str) -> None:
        """Let the pool read a Topic no longer: its members stop, and commit what they have read."""
        transaction = self._client.transaction()
        transaction.delete(layout.assignment(self.pool, topic))
        transaction.delete(layout.assignment_state(self.pool, topic))
        done = self._listed(topic, transaction)
        # (Nobody would end the hold of a Topic that no member reads: added again it would stand still.)
        with reaching(), suppress(NoNodeError):
            self._client.delete(layout.hold(self.pool, topic))
        self._watched.forget(layout.hold(self.pool, topic), layout.holds(self.pool))
        if not done:
            raise self._not_read(topic)

    def change_settings(self, change: Callable[[PoolSettings], PoolSettings]) -> PoolSettings:
        """Change the pool's settings, and return them.

        :raises DocumentError: those that are there cannot be read.
        :raises PoolError: there is no such pool, or somebody else changes them again and again.
        """
        path = layout.pool_settings(self.pool)
        for _ in range(MAX_CONFLICTS):
            with reaching():
                try:
                    value, stat = self._client.get(path)
                except NoNodeError:
                    raise self._unknown() from None
                changed = change(PoolSettings.parse(path, value))
                transaction = self._client.transaction()
                transaction.set_data(path, changed.to_bytes(), stat.version)
                if committed(transaction):
                    self._watched.forget(path)  # (what has told of it may come later)
                    return changed
        raise self._conflict()

    def isolate(self, member: str, by: str, reason: str) -> None:
        """Take all partitions from a member, also while it does not answer. They go to others as soon as these have
        room: whether it still reads them is up to the person who isolates it."""
        path, value = layout.isolation(self.pool, member), Isolation(by, reason).to_bytes()
        with reaching():
            try:
                self._client.create(path, value)
            except NodeExistsError:
                self._client.set(path, value)  # it was to be taken back
            except NoNodeError:
                raise self._unknown() from None
        self._watched.forget(path, layout.isolations(self.pool))

    def take_back(self, member: str) -> None:
        """Let a member that was isolated come back: it ends its isolation as soon as it reads nothing.

        :raises PoolError: it is not isolated.
        """
        path = layout.isolation(self.pool, member)
        with reaching():
            try:
                value, stat = self._client.get(path)
                self._client.set(
                    path, replace(Isolation.parse(value), is_ending=True).to_bytes(), version=stat.version
                )
            except NoNodeError:
                raise PoolError(say("%(member)s is not isolated.", member=member)) from None
        self._watched.forget(path)

    # -- what a switch changes -------------------------------------------------------------------------------------

    def hold(self, topic: str, switch: str) -> None:
        """Have all members stop reading a Topic, and commit, until :meth:`open`. Idempotent.

        :raises PoolError: there is no such pool, it does not read the Topic, or another switch holds it.
        """
        path, wanted = layout.hold(self.pool, topic), Hold(switch)
        for _ in range(MAX_CONFLICTS):
            with reaching():
                try:
                    value, stat = self._client.get(path)
                    held = Hold.parse(path, value)
                    if held.switch != switch:
                        raise PoolError(held.by_its_switch(self.pool, topic))
                    if held == wanted:
                        return
                    self._client.set(path, wanted.to_bytes(), stat.version)
                except NoNodeError:
                    if self._client.exists(layout.pool(self.pool)) is None:
                        raise self._unknown() from None
                    transaction = self._client.transaction()
                    transaction.check(layout.assignment(self.pool, topic), _ANY_VERSION)
                    transaction.create(path, wanted.to_bytes())
                    if not committed(transaction):
                        if self._client.exists(layout.assignment(self.pool, topic)) is None:
                            raise self._not_read(topic) from None
                        continue
                except BadVersionError:
                    continue
            self._watched.forget(path, layout.holds(self.pool))
            return
        raise self._conflict()

    def open(self, topic: str, switch: str, consumer: Mapping[str, str]) -> None:
        """Let members read a Topic again, with these settings of their Kafka consumers changed. Idempotent: it does
        nothing where the switch holds the Topic no more.
        """
        path = layout.hold(self.pool, topic)
        for _ in range(MAX_CONFLICTS):
            with reaching():
                try:
                    value, stat = self._client.get(path)
                    held = Hold.parse(path, value)
                    if held.switch != switch or held.consumer == dict(consumer):
                        return
                    self._client.set(path, Hold(switch, dict(consumer)).to_bytes(), stat.version)
                except NoNodeError:
                    return
                except BadVersionError:
                    continue
            self._watched.forget(path)
            return
        raise self._conflict()

    def _conflict(self) -> PoolError:
        return PoolError(
            say("Somebody else changes the pool %(pool)s all the time. Try again.", pool=self.pool)
        )

    def _not_read(self, topic: str) -> PoolError:
        return PoolError(say("The pool %(pool)s does not read Topic %(topic)s.", pool=self.pool, topic=topic))


def still_reads(pool: str, topics: Collection[str]) -> Sentence:
    """Why a pool cannot be deleted: it reads Topics."""
    return say(
        "The pool %(pool)s reads %(topics)s. Let it read them no longer first.", pool=pool, topics=topics
    )


def still_has(pool: str, members: Collection[str]) -> Sentence:
    """Why a pool cannot be deleted: members are there."""
    return say(
        "Members of the pool %(pool)s are there: %(members)s. End their processes first.",
        pool=pool,
        members=members,
    )


def _bounded(topic: str, document: AssignmentDocument) -> bytes:
    """The bytes of a document. :raises PoolError: they are too many for ZooKeeper."""
    value = document.to_bytes()
    if len(value) > LARGEST_DOCUMENT:
        raise PoolError(
            say(
                "The assignment of Topic %(topic)s has %(bytes)s bytes, and ZooKeeper takes %(most)s. Give its members "
                "shorter names, or fewer partitions to the pool.",
                topic=topic,
                bytes=len(value),
                most=LARGEST_DOCUMENT,
            )
        )
    return value

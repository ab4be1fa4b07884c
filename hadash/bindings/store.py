"""Reading and changing bindings: one change is one ZooKeeper transaction.

A transaction holds the compare-and-set of every document that it touches, the epoch, the change node that engines
watch, and the journal of the switch that makes the change. All of it happens, or nothing does.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.protocol.states import ZnodeStat

from hadash.bindings import journals, layout
from hadash.bindings.client import LOST_REPLY, committed, reaching
from hadash.bindings.editing import Editing, refuse_wrong_turn
from hadash.bindings.errors import (
    BindingBusy,
    BindingConflict,
    UnknownOutcome,
)
from hadash.bindings.model import Binding, BindingDocument, BindingState, Journal
from hadash.identity.identity import Identity
from hadash.identity.names import decode
from hadash.sentences import say

#: How often a change is tried again when another writer changed the epoch or a document in between. Each try reads
#: everything again; ten lost tries in a row mean that something writes in a loop.
MAX_CONFLICTS = 10

#: Seconds of the longest pause after the first lost try, doubled after each further one, and its upper limit. A change
#: of a few bindings takes some milliseconds, one of a thousand some tenths of a second, and clients wait for both. The
#: pause is random, so that writers that have collided once do not collide again.
CONFLICT_PAUSE_SECONDS = 0.01
CONFLICT_PAUSE_MOST_SECONDS = 0.3

#: Tries that a change loses before it asks the others to wait for it: a large change takes so long that among many
#: small ones it would never be the fastest.
TURN_AFTER = 2

#: Seconds that other changes wait for it, at most, and seconds between two of their looks. A change of a thousand
#: AppIDs takes a second on a busy machine; meanwhile the clients of the other changes wait, and stages allow ten
#: seconds for that. It is a courtesy, not a lock: a change that does not wait breaks nothing.
TURN_SECONDS = 2.0
TURN_POLL_SECONDS = 0.02

#: Change nodes kept. An engine that is further behind reads all documents.
CHANGES_KEPT = 1000

#: Documents that are requested before the first answer is awaited.
READ_AT_ONCE = 500

#: Seconds to wait for ZooKeeper to come back in order to read whether a write with a lost reply happened.
READ_BACK_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Edit:
    """Bind ``identity`` to ``binding``; ``None`` removes the binding."""

    identity: Identity
    binding: Binding | None
    #: The caller has made sure that the change moves no client to another cluster: see :mod:`hadash.bindings.since`.
    stays: bool = False


class _Turn:
    """One change's request that other changes wait for it."""

    def __init__(self, client: KazooClient) -> None:
        self._client = client
        self.asked_for = False

    def ask_for(self) -> None:
        """Create the request; again if the other changes have waited long enough and deleted it.

        While another change's request exists, that change goes first.
        """
        # Set first: if the reply is lost, the request may exist.
        before, self.asked_for = self.asked_for, True
        try:
            self._client.create(layout.TURN, ephemeral=True)
        except NodeExistsError:
            self.asked_for = before

    def give_up(self) -> None:
        if self.asked_for:
            self.end()

    def end(self) -> None:
        """Delete the current request, also another change's that its owner could not delete.

        Best effort: the next change deletes it otherwise.
        """
        try:
            self._client.delete(layout.TURN)
        except (*LOST_REPLY, KazooException):
            pass


class BindingStore:
    """The bindings of one chroot, through a connected client. Every method raises ``StoreUnavailable`` when ZooKeeper
    does not answer."""

    def __init__(self, client: KazooClient) -> None:
        self.client = client

    # -- reading ----------------------------------------------------------------------------------------

    def epoch(self) -> int:
        """The global binding epoch; 0 before the first change."""
        with reaching():
            data, _ = self.client.get(layout.EPOCH)
        return int(data or b"0")

    def document(self, appid: str) -> BindingDocument:
        """The document of ``appid``; an empty one when it has none."""
        return self.documents_now([appid])[appid]

    def documents_now(self, appids: Iterable[str]) -> dict[str, BindingDocument]:
        """The document of each of ``appids``; an empty one for an AppID without bindings.

        :raises BindingConflict: a document cannot be parsed.
        """
        with reaching():
            return {appid: document for appid, (document, _) in self._read_all(appids).items()}

    def documents(self) -> dict[str, BindingDocument]:
        """All documents by AppID. One that cannot be parsed is left out."""
        return {appid: document for appid, document in self.all_documents().items() if document is not None}

    def all_documents(self) -> dict[str, BindingDocument | None]:
        """All documents by AppID; ``None`` for one that cannot be parsed."""
        with reaching():
            names = [decode(child) for child in self.client.get_children(layout.BINDINGS)]
        return self.documents_of(names)

    def documents_of(self, names: Sequence[str]) -> dict[str, BindingDocument | None]:
        """The documents of these AppIDs, as :meth:`all_documents` returns them; an AppID without one is missing."""
        with reaching():
            return {
                appid: BindingDocument.from_bytes(appid, node[0])
                for appid, node in self._nodes(names)
                if node is not None
            }

    def _read_all(self, appids: Iterable[str]) -> dict[str, tuple[BindingDocument, int | None]]:
        """Return each document and its version; version ``None`` means that there is no node."""
        found: dict[str, tuple[BindingDocument, int | None]] = {}
        for appid, node in self._nodes(list(dict.fromkeys(appids))):
            if node is None:
                found[appid] = BindingDocument(appid), None
                continue
            document = BindingDocument.from_bytes(appid, node[0])
            if document is None:
                raise BindingConflict(
                    say(
                        "The binding document of %(appid)s in ZooKeeper cannot be read. Repair or delete %(binding)s "
                        "before changing it.",
                        appid=appid,
                        binding=layout.binding(appid),
                    )
                )
            found[appid] = document, node[1].version
        return found

    def _nodes(self, appids: Sequence[str]) -> Iterator[tuple[str, tuple[bytes, ZnodeStat] | None]]:
        """Yield the node of each AppID, ``None`` where there is none.

        Many nodes are requested before the first answer is awaited: one after the other, a thousand nodes would take a
        thousand round trips.
        """
        for first in range(0, len(appids), READ_AT_ONCE):
            asked = appids[first : first + READ_AT_ONCE]
            answers = [self.client.get_async(layout.binding(appid)) for appid in asked]
            for appid, answer in zip(asked, answers, strict=True):
                try:
                    yield appid, answer.get()
                except NoNodeError:
                    yield appid, None

    # -- the journal of a switch --------------------------------------------------------------------------

    def journal(self, switch_id: str) -> Journal | None:
        """The journal of a switch, ``None`` when it has none."""
        return journals.read(self.client, switch_id)

    def take_over(self, switch_id: str, stage: str, token: int) -> Journal | None:
        """See :func:`hadash.bindings.journals.take_over`."""
        return journals.take_over(self.client, switch_id, stage, token)

    def facts(self, switch_id: str) -> dict[str, Any]:
        """See :func:`hadash.bindings.journals.read_facts`."""
        return journals.read_facts(self.client, switch_id)

    def keep_facts(self, journal: Journal, values: Mapping[str, Any]) -> None:
        """See :func:`hadash.bindings.journals.write_facts`."""
        journals.write_facts(self.client, journal, values)

    def confirm(self, journal: Journal | None) -> None:
        """Make sure that ``journal.token`` is the newest, and that what is read next is no older than this call.

        :raises StaleWriter: the token was replaced.
        :raises StoreUnavailable: ZooKeeper does not answer, so this cannot be known.
        """
        with reaching():
            self.client.sync(layout.EPOCH)  # the answering server may be behind
            if journal is not None:
                journals.version_of(self.client, journal)

    # -- changing ------------------------------------------------------------------------------------------

    def change(
        self, edits: Sequence[Edit], journal: Journal | None = None, seen: Sequence[BindingDocument] = ()
    ) -> int:
        """Put ``edits`` into one transaction and return its epoch.

        :param journal: the switch that makes the change; its token must be the newest. ``None`` is a change by hand,
            which must not touch a running switch.
        :param seen: documents that must be unchanged since ``edits`` were decided on.
        :raises BindingBusy: an identity is held by another switch.
        :raises AlreadyForwarded, NotBlocked: see :func:`hadash.bindings.editing.refuse_wrong_turn`.
        :raises BindingConflict: a document differs from the one in ``seen``, or the change lost too many tries.
        :raises TopicInTwoLists: a Topic would be in two bound lists.
        :raises StaleWriter: ``journal.token`` was replaced.
        :raises UnknownOutcome: ZooKeeper's reply was lost and the result could not be read back.
        :raises StoreUnavailable: ZooKeeper cannot be reached; nothing was changed.
        """
        turn = _Turn(self.client)
        try:
            for lost in range(MAX_CONFLICTS):
                if lost:
                    longest = min(CONFLICT_PAUSE_SECONDS * 2 ** (lost - 1), CONFLICT_PAUSE_MOST_SECONDS)
                    time.sleep(random.uniform(0, longest))
                with reaching():
                    if lost >= TURN_AFTER:
                        turn.ask_for()
                    epoch = self._try_change(edits, journal, seen, turn)
                if epoch is not None:
                    return epoch
        finally:
            turn.give_up()
        raise BindingConflict(say("The bindings change faster than this change can be made."))

    def _try_change(
        self, edits: Sequence[Edit], journal: Journal | None, seen: Sequence[BindingDocument], turn: _Turn
    ) -> int | None:
        """Try once to make the change; ``None`` when another writer was faster."""
        held = self._read_in_turn([edit.identity.appid for edit in edits], turn)
        for document in seen:
            if document.appid in held and held[document.appid][0] != document:
                raise BindingConflict(
                    say(
                        "The bindings of %(appid)s have changed since they were looked at.",
                        appid=document.appid,
                    )
                )
        journal_version = journals.version_of(self.client, journal) if journal is not None else None
        # The epoch is read last: every change of bindings writes it, so another change during the time between here
        # and the commit makes this one start again. What was read before has versions of its own in the transaction.
        # The transaction succeeds only if the epoch is still this one, so the new epoch is larger than any in a
        # document or a journal.
        epoch_data, epoch_stat = self.client.get(layout.EPOCH)
        epoch = int(epoch_data or b"0") + 1
        edited = self._edited(
            edits, journal, {appid: document for appid, (document, _) in held.items()}, epoch
        )

        transaction = self.client.transaction()
        for appid, document in edited.items():
            path, version = layout.binding(appid), held[appid][1]
            if version is None:
                transaction.create(path, document.to_bytes())
            else:
                transaction.set_data(path, document.to_bytes(), version=version)
        transaction.set_data(layout.EPOCH, str(epoch).encode(), version=epoch_stat.version)
        change = json.dumps({"epoch": epoch, "appids": sorted(edited)}, ensure_ascii=False).encode()
        transaction.create(layout.CHANGE_PREFIX, change, sequence=True)
        if journal is not None:
            transaction.set_data(
                layout.switch(journal.switch),
                replace(journal, epoch=epoch).to_bytes(),
                version=journal_version,
            )
        try:
            if not committed(transaction):
                return None
        except LOST_REPLY as error:
            return epoch if self._happened(edited, error) else None
        self._trim_changes()
        return epoch

    def _read_in_turn(
        self, appids: Sequence[str], turn: _Turn
    ) -> dict[str, tuple[BindingDocument, int | None]]:
        """Return what :meth:`_read_all` returns, once no other change asks to go first."""
        deadline = time.monotonic() + TURN_SECONDS
        while True:
            # Requested together with the documents, so it costs nothing.
            somebody = self.client.exists_async(layout.TURN)
            held = self._read_all(appids)
            if turn.asked_for or somebody.get() is None or time.monotonic() > deadline:
                return held
            while self.client.exists(layout.TURN) is not None:
                if time.monotonic() > deadline:
                    turn.end()
                    break
                time.sleep(TURN_POLL_SECONDS)

    def _edited(
        self,
        edits: Sequence[Edit],
        journal: Journal | None,
        documents: Mapping[str, BindingDocument],
        epoch: int,
    ) -> dict[str, BindingDocument]:
        """Return ``documents`` after the edits.

        :raises BindingBusy: another switch holds an identity.
        """
        editing = {appid: Editing(document) for appid, document in documents.items()}
        for edit in edits:
            edited = editing[edit.identity.appid]
            self._refuse_if_held(edited.document, edit, journal)
            if journal is not None:
                refuse_wrong_turn(
                    edited.document.binding_of(edit.identity), edit.identity, edit.binding, journal
                )
            if edit.binding is None:
                edited.unbind(edit.identity, epoch, stays=edit.stays)
            else:
                edited.bind(edit.identity, edit.binding, epoch, stays=edit.stays)
        return {appid: edited.document for appid, edited in editing.items()}

    @staticmethod
    def _refuse_if_held(document: BindingDocument, edit: Edit, journal: Journal | None) -> None:
        held = document.binding_of(edit.identity)
        if held is None or held.state is BindingState.FORWARD:
            return
        if journal is None or held.switch != journal.switch:
            raise BindingBusy(
                say(
                    "%(identity)s is being moved by switch %(switch)s.",
                    identity=edit.identity,
                    switch=held.switch or "unknown",
                )
            )

    def _happened(self, documents: Mapping[str, BindingDocument], error: Exception) -> bool:
        """Return whether the transaction happened although its reply was lost: the documents are as it wrote them."""
        deadline = time.monotonic() + READ_BACK_SECONDS
        while time.monotonic() < deadline:
            try:
                self.client.sync(layout.EPOCH)
                now = self._read_all(documents)
                happened = all(now[appid][0] == document for appid, document in documents.items())
            except (*LOST_REPLY, NoNodeError):
                continue  # each call waits for the connection itself
            return happened
        raise UnknownOutcome(
            say(
                "ZooKeeper did not answer (%(reason)s), and for %(seconds)s s it could not be read whether the change "
                "of bindings happened.",
                reason=type(error).__name__,
                seconds=f"{READ_BACK_SECONDS:.0f}",
            )
        ) from error

    def _trim_changes(self) -> None:
        """Delete old change nodes. Best effort: a later change deletes the rest."""
        try:
            children = sorted(self.client.get_children(layout.CHANGES))
            for child in children[:-CHANGES_KEPT]:
                self.client.delete(f"{layout.CHANGES}/{child}")
        except KazooException:
            pass

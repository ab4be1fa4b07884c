"""Consumer groups of one cluster, through kafka-python's admin client.

librdkafka's client is not used: when the connection to a coordinator breaks during a request, it reads freed
memory, and the process dies or hangs (librdkafka#4605, open since 2.3; fixed by its #5397, which is not
released). hadash exists for exactly this case: a worker reads groups while their cluster fails.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, NoReturn, TypeVar

from kafka import errors
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka.structs import OffsetAndMetadata, TopicPartition

from hadash.kafka import acls, scram
from hadash.kafka.acls import Which
from hadash.kafka.errors import ClusterUnavailable, CoordinatorMoved, KafkaError, NotOffered
from hadash.kafka.group_admin import PARALLEL_REQUESTS, REFUSED, REQUEST_SECONDS, Admin, config_of
from hadash.kafka.group_admin import connect as _connect
from hadash.kafka.quotas import described, set_quotas
from hadash.kafka.values import (
    Acl,
    ClusterAccess,
    Committed,
    Engine,
    GroupInfo,
    GroupMember,
    Partition,
    QuotaEntity,
    Quotas,
)
from hadash.sentences import Sentence, say

log = logging.getLogger(__name__)

#: Seconds until a question is asked again: a new coordinator needs some hundredths of a second or more to load
#: its groups.
AGAIN_SECONDS = 0.2

#: Groups that one call of the library reads, at most: from brokers before 3.0 it reads them one after the
#: other.
READ_AT_ONCE = 50

#: Seconds for which an abandoned client is kept, for callers that still wait for an answer through it.
KEPT_SECONDS = 2 * REQUEST_SECONDS

#: Names in an error message, at most.
NAMES_SHOWN = 3

_MOVED = (
    errors.NotCoordinatorError,
    errors.CoordinatorNotAvailableError,
    errors.CoordinatorLoadInProgressError,
)

#: The errors of a cluster that does not answer. (The library treats UnknownBrokerIdError, one of these, as
#: permanent.)
_SILENT = (
    TimeoutError,
    errors.KafkaConnectionError,
    errors.NodeNotReadyError,
    errors.UnknownBrokerIdError,
    errors.KafkaTimeoutError,
    errors.RequestTimedOutError,
    errors.NetworkExceptionError,
    errors.MetadataEmptyBrokerList,
    errors.TooManyInFlightRequests,
    errors.StaleMetadata,
    errors.Cancelled,
)

T = TypeVar("T")


Request = Callable[[Admin], T]

#: Returns what could not be done, from the subject of a request.
What = Callable[[str], Sentence]


def nobody_else() -> None:
    """Do nothing: the fence of callers that need not check before each attempt whether they still may write."""


class GroupsClient:
    """The groups, ACLs, SCRAM users and quotas of one cluster. Thread-safe.

    Methods raise ``CoordinatorMoved`` or ``ClusterUnavailable`` when there is no answer within
    :data:`REQUEST_SECONDS`, and another :class:`KafkaError` when the cluster refuses.
    """

    def __init__(self, access: ClusterAccess) -> None:
        self._cluster = access.name
        self._account = f"{access.username} ({access.sasl_mechanism})"
        self._config = config_of(access)
        self._requests = ThreadPoolExecutor(PARALLEL_REQUESTS, f"groups-{access.name}")
        self._connecting = ThreadPoolExecutor(1, f"groups-{access.name}-connecting")
        self._lock = threading.Lock()
        self._connection: Future[Admin] | None = None

    def close(self) -> None:
        """Close its connections. Calls that still run fail with ``ClusterUnavailable``."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.add_done_callback(_close_result)
        self._connecting.shutdown(wait=False)
        self._requests.shutdown(wait=False)

    # -- questions ---------------------------------------------------------------------------------------------

    def describe(self, names: Iterable[str]) -> dict[str, GroupInfo]:
        """Return groups with their members and coordinator. The state of a missing group is ``Dead``."""
        found: dict[str, GroupInfo] = {}
        for answer in self._read(
            names, lambda groups: say("could not describe %(groups)s", groups=groups), _described
        ):
            found |= answer
        return found

    def names(self) -> list[str]:
        """Return the names of all groups, sorted."""
        (found,) = self._ask({"groups": _group_names}, lambda _: say("could not list its groups")).values()
        return found

    def engine(self) -> Engine:
        """Return the version of Kafka, and the leader of the quorum of its controllers if it has one."""
        (found,) = self._ask({"itself": _engine}, lambda _: say("could not describe itself")).values()
        return found

    def topic_rules(self, brokers: Iterable[int], principals: Iterable[str]) -> dict[int, set[Acl]]:
        """Return, by broker, the principals' rules about Topics that have reached it: a broker enforces only
        those.
        """
        wanted = sorted(set(principals))
        asked = {
            f"broker {broker}, {principal}": (
                broker,
                partial(acls.heard_by, broker, principal),
            )
            for broker in set(brokers)
            for principal in wanted
        }
        answers = self._ask(
            {about: request for about, (_, request) in asked.items()},
            lambda whose: say("could not read the rules of %(whose)s", whose=whose),
        )
        found: dict[int, set[Acl]] = {broker: set() for broker, _ in asked.values()}
        for about, (broker, _) in asked.items():
            found[broker] |= answers[about]
        return found

    def rules(self, wanted: Sequence[Which]) -> set[Acl]:
        """Return the access rules of the cluster that match one of ``wanted``."""
        asked = {str(which): partial(acls.rules, which) for which in wanted}
        return set().union(
            *self._ask(asked, lambda which: say("could not read the ACLs %(which)s", which=which)).values()
        )

    def create_rules(self, wanted: Sequence[Acl]) -> None:
        """Create access rules. Existing ones are not an error."""
        if wanted:
            self._ask({"ACLs": partial(acls.create, wanted)}, lambda _: say("could not create ACLs"))

    def delete_rules(self, unwanted: Sequence[Acl]) -> None:
        """Delete exactly these access rules. Missing ones are not an error."""
        if unwanted:
            self._ask({"ACLs": partial(acls.delete, unwanted)}, lambda _: say("could not delete ACLs"))

    def quotas(self) -> dict[QuotaEntity, dict[str, float]]:
        """Return all client quotas of the cluster.

        :raises NotOffered: it is older than 2.6.
        """
        (found,) = self._ask(
            {"its clients": described}, lambda _: say("could not read the quotas of its clients")
        ).values()
        return found

    def scram_users(self) -> dict[str, set[str]]:
        """Return the SCRAM mechanisms of each user with a password on this cluster.

        :raises NotOffered: it is older than 2.7.
        """
        (found,) = self._ask(
            {"its SCRAM users": scram.users}, lambda _: say("could not read its SCRAM users")
        ).values()
        return found

    def offsets(self, names: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """Return committed offsets by group. An offset that cannot be read is an error, not a missing one."""
        return {
            group: {partition: committed.offset for partition, committed in commits.items()}
            for group, commits in self.commits(names).items()
        }

    def commits(self, names: Iterable[str]) -> dict[str, dict[Partition, Committed]]:
        """Return committed offsets like :meth:`offsets`, with the metadata of each commit."""
        found: dict[str, dict[Partition, Committed]] = {}
        for answer in self._read(
            names, lambda groups: say("could not read the offsets of %(groups)s", groups=groups), _committed
        ):
            found |= answer
        return found

    def _read(
        self, names: Iterable[str], what: What, ask: Callable[[list[str], Admin], dict[str, T]]
    ) -> Iterable[dict[str, T]]:
        wanted = sorted(set(names))
        parts = [wanted[first : first + READ_AT_ONCE] for first in range(0, len(wanted), READ_AT_ONCE)]
        return self._ask({_listed(part): partial(ask, part) for part in parts}, what).values()

    # -- changes -----------------------------------------------------------------------------------------------

    def set_offsets(
        self, offsets: Mapping[str, Mapping[Partition, Committed]], fence: Callable[[], None] = nobody_else
    ) -> None:
        """Write exactly these committed offsets with their metadata. Refused for a group with members on this
        cluster.

        :param fence: called before each attempt; raises when another process has taken over.
        """
        commits = {
            f"group {group}": partial(_commit, group, committed)
            for group, committed in offsets.items()
            if committed
        }
        self._ask(commits, lambda group: say("could not write the offsets of %(group)s", group=group), fence)

    def remove_offsets(
        self, partitions: Mapping[str, Iterable[Partition]], fence: Callable[[], None] = nobody_else
    ) -> None:
        """Remove exactly these committed offsets. A missing group is not an error. Refused for Topics that the
        group's members on this cluster are subscribed to. ``fence`` as in :meth:`set_offsets`.
        """
        removals = {
            f"group {group}": partial(_remove, group, sorted(wanted)) for group, wanted in partitions.items()
        }
        self._ask(removals, lambda group: say("could not remove offsets of %(group)s", group=group), fence)

    def delete(self, names: Iterable[str], fence: Callable[[], None] = nobody_else) -> None:
        """Delete groups with all their offsets. Refused for a group that has members on this cluster or does
        not exist. ``fence`` as in :meth:`set_offsets`.
        """
        deletions = {f"group {name}": _Deletion(name) for name in set(names)}
        self._ask(deletions, lambda group: say("could not delete %(group)s", group=group), fence)

    def set_quotas(self, quotas: Quotas) -> None:
        """Set some client quotas. Other quotas of these entities are kept."""
        if quotas:
            self._ask(
                {"its clients": partial(set_quotas, quotas)},
                lambda _: say("could not set the quotas of its clients"),
            )

    def set_scram_password(self, user: str, mechanism: str, password: str) -> None:
        """Create or replace the user's SCRAM credential of one mechanism."""
        request = partial(scram.set_password, user, mechanism, password)
        self._ask(
            {f"{user} ({mechanism})": request},
            lambda user: say("could not set the password of %(user)s", user=user),
        )

    # -- asking ------------------------------------------------------------------------------------------------

    def _ask(
        self, requests: Mapping[str, Request[T]], what: What, fence: Callable[[], None] = nobody_else
    ) -> dict[str, T]:
        """Return the answers by the subject of each request (``what`` tells what could not be done). Requests run in
        parallel; those that failed with a temporary error are repeated within :data:`REQUEST_SECONDS`.

        When it raises, no request is left running that could still be answered within that time.
        """
        deadline = time.monotonic() + REQUEST_SECONDS
        found: dict[str, T] = {}
        told: BaseException | None = None
        while missing := sorted(requests.keys() - found.keys()):
            admin = self._connected(deadline, what(missing[0]))
            fence()
            asked = {about: self._requests.submit(requests[about], admin) for about in missing}
            failed = self._take(asked, found, deadline)
            if failed is None:
                continue
            about, error = failed
            if isinstance(error, TimeoutError) and told is not None:
                error = told  # more specific than the timeout of the last attempt
            told = error
            admin.forget_coordinators()
            in_time = time.monotonic() + AGAIN_SECONDS < deadline
            if not (isinstance(error, (*_MOVED, *_SILENT)) and in_time):
                if not isinstance(error, errors.BrokerResponseError):
                    self._give_up(admin)
                self._fail(what(about), error)
            time.sleep(AGAIN_SECONDS)
        return found

    def _take(
        self, asked: Mapping[str, Future[T]], found: dict[str, T], deadline: float
    ) -> tuple[str, BaseException] | None:
        """Put the answers until ``deadline`` into ``found``. Requests that have not begun by then are
        cancelled.

        :return: a request that was not answered, and its error; one with a permanent error if there is any.
        """
        try:
            wait(asked.values(), timeout=max(deadline - time.monotonic(), 0))
        finally:
            for future in asked.values():
                future.cancel()
        failed: list[tuple[str, BaseException]] = []
        for about, future in asked.items():
            if not future.done() or future.cancelled():
                failed.append((about, TimeoutError()))
            elif (error := future.exception()) is not None:
                failed.append((about, error))
            else:
                found[about] = future.result()
        return max(failed, key=lambda one: not isinstance(one[1], (*_MOVED, *_SILENT)), default=None)

    def _connected(self, deadline: float, what: Sentence) -> Admin:
        """Return the client that all threads share. While there is none they wait for the same attempt to
        connect, each until its own deadline.
        """
        with self._lock:
            if self._connection is None or (self._connection.done() and self._connection.exception()):
                try:
                    self._connection = self._connecting.submit(_connect, self._config)
                except RuntimeError:  # closed: a client with another access has replaced this one
                    self._fail(what, TimeoutError())
            connection = self._connection
        try:
            return connection.result(timeout=max(deadline - time.monotonic(), 0))
        except (TimeoutError, errors.KafkaError) as error:
            self._fail(what, error)

    def _give_up(self, admin: Admin) -> None:
        """Abandon a client: later calls connect again. Calls that still wait for an answer through it can finish."""
        with self._lock:
            connection = self._connection
            if connection is None or not connection.done() or connection.exception() is not None:
                return
            if connection.result() is not admin:
                return
            self._connection = None
        later = threading.Timer(KEPT_SECONDS, admin.close)
        later.daemon = True
        later.start()

    def _fail(self, what: Sentence, error: BaseException) -> NoReturn:
        said = say("Cluster %(cluster)s %(what)s", cluster=self._cluster, what=what)
        if isinstance(error, REFUSED):
            raise ClusterUnavailable(
                say(
                    "%(said)s: it refuses account %(account)s: %(error)s.",
                    said=said,
                    account=self._account,
                    error=_said(error),
                )
            ) from None
        if isinstance(error, errors.UnsupportedVersionError):
            raise NotOffered(say("%(said)s: its brokers are too old for it.", said=said)) from None
        if isinstance(error, errors.SecurityDisabledError):
            raise NotOffered(say("%(said)s: it has no authorizer.", said=said)) from None
        if isinstance(error, KafkaError):
            raise KafkaError(say("%(said)s: %(error)s.", said=said, error=error)) from None
        if isinstance(error, _MOVED):
            raise CoordinatorMoved(say("%(said)s: %(error)s.", said=said, error=_said(error))) from None
        if isinstance(error, _SILENT):
            raise ClusterUnavailable(
                say(
                    "Cluster %(cluster)s did not answer within %(seconds)s s: %(what)s.",
                    cluster=self._cluster,
                    seconds=f"{REQUEST_SECONDS:.0f}",
                    what=what,
                )
            ) from None
        if not isinstance(error, errors.KafkaError):
            log.error("%s", said, exc_info=error)
        raise KafkaError(say("%(said)s: %(error)s.", said=said, error=_said(error))) from None


def _close_result(connection: Future[Admin]) -> None:
    if not connection.cancelled() and connection.exception() is None:
        connection.result().close()


# -- requests ------------------------------------------------------------------------------------------------------


def _described(names: list[str], admin: Admin) -> dict[str, GroupInfo]:
    return {
        name: GroupInfo(
            name,
            group.group_state,
            admin.coordinator_of(name),
            tuple(_member(group.protocol_type, member) for member in group.members),
            group.protocol_data,
        )
        for name, group in admin.describe_groups(names).items()
    }


def _member(protocol_type: str, told: Any) -> GroupMember:
    subscription = _subscription(protocol_type, told.member_metadata)
    return GroupMember(
        told.member_id,
        told.client_id,
        told.client_host.lstrip("/"),
        _assigned(protocol_type, told.member_assignment),
        None if subscription is None else tuple(sorted(subscription.topics)),
        told.group_instance_id or None,
        (getattr(subscription, "rack_id", None) or None) if subscription is not None else None,
    )


def _assigned(protocol_type: str, assignment: bytes) -> tuple[Partition, ...]:
    """Return the partitions of a member's assignment; none for members that are not consumers, and for an
    assignment that cannot be decoded.
    """
    if protocol_type != "consumer" or not assignment:
        return ()
    try:
        found = ConsumerProtocolAssignment.decode(assignment)
    except Exception as error:  # the library's decoder raises many kinds of errors
        log.debug("an assignment of %d bytes cannot be read: %r", len(assignment), error)
        return ()
    return tuple(
        sorted(
            Partition(each.topic, index) for each in found.assigned_partitions for index in each.partitions
        )
    )


def _subscription(protocol_type: str, metadata: bytes) -> ConsumerProtocolSubscription | None:
    """Return the subscription that a member sent when it joined; ``None`` for one that is not a consumer or
    cannot be decoded. (Brokers report it only for stable groups.)
    """
    if protocol_type != "consumer" or not metadata:
        return None
    try:
        return ConsumerProtocolSubscription.decode(metadata)
    except Exception as error:  # the library's decoder raises many kinds of errors
        log.debug("a subscription of %d bytes cannot be read: %r", len(metadata), error)
        return None


def _group_names(admin: Admin) -> list[str]:
    return sorted({group["group_id"] for group in admin.list_groups()})


def _engine(admin: Admin) -> Engine:
    version = admin.version()
    try:
        quorum = admin.describe_metadata_quorum()
    except (errors.UnsupportedVersionError, errors.IncompatibleBrokerVersion):
        return Engine(version)  # with ZooKeeper
    (partition,) = (p for topic in quorum["topics"] for p in topic["partitions"])
    return Engine(version, partition["leader_id"], partition["leader_epoch"])


def _committed(names: list[str], admin: Admin) -> dict[str, dict[Partition, Committed]]:
    found = admin.list_group_offsets(names)
    return {
        name: {
            Partition(p.topic, p.partition): Committed(committed.offset, committed.metadata or "")
            for p, committed in found.get(name, {}).items()
            if committed.offset >= 0
        }
        for name in names
    }


def _commit(group: str, commits: Mapping[Partition, Committed], admin: Admin) -> None:
    offsets = {
        TopicPartition(p.topic, p.partition): OffsetAndMetadata(committed.offset, committed.metadata, -1)
        for p, committed in commits.items()
    }
    _raise_first(admin.alter_group_offsets(group, offsets))


def _remove(group: str, partitions: Sequence[Partition], admin: Admin) -> None:
    try:
        results = admin.delete_group_offsets(
            group, [TopicPartition(p.topic, p.partition) for p in partitions]
        )
    except errors.GroupIdNotFoundError:
        return
    _raise_first(results)


class _Deletion:
    """The deletion of one group. It may be called again: the group is gone already when the first answer was lost."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._asked = False

    def __call__(self, admin: Admin) -> None:
        again, self._asked = self._asked, True
        said = admin.delete_groups([self._group])[self._group]
        if said == "OK" or (again and said == errors.GroupIdNotFoundError.__name__):
            return
        raise getattr(errors, said, errors.BrokerResponseError)(self._group)


def _raise_first(results: Mapping[TopicPartition, type[errors.KafkaError]]) -> None:
    for p, error in sorted(results.items()):
        if error is not errors.NoError:
            raise error(f"{p.topic}-{p.partition}")


# -- words ---------------------------------------------------------------------------------------------------------


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"group {', '.join(names[:NAMES_SHOWN])}{more}"


def _said(error: BaseException) -> str:
    """Return an error's name, with its text if that is short: the library puts whole requests into some errors."""
    name = type(error).__name__.removesuffix("Error")
    about = str(error.args[0]) if error.args else ""
    return f"{name} ({about})" if about and len(about) < 200 else name

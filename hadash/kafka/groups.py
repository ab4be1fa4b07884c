"""Consumer groups of one cluster, through kafka-python's admin client.

Not through librdkafka's: when the connection to a coordinator breaks under a request, that reads memory it
has freed, and the process dies or hangs (librdkafka#4605, open since 2.3; mended by its #5397, which is not
released). A worker that looks at groups while their cluster dies is the very case that hadash exists for.
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

from hadash.kafka import acls
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

log = logging.getLogger(__name__)

#: Seconds until a question is asked again: loading its groups takes a coordinator that is moving some
#: hundredths and more.
AGAIN_SECONDS = 0.2

#: Groups that are read with one call of the library, which asks brokers before 3.0 for one after the other.
READ_AT_ONCE = 50

#: Seconds for which a client that was given up is kept, for whoever still waits for an answer through it.
KEPT_SECONDS = 2 * REQUEST_SECONDS

#: Names in an error message.
NAMES_SHOWN = 3

_MOVED = (
    errors.NotCoordinatorError,
    errors.CoordinatorNotAvailableError,
    errors.CoordinatorLoadInProgressError,
)

#: Nobody has answered. (Of these the library calls a broker that it does not know an error for good.)
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


def nobody_else() -> None:
    """For whoever writes without having to make sure before each try that it still may."""


class GroupsClient:
    """Threads may share it. What cannot be answered within :data:`REQUEST_SECONDS` raises ``CoordinatorMoved`` or
    ``ClusterUnavailable``, what is refused another :class:`KafkaError`."""

    def __init__(self, access: ClusterAccess) -> None:
        self._cluster = access.name
        self._account = f"{access.username} ({access.sasl_mechanism})"
        self._config = config_of(access)
        self._requests = ThreadPoolExecutor(PARALLEL_REQUESTS, f"groups-{access.name}")
        self._connecting = ThreadPoolExecutor(1, f"groups-{access.name}-connecting")
        self._lock = threading.Lock()
        self._connection: Future[Admin] | None = None

    def close(self) -> None:
        """End its connections. Whoever still asks hears that nobody answers."""
        with self._lock:
            connection, self._connection = self._connection, None
        if connection is not None:
            connection.add_done_callback(_close_result)
        self._connecting.shutdown(wait=False)
        self._requests.shutdown(wait=False)

    # -- questions ---------------------------------------------------------------------------------------------

    def describe(self, names: Iterable[str]) -> dict[str, GroupInfo]:
        """Groups with their members and coordinator; ``Dead`` is the state of one that does not exist."""
        found: dict[str, GroupInfo] = {}
        for answer in self._read(names, "could not describe", _described):
            found |= answer
        return found

    def names(self) -> list[str]:
        """The groups of all brokers."""
        (found,) = self._ask({"groups": _group_names}, "could not list its").values()
        return found

    def engine(self) -> Engine:
        """What Kafka the cluster runs, and who leads the quorum of its controllers if it has one."""
        (found,) = self._ask({"itself": _engine}, "could not describe").values()
        return found

    def topic_rules(self, brokers: Iterable[int], principals: Iterable[str]) -> dict[int, set[Acl]]:
        """By broker, what it has heard of the principals' rules about Topics: each enforces what it has heard
        itself.
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
            {about: request for about, (_, request) in asked.items()}, "could not read the rules of"
        )
        found: dict[int, set[Acl]] = {broker: set() for broker, _ in asked.values()}
        for about, (broker, _) in asked.items():
            found[broker] |= answers[about]
        return found

    def rules(self, wanted: Sequence[Which]) -> set[Acl]:
        """Access rules of the cluster that are one of ``wanted``."""
        asked = {str(which): partial(acls.rules, which) for which in wanted}
        return set().union(*self._ask(asked, "could not read the ACLs").values())

    def create_rules(self, wanted: Sequence[Acl]) -> None:
        """Create access rules; one that exists is no error."""
        if wanted:
            self._ask({"ACLs": partial(acls.create, wanted)}, "could not create")

    def delete_rules(self, unwanted: Sequence[Acl]) -> None:
        """Delete exactly these access rules; one that does not exist is no error."""
        if unwanted:
            self._ask({"ACLs": partial(acls.delete, unwanted)}, "could not delete")

    def quotas(self) -> dict[QuotaEntity, dict[str, float]]:
        """All client quotas of the cluster. :raises NotOffered: it is older than 2.6."""
        (found,) = self._ask({"its clients": described}, "could not read the quotas of").values()
        return found

    def offsets(self, names: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """Committed offsets by group. One that cannot be read is an error, not an offset that is missing."""
        return {
            group: {partition: committed.offset for partition, committed in commits.items()}
            for group, commits in self.commits(names).items()
        }

    def commits(self, names: Iterable[str]) -> dict[str, dict[Partition, Committed]]:
        """As :meth:`offsets`, with the metadata of each commit."""
        found: dict[str, dict[Partition, Committed]] = {}
        for answer in self._read(names, "could not read the offsets of", _committed):
            found |= answer
        return found

    def _read(
        self, names: Iterable[str], what: str, ask: Callable[[list[str], Admin], dict[str, T]]
    ) -> Iterable[dict[str, T]]:
        wanted = sorted(set(names))
        parts = [wanted[first : first + READ_AT_ONCE] for first in range(0, len(wanted), READ_AT_ONCE)]
        return self._ask({_listed(part): partial(ask, part) for part in parts}, what).values()

    # -- changes -----------------------------------------------------------------------------------------------

    def set_offsets(
        self, offsets: Mapping[str, Mapping[Partition, Committed]], fence: Callable[[], None] = nobody_else
    ) -> None:
        """Write committed offsets with their metadata, exactly. A group with members on this cluster refuses.

        :param fence: called before each try; raises when somebody else does this by now.
        """
        commits = {
            f"group {group}": partial(_commit, group, committed)
            for group, committed in offsets.items()
            if committed
        }
        self._ask(commits, "could not write the offsets of", fence)

    def remove_offsets(
        self, partitions: Mapping[str, Iterable[Partition]], fence: Callable[[], None] = nobody_else
    ) -> None:
        """Remove committed offsets, and no others; a group that does not exist has none. Refused for Topics
        that the group's members are subscribed to on this cluster. ``fence`` as of :meth:`set_offsets`.
        """
        removals = {
            f"group {group}": partial(_remove, group, sorted(wanted)) for group, wanted in partitions.items()
        }
        self._ask(removals, "could not remove offsets of", fence)

    def delete(self, names: Iterable[str], fence: Callable[[], None] = nobody_else) -> None:
        """Delete groups with all their offsets. One with members on this cluster refuses, as does one that
        does not exist.
        """
        self._ask({f"group {name}": _Deletion(name) for name in set(names)}, "could not delete", fence)

    def set_quotas(self, quotas: Quotas) -> None:
        """Set some client quotas; the entities' others stay as they are."""
        if quotas:
            self._ask({"its clients": partial(set_quotas, quotas)}, "could not set the quotas of")

    # -- asking ------------------------------------------------------------------------------------------------

    def _ask(
        self, requests: Mapping[str, Request[T]], what: str, fence: Callable[[], None] = nobody_else
    ) -> dict[str, T]:
        """The answers by what each is about, asked for side by side, and again what may become possible meanwhile.

        When it raises, no request is under way that an answer can still be had of within the time.
        """
        deadline = time.monotonic() + REQUEST_SECONDS
        found: dict[str, T] = {}
        told: BaseException | None = None
        while missing := sorted(requests.keys() - found.keys()):
            admin = self._connected(deadline, f"{what} {missing[0]}")
            fence()
            asked = {about: self._requests.submit(requests[about], admin) for about in missing}
            failed = self._take(asked, found, deadline)
            if failed is None:
                continue
            about, error = failed
            if isinstance(error, TimeoutError) and told is not None:
                error = told  # the time was over before it could say so again
            told = error
            admin.forget_coordinators()
            in_time = time.monotonic() + AGAIN_SECONDS < deadline
            if not (isinstance(error, (*_MOVED, *_SILENT)) and in_time):
                if not isinstance(error, errors.BrokerResponseError):
                    self._give_up(admin)
                self._fail(f"{what} {about}", error)
            time.sleep(AGAIN_SECONDS)
        return found

    def _take(
        self, asked: Mapping[str, Future[T]], found: dict[str, T], deadline: float
    ) -> tuple[str, BaseException] | None:
        """Put what is answered until ``deadline`` into ``found``. What has not begun by then does not begin any more.

        :return: one that was not answered, and why: the one that is most for good.
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

    def _connected(self, deadline: float, what: str) -> Admin:
        """The client of all threads. While there is none they wait for the same attempt to connect, each for
        its own time.
        """
        with self._lock:
            if self._connection is None or (self._connection.done() and self._connection.exception()):
                try:
                    self._connection = self._connecting.submit(_connect, self._config)
                except RuntimeError:  # closed: its cluster is reached in another way now
                    self._fail(what, TimeoutError())
            connection = self._connection
        try:
            return connection.result(timeout=max(deadline - time.monotonic(), 0))
        except (TimeoutError, errors.KafkaError) as error:
            self._fail(what, error)

    def _give_up(self, admin: Admin) -> None:
        """Whoever asks from now on connects again. Those who still wait for an answer through this one have
        their time.
        """
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

    def _fail(self, what: str, error: BaseException) -> NoReturn:
        said = f"Cluster {self._cluster} {what}"
        if isinstance(error, REFUSED):
            raise ClusterUnavailable(f"{said}: it refuses account {self._account}: {_said(error)}.") from None
        if isinstance(error, errors.UnsupportedVersionError):
            raise NotOffered(f"{said}: its brokers are too old for it.") from None
        if isinstance(error, errors.SecurityDisabledError):
            raise NotOffered(f"{said}: it has no authorizer.") from None
        if isinstance(error, KafkaError):
            raise KafkaError(f"{said}: {error}.") from None
        if isinstance(error, _MOVED):
            raise CoordinatorMoved(f"{said}: {_said(error)}.") from None
        if isinstance(error, _SILENT):
            raise ClusterUnavailable(
                f"Cluster {self._cluster} did not answer within {REQUEST_SECONDS:.0f} s: {what}."
            ) from None
        if not isinstance(error, errors.KafkaError):
            log.error("%s", said, exc_info=error)
        raise KafkaError(f"{said}: {_said(error)}.") from None


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
    """What a member was given. (Members of other kinds than consumers have assignments of their own, and what
    one has that cannot be read is its own matter.)
    """
    if protocol_type != "consumer" or not assignment:
        return ()
    try:
        found = ConsumerProtocolAssignment.decode(assignment)
    except Exception as error:  # the library raises whatever its decoding stumbles over
        log.debug("an assignment of %d bytes cannot be read: %r", len(assignment), error)
        return ()
    return tuple(
        sorted(
            Partition(each.topic, index) for each in found.assigned_partitions for index in each.partitions
        )
    )


def _subscription(protocol_type: str, metadata: bytes) -> ConsumerProtocolSubscription | None:
    """What a member has said as it joined. (A broker tells it of groups that are stable.)"""
    if protocol_type != "consumer" or not metadata:
        return None
    try:
        return ConsumerProtocolSubscription.decode(metadata)
    except Exception as error:  # the library raises whatever its decoding stumbles over
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
    """Of one group, however often it is asked for: it is gone already when the answer to the first time was lost."""

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
    """What went wrong, with the partition if it is one's. The library puts whole requests into some of its errors."""
    name = type(error).__name__.removesuffix("Error")
    about = str(error.args[0]) if error.args else ""
    return f"{name} ({about})" if about and len(about) < 200 else name

"""Consumer groups of one cluster, through kafka-python's admin client.

Not through librdkafka's: when the connection to a coordinator breaks under a request, that reads memory it has freed, and the
process dies or hangs (librdkafka#4605, open since 2.3; mended by its #5397, which is not released). A worker that looks at groups
while their cluster dies is the very case that hadash exists for.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, NoReturn, TypeVar

from kafka import errors
from kafka.admin import KafkaAdminClient
from kafka.net.compat import KafkaNetClient
from kafka.structs import OffsetAndMetadata, TopicPartition

from hadash.kafka.errors import ClusterUnavailable, CoordinatorMoved, KafkaError
from hadash.kafka.values import ClusterAccess, GroupMember, Partition

#: Seconds for one question, with all that is asked again meanwhile. A healthy cluster answers in milliseconds; during a block
#: nobody can wait long.
REQUEST_SECONDS = float(os.environ.get("HADASH_KAFKA_REQUEST_SECONDS", "10"))

#: Seconds until a question is asked again: loading its groups takes a coordinator that is moving some hundredths and more.
AGAIN_SECONDS = 0.2

#: Requests at once of those that Kafka has no bulk form for (a commit is one group's).
PARALLEL_GROUPS = 16

#: The longest pause of the client before it connects again: a broker that is back is wanted at once.
RECONNECT_MILLISECONDS = 1000

#: Names in an error message.
NAMES_SHOWN = 3

_MOVED = (
    errors.NotCoordinatorError,
    errors.CoordinatorNotAvailableError,
    errors.CoordinatorLoadInProgressError,
)

#: What goes away by itself, or with a client that remembers nothing of the cluster.
_AGAIN = (errors.RetriableError, errors.UnknownBrokerIdError)

T = TypeVar("T")
Request = Callable[[KafkaAdminClient], T]


class GroupsClient:
    """Threads may share it. What cannot be answered within :data:`REQUEST_SECONDS` raises ``CoordinatorMoved`` or
    ``ClusterUnavailable``, what is refused another :class:`KafkaError`.

    The client behind it is replaced whenever something has to be asked again: it remembers where a coordinator was, and would go
    on asking a broker that says that it is not.
    """

    def __init__(self, access: ClusterAccess) -> None:
        self._cluster = access.name
        self._config = _config(access)
        self._pool = ThreadPoolExecutor(PARALLEL_GROUPS, thread_name_prefix=f"groups-{access.name}")
        self._connecting = threading.Lock()
        self._admin: KafkaAdminClient | None = None

    # -- questions ----------------------------------------------------------------------------------------------

    def describe(self, names: Iterable[str]) -> dict[str, tuple[str, tuple[GroupMember, ...]]]:
        """State and members by group; ``Dead`` is the state of one that does not exist."""
        wanted = sorted(names)
        if not wanted:
            return {}
        found = self._ask(lambda admin: _described(admin, wanted), f"could not describe {_listed(wanted)}")
        return {
            name: (
                group["group_state"],
                tuple(
                    GroupMember(m["member_id"], m["client_id"], m["client_host"].lstrip("/"))
                    for m in group["members"]
                ),
            )
            for name, group in found.items()
        }

    def offsets(self, names: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """Committed offsets by group. One that cannot be read is an error, not an offset that is missing."""
        wanted = sorted(names)
        if not wanted:
            return {}
        found = self._ask(
            lambda admin: admin.list_group_offsets(wanted), f"could not read the offsets of {_listed(wanted)}"
        )
        return {
            name: {
                Partition(p.topic, p.partition): committed.offset
                for p, committed in found.get(name, {}).items()
                if committed.offset >= 0
            }
            for name in wanted
        }

    # -- changes ------------------------------------------------------------------------------------------------

    def set_offsets(self, offsets: Mapping[str, Mapping[Partition, int]]) -> None:
        """Write committed offsets, exactly. A group with members on this cluster refuses."""
        self._ask_each(
            {group: partial(_commit, group, committed) for group, committed in offsets.items() if committed},
            "could not write the offsets of group",
        )

    def remove_offsets(self, partitions: Mapping[str, Iterable[Partition]]) -> None:
        """Remove committed offsets, and no others; a group that does not exist has none. Refused for Topics that the group's
        members are subscribed to on this cluster."""
        self._ask_each(
            {group: partial(_remove, group, sorted(wanted)) for group, wanted in partitions.items()},
            "could not remove offsets of group",
        )

    def delete(self, names: Iterable[str]) -> None:
        """Delete groups with all their offsets. One with members on this cluster refuses, as does one that does not exist."""
        self._ask_each({group: _Deletion(group) for group in set(names)}, "could not delete group")

    # -- asking -------------------------------------------------------------------------------------------------

    def _ask(self, request: Request[T], what: str) -> T:
        return self._ask_each({"": request}, what)[""]

    def _ask_each(self, requests: Mapping[str, Request[T]], what: str) -> dict[str, T]:
        """The answers by key, asked for side by side. Whoever gives up leaves none behind that has not begun."""
        deadline = time.monotonic() + REQUEST_SECONDS
        found: dict[str, T] = {}
        while missing := requests.keys() - found.keys():
            admin = self._connected(deadline, f"{what} {min(missing)}".strip())
            asked = {key: self._pool.submit(requests[key], admin) for key in sorted(missing)}
            try:
                failed = self._take(asked, found, deadline, what)
                if failed is not None:
                    self._forget(admin)
                    key, error = failed
                    if time.monotonic() + AGAIN_SECONDS > deadline:
                        self._fail(f"{what} {key}".strip(), error)
                    time.sleep(AGAIN_SECONDS)
            finally:
                for future in asked.values():
                    future.cancel()
        return found

    def _take(
        self, asked: Mapping[str, Future[T]], found: dict[str, T], deadline: float, what: str
    ) -> tuple[str, Exception] | None:
        """Put what was answered into ``found``. :return: one that has to be asked again, and why."""
        failed: tuple[str, Exception] | None = None
        for key, future in asked.items():
            try:
                found[key] = future.result(timeout=max(deadline - time.monotonic(), 0))
            except (*_AGAIN, TimeoutError) as error:
                failed = key, error
            except errors.KafkaError as error:
                self._fail(f"{what} {key}".strip(), error)
            except (
                RuntimeError
            ) as error:  # what the library says of a client that another thread has replaced
                failed = key, error
        return failed

    def _connected(self, deadline: float, what: str) -> KafkaAdminClient:
        """One for all threads: while a cluster is away they wait for the first that tries, each no longer than its own time."""
        if not self._connecting.acquire(timeout=max(deadline - time.monotonic(), 0)):
            self._fail(what, TimeoutError())
        try:
            if self._admin is None:
                self._admin = _connect(self._config, max(deadline - time.monotonic(), 0))
            return self._admin
        except errors.KafkaError as error:
            self._fail(what, error)
        finally:
            self._connecting.release()

    def _forget(self, admin: KafkaAdminClient) -> None:
        """Ask through a new one from now on. The old one's requests end with it; nobody waits until they have."""
        with self._connecting:
            if self._admin is not admin:
                return
            self._admin = None
        _close(admin)

    def _fail(self, what: str, error: Exception) -> NoReturn:
        said = f"Cluster {self._cluster} {what}"
        if isinstance(error, errors.UnsupportedVersionError):
            raise KafkaError(f"{said}: its brokers are too old for it.") from None
        if isinstance(error, _MOVED):
            raise CoordinatorMoved(f"{said}: {_said(error)}.") from None
        if isinstance(error, (*_AGAIN, TimeoutError, RuntimeError)):
            raise ClusterUnavailable(
                f"Cluster {self._cluster} did not answer within {REQUEST_SECONDS:.0f} s: {what}."
            ) from None
        raise KafkaError(f"{said}: {_said(error)}.") from None


def coordinator_partition(group: str, partitions: int) -> int:
    """The partition of ``__consumer_offsets`` whose leader coordinates a group: Java's hash of its name, as Kafka has it.

    >>> coordinator_partition("billing", 50), coordinator_partition("结算", 50)
    (9, 16)
    """
    code = 0
    encoded = group.encode("utf-16-be", "surrogatepass")
    for unit in range(0, len(encoded), 2):
        code = (31 * code + int.from_bytes(encoded[unit : unit + 2], "big")) & 0xFFFFFFFF
    signed = code - (1 << 32) if code >= 1 << 31 else code
    return 0 if signed == -(1 << 31) else abs(signed) % partitions


def _config(access: ClusterAccess) -> dict[str, Any]:
    config: dict[str, Any] = {
        "bootstrap_servers": access.bootstrap_servers.split(","),
        "client_id": "hadash",
        "security_protocol": access.security_protocol,
        "reconnect_backoff_max_ms": RECONNECT_MILLISECONDS,
        # More than ever are: who finds a connection full is refused, not kept waiting.
        "max_in_flight_requests_per_connection": 4 * PARALLEL_GROUPS,
    }
    if access.security_protocol.startswith("SASL"):
        config |= {
            "sasl_mechanism": access.sasl_mechanism,
            "sasl_plain_username": access.username,
            "sasl_plain_password": access.password,
        }
    return config


def _connect(config: Mapping[str, Any], seconds: float) -> KafkaAdminClient:
    """A client that has reached its cluster. :raises kafka.errors.KafkaError: it has not, within ``seconds``."""
    made: list[KafkaNetClient] = []

    def keep(**configs: Any) -> KafkaNetClient:
        made.append(KafkaNetClient(**configs))
        return made[-1]

    try:
        return KafkaAdminClient(
            **config,
            request_timeout_ms=int(REQUEST_SECONDS * 1000),
            bootstrap_timeout_ms=int(seconds * 1000),
            kafka_client=keep,
        )
    except errors.KafkaError:
        for client in made:  # its thread would go on for ever
            _close(client)
        raise


def _close(client: KafkaAdminClient | KafkaNetClient) -> None:
    threading.Thread(target=client.close, name="closing a Kafka client", daemon=True).start()


def _described(admin: KafkaAdminClient, names: list[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = admin.describe_groups(names)
    for name, group in found.items():
        # (Since DescribeGroups 6 a group that does not exist is an error, which names its state all the same.)
        if group["error"] is not None and group["group_state"] != "Dead":
            raise errors.BrokerResponseError(f"{name}: {group['error']}")
    return found


def _commit(group: str, committed: Mapping[Partition, int], admin: KafkaAdminClient) -> None:
    results = admin.alter_group_offsets(
        group,
        {
            TopicPartition(p.topic, p.partition): OffsetAndMetadata(offset, "", -1)
            for p, offset in committed.items()
        },
    )
    _raise_first(results)


def _remove(group: str, partitions: Iterable[Partition], admin: KafkaAdminClient) -> None:
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

    def __call__(self, admin: KafkaAdminClient) -> None:
        again, self._asked = self._asked, True
        said = admin.delete_groups([self._group])[self._group]
        if said == "OK" or (again and said == errors.GroupIdNotFoundError.__name__):
            return
        raise getattr(errors, said)


def _raise_first(results: Mapping[TopicPartition, type[errors.KafkaError]]) -> None:
    for p, error in sorted(results.items()):
        if error is not errors.NoError:
            raise error(f"{p.topic}-{p.partition}")


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return f"group {', '.join(names[:NAMES_SHOWN])}{more}"


def _said(error: Exception) -> str:
    """What went wrong, with the partition if it is one's. The library puts whole requests into some of its errors."""
    name = type(error).__name__.removesuffix("Error")
    about = str(error.args[0]) if error.args else ""
    return f"{name} ({about})" if about and len(about) < 200 else name

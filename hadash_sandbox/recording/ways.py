"""Which clients are recorded: of each library its stock configuration, and what applications change of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hadash_sandbox.world import DEMO, World

#: All of them write to it, or read from it.
TOPIC = "recorded.orders"
PREFIX = "recorded."

#: Versions of Kafka's own client: on either side of what the rules about versions ask for (and before 2.4,
#: from which on a client says what it is).
JAVA_VERSIONS = (
    "2.0.1",
    "2.3.1",
    "2.5.1",
    "2.6.1",
    "2.6.2",
    "2.7.0",
    "2.7.1",
    "2.8.2",
    "3.1.1",
    "3.1.2",
    "3.2.3",
    "3.9.2",
    "4.2.0",
)

#: Older versions of kafka-python: before it says what it is, and before it retries by itself.
KAFKA_PYTHON_VERSIONS = ("2.0.2", "2.1.5")

#: Libraries whose clients are programs of ``make clients-check``: with their stock configuration only.
PROGRAMS = (
    "kafka-python",
    "aiokafka",
    "franz-go",
    "franz-go-range",
    "sarama",
    "sarama-1.45",
    "sarama-1.40",
    "kafka-go",
    "kafkajs",
    "platformatic",
)


@dataclass(frozen=True, slots=True)
class Way:
    """One client. Its AppID is its alone: so every report says which client made it.

    ``role`` is produce, transact, consume (subscribes), assign (chooses its partitions itself) or pattern
    (subscribes to a pattern); ``named`` whether its client.id is set, or its library's default.
    """

    library: str
    way: str
    role: str
    group: bool = False
    named: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def appid(self) -> str:
        return f"{self.library}.{self.way}"

    @property
    def client_id(self) -> str:
        return f"{self.appid}-client" if self.named else ""

    @property
    def group_name(self) -> str:
        return f"{PREFIX}{self.appid}" if self.group else ""

    @property
    def kinds(self) -> frozenset[str]:
        """What has to be reported of it."""
        if self.role in ("produce", "transact"):
            return frozenset({"produce"})
        return frozenset({"consume", "group"}) if self.group else frozenset({"consume"})

    @property
    def password(self) -> str:
        return f"{self.appid}-secret"


def _reads(
    library: str, way: str, role: str = "consume", *, group: bool = True, named: bool = True, **settings: str
) -> Way:
    return Way(
        library, way, role, group, named, {name.replace("_", "."): value for name, value in settings.items()}
    )


def _writes(library: str, way: str, role: str = "produce", *, named: bool = True, **settings: str) -> Way:
    return Way(
        library, way, role, False, named, {name.replace("_", "."): value for name, value in settings.items()}
    )


def _java(version: str) -> Iterator[Way]:
    library = f"java-{version}"
    assignor = "org.apache.kafka.clients.consumer."
    yield _writes(library, "writes-stock", named=False)
    yield _writes(library, "writes-safely", acks="all", enable_idempotence="false")
    yield _writes(library, "writes-acks-1", acks="1", enable_idempotence="false")
    yield _writes(library, "writes-acks-0", acks="0", enable_idempotence="false")
    yield _writes(library, "writes-idempotent", acks="all", enable_idempotence="true")
    yield _writes(library, "writes-transactions", "transact", transactional_id=f"{PREFIX}{library}")
    yield _reads(library, "reads-stock", named=False)
    yield _reads(library, "reads-named")
    yield _reads(library, "reads-sticky", partition_assignment_strategy=f"{assignor}StickyAssignor")
    yield _reads(library, "reads-long-session", session_timeout_ms="120000")
    yield _reads(library, "reads-short-session", session_timeout_ms="6000")
    # (Before 2.2 a consumer without a group commits in the group with the empty name, which brokers refuse.)
    yield _reads(library, "assigns", "assign", group=False, enable_auto_commit="false")
    yield _reads(library, "assigns-commits", "assign", auto_commit_interval_ms="1000")
    yield _reads(library, "reads-pattern", "pattern")


def _librdkafka() -> Iterator[Way]:
    library = "librdkafka"
    yield _writes(library, "writes-stock", named=False)
    yield _writes(library, "writes-safely")
    yield _writes(library, "writes-acks-1", acks="1")
    yield _writes(library, "writes-acks-0", acks="0")
    yield _writes(library, "writes-idempotent", enable_idempotence="true")
    yield _writes(library, "writes-transactions", "transact", transactional_id=f"{PREFIX}{library}")
    yield _reads(library, "reads-stock", named=False)
    yield _reads(library, "reads-named")
    yield _reads(library, "reads-cooperative", partition_assignment_strategy="cooperative-sticky")
    yield _reads(library, "reads-range", partition_assignment_strategy="range")
    yield _reads(library, "reads-long-session", session_timeout_ms="120000")
    yield _reads(library, "reads-short-session", session_timeout_ms="6000")
    yield Way(library, "assigns", "assign", False, True, {"enable.auto.commit": "false"})
    yield _reads(library, "assigns-commits", "assign", auto_commit_interval_ms="1000")
    yield _reads(library, "reads-pattern", "pattern")


def _old_kafka_python(version: str) -> Iterator[Way]:
    library = f"kafka-python-{version}"
    yield _writes(library, "writes-stock", named=False)
    yield Way(library, "writes-safely", "produce", settings={"acks": "all"})
    yield _reads(library, "reads-stock", named=False)
    yield _reads(library, "reads-named")


def _program(library: str) -> Iterator[Way]:
    """(As who runs Kafka 2.8 or newer says it: then these Saramas choose newer versions of requests by themselves.)"""
    settings = {"version": "2.8.0"} if library in ("sarama-1.45", "sarama-1.40") else {}
    reading = {"assignor": "range"} if library == "franz-go-range" else settings
    for named in (False, True):
        way = "named" if named else "stock"
        yield Way(library, f"writes-{way}", "produce", False, named, settings)
        yield Way(library, f"reads-{way}", "consume", True, named, reading)


def ways(java: Iterable[str] = JAVA_VERSIONS, programs: Iterable[str] = PROGRAMS) -> tuple[Way, ...]:
    """All clients that are recorded."""
    return (
        *_librdkafka(),
        *(way for version in java for way in _java(version)),
        *(way for version in KAFKA_PYTHON_VERSIONS for way in _old_kafka_python(version)),
        *(way for program in programs for way in _program(program)),
    )


def world(recorded: Iterable[Way]) -> World:
    """The demo's own, and an AppID for each client that is recorded besides. (What these may,
    :mod:`~hadash_sandbox.recording.run` says.)
    """
    appids = [way.appid for way in recorded]
    return World(
        topics={**DEMO.topics, TOPIC: 3},
        mirrors={**DEMO.mirrors, "recorded": (TOPIC,)},
        prefixes=DEMO.prefixes,
        reads=DEMO.reads,
        owners={**DEMO.owners, **dict.fromkeys(appids, "Recording")},
        instances={**DEMO.instances, **dict.fromkeys(appids, ())},
        clients=DEMO.clients,
        people=DEMO.people,
        brokers=2,  # so that Topics have replicas, as anywhere else
        users={way.appid: way.password for way in recorded},
    )

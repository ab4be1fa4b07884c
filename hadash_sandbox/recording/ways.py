"""The clients that are recorded: each library with its stock configuration, and with settings that applications use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hadash_sandbox.world import DEMO, World

#: The Topic that all clients write to or read from.
TOPIC = "recorded.orders"
PREFIX = "recorded."

#: Versions of Kafka's own client: below and above the limits of the rules about versions, and from before 2.4, the
#: first version that sends its name and version.
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

#: Older versions of kafka-python: from before it sent its name, and from before it retried by default.
KAFKA_PYTHON_VERSIONS = ("2.0.2", "2.1.5")

#: Libraries whose clients are those of ``make clients-check``, with their stock configuration only.
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
    """One client. It has an AppID of its own, so that every report tells which client it is of.

    ``role`` is produce, transact, consume (subscribes), assign (chooses its partitions itself) or pattern (subscribes
    to a pattern). ``group`` is whether it uses a group, ``named`` whether its client.id is set; else it is the
    library's default.
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
        """The kinds of use that the Gateway has to report of this client."""
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
    """The clients of a library of ``make clients-check``.

    The two older Saramas are told that the brokers run Kafka 2.8, so that they choose newer versions of requests.
    """
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
    """The demo's world with one more AppID for each client that is recorded.

    Their rights are created by :mod:`~hadash_sandbox.recording.run`.
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

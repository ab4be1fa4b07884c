"""The libraries that are tried, and their world: an AppID for each way to move, with Topics of every library."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from hadash_sandbox.clients.judging import PARTITIONS, REFUSED
from hadash_sandbox.downloads import CLIENT_VERSIONS
from hadash_sandbox.world import DEMO, ClientSpec, World

#: Libraries that need neither Go nor Node.
WITHOUT_PROGRAMS = (
    "librdkafka",
    "kafka-python",
    "aiokafka",
    *(f"java-{version}" for version in CLIENT_VERSIONS),
)

#: All libraries that are tried, each with a Topic, a producer and a group of its own.
LIBRARY_NAMES = (
    *WITHOUT_PROGRAMS,
    "franz-go-range",
    "sarama",
    "sarama-1.45",
    "sarama-1.40",
    "kafka-go",
    "kafkajs",
    "platformatic",
    "franz-go",
)

#: Settings besides a library's stock configuration, by library: of the producer, and of the consumer.
_CONFIG: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    # By default, a Java producer before Kafka 3.0 is not idempotent, nor is Sarama's. With several requests in flight
    # they reorder the records that they send again, for whatever cause. An application that needs order sets this.
    "java-2.8.2": (("enable.idempotence=true",), ()),
    "sarama": (("ordered=true",), ()),
    "franz-go-range": ((), ("assignor=range",)),
    # As an application sets it whose brokers run Kafka 2.8 or newer: then these choose METADATA 10 and FETCH 11.
    "sarama-1.45": (("version=2.8.0", "ordered=true"), ("version=2.8.0",)),
    "sarama-1.40": (("version=2.8.0", "ordered=true"), ("version=2.8.0",)),
}

#: Offsets are equal on both clusters, or larger on the source: its first records were deleted before the mirror began.
OFFSETS = ("equal", "shifted")

#: What moves: the whole AppID, or one InstanceID of it.
SCOPES = ("appid", "instance")


@dataclass(frozen=True, slots=True)
class Phase:
    """One way to move."""

    offsets: str
    scope: str

    @property
    def appid(self) -> str:
        return f"{self.offsets}-{self.scope}"

    def what_moves(self, library: str) -> tuple[str, str | None]:
        """The AppID of this library's clients, and the InstanceID that moves, ``None`` where the whole AppID does.

        Libraries share them, except a library that is refused: it would block the others.
        """
        alone = (library, self.offsets) in REFUSED
        if self.scope == "appid":
            return f"{self.appid}-{library}" if alone else self.appid, None
        return self.appid, f"{library}-alone" if alone else "together"

    def clients(self, libraries: Iterable[str]) -> tuple[ClientSpec, ...]:
        """A producer and a consumer of each library."""
        return tuple(spec for library in libraries for spec in self._of(library))

    def _of(self, library: str) -> tuple[ClientSpec, ClientSpec]:
        appid, instance = self.what_moves(library)
        name, topic = f"{self.appid}-{library}", f"{appid}.{library}"
        # (With the AppID as a whole, each application has a client.id of its own.)
        client_id = instance or f"{library}-application"
        writes, reads = _CONFIG.get(library, ((), ()))
        writer = ClientSpec(
            f"{name}-writer", "produce", appid, (topic,), client_id, config=writes, library=library
        )
        reader = replace(writer, name=f"{name}-reader", role="consume", group=f"{topic}.group", config=reads)
        return writer, reader


PHASES = tuple(Phase(offsets, scope) for scope in SCOPES for offsets in OFFSETS)


def world(libraries: Sequence[str] = LIBRARY_NAMES) -> World:
    """The world of all phases."""
    clients = tuple(spec for phase in PHASES for spec in phase.clients(libraries))
    appids = tuple(dict.fromkeys(spec.appid for spec in clients))
    topics = list(dict.fromkeys(spec.topics[0] for spec in clients))
    mirrors: dict[str, tuple[str, ...]] = {}
    instances: dict[str, dict[str, None]] = {appid: {} for appid in appids}
    for phase in PHASES:
        for library in libraries:
            appid, instance = phase.what_moves(library)
            name = f"{appid}-{instance}" if instance else appid
            mirrors[name] = (*mirrors.get(name, ()), f"{appid}.{library}")
            if instance:
                instances[appid][instance] = None
    return World(
        topics=dict.fromkeys(topics, PARTITIONS),
        mirrors=mirrors,
        prefixes={appid: f"{appid}." for appid in appids},
        reads={},
        owners=dict.fromkeys(appids, "Clients of many libraries"),
        instances={appid: tuple(found) for appid, found in instances.items()},
        clients=clients,
        people=DEMO.people,
        users={appid: f"{appid}-secret" for appid in appids},
        shifted=frozenset(topic for topic in topics if topic.startswith("shifted-")),
    )

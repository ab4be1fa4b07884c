"""Generates a fleet without faults: pairs, Topics that are shared as unevenly as in real fleets, and
well-configured applications.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import accumulate
from random import Random
from typing import Any

from hadash.bindings.model import Binding, BindingDocument
from hadash.lake.access import SURVIVE_USER
from spark.fleet.model import LONG_AGO, Fact, Fleet
from spark.fleet.recorded.clients import recorded

#: How unevenly Topics are shared: the exponent from a trial with real fleets (docs/background.md).
SHARING = 1.1
#: Topics of one mirror, and partitions of a Topic.
MIRROR_TOPICS, PARTITIONS = 10, 3
#: Minutes between two samples of a mirror's lag.
SAMPLE_MINUTES = 5

RPO_SECONDS, QUIESCE_SECONDS = 60.0, 45.0
LEAST_SESSION_MS, MOST_SESSION_MS = 6_000, 1_800_000

#: Recorded clients without faults: of each library one that writes, one that reads, and one that does not wait
#: for all replicas (of a Topic that has one).
SOUND = (
    ("java-3.9.2.writes-safely", "java-3.9.2.reads-named", "java-3.9.2.writes-acks-1"),
    ("java-3.2.3.writes-safely", "java-3.2.3.reads-named", "java-3.2.3.writes-acks-1"),
    ("java-2.8.2.writes-safely", "java-2.8.2.reads-named", "java-2.8.2.writes-acks-1"),
    ("librdkafka.writes-safely", "librdkafka.reads-named", "librdkafka.writes-acks-1"),
)


@dataclass(frozen=True, slots=True)
class Size:
    """The size of a fleet."""

    appids: int = 200
    pairs: int = 6
    seed: int = 7
    newest_day: str = "2026-11-20"


class Builder:
    """Makes parts of a fleet without faults; seeded faults change them afterwards."""

    def __init__(self, size: Size) -> None:
        self.random = Random(size.seed)
        self.fleet = Fleet(size.newest_day)
        self.pairs = [f"pair-{number}" for number in range(1, size.pairs + 1)]
        self._apps = self._hosts = self._mirrors = 0
        self._rights: set[tuple[str, ...]] = set()
        self._topics: dict[str, Sequence[str]] = {}
        self._weights: dict[str, list[float]] = {}
        for number, pair in enumerate(self.pairs, 1):
            self.add_pair(pair, number, max(20, size.appids // size.pairs // 2))
        for number in range(size.appids):
            self._add_application(self.pairs[number % len(self.pairs)])
        for pair in self.pairs:
            self._reach_back(pair)

    # -- pairs -----------------------------------------------------------------------------------------------------

    def add_pair(self, pair: str, number: int, topics: int) -> None:
        """Add two clusters with ``topics`` mirrored Topics."""
        first, second = f"east-{number}", f"west-{number}"
        self.fleet.add(
            "pairs",
            pair=pair,
            first=first,
            second=second,
            default=first,
            dialect="native",
            rpo_seconds=RPO_SECONDS,
            quiesce_seconds=QUIESCE_SECONDS,
        )
        for side, cluster in enumerate((first, second)):
            self._add_cluster(cluster, 100 * side)
        names = [f"{pair}.topic-{place:05d}" for place in range(topics)]
        for at in range(0, topics, MIRROR_TOPICS):
            self.add_mirror(pair, names[at : at + MIRROR_TOPICS])
        for cluster in (first, second):
            self.add_topic(cluster, "__consumer_offsets", partitions=50)
            self.add_topic(cluster, f"{pair}.scratch", replicas=1)
        self._topics[pair] = names
        self._weights[pair] = list(accumulate(1 / place**SHARING for place in range(1, topics + 1)))

    def _add_cluster(self, cluster: str, base: int) -> None:
        row = {"cluster": cluster, "kafka_cluster_id": f"id-{cluster}", "mode": "kraft", "version": "3.9"}
        self.fleet.add("clusters", **row, controller=base + 1, controller_epoch=40, fault="", authorizer=True)
        for hours in (6, 12, 18):
            earlier = self.fleet.earlier.setdefault(hours, {"clusters": []})
            earlier["clusters"].append({**row, "controller": base + 1, "controller_epoch": 40, "fault": ""})
        for broker in range(base + 1, base + 4):
            configs = {
                "group.min.session.timeout.ms": str(LEAST_SESSION_MS),
                "group.max.session.timeout.ms": str(MOST_SESSION_MS),
                "min.insync.replicas": "2",
            }
            self.fleet.add(
                "brokers",
                cluster=cluster,
                broker=broker,
                host="10.0.0.9",
                port=9092,
                rack="",
                configs=configs,
            )

    def sides(self, pair: str) -> tuple[str, str]:
        row = self.fleet.find("pairs", pair=pair)[0]
        return row["first"], row["second"]

    def add_topic(self, cluster: str, topic: str, partitions: int = PARTITIONS, replicas: int = 3) -> None:
        self.fleet.add("topics", cluster=cluster, topic=topic, configs={"retention.ms": "604800000"})
        base = 1 if cluster.startswith("east") else 101
        brokers = list(range(base, base + replicas))
        for partition in range(partitions):
            leader = brokers[partition % replicas]
            self.fleet.add(
                "partitions",
                cluster=cluster,
                topic=topic,
                partition=partition,
                leader=leader,
                replicas=brokers,
                in_sync=brokers,
            )

    def add_mirror(self, pair: str, topics: Sequence[str]) -> dict[str, Any]:
        """Add Topics on both clusters with their mirror, whose lag is well under the RPO except for one short
        incident a day.
        """
        first, second = self.sides(pair)
        self._mirrors += 1
        name = f"mirror-{self._mirrors}"
        for topic in topics:
            self.add_topic(first, topic)
            self.add_topic(second, topic)
        begin = self.fleet.at - timedelta(days=1)
        samples = 24 * 60 // SAMPLE_MINUTES
        incident = self.random.randrange(samples // 2)
        for number in range(samples):
            late = RPO_SECONDS * 2 if number in (incident, incident + 1) else self.random.uniform(0, 3)
            at = begin + timedelta(minutes=SAMPLE_MINUTES * (number + 1))
            self.fleet.add("lag", pair=pair, mirror=name, at=at, records=int(late * 100), seconds=late)
        return self.fleet.add(
            "mirrors",
            pair=pair,
            mirror=name,
            source=first,
            target=second,
            topics=list(topics),
            state="running",
            fault="",
        )

    # -- applications ------------------------------------------------------------------------------------------------

    def any_pair(self) -> str:
        return self.random.choice(self.pairs)

    def any_topic(self, pair: str) -> str:
        return self.random.choices(self._topics[pair], cum_weights=self._weights[pair])[0]

    def some_topics(self, pair: str, count: int) -> list[str]:
        """Return ``count`` different Topics."""
        return self.random.sample(list(self._topics[pair]), count)

    def host(self) -> str:
        """Return a host on which nothing else runs."""
        self._hosts += 1
        return f"10.{self._hosts // 62500 % 250}.{self._hosts // 250 % 250}.{self._hosts % 250}"

    def appid(self, pair: str, kind: str = "app") -> str:
        self._apps += 1
        name = f"{kind}-{self._apps:06d}"
        self.fleet.add("appids", pair=pair, appid=name, owner=f"team-{self._apps % 17}")
        return name

    def _reach_back(self, pair: str) -> None:
        """Make a fact of the pair also seen long ago, so that its reports reach back far enough for the rule on
        unseen declarations.
        """
        first = next((at for at, fact in enumerate(self.fleet.facts) if fact.pair == pair), None)
        if first is not None:
            fact = self.fleet.facts[first]
            self.fleet.facts[first] = fact._replace(ages=(*fact.ages, LONG_AGO))

    def survives(self, pair: str, appid: str, client_id: str, kind: str, topic: str, host: str) -> None:
        """Add a report of DiDi's brokers: who a client is and what it uses, without its library and settings."""
        seen = {"library": "", "version": "", "source": SURVIVE_USER}
        self.use(pair, appid, client_id, kind, topic, host=host, **seen)

    def use(self, pair: str, appid: str, client_id: str, kind: str, resource: str, **more: Any) -> Fact:
        """Add a fact, with the right to it on both clusters."""
        cluster = more.pop("cluster", self.sides(pair)[0])
        fact = Fact(pair, appid, client_id, kind, resource, cluster, **more)
        self.fleet.facts.append(fact)
        operation = "WRITE" if kind == "produce" else "READ"
        self.allow(pair, appid, "GROUP" if kind == "group" else "TOPIC", resource, operation)
        return fact

    def writes(self, pair: str, appid: str, client_id: str, topic: str, **more: Any) -> Fact:
        more = {"acks": -1, "idempotent": False, "transactional": False} | more
        return self.use(pair, appid, client_id, "produce", topic, **more)

    def reads(self, pair: str, appid: str, client_id: str, topic: str, group: str, **more: Any) -> None:
        self.use(pair, appid, client_id, "consume", topic, **more)
        self.joins(pair, appid, client_id, group, **more)

    def joins(self, pair: str, appid: str, client_id: str, group: str, **more: Any) -> Fact:
        more = {"assignors": ("range", "cooperative-sticky"), "session_timeout_ms": 45_000} | more
        return self.use(pair, appid, client_id, "group", group, **more)

    def allow(
        self, pair: str, appid: str, resource_type: str, resource: str, operation: str, **more: Any
    ) -> None:
        for cluster in self.sides(pair):
            self.allow_on(cluster, appid, resource_type, resource, operation, **more)

    def allow_on(
        self,
        cluster: str,
        appid: str,
        resource_type: str,
        resource: str,
        operation: str,
        pattern: str = "LITERAL",
        host: str = "*",
        permission: str = "ALLOW",
    ) -> None:
        key = (cluster, appid, resource_type, resource, operation, pattern, host, permission)
        if key in self._rights:
            return
        self._rights.add(key)
        self.fleet.add(
            "acls",
            cluster=cluster,
            resource_type=resource_type,
            resource=resource,
            pattern=pattern,
            principal=f"User:{appid}",
            host=host,
            operation=operation,
            permission=permission,
            by_hadash=False,
        )

    def bind(self, pair: str, appid: str, instances: Sequence[str] = (), topics: Sequence[str] = ()) -> None:
        """Add the document of an AppID: it is bound to the first cluster, and so are these, with bindings of
        their own.
        """
        bound = Binding(self.sides(pair)[0], epoch=1)
        document = BindingDocument(
            appid,
            default=bound,
            instances=dict.fromkeys(instances, bound),
            topics=dict.fromkeys(topics, bound),
        )
        self.fleet.add("documents", pair=pair, appid=appid, content=document.to_bytes().decode())

    def register(self, pair: str, appid: str, name: str) -> None:
        self.fleet.add("instances", pair=pair, appid=appid, name=name)

    def _add_application(self, pair: str) -> None:
        appid = self.appid(pair)
        hosts = [self.host() for _ in range(self.random.randint(1, 3))]
        writes, reads, hastes = (recorded().client(way) for way in self.random.choice(SOUND))
        registered = self.random.random() < 0.5
        begun = len(self.fleet.facts)
        # Replicas read the same Topics: a registered name would otherwise seem to use many Topics.
        read = sorted({self.any_topic(pair) for _ in range(self.random.randint(1, 4))})
        for number, host in enumerate(hosts, 1):
            # The names of replicas differ only in numbers; registered readers share one name.
            writer = f"{appid}-writer-{number}"
            reader = f"{appid}-reader" if registered else f"{appid}-reader-{number}"
            for topic in sorted({self.any_topic(pair) for _ in range(self.random.randint(0, 3))}):
                self.writes(pair, appid, writer, topic, host=host, **writes.settings("produce"))
            for topic in read:
                self.use(pair, appid, reader, "consume", topic, host=host, **reads.settings("consume"))
                self.joins(pair, appid, reader, f"{appid}-group", host=host, **reads.settings("group"))
            if registered:
                self.register(pair, appid, writer)
        if registered:
            self.register(pair, appid, f"{appid}-reader")
        if self.random.random() < 0.1:
            how = hastes.settings("produce")
            self.writes(pair, appid, f"{appid}-writer-1", f"{pair}.scratch", host=hosts[0], **how)
        if self.random.random() < 0.2:
            self._declare(pair, appid, self.fleet.facts[begun:])
        if self.random.random() < 0.3:
            self.bind(pair, appid)
        self._add_members(pair, f"{appid}-group", read, hosts)

    def _declare(self, pair: str, appid: str, facts: Sequence[Fact]) -> None:
        """Declare the uses of an AppID, for each client or for the AppID as a whole."""
        whole = self.random.random() < 0.5
        for client_id, kind, resource in sorted({(f.client_id, f.kind, f.resource) for f in facts}):
            name = "" if whole else client_id
            self.fleet.add("declarations", pair=pair, appid=appid, name=name, kind=kind, resource=resource)

    def _add_members(self, pair: str, group: str, topics: Sequence[str], hosts: Sequence[str]) -> None:
        """Add members with the same subscription. Groups of two do not use range, which would assign the three
        partitions of each Topic as 2 and 1.
        """
        protocol = "cooperative-sticky" if len(hosts) == 2 else "range"
        self.add_group(self.sides(pair)[0], group, [topics] * len(hosts), protocol, hosts)

    def add_group(
        self,
        cluster: str,
        group: str,
        subscriptions: Sequence[Sequence[str]],
        protocol: str = "range",
        hosts: Sequence[str] = (),
    ) -> None:
        """Add a group whose members have partitions of their subscriptions, assigned by range or evenly."""
        self.fleet.add(
            "groups", cluster=cluster, group=group, state="Stable", protocol=protocol, coordinator=1
        )
        shares = _by_range(subscriptions) if protocol == "range" else _evenly(subscriptions)
        for number, (topics, partitions) in enumerate(zip(subscriptions, shares, strict=True)):
            self.fleet.add(
                "members",
                cluster=cluster,
                group=group,
                member_id=f"{group}-{number}",
                client_id=f"{group}-{number}",
                host=hosts[number] if hosts else "10.0.0.1",
                topics=sorted(topics),
                partitions=partitions,
            )


def _by_range(subscriptions: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the assignment of the range assignor.

    >>> _by_range([["a", "b"], ["a", "b"]])
    [['a-0', 'a-1', 'b-0', 'b-1'], ['a-2', 'b-2']]
    """
    shares: list[list[str]] = [[] for _ in subscriptions]
    for topic in sorted({topic for topics in subscriptions for topic in topics}):
        members = [number for number, topics in enumerate(subscriptions) if topic in topics]
        for partition in range(PARTITIONS):
            shares[members[partition * len(members) // PARTITIONS]].append(f"{topic}-{partition}")
    return shares


def _evenly(subscriptions: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return an even assignment for members with the same subscription.

    >>> _evenly([["a", "b"], ["a", "b"]])
    [['a-0', 'a-2', 'b-1'], ['a-1', 'b-0', 'b-2']]
    """
    all_of_them = [
        f"{topic}-{partition}" for topic in sorted(subscriptions[0]) for partition in range(PARTITIONS)
    ]
    return [all_of_them[number :: len(subscriptions)] for number in range(len(subscriptions))]

"""Builds a fleet from recorded reports and a recorded snapshot, under other names, and seeds faults into it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from random import Random
from typing import Any, NamedTuple

from hadash.bindings.model import Binding, BindingDocument
from hadash.governance.catalogue import Code
from hadash.lake.access import GATEWAY, SURVIVE_USER
from spark.fleet.model import EVERY_DAY, Answer, Fact, Fleet
from spark.fleet.recorded.clients import Client, Recording

#: The ages of the earlier snapshots, in hours before the newest one: each has the samples of lag since the one
#: before.
EARLIER_HOURS = (23, 18, 12, 6)
#: Seconds between two samples of lag (HADASH_LAG_SAMPLE_SECONDS), and for the many mirrors whose lag is not
#: tested.
SAMPLE_SECONDS, SPARSE_SECONDS = 60, 1200
#: The offset of the second cluster's broker ids.
SECOND_IDS = 100

#: The names of applications, which have nothing in common.
_WORDS = (
    "ledger", "orders", "pricing", "billing", "search", "catalog", "shipping", "returns", "loyalty", "fraud", "kyc",
    "payroll", "tickets", "stock", "media", "alerts", "audit", "risk", "quotes", "claims", "leads", "mailer", "maps",
    "rates",
)  # fmt: skip
_TASKS = (
    "import", "export", "sync", "enrich", "archive", "report", "match", "notify", "score", "merge", "index", "clean",
    "relay", "batch", "stream", "watch",
)  # fmt: skip

#: The name with which Kafka's own library reports itself.
JAVA = "apache-kafka-java"
HIT_BY_10793 = ("2.5.0", "2.5.1", "2.6.0", "2.6.1", "2.7.0")
DO_NOT_RETRY = (("kafka-python", "2.1.5"),)

#: Clients without faults: a writer and a reader of each library.
SOUND = (
    ("librdkafka.writes-safely", "librdkafka.reads-named"),
    ("java-3.9.2.writes-safely", "java-3.9.2.reads-named"),
    ("java-3.2.3.writes-safely", "java-3.2.3.reads-named"),
    ("java-2.8.2.writes-safely", "java-2.8.2.reads-named"),
)
WRITER, READER = SOUND[0]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two clusters; the first is the default, and the active one."""

    name: str
    first: str
    second: str


@dataclass(frozen=True, slots=True)
class App:
    """One AppID with the host on which its clients run."""

    pair: Pair
    name: str
    host: str


class NearMiss(NamedTuple):
    """A finding that must not be made, and why it seems to be one."""

    answer: Answer
    why: str


class HoldoutBuilder:
    """Makes parts of a fleet, without faults by default.

    :param seed: the same seed makes the same fleet.
    """

    def __init__(self, recording: Recording, seed: int = 1, newest_day: str = "2026-11-20") -> None:
        self.recording = recording
        self.random = Random(seed)
        self.fleet = Fleet(newest_day)
        self.near_misses: list[NearMiss] = []
        names = [f"{word}-{task}" for word, task in product(_WORDS, _TASKS)]
        self.random.shuffle(names)
        self._names = iter(names)
        self._numbers: dict[str, int] = {}
        self._rights: set[tuple[str, ...]] = set()

    def number(self, of: str) -> int:
        """Return 1, 2, 3, … for each kind of thing."""
        self._numbers[of] = self._numbers.get(of, 0) + 1
        return self._numbers[of]

    # -- expected findings ---------------------------------------------------------------------------------------

    def wrong(self, code: Code, pair: Pair | None, name: str, appid: str = "") -> None:
        """Note a finding that has to be made."""
        self.fleet.answer(code, pair.name if pair else "", name, appid)

    def looks_wrong(self, code: Code, pair: Pair | None, name: str, appid: str = "", *, why: str) -> None:
        """Note a finding that must not be made. :param why: what it looks like, and what it is."""
        self.near_misses.append(NearMiss(Answer(code, pair.name if pair else "", appid, name), why))

    # -- clusters ------------------------------------------------------------------------------------------------------

    def pair(self, dialect: str = "native", **second: Any) -> Pair:
        """Add two clusters like the recorded ones, with min.insync.replicas=2 on their brokers.

        :param second: other values for the second one's row.
        """
        number = self.number("pair")
        made = Pair(f"pair-{number}", f"east-{number}", f"west-{number}")
        (known,) = self.recording.tables["pairs"]
        row = {**known, "pair": made.name, "first": made.first, "second": made.second, "default": made.first}
        self.fleet.add("pairs", **row | {"dialect": dialect})
        for cluster, recorded, base, more in (
            (made.first, known["first"], 0, {}),
            (made.second, known["second"], SECOND_IDS, second),
        ):
            self._add_cluster(cluster, recorded, base, more)
        return made

    def _add_cluster(self, cluster: str, recorded: str, base: int, more: Mapping[str, Any]) -> None:
        (row,) = self._recorded("clusters", recorded)
        ids = {each: base + place for place, each in enumerate(self._broker_ids(recorded), 1)}
        row = {**row, "cluster": cluster, "kafka_cluster_id": f"{row['kafka_cluster_id']}-{cluster}", **more}
        if row.get("controller") in ids:
            row["controller"] = ids[row["controller"]]
        self.fleet.add("clusters", **row)
        for hours in EARLIER_HOURS:
            self._earlier(hours, "clusters").append(dict(row))
        for broker in self._recorded("brokers", recorded):
            configs = {**broker["configs"], "min.insync.replicas": "2"}
            named = {"cluster": cluster, "broker": ids[broker["broker"]], "configs": configs}
            self.fleet.add("brokers", **{**broker, **named})
        for user in self._recorded("own_users", recorded):
            self.fleet.add("own_users", **{**user, "cluster": cluster})
        self.topic_on(cluster, "__consumer_offsets", like=(recorded, "__consumer_offsets"))

    def _recorded(self, table: str, cluster: str) -> list[Mapping[str, Any]]:
        return [row for row in self.recording.tables[table] if row["cluster"] == cluster]

    def _broker_ids(self, recorded: str) -> list[int]:
        return sorted(row["broker"] for row in self._recorded("brokers", recorded))

    def brokers(self, cluster: str) -> list[int]:
        """Return the ids of a cluster's brokers."""
        return sorted(row["broker"] for row in self.fleet.find("brokers", cluster=cluster))

    def _earlier(self, hours: int, table: str) -> list[dict[str, Any]]:
        return self.fleet.earlier.setdefault(hours, {}).setdefault(table, [])

    # -- Topics and mirrors --------------------------------------------------------------------------------------------

    def topic_on(
        self,
        cluster: str,
        topic: str,
        partitions: int | None = None,
        replicas: int | None = None,
        like: tuple[str, str] | None = None,
    ) -> None:
        """Add a Topic on one cluster, with the configs and the numbers of partitions and replicas of the
        recorded one that it is ``like``.
        """
        recorded, name = like or self._like(cluster)
        known = [row for row in self._recorded("partitions", recorded) if row["topic"] == name]
        (configs,) = (row["configs"] for row in self._recorded("topics", recorded) if row["topic"] == name)
        ids = self.brokers(cluster)
        copies = replicas if replicas is not None else len(known[0]["replicas"])
        self.fleet.add("topics", cluster=cluster, topic=topic, configs=dict(configs))
        for partition in range(len(known) if partitions is None else partitions):
            on = [ids[(partition + place) % len(ids)] for place in range(copies)]
            self.fleet.add(
                "partitions",
                cluster=cluster,
                topic=topic,
                partition=partition,
                leader=on[0],
                replicas=on,
                in_sync=list(on),
            )

    def _like(self, cluster: str) -> tuple[str, str]:
        """Return the recorded Topic of a mirror, on the same side as this cluster."""
        (known,) = self.recording.tables["pairs"]
        mirror = self.recording.tables["mirrors"][0]
        return known["first" if cluster.startswith("east") else "second"], mirror["topics"][0]

    def topics(self, pair: Pair, count: int = 1, *, mirrored: bool = True) -> list[str]:
        """Add new Topics on both clusters, in one mirror."""
        names = [f"{pair.name}.topic-{self.number('topic'):04}" for _ in range(count)]
        for name in names:
            for cluster in (pair.first, pair.second):
                self.topic_on(cluster, name)
        if mirrored:
            self.mirror(pair, names)
        return names

    def topic(self, pair: Pair) -> str:
        return self.topics(pair)[0]

    def mirror(
        self, pair: Pair, topics: Sequence[str], *, lag: Sequence[float | None] | None = None, **more: Any
    ) -> str:
        """Add a mirror of Topics from the first cluster to the second.

        :param lag: the seconds of a day's samples, the newest last; ``None`` for a sample that is not known.
        """
        name = f"mirror-{self.number('mirror')}"
        row = {**self.recording.tables["mirrors"][0], "state": "running", "fault": ""}
        made = {
            "pair": pair.name,
            "mirror": name,
            "source": pair.first,
            "target": pair.second,
            "topics": list(topics),
        }
        self.fleet.add("mirrors", **{**row, **made, **more})
        if lag is None:
            self._add_samples(pair, name, self._small_lag(), SPARSE_SECONDS)
        else:
            self._add_samples(pair, name, lag, SAMPLE_SECONDS)
        return name

    def _small_lag(self) -> list[float | None]:
        """Return samples of a day like the recorded ones."""
        known = [row.get("seconds") for row in self.recording.tables["lag"]]
        known = [seconds for seconds in known if seconds is not None and seconds < 5] or [0.0]
        return [self.random.choice(known) for _ in range(24 * 3600 // SPARSE_SECONDS)]

    def _add_samples(self, pair: Pair, mirror: str, lag: Sequence[float | None], seconds_apart: int) -> None:
        """Add each sample to the snapshot after it."""
        for place, seconds in enumerate(reversed(lag)):
            at = self.fleet.at - timedelta(seconds=seconds_apart * place)
            row = {"pair": pair.name, "mirror": mirror, "at": at, "seconds": seconds}
            row["records"] = None if seconds is None else int(seconds * 20)
            hours = max((h for h in EARLIER_HOURS if at <= self.fleet.at - timedelta(hours=h)), default=0)
            (self._earlier(hours, "lag") if hours else self.fleet.tables["lag"]).append(row)

    @property
    def rpo(self) -> float:
        """The RPO of every pair, in seconds."""
        return float(self.recording.tables["pairs"][0]["rpo_seconds"])

    # -- AppIDs and rights --------------------------------------------------------------------------------------

    def host(self) -> str:
        """Return a host on which nothing else runs."""
        number = self.number("host")
        return f"10.8.{number // 250}.{number % 250 + 1}"

    def app(self, pair: Pair, name: str | None = None) -> App:
        """Add a registered AppID."""
        made = App(pair, name or next(self._names), self.host())
        self.fleet.add("appids", pair=pair.name, appid=made.name, owner="Team", critical=False)
        return made

    def allow(
        self, app: App, kind: str, resource: str, *operations: str, on: Iterable[str] = (), **more: Any
    ) -> None:
        """Add rights, on both clusters by default."""
        for cluster, operation in product(tuple(on) or (app.pair.first, app.pair.second), operations):
            row = {"pattern": "LITERAL", "host": "*", "permission": "ALLOW", "by_hadash": False, **more}
            key = (cluster, app.name, kind, resource, operation, *map(str, row.values()))
            if key not in self._rights:
                self._rights.add(key)
                what = {"resource_type": kind, "resource": resource, "operation": operation}
                self.fleet.add("acls", cluster=cluster, principal=f"User:{app.name}", **what, **row)

    def bind(
        self,
        app: App,
        *,
        instances: Iterable[str] = (),
        topics: Iterable[str] = (),
        groups: Iterable[str] = (),
        cluster: str = "",
    ) -> None:
        """Add the AppID's document: it is bound, and these have bindings of their own."""
        bound = Binding(cluster or app.pair.first, epoch=1)
        document = BindingDocument(
            app.name,
            default=Binding(app.pair.first, epoch=1),
            instances=dict.fromkeys(instances, bound),
            topics=dict.fromkeys(topics, bound),
            groups=dict.fromkeys(groups, bound),
        )
        self.fleet.add("documents", pair=app.pair.name, appid=app.name, content=document.to_bytes().decode())

    def register(self, app: App, *client_ids: str) -> None:
        for client_id in client_ids:
            self.fleet.add("instances", pair=app.pair.name, appid=app.name, name=client_id)

    def declare(self, app: App, kind: str, resource: str, client_id: str = "") -> None:
        row = {
            "pair": app.pair.name,
            "appid": app.name,
            "name": client_id,
            "kind": kind,
            "resource": resource,
        }
        self.fleet.add("declarations", **row)

    # -- clients -------------------------------------------------------------------------------------------------------

    def client(
        self,
        app: App,
        way: str,
        topics: Sequence[str] = (),
        *,
        client_id: str | None = "",
        group: str = "",
        host: str = "",
        cluster: str = "",
        rights: bool = True,
        **more: Any,
    ) -> Client:
        """Add a recorded client as one of the AppID's.

        :param client_id: empty: named after the AppID; ``None``: the default of its library.
        :param rights: whether it has the rights that it needs.
        """
        client = self.recording.client(way)
        does = "writer" if any(each["kind"] == "produce" for each in client.reports) else "reader"
        name = f"{app.name}-{does}" if client_id == "" else client_id
        if client.group and not group:
            group = f"{app.name}-group"
        known = client.facts(
            app.pair.name,
            app.name,
            cluster or app.pair.first,
            host or app.host,
            topics,
            client_id=name,
            group=group,
        )
        says_what_it_is = any(report.get("library") for report in client.reports)
        for fact in known:
            changed = fact._replace(**more)
            if changed not in self.fleet.facts:
                self.fleet.facts.append(changed)
            if rights:
                self._allow_what(app, changed)
            self._expect_of(app, changed, says_what_it_is=says_what_it_is)
        return client

    def _expect_of(self, app: App, fact: Fact, *, says_what_it_is: bool) -> None:
        """Note the findings that follow from a report itself, apart from the seeded fault.

        :param says_what_it_is: whether its library is known from at least one of its connections.
        """
        if fact.kind == "produce":
            if fact.transactional:
                why = "a transactional producer has a producer id, too"
                self.looks_wrong(Code.IDEMPOTENT, app.pair, fact.client_id, app.name, why=why)
            elif fact.idempotent:
                self.wrong(Code.IDEMPOTENT, app.pair, fact.client_id, app.name)
            if fact.transactional:
                self.wrong(Code.TRANSACTIONS, app.pair, fact.client_id, app.name)
            if fact.acks in (0, 1) and self._replicas(fact.cluster, fact.resource) > 1:
                self.wrong(Code.ACKS, app.pair, fact.client_id, app.name)
            if fact.source == GATEWAY and says_what_it_is and not fact.library:
                why = "it says what it is on its first connection to a broker, and not on those that follow"
                self.looks_wrong(Code.NO_RETRIES, app.pair, fact.client_id, app.name, why=why)
            silent = fact.source == GATEWAY and not says_what_it_is
            if fact.idempotent or fact.transactional:
                why = "it is idempotent, so it retries"
                self.looks_wrong(Code.NO_RETRIES, app.pair, fact.client_id, app.name, why=why)
            elif silent or (fact.library, fact.version) in DO_NOT_RETRY:
                self.wrong(Code.NO_RETRIES, app.pair, fact.client_id, app.name)
        if fact.assignors and fact.library == JAVA and fact.version in HIT_BY_10793:
            self.wrong(Code.KAFKA_10793, app.pair, fact.client_id, app.name)

    def _replicas(self, cluster: str, topic: str) -> int:
        rows = self.fleet.find("partitions", cluster=cluster, topic=topic, partition=0)
        return len(rows[0]["replicas"]) if rows else 0

    def _allow_what(self, app: App, fact: Fact) -> None:
        if fact.kind == "produce":
            self.allow(app, "TOPIC", fact.resource, "WRITE", "DESCRIBE")
        elif fact.kind == "consume":
            self.allow(app, "TOPIC", fact.resource, "READ", "DESCRIBE")
        elif fact.kind == "group":
            self.allow(app, "GROUP", fact.resource, "READ")

    def writer(self, app: App, topics: Sequence[str], way: str = WRITER, **more: Any) -> str:
        """Add a client that writes; return its client.id."""
        return self._named(app, way, topics, "writer", **more)

    def reader(self, app: App, topics: Sequence[str], way: str = READER, **more: Any) -> str:
        """Add a client that reads in a group; return its client.id."""
        return self._named(app, way, topics, "reader", **more)

    def seen_by_brokers(
        self,
        app: App,
        client_id: str,
        kind: str,
        topic: str,
        *,
        cluster: str = "",
        rights: bool = True,
        ages: tuple[int, ...] = EVERY_DAY,
    ) -> None:
        """Add a report of DiDi's brokers: that a client is connected and writes or reads, without its settings,
        library and groups (:mod:`hadash.lake.importers.survive_user`).
        """
        fact = Fact(
            app.pair.name,
            app.name,
            client_id,
            kind,
            topic,
            cluster or app.pair.first,
            app.host,
            library="",
            version="",
            source=SURVIVE_USER,
            ages=ages,
        )
        self.fleet.facts.append(fact)
        if rights:
            self._allow_what(app, fact)

    def _named(self, app: App, way: str, topics: Sequence[str], does: str, **more: Any) -> str:
        name = more.pop("client_id", f"{app.name}-{does}")
        self.client(app, way, topics, client_id=name, **more)
        return str(name)

    def group(self, cluster: str, group: str, protocol: str = "range") -> None:
        """Add a group as the cluster describes it; :meth:`members` adds its members."""
        coordinator = self.brokers(cluster)[0]
        self.fleet.add(
            "groups", cluster=cluster, group=group, state="Stable", protocol=protocol, coordinator=coordinator
        )

    def members(
        self,
        cluster: str,
        group: str,
        client_id: str,
        shares: Sequence[Sequence[str]],
        *,
        topics: Sequence[str],
        host: str = "",
    ) -> None:
        """Add members with the same subscription. :param shares: the partitions of each."""
        for partitions in shares:
            number = self.number("member")
            self.fleet.add(
                "members",
                cluster=cluster,
                group=group,
                member_id=f"{client_id}-{number:08x}-0000-4000-8000-000000000000",
                client_id=client_id,
                host=host or self.host(),
                partitions=list(partitions),
                topics=list(topics),
            )

    def background(self, count: int) -> None:
        """Add applications without faults to all pairs."""
        pairs = [Pair(row["pair"], row["first"], row["second"]) for row in self.fleet.tables["pairs"]]
        shared = {pair: self.topics(pair, 8) for pair in pairs}
        for number in range(count):
            pair = pairs[number % len(pairs)]
            app = self.app(pair)
            writes, reads = SOUND[number % len(SOUND)]
            self.writer(app, self.random.sample(shared[pair], 2), writes)
            topics = sorted(self.random.sample(shared[pair], 2))
            self.reader(app, topics, reads)
            partitions = [f"{topic}-{place}" for topic in topics for place in range(3)]
            group = f"{app.name}-group"
            self.group(pair.first, group)
            self.members(pair.first, group, f"{app.name}-reader", [partitions], topics=topics, host=app.host)

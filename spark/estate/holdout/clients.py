"""Faults of clients and their settings, from the sentences of :mod:`hadash.governance.catalogue.clients`."""

from __future__ import annotations

from typing import Any

from hadash.governance.catalogue import Code
from hadash.lake.access import CSV
from spark.estate.holdout.fleet import JAVA, App, Fleet, Pair


def acks(fleet: Fleet) -> None:
    """A client writes with acks=1 or acks=0 to a Topic with more than one replica."""
    pair = fleet.pair()
    for way in (
        "librdkafka.writes-acks-1",
        "java-3.9.2.writes-acks-0",
        "java-2.6.1.writes-acks-1",
        "java-2.0.1.writes-acks-0",
    ):
        app = fleet.app(pair)
        fleet.wrong(Code.ACKS, pair, fleet.writer(app, [fleet.topic(pair)], way), app.name)
    single = f"{pair.name}.single"
    for cluster in (pair.first, pair.second):
        fleet.topic_on(cluster, single, replicas=1)
    for why, way, topic in (
        ("its Topic has one replica", "librdkafka.writes-acks-1", single),
        ("its Topic has one replica", "java-3.9.2.writes-acks-0", single),
        ("it writes with acks=all", "java-2.8.2.writes-safely", fleet.topic(pair)),
        ("it only reads", "java-2.8.2.reads-named", fleet.topic(pair)),
    ):
        app = fleet.app(pair)
        name = fleet.writer(app, [topic], way) if "writes" in way else fleet.reader(app, [topic], way)
        fleet.looks_wrong(Code.ACKS, pair, name, app.name, why=why)


def min_in_sync(fleet: Fleet) -> None:
    """A client writes with acks=all to a Topic that has more than one replica, on a cluster where
    min.insync.replicas of the Topic is 1: set on the Topic itself, else as one of the brokers says.
    """
    name = "min.insync.replicas"

    def asks(pair: Pair, topic: str, least: str) -> None:
        for cluster in (pair.first, pair.second):
            fleet.estate.find("topics", cluster=cluster, topic=topic)[0]["configs"][name] = least

    pair = fleet.pair()
    topic = fleet.topic(pair)
    asks(pair, topic, "1")
    fleet.writer(fleet.app(pair), [topic])
    fleet.wrong(Code.MIN_IN_SYNC, pair, topic)
    careless = fleet.pair()
    fleet.estate.find("brokers", cluster=careless.first)[0]["configs"][name] = "1"
    topic = fleet.topic(careless)
    fleet.writer(fleet.app(careless), [topic], "java-3.9.2.writes-idempotent")
    fleet.wrong(Code.MIN_IN_SYNC, careless, topic)
    stock = fleet.pair()
    for cluster in (stock.first, stock.second):
        for broker in fleet.estate.find("brokers", cluster=cluster):
            broker["configs"][name] = "1"
    topic = fleet.topic(stock)
    for way in ("kafka-go.writes-named", "java-2.8.2.writes-safely"):
        fleet.writer(fleet.app(stock), [topic], way)
    fleet.wrong(Code.MIN_IN_SYNC, stock, topic)

    topic = fleet.topic(pair)
    fleet.writer(fleet.app(pair), [topic])
    fleet.looks_wrong(
        Code.MIN_IN_SYNC,
        pair,
        topic,
        why="the brokers ask for two, and nobody has said otherwise of the Topic",
    )
    topic = fleet.topic(stock)
    asks(stock, topic, "2")
    fleet.writer(fleet.app(stock), [topic])
    fleet.looks_wrong(Code.MIN_IN_SYNC, stock, topic, why="by default it is 1, and of this Topic it is 2")
    topic = fleet.topic(pair)
    asks(pair, topic, "1")
    app = fleet.app(pair)
    fleet.wrong(Code.ACKS, pair, fleet.writer(app, [topic], "librdkafka.writes-acks-1"), app.name)
    fleet.looks_wrong(Code.MIN_IN_SYNC, pair, topic, why="its writer does not ask for all")
    topic = fleet.topic(pair)
    asks(pair, topic, "1")
    fleet.reader(fleet.app(pair), [topic])
    fleet.looks_wrong(Code.MIN_IN_SYNC, pair, topic, why="nobody writes to it")
    single = f"{stock.name}.single"
    for cluster in (stock.first, stock.second):
        fleet.topic_on(cluster, single, replicas=1)
    fleet.writer(fleet.app(stock), [single])
    fleet.looks_wrong(Code.MIN_IN_SYNC, stock, single, why="it has one replica")


def min_in_sync_unknown(fleet: Fleet) -> None:
    """A client writes with acks=all to a Topic that has more than one replica and no min.insync.replicas of
    its own, on a cluster where not every broker says what it is by default.
    """
    name = "min.insync.replicas"
    silent, half = fleet.pair(), fleet.pair()
    for pair, unread in ((silent, slice(None)), (half, slice(1))):
        for cluster in (pair.first, pair.second):
            for broker in fleet.estate.find("brokers", cluster=cluster)[unread]:
                del broker["configs"][name]
    for pair, way in (
        (silent, "kafka-go.writes-named"),
        (silent, "java-2.8.2.writes-safely"),
        (half, "java-3.9.2.writes-idempotent"),
    ):
        topic = fleet.topic(pair)
        fleet.writer(fleet.app(pair), [topic], way)
        fleet.wrong(Code.MIN_IN_SYNC_UNKNOWN, pair, topic)
    for value in ("1", "2"):
        topic = fleet.topic(silent)
        for cluster in (silent.first, silent.second):
            fleet.estate.find("topics", cluster=cluster, topic=topic)[0]["configs"][name] = value
        fleet.writer(fleet.app(silent), [topic])
        fleet.looks_wrong(Code.MIN_IN_SYNC_UNKNOWN, silent, topic, why=f"of this Topic it is {value}")
        if value == "1":
            fleet.wrong(Code.MIN_IN_SYNC, silent, topic)
    single = f"{silent.name}.single"
    for cluster in (silent.first, silent.second):
        fleet.topic_on(cluster, single, replicas=1)
    fleet.writer(fleet.app(silent), [single])
    fleet.looks_wrong(Code.MIN_IN_SYNC_UNKNOWN, silent, single, why="it has one replica")


def transactions(fleet: Fleet) -> None:
    """A client writes in transactions."""
    pair = fleet.pair()
    for way in (
        "librdkafka.writes-transactions",
        "java-3.9.2.writes-transactions",
        "java-2.0.1.writes-transactions",
    ):
        app = fleet.app(pair)
        name = fleet.writer(app, [fleet.topic(pair)], way)
        fleet.wrong(Code.TRANSACTIONS, pair, name, app.name)
    for way in ("java-3.9.2.writes-idempotent", "librdkafka.writes-idempotent", "aiokafka.writes-named"):
        app = fleet.app(pair)
        name = fleet.writer(app, [fleet.topic(pair)], way)
        fleet.wrong(Code.IDEMPOTENT, pair, name, app.name)
        fleet.looks_wrong(
            Code.TRANSACTIONS, pair, name, app.name, why="it has a producer id, and no transactions"
        )


def idempotent(fleet: Fleet) -> None:
    """A client writes with a producer id."""
    pair = fleet.pair()
    for way in ("java-3.9.2.writes-stock", "java-4.2.0.writes-stock", "franz-go.writes-named"):
        app = fleet.app(pair)
        name = fleet.writer(app, [fleet.topic(pair)], way)
        fleet.wrong(Code.IDEMPOTENT, pair, name, app.name)
    for why, way in (
        ("its library is not idempotent unless it is told to be", "librdkafka.writes-safely"),
        ("it has been told not to be", "java-3.9.2.writes-safely"),
        ("its library is not idempotent unless it is told to be", "kafkajs.writes-named"),
    ):
        app = fleet.app(pair)
        name = fleet.writer(app, [fleet.topic(pair)], way)
        fleet.looks_wrong(Code.IDEMPOTENT, pair, name, app.name, why=why)


def no_retries(fleet: Fleet) -> None:
    """A client writes with a library that does not retry unless somebody has set it so: Java before 2.1 or
    kafka-python before 2.2.0 (as an imported report may say). Or it writes through a Gateway, and on none of
    its connections its library says what it is: then nobody knows. (An idempotent producer retries in any
    library, and does not count.)
    """
    pair = fleet.pair()
    for way in (
        "kafka-python-2.1.5.writes-safely",
        "kafka-python-2.0.2.writes-safely",
        "java-2.0.1.writes-safely",
        "java-2.3.1.writes-safely",
        "kafka-go.writes-named",
        "kafkajs.writes-named",
    ):
        app = fleet.app(pair)
        fleet.wrong(Code.NO_RETRIES, pair, fleet.writer(app, [fleet.topic(pair)], way), app.name)
    for version in ("2.0.1", "1.1.1", "0.11.0.3"):
        app = fleet.app(pair)
        name = fleet.writer(app, [fleet.topic(pair)], "java-2.0.1.writes-safely", **_from_a_file(version))
        fleet.wrong(Code.NO_RETRIES, pair, name, app.name)
        if not version.startswith("2."):
            fleet.wrong(Code.CLIENT_VERSION, pair, name, app.name)  # the engines are 3.9
    app = fleet.app(pair)
    told = {"source": CSV, "library": "kafka-python", "version": "2.1.5"}
    name = fleet.writer(app, [fleet.topic(pair)], "kafka-python-2.1.5.writes-safely", **told)
    fleet.wrong(Code.NO_RETRIES, pair, name, app.name)
    fleet.writer(fleet.app(pair), [fleet.topic(pair)], says_it_once(fleet, "produce"))
    for why, way, more in (
        ("2.3.1 retries, and a file says what it is", "java-2.3.1.writes-safely", _from_a_file("2.3.1")),
        ("it is kafka-python 3, which retries", "kafka-python.writes-named", {}),
        ("it is Sarama, whose versions are its own", "sarama.writes-named", {}),
        ("it is Sarama, and says so after its sign-in", "sarama-1.40.writes-named", {}),
        ("it is librdkafka, whose versions are its own", "librdkafka.writes-safely", {}),
        ("2.5.1 retries", "java-2.5.1.writes-safely", {}),
    ):
        app = fleet.app(pair)
        name = fleet.writer(app, [fleet.topic(pair)], way, **more)
        fleet.looks_wrong(Code.NO_RETRIES, pair, name, app.name, why=why)
    for way in ("java-2.0.1.reads-named", "kafkajs.reads-named"):
        app = fleet.app(pair)
        name = fleet.reader(app, [fleet.topic(pair)], way)
        fleet.looks_wrong(Code.NO_RETRIES, pair, name, app.name, why="it only reads")


def says_it_once(fleet: Fleet, kind: str) -> str:
    """A recorded client that said on one connection what it is and not on the next: franz-go does so by chance."""
    return next(
        name
        for name, client in sorted(fleet.recording.clients.items())
        if name.startswith("franz-go")
        and len({each.get("library") for each in client.reports if each["kind"] == kind}) == 2
    )


def _from_a_file(version: str) -> dict[str, Any]:
    """A CSV file of somebody who knows which library his applications have."""
    return {"source": CSV, "library": JAVA, "version": version}


def self_assigned(fleet: Fleet) -> None:
    """A client reads and was never a member of a group."""
    pair = fleet.pair()
    for way in ("librdkafka.assigns", "java-3.9.2.assigns", "librdkafka.assigns-commits"):
        app = fleet.app(pair)
        name = fleet.reader(app, [fleet.topic(pair)], way)
        fleet.wrong(Code.SELF_ASSIGNED, pair, name, app.name)
    for why, way in (
        ("it subscribes", "kafka-python.reads-named"),
        ("it subscribes to a pattern", "librdkafka.reads-pattern"),
        ("it subscribes", "kafka-go.reads-named"),
    ):
        app = fleet.app(pair)
        name = fleet.reader(app, [fleet.topic(pair)], way)
        fleet.looks_wrong(Code.SELF_ASSIGNED, pair, name, app.name, why=why)
    app = fleet.app(pair)
    topic = fleet.topic(pair)
    name = fleet.reader(app, [topic])
    _only_on(fleet, app, "group", (6,))
    fleet.looks_wrong(
        Code.SELF_ASSIGNED,
        pair,
        name,
        app.name,
        why="it joined its group six days ago, and has been reading since",
    )


def _only_on(fleet: Fleet, app: App, kind: str, ages: tuple[int, ...]) -> None:
    """Facts of this kind were reported on these days only: what has not changed is not reported again."""
    fleet.estate.facts[:] = [
        fact._replace(ages=ages) if (fact.appid, fact.kind) == (app.name, kind) else fact
        for fact in fleet.estate.facts
    ]


def _is_self_assigned(fleet: Fleet, pair: Pair, name: str, app: App) -> None:
    fleet.wrong(Code.SELF_ASSIGNED, pair, name, app.name)


def kafka_10793(fleet: Fleet) -> None:
    """A Java consumer 2.5.0, 2.5.1, 2.6.0, 2.6.1 or 2.7.0 is a member of a group."""
    pair = fleet.pair()
    for way in ("java-2.5.1.reads-named", "java-2.6.1.reads-sticky", "java-2.7.0.reads-named"):
        app = fleet.app(pair)
        fleet.wrong(Code.KAFKA_10793, pair, fleet.reader(app, [fleet.topic(pair)], way), app.name)
    for why, way in (
        ("2.6.2 has it mended", "java-2.6.2.reads-named"),
        ("2.7.1 has it mended", "java-2.7.1.reads-named"),
        ("2.8.2 has it mended", "java-2.8.2.reads-named"),
    ):
        app = fleet.app(pair)
        name = fleet.reader(app, [fleet.topic(pair)], way)
        fleet.looks_wrong(Code.KAFKA_10793, pair, name, app.name, why=why)
    app = fleet.app(pair)
    name = fleet.writer(app, [fleet.topic(pair)], "java-2.6.1.writes-safely")
    fleet.looks_wrong(Code.KAFKA_10793, pair, name, app.name, why="it only writes")
    app = fleet.app(pair)
    name = fleet.reader(app, [fleet.topic(pair)], "java-2.6.1.assigns")
    _is_self_assigned(fleet, pair, name, app)
    fleet.looks_wrong(Code.KAFKA_10793, pair, name, app.name, why="it is a member of no group")


def kafka_13563(fleet: Fleet) -> None:
    """A Java consumer from 2.6.2, 2.7.1 or 2.8.0 on and before 3.2 (but 3.1.2) commits in a group of which it
    was never a member.
    """
    pair = fleet.pair()
    for version in ("2.6.2", "2.7.1", "2.8.2", "3.1.1"):
        app = fleet.app(pair)
        name = fleet.reader(app, [fleet.topic(pair)], f"java-{version}.assigns-commits")
        _is_self_assigned(fleet, pair, name, app)
        fleet.wrong(Code.KAFKA_13563, pair, name, app.name)
    for why, way in (
        ("3.1.2 has it mended", "java-3.1.2.assigns-commits"),
        ("3.2.3 has it mended", "java-3.2.3.assigns-commits"),
        ("2.3.1 does not have it yet", "java-2.3.1.assigns-commits"),
        ("it commits nothing", "java-2.8.2.assigns"),
        ("it is no Java client", "librdkafka.assigns-commits"),
    ):
        app = fleet.app(pair)
        name = fleet.reader(app, [fleet.topic(pair)], way)
        _is_self_assigned(fleet, pair, name, app)
        fleet.looks_wrong(Code.KAFKA_13563, pair, name, app.name, why=why)
    app = fleet.app(pair)
    name = fleet.reader(app, [fleet.topic(pair)], "java-2.8.2.reads-named")
    fleet.looks_wrong(Code.KAFKA_13563, pair, name, app.name, why="it is a member of its group")


def long_session(fleet: Fleet) -> None:
    """session.timeout.ms of a member is longer than a switch of the pair waits for consumers."""
    pair = fleet.pair()
    for way in (
        "librdkafka.reads-long-session",
        "java-3.9.2.reads-long-session",
        "java-2.8.2.reads-long-session",
    ):
        app = fleet.app(pair)
        fleet.wrong(Code.LONG_SESSION, pair, fleet.reader(app, [fleet.topic(pair)], way), app.name)
    patient = fleet.pair()
    fleet.estate.find("pairs", pair=patient.name)[0]["quiesce_seconds"] = 180.0
    for why, where, way in (
        ("the rules of its pair give consumers more time", patient, "java-3.9.2.reads-long-session"),
        ("it is as long as a switch waits, and no longer", pair, "java-3.9.2.reads-named"),
        ("it is shorter", pair, "java-2.8.2.reads-named"),
    ):
        app = fleet.app(where)
        name = fleet.reader(app, [fleet.topic(where)], way)
        fleet.looks_wrong(Code.LONG_SESSION, where, name, app.name, why=why)


def session_bounds(fleet: Fleet) -> None:
    """session.timeout.ms of a member is outside of the bounds of one of the pair's clusters."""
    least, most = "group.min.session.timeout.ms", "group.max.session.timeout.ms"

    def bounded(second: bool, **bounds: str) -> Pair:
        pair = fleet.pair()
        for broker in fleet.estate.find("brokers", cluster=pair.second if second else pair.first):
            broker["configs"].update(
                {{"least": least, "most": most}[name]: value for name, value in bounds.items()}
            )
        return pair

    for pair, way in (
        (bounded(True, most="30000"), "java-3.9.2.reads-named"),
        (bounded(False, least="10000"), "librdkafka.reads-short-session"),
        (bounded(True, most="30000", least="20000"), "java-2.8.2.reads-named"),
    ):
        app = fleet.app(pair)
        fleet.wrong(Code.SESSION_BOUNDS, pair, fleet.reader(app, [fleet.topic(pair)], way), app.name)
    other = bounded(True, most="10000")
    for why, pair, way in (
        ("it is as short as is allowed", fleet.pair(), "librdkafka.reads-short-session"),
        ("it is as long as is allowed", bounded(True, most="45000"), "java-3.9.2.reads-named"),
        (
            "the bounds differ, and it is within both",
            bounded(True, most="60000", least="1000"),
            "kafkajs.reads-named",
        ),
        ("it is another pair whose bounds are so tight", fleet.pair(), "java-3.9.2.reads-named"),
    ):
        app = fleet.app(pair)
        name = fleet.reader(app, [fleet.topic(pair)], way)
        fleet.looks_wrong(Code.SESSION_BOUNDS, pair, name, app.name, why=why)
    app = fleet.app(other)
    name = fleet.writer(app, [fleet.topic(other)])
    fleet.looks_wrong(Code.SESSION_BOUNDS, other, name, app.name, why="who only writes has no session")


def skewed(fleet: Fleet) -> None:
    """Of the members of a group that subscribe to the same Topics, the range assignor gives one at least 2
    times as many partitions as another, and at least 2 more.
    """
    pair = fleet.pair()

    def made(way: str, protocol: str, *shares: int) -> str:
        """Members on hosts of their own, with one client.id."""
        app = fleet.app(pair)
        topics = fleet.topics(pair, max(shares))
        group = f"{app.name}-group"
        name = fleet.reader(app, topics, way, group=group)
        # Of each Topic range gives the first members the first partitions.
        partitions = [
            [f"{topic}-{member}" for topic in topics[:share]] for member, share in enumerate(shares)
        ]
        fleet.group(pair.first, group, protocol)
        fleet.members(pair.first, group, name, partitions, topics=topics)
        return group

    for way, shares in (
        ("java-3.9.2.reads-named", (4, 2)),
        ("librdkafka.reads-named", (6, 3, 3)),
        ("sarama.reads-named", (3, 1, 1)),
    ):
        fleet.wrong(Code.SKEWED, pair, made(way, "range", *shares))
    for why, way, protocol, evenly in (
        ("one has one more, although twice as many", "java-3.9.2.reads-named", "range", (2, 1)),
        ("one has two more, and not twice as many", "librdkafka.reads-named", "range", (5, 3)),
        ("another assignor has done that", "java-3.9.2.reads-sticky", "sticky", (4, 2)),
        ("another assignor has done that", "librdkafka.reads-cooperative", "cooperative-sticky", (6, 2)),
        ("there is one member", "librdkafka.reads-named", "range", (6,)),
    ):
        fleet.looks_wrong(Code.SKEWED, pair, made(way, protocol, *evenly), why=why)
    app = fleet.app(pair)
    many, few = fleet.topics(pair, 5), fleet.topics(pair, 1)
    group = f"{app.name}-group"
    fleet.group(pair.first, group)
    for name, topics in ((f"{app.name}-many", many), (f"{app.name}-few", few)):
        fleet.reader(app, topics, client_id=name, group=group)
        fleet.members(
            pair.first, group, name, [[f"{topic}-0" for topic in topics]], topics=topics, host=app.host
        )
    fleet.looks_wrong(Code.SKEWED, pair, group, why="these two subscribe to other Topics")


def client_version(fleet: Fleet) -> None:
    """A Java client is more than 1 major version behind the engine of one of the pair's clusters."""
    new = fleet.pair(version="4.0")
    fleet.estate.find("clusters", cluster=new.first)[0]["version"] = "4.0"
    half = fleet.pair(version="4.1")
    fleet.wrong(Code.ENGINE_VERSIONS, half, half.name)
    old = fleet.pair()
    for pair, way in (
        (new, "java-2.8.2.reads-named"),
        (half, "java-2.6.2.writes-safely"),
        (new, "java-2.7.1.writes-safely"),
    ):
        app = fleet.app(pair)
        topics = [fleet.topic(pair)]
        name = fleet.reader(app, topics, way) if "reads" in way else fleet.writer(app, topics, way)
        fleet.wrong(Code.CLIENT_VERSION, pair, name, app.name)
    for why, pair, way in (
        ("it is one behind", old, "java-2.8.2.writes-safely"),
        ("it is one behind", new, "java-3.2.3.writes-safely"),
        ("it is ahead", old, "java-4.2.0.writes-safely"),
        ("librdkafka has versions of its own", new, "librdkafka.writes-safely"),
        ("KafkaJS has versions of its own", new, "kafkajs.writes-named"),
    ):
        app = fleet.app(pair)
        name = fleet.writer(app, [fleet.topic(pair)], way)
        fleet.looks_wrong(Code.CLIENT_VERSION, pair, name, app.name, why=why)


CASES = {
    Code.ACKS: acks,
    Code.MIN_IN_SYNC: min_in_sync,
    Code.MIN_IN_SYNC_UNKNOWN: min_in_sync_unknown,
    Code.TRANSACTIONS: transactions,
    Code.IDEMPOTENT: idempotent,
    Code.NO_RETRIES: no_retries,
    Code.SELF_ASSIGNED: self_assigned,
    Code.KAFKA_10793: kafka_10793,
    Code.KAFKA_13563: kafka_13563,
    Code.LONG_SESSION: long_session,
    Code.SESSION_BOUNDS: session_bounds,
    Code.SKEWED: skewed,
    Code.CLIENT_VERSION: client_version,
}

"""Faults of clients and their settings, from the sentences of :mod:`hadash.governance.catalogue.clients`, which
the docstrings quote.
"""

from __future__ import annotations

from typing import Any

from hadash.governance.catalogue import Code
from hadash.lake.access import CSV
from spark.fleet.holdout.builder import JAVA, App, HoldoutBuilder, Pair


def acks(builder: HoldoutBuilder) -> None:
    """A client writes with acks=1 or acks=0 to a Topic with more than one replica."""
    pair = builder.pair()
    for way in (
        "librdkafka.writes-acks-1",
        "java-3.9.2.writes-acks-0",
        "java-2.6.1.writes-acks-1",
        "java-2.0.1.writes-acks-0",
    ):
        app = builder.app(pair)
        builder.wrong(Code.ACKS, pair, builder.writer(app, [builder.topic(pair)], way), app.name)
    single = f"{pair.name}.single"
    for cluster in (pair.first, pair.second):
        builder.topic_on(cluster, single, replicas=1)
    for why, way, topic in (
        ("its Topic has one replica", "librdkafka.writes-acks-1", single),
        ("its Topic has one replica", "java-3.9.2.writes-acks-0", single),
        ("it writes with acks=all", "java-2.8.2.writes-safely", builder.topic(pair)),
        ("it only reads", "java-2.8.2.reads-named", builder.topic(pair)),
    ):
        app = builder.app(pair)
        name = builder.writer(app, [topic], way) if "writes" in way else builder.reader(app, [topic], way)
        builder.looks_wrong(Code.ACKS, pair, name, app.name, why=why)


def min_in_sync(builder: HoldoutBuilder) -> None:
    """A client writes with acks=all to a Topic that has more than one replica, on a cluster where
    min.insync.replicas of the Topic is 1: set on the Topic itself, else as one of the brokers says.
    """
    name = "min.insync.replicas"

    def asks(pair: Pair, topic: str, least: str) -> None:
        for cluster in (pair.first, pair.second):
            builder.fleet.find("topics", cluster=cluster, topic=topic)[0]["configs"][name] = least

    pair = builder.pair()
    topic = builder.topic(pair)
    asks(pair, topic, "1")
    builder.writer(builder.app(pair), [topic])
    builder.wrong(Code.MIN_IN_SYNC, pair, topic)
    careless = builder.pair()
    builder.fleet.find("brokers", cluster=careless.first)[0]["configs"][name] = "1"
    topic = builder.topic(careless)
    builder.writer(builder.app(careless), [topic], "java-3.9.2.writes-idempotent")
    builder.wrong(Code.MIN_IN_SYNC, careless, topic)
    stock = builder.pair()
    for cluster in (stock.first, stock.second):
        for broker in builder.fleet.find("brokers", cluster=cluster):
            broker["configs"][name] = "1"
    topic = builder.topic(stock)
    for way in ("kafka-go.writes-named", "java-2.8.2.writes-safely"):
        builder.writer(builder.app(stock), [topic], way)
    builder.wrong(Code.MIN_IN_SYNC, stock, topic)

    topic = builder.topic(pair)
    builder.writer(builder.app(pair), [topic])
    builder.looks_wrong(
        Code.MIN_IN_SYNC,
        pair,
        topic,
        why="the brokers ask for two, and nobody has said otherwise of the Topic",
    )
    topic = builder.topic(stock)
    asks(stock, topic, "2")
    builder.writer(builder.app(stock), [topic])
    builder.looks_wrong(Code.MIN_IN_SYNC, stock, topic, why="by default it is 1, and of this Topic it is 2")
    topic = builder.topic(pair)
    asks(pair, topic, "1")
    app = builder.app(pair)
    builder.wrong(Code.ACKS, pair, builder.writer(app, [topic], "librdkafka.writes-acks-1"), app.name)
    builder.looks_wrong(Code.MIN_IN_SYNC, pair, topic, why="its writer does not ask for all")
    topic = builder.topic(pair)
    asks(pair, topic, "1")
    builder.reader(builder.app(pair), [topic])
    builder.looks_wrong(Code.MIN_IN_SYNC, pair, topic, why="nobody writes to it")
    single = f"{stock.name}.single"
    for cluster in (stock.first, stock.second):
        builder.topic_on(cluster, single, replicas=1)
    builder.writer(builder.app(stock), [single])
    builder.looks_wrong(Code.MIN_IN_SYNC, stock, single, why="it has one replica")


def min_in_sync_unknown(builder: HoldoutBuilder) -> None:
    """A client writes with acks=all to a Topic that has more than one replica and no min.insync.replicas of
    its own, on a cluster where not every broker says what it is by default.
    """
    name = "min.insync.replicas"
    silent, half = builder.pair(), builder.pair()
    for pair, unread in ((silent, slice(None)), (half, slice(1))):
        for cluster in (pair.first, pair.second):
            for broker in builder.fleet.find("brokers", cluster=cluster)[unread]:
                del broker["configs"][name]
    for pair, way in (
        (silent, "kafka-go.writes-named"),
        (silent, "java-2.8.2.writes-safely"),
        (half, "java-3.9.2.writes-idempotent"),
    ):
        topic = builder.topic(pair)
        builder.writer(builder.app(pair), [topic], way)
        builder.wrong(Code.MIN_IN_SYNC_UNKNOWN, pair, topic)
    for value in ("1", "2"):
        topic = builder.topic(silent)
        for cluster in (silent.first, silent.second):
            builder.fleet.find("topics", cluster=cluster, topic=topic)[0]["configs"][name] = value
        builder.writer(builder.app(silent), [topic])
        builder.looks_wrong(Code.MIN_IN_SYNC_UNKNOWN, silent, topic, why=f"of this Topic it is {value}")
        if value == "1":
            builder.wrong(Code.MIN_IN_SYNC, silent, topic)
    single = f"{silent.name}.single"
    for cluster in (silent.first, silent.second):
        builder.topic_on(cluster, single, replicas=1)
    builder.writer(builder.app(silent), [single])
    builder.looks_wrong(Code.MIN_IN_SYNC_UNKNOWN, silent, single, why="it has one replica")


def transactions(builder: HoldoutBuilder) -> None:
    """A client writes in transactions."""
    pair = builder.pair()
    for way in (
        "librdkafka.writes-transactions",
        "java-3.9.2.writes-transactions",
        "java-2.0.1.writes-transactions",
    ):
        app = builder.app(pair)
        name = builder.writer(app, [builder.topic(pair)], way)
        builder.wrong(Code.TRANSACTIONS, pair, name, app.name)
    for way in ("java-3.9.2.writes-idempotent", "librdkafka.writes-idempotent", "aiokafka.writes-named"):
        app = builder.app(pair)
        name = builder.writer(app, [builder.topic(pair)], way)
        builder.wrong(Code.IDEMPOTENT, pair, name, app.name)
        builder.looks_wrong(
            Code.TRANSACTIONS, pair, name, app.name, why="it has a producer id, and no transactions"
        )


def idempotent(builder: HoldoutBuilder) -> None:
    """A client writes with a producer id."""
    pair = builder.pair()
    for way in ("java-3.9.2.writes-stock", "java-4.2.0.writes-stock", "franz-go.writes-named"):
        app = builder.app(pair)
        name = builder.writer(app, [builder.topic(pair)], way)
        builder.wrong(Code.IDEMPOTENT, pair, name, app.name)
    for why, way in (
        ("its library is not idempotent unless it is told to be", "librdkafka.writes-safely"),
        ("it has been told not to be", "java-3.9.2.writes-safely"),
        ("its library is not idempotent unless it is told to be", "kafkajs.writes-named"),
    ):
        app = builder.app(pair)
        name = builder.writer(app, [builder.topic(pair)], way)
        builder.looks_wrong(Code.IDEMPOTENT, pair, name, app.name, why=why)


def no_retries(builder: HoldoutBuilder) -> None:
    """A client writes with a library that does not retry unless somebody has set it so: Java before 2.1 or
    kafka-python before 2.2.0 (as an imported report may say). Or it writes through a Gateway, and on none of
    its connections its library says what it is: then nobody knows. (An idempotent producer retries in any
    library, and does not count.)
    """
    pair = builder.pair()
    for way in (
        "kafka-python-2.1.5.writes-safely",
        "kafka-python-2.0.2.writes-safely",
        "java-2.0.1.writes-safely",
        "java-2.3.1.writes-safely",
        "kafka-go.writes-named",
        "kafkajs.writes-named",
    ):
        app = builder.app(pair)
        builder.wrong(Code.NO_RETRIES, pair, builder.writer(app, [builder.topic(pair)], way), app.name)
    for version in ("2.0.1", "1.1.1", "0.11.0.3"):
        app = builder.app(pair)
        name = builder.writer(app, [builder.topic(pair)], "java-2.0.1.writes-safely", **_from_a_file(version))
        builder.wrong(Code.NO_RETRIES, pair, name, app.name)
        if not version.startswith("2."):
            builder.wrong(Code.CLIENT_VERSION, pair, name, app.name)  # the engines are 3.9
    app = builder.app(pair)
    told = {"source": CSV, "library": "kafka-python", "version": "2.1.5"}
    name = builder.writer(app, [builder.topic(pair)], "kafka-python-2.1.5.writes-safely", **told)
    builder.wrong(Code.NO_RETRIES, pair, name, app.name)
    builder.writer(builder.app(pair), [builder.topic(pair)], says_it_once(builder, "produce"))
    for why, way, more in (
        ("2.3.1 retries, and a file says what it is", "java-2.3.1.writes-safely", _from_a_file("2.3.1")),
        ("it is kafka-python 3, which retries", "kafka-python.writes-named", {}),
        ("it is Sarama, whose versions are its own", "sarama.writes-named", {}),
        ("it is Sarama, and says so after its sign-in", "sarama-1.40.writes-named", {}),
        ("it is librdkafka, whose versions are its own", "librdkafka.writes-safely", {}),
        ("2.5.1 retries", "java-2.5.1.writes-safely", {}),
    ):
        app = builder.app(pair)
        name = builder.writer(app, [builder.topic(pair)], way, **more)
        builder.looks_wrong(Code.NO_RETRIES, pair, name, app.name, why=why)
    for way in ("java-2.0.1.reads-named", "kafkajs.reads-named"):
        app = builder.app(pair)
        name = builder.reader(app, [builder.topic(pair)], way)
        builder.looks_wrong(Code.NO_RETRIES, pair, name, app.name, why="it only reads")


def says_it_once(builder: HoldoutBuilder, kind: str) -> str:
    """Return a recorded client that named its library on one connection and not on the next, as franz-go does
    by chance.
    """
    return next(
        name
        for name, client in sorted(builder.recording.clients.items())
        if name.startswith("franz-go")
        and len({each.get("library") for each in client.reports if each["kind"] == kind}) == 2
    )


def _from_a_file(version: str) -> dict[str, Any]:
    """Return the values of a report from a CSV file whose author knows the library of the application."""
    return {"source": CSV, "library": JAVA, "version": version}


def self_assigned(builder: HoldoutBuilder) -> None:
    """A client reads and was never a member of a group."""
    pair = builder.pair()
    for way in ("librdkafka.assigns", "java-3.9.2.assigns", "librdkafka.assigns-commits"):
        app = builder.app(pair)
        name = builder.reader(app, [builder.topic(pair)], way)
        builder.wrong(Code.SELF_ASSIGNED, pair, name, app.name)
    for why, way in (
        ("it subscribes", "kafka-python.reads-named"),
        ("it subscribes to a pattern", "librdkafka.reads-pattern"),
        ("it subscribes", "kafka-go.reads-named"),
    ):
        app = builder.app(pair)
        name = builder.reader(app, [builder.topic(pair)], way)
        builder.looks_wrong(Code.SELF_ASSIGNED, pair, name, app.name, why=why)
    app = builder.app(pair)
    topic = builder.topic(pair)
    name = builder.reader(app, [topic])
    _only_on(builder, app, "group", (6,))
    builder.looks_wrong(
        Code.SELF_ASSIGNED,
        pair,
        name,
        app.name,
        why="it joined its group six days ago, and has been reading since",
    )


def _only_on(builder: HoldoutBuilder, app: App, kind: str, ages: tuple[int, ...]) -> None:
    """Keep only these days of an AppID's facts of one kind: facts that have not changed are not reported again."""
    builder.fleet.facts[:] = [
        fact._replace(ages=ages) if (fact.appid, fact.kind) == (app.name, kind) else fact
        for fact in builder.fleet.facts
    ]


def _is_self_assigned(builder: HoldoutBuilder, pair: Pair, name: str, app: App) -> None:
    builder.wrong(Code.SELF_ASSIGNED, pair, name, app.name)


def kafka_10793(builder: HoldoutBuilder) -> None:
    """A Java consumer 2.5.0, 2.5.1, 2.6.0, 2.6.1 or 2.7.0 is a member of a group."""
    pair = builder.pair()
    for way in ("java-2.5.1.reads-named", "java-2.6.1.reads-sticky", "java-2.7.0.reads-named"):
        app = builder.app(pair)
        builder.wrong(Code.KAFKA_10793, pair, builder.reader(app, [builder.topic(pair)], way), app.name)
    for why, way in (
        ("2.6.2 has it mended", "java-2.6.2.reads-named"),
        ("2.7.1 has it mended", "java-2.7.1.reads-named"),
        ("2.8.2 has it mended", "java-2.8.2.reads-named"),
    ):
        app = builder.app(pair)
        name = builder.reader(app, [builder.topic(pair)], way)
        builder.looks_wrong(Code.KAFKA_10793, pair, name, app.name, why=why)
    app = builder.app(pair)
    name = builder.writer(app, [builder.topic(pair)], "java-2.6.1.writes-safely")
    builder.looks_wrong(Code.KAFKA_10793, pair, name, app.name, why="it only writes")
    app = builder.app(pair)
    name = builder.reader(app, [builder.topic(pair)], "java-2.6.1.assigns")
    _is_self_assigned(builder, pair, name, app)
    builder.looks_wrong(Code.KAFKA_10793, pair, name, app.name, why="it is a member of no group")


def kafka_13563(builder: HoldoutBuilder) -> None:
    """A Java consumer from 2.6.2, 2.7.1 or 2.8.0 on and before 3.2 (but 3.1.2) commits in a group of which it
    was never a member.
    """
    pair = builder.pair()
    for version in ("2.6.2", "2.7.1", "2.8.2", "3.1.1"):
        app = builder.app(pair)
        name = builder.reader(app, [builder.topic(pair)], f"java-{version}.assigns-commits")
        _is_self_assigned(builder, pair, name, app)
        builder.wrong(Code.KAFKA_13563, pair, name, app.name)
    for why, way in (
        ("3.1.2 has it mended", "java-3.1.2.assigns-commits"),
        ("3.2.3 has it mended", "java-3.2.3.assigns-commits"),
        ("2.3.1 does not have it yet", "java-2.3.1.assigns-commits"),
        ("it commits nothing", "java-2.8.2.assigns"),
        ("it is no Java client", "librdkafka.assigns-commits"),
    ):
        app = builder.app(pair)
        name = builder.reader(app, [builder.topic(pair)], way)
        _is_self_assigned(builder, pair, name, app)
        builder.looks_wrong(Code.KAFKA_13563, pair, name, app.name, why=why)
    app = builder.app(pair)
    name = builder.reader(app, [builder.topic(pair)], "java-2.8.2.reads-named")
    builder.looks_wrong(Code.KAFKA_13563, pair, name, app.name, why="it is a member of its group")


def long_session(builder: HoldoutBuilder) -> None:
    """session.timeout.ms of a member is longer than a switch of the pair waits for consumers."""
    pair = builder.pair()
    for way in (
        "librdkafka.reads-long-session",
        "java-3.9.2.reads-long-session",
        "java-2.8.2.reads-long-session",
    ):
        app = builder.app(pair)
        builder.wrong(Code.LONG_SESSION, pair, builder.reader(app, [builder.topic(pair)], way), app.name)
    patient = builder.pair()
    builder.fleet.find("pairs", pair=patient.name)[0]["quiesce_seconds"] = 180.0
    for why, where, way in (
        ("the rules of its pair give consumers more time", patient, "java-3.9.2.reads-long-session"),
        ("it is as long as a switch waits, and no longer", pair, "java-3.9.2.reads-named"),
        ("it is shorter", pair, "java-2.8.2.reads-named"),
    ):
        app = builder.app(where)
        name = builder.reader(app, [builder.topic(where)], way)
        builder.looks_wrong(Code.LONG_SESSION, where, name, app.name, why=why)


def session_bounds(builder: HoldoutBuilder) -> None:
    """session.timeout.ms of a member is outside of the bounds of one of the pair's clusters."""
    least, most = "group.min.session.timeout.ms", "group.max.session.timeout.ms"

    def bounded(second: bool, **bounds: str) -> Pair:
        pair = builder.pair()
        for broker in builder.fleet.find("brokers", cluster=pair.second if second else pair.first):
            broker["configs"].update(
                {{"least": least, "most": most}[name]: value for name, value in bounds.items()}
            )
        return pair

    for pair, way in (
        (bounded(True, most="30000"), "java-3.9.2.reads-named"),
        (bounded(False, least="10000"), "librdkafka.reads-short-session"),
        (bounded(True, most="30000", least="20000"), "java-2.8.2.reads-named"),
    ):
        app = builder.app(pair)
        builder.wrong(Code.SESSION_BOUNDS, pair, builder.reader(app, [builder.topic(pair)], way), app.name)
    other = bounded(True, most="10000")
    for why, pair, way in (
        ("it is as short as is allowed", builder.pair(), "librdkafka.reads-short-session"),
        ("it is as long as is allowed", bounded(True, most="45000"), "java-3.9.2.reads-named"),
        (
            "the bounds differ, and it is within both",
            bounded(True, most="60000", least="1000"),
            "kafkajs.reads-named",
        ),
        ("it is another pair whose bounds are so tight", builder.pair(), "java-3.9.2.reads-named"),
    ):
        app = builder.app(pair)
        name = builder.reader(app, [builder.topic(pair)], way)
        builder.looks_wrong(Code.SESSION_BOUNDS, pair, name, app.name, why=why)
    app = builder.app(other)
    name = builder.writer(app, [builder.topic(other)])
    builder.looks_wrong(Code.SESSION_BOUNDS, other, name, app.name, why="who only writes has no session")


def skewed(builder: HoldoutBuilder) -> None:
    """Of the members of a group that subscribe to the same Topics, the range assignor gives one at least 2
    times as many partitions as another, and at least 2 more.
    """
    pair = builder.pair()

    def made(way: str, protocol: str, *shares: int) -> str:
        """Add members on hosts of their own, with one client.id; return the group."""
        app = builder.app(pair)
        topics = builder.topics(pair, max(shares))
        group = f"{app.name}-group"
        name = builder.reader(app, topics, way, group=group)
        # The range assignor gives the first partitions of each Topic to the first members.
        partitions = [
            [f"{topic}-{member}" for topic in topics[:share]] for member, share in enumerate(shares)
        ]
        builder.group(pair.first, group, protocol)
        builder.members(pair.first, group, name, partitions, topics=topics)
        return group

    for way, shares in (
        ("java-3.9.2.reads-named", (4, 2)),
        ("librdkafka.reads-named", (6, 3, 3)),
        ("sarama.reads-named", (3, 1, 1)),
    ):
        builder.wrong(Code.SKEWED, pair, made(way, "range", *shares))
    for why, way, protocol, evenly in (
        ("one has one more, although twice as many", "java-3.9.2.reads-named", "range", (2, 1)),
        ("one has two more, and not twice as many", "librdkafka.reads-named", "range", (5, 3)),
        ("another assignor has done that", "java-3.9.2.reads-sticky", "sticky", (4, 2)),
        ("another assignor has done that", "librdkafka.reads-cooperative", "cooperative-sticky", (6, 2)),
        ("there is one member", "librdkafka.reads-named", "range", (6,)),
    ):
        builder.looks_wrong(Code.SKEWED, pair, made(way, protocol, *evenly), why=why)
    app = builder.app(pair)
    many, few = builder.topics(pair, 5), builder.topics(pair, 1)
    group = f"{app.name}-group"
    builder.group(pair.first, group)
    for name, topics in ((f"{app.name}-many", many), (f"{app.name}-few", few)):
        builder.reader(app, topics, client_id=name, group=group)
        builder.members(
            pair.first, group, name, [[f"{topic}-0" for topic in topics]], topics=topics, host=app.host
        )
    builder.looks_wrong(Code.SKEWED, pair, group, why="these two subscribe to other Topics")


def client_version(builder: HoldoutBuilder) -> None:
    """A Java client is more than 1 major version behind the engine of one of the pair's clusters."""
    new = builder.pair(version="4.0")
    builder.fleet.find("clusters", cluster=new.first)[0]["version"] = "4.0"
    half = builder.pair(version="4.1")
    builder.wrong(Code.ENGINE_VERSIONS, half, half.name)
    old = builder.pair()
    for pair, way in (
        (new, "java-2.8.2.reads-named"),
        (half, "java-2.6.2.writes-safely"),
        (new, "java-2.7.1.writes-safely"),
    ):
        app = builder.app(pair)
        topics = [builder.topic(pair)]
        name = builder.reader(app, topics, way) if "reads" in way else builder.writer(app, topics, way)
        builder.wrong(Code.CLIENT_VERSION, pair, name, app.name)
    for why, pair, way in (
        ("it is one behind", old, "java-2.8.2.writes-safely"),
        ("it is one behind", new, "java-3.2.3.writes-safely"),
        ("it is ahead", old, "java-4.2.0.writes-safely"),
        ("librdkafka has versions of its own", new, "librdkafka.writes-safely"),
        ("KafkaJS has versions of its own", new, "kafkajs.writes-named"),
    ):
        app = builder.app(pair)
        name = builder.writer(app, [builder.topic(pair)], way)
        builder.looks_wrong(Code.CLIENT_VERSION, pair, name, app.name, why=why)


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

"""Faults of identities, from the sentences of :mod:`hadash.governance.catalogue.identity`, which the docstrings
quote.
"""

from __future__ import annotations

from collections.abc import Sequence

from hadash.governance.catalogue import Code
from spark.fleet.holdout.builder import App, HoldoutBuilder, Pair
from spark.fleet.holdout.clients import says_it_once

#: Realistic changing parts of names: pods' suffixes, UUIDs, times.
PODS = (
    "7d9f8b6c5d-x2x9z",
    "7d9f8b6c5d-k8qwl",
    "7d9f8b6c5d-zzt4p",
    "5c8d7f9b64-2bqxm",
    "5c8d7f9b64-hv6rn",
    "5c8d7f9b64-9tlpk",
)
UUIDS = tuple(f"{number}f8fad5b-d9cb-469f-a165-7086728950e{number}" for number in range(6))
TIMES = tuple(str(1763744400000 + 86_400_123 * number) for number in range(6))


def shared_appid(builder: HoldoutBuilder) -> None:
    """The clients of an AppID are more than one application. One application are clients whose names are the
    same without numbers, UUIDs, pods' suffixes and words for a role, clients that were seen on the same host,
    and clients that use the same consumer group. Clients that nobody has named, or whose name says nothing
    but a role, do not count.
    """
    pair = builder.pair()
    for others in (1, 2, 3):
        app = builder.app(pair)
        _applications(builder, app, others)
        builder.wrong(Code.SHARED_APPID, pair, app.name, app.name)
    app = builder.app(pair)
    for name in ("till", "warehouse"):
        builder.reader(
            app,
            [builder.topic(pair)],
            client_id=f"{name}-reader",
            group=f"{app.name}-{name}",
            host=builder.host(),
        )
    builder.wrong(Code.SHARED_APPID, pair, app.name, app.name)

    def apart(why: str, *names: str) -> None:
        """Add a near miss with clients of these names, each on a host of its own."""
        app = builder.app(pair)
        for name in names:
            named = name.replace("intake", app.name)
            builder.writer(app, [builder.topic(pair)], client_id=named, host=builder.host())
        builder.looks_wrong(Code.SHARED_APPID, pair, app.name, app.name, why=why)

    apart("the names differ in a number", *(f"intake-{number}" for number in (1, 2, 3)))
    apart("the names differ in what a pod's name ends with", *(f"intake-{pod}" for pod in PODS[:3]))
    apart("the names differ in a UUID", *(f"intake-{uuid}" for uuid in UUIDS[:3]))
    apart("the names differ in a word for a role", "intake-reader", "intake-writer", "intake-consumer")
    apart("one of them says nothing but a role", "intake", "producer")
    app = builder.app(pair)
    for name in ("gateway-in", "desk", "errors"):
        builder.writer(app, [builder.topic(pair)], client_id=name)
    builder.looks_wrong(Code.SHARED_APPID, pair, app.name, app.name, why="all of them run on one host")
    app = builder.app(pair)
    shared = builder.host()
    for name, hosts in (("quotes", (builder.host(), shared)), ("rates", (shared, builder.host()))):
        for host in hosts:
            builder.writer(app, [builder.topic(pair)], client_id=name, host=host)
    builder.looks_wrong(Code.SHARED_APPID, pair, app.name, app.name, why="they have a host in common")
    app = builder.app(pair)
    topic = builder.topic(pair)
    for name in ("blue", "green"):
        builder.reader(app, [topic], client_id=name, host=builder.host(), group=f"{app.name}-one")
    builder.looks_wrong(Code.SHARED_APPID, pair, app.name, app.name, why="they share a consumer group")
    app = builder.app(pair)
    builder.writer(app, [builder.topic(pair)])
    builder.client(app, "librdkafka.writes-stock", [builder.topic(pair)], client_id=None, host=builder.host())
    builder.wrong(Code.NAMELESS, pair, app.name, app.name)
    builder.looks_wrong(Code.SHARED_APPID, pair, app.name, app.name, why="nobody has named the other client")


def _applications(builder: HoldoutBuilder, app: App, others: int, topics: Sequence[str] = ()) -> list[str]:
    """Add one application and ``others`` under one AppID, each with a name and a host of its own; return their
    names.
    """
    words = ("checkout", "warehouse", "invoicing", "newsletter")[: others + 1]
    names = [f"{word}-{app.name}" for word in words]
    for name in names:
        builder.writer(app, topics or [builder.topic(app.pair)], client_id=name, host=builder.host())
    return names


def nameless(builder: HoldoutBuilder) -> None:
    """A client has no client.id, or the one that its library gives everybody."""
    pair = builder.pair()
    for way in sorted(builder.recording.clients):
        about = builder.recording.client(way).about
        if not about or about["named"] or way in WITHOUT_DEFAULT:
            continue
        app = builder.app(pair)
        builder.client(app, way, [builder.topic(pair)], client_id=None, group=f"{app.name}-group")
        builder.wrong(Code.NAMELESS, pair, app.name, app.name)
        name = builder.fleet.facts[-1].client_id
        why = f"{name} is what its library gives a client that nobody has named"
        builder.looks_wrong(Code.SEVERAL_APPIDS, pair, name, why=why)
    for name in (
        "rdkafka-orders",
        "sarama-importer",
        "producer-of-invoices",
        "consumer-service",
        "kafkajs-bff",
    ):
        app = builder.app(pair)
        builder.writer(app, [builder.topic(pair)], client_id=name)
        builder.looks_wrong(Code.NAMELESS, pair, app.name, app.name, why=f"{name} is a name of its own")


#: Clients of a library without a default client.id: applications have to set one.
WITHOUT_DEFAULT = ("platformatic.writes-stock", "platformatic.reads-stock")


def changing(builder: HoldoutBuilder) -> None:
    """5 client.ids that differ only in numbers, a UUID or a pod's suffix were each seen on one of the last 7
    days only, and not all on the same one.
    """
    pair = builder.pair()

    def came_and_went(names: Sequence[str], ages: Sequence[tuple[int, ...]]) -> App:
        app = builder.app(pair)
        topic = builder.topic(pair)
        for name, days in zip(names, ages, strict=True):
            builder.writer(app, [topic], client_id=name.replace("intake", app.name), ages=days)
        return app

    each_day = [(age,) for age in range(6)]
    for stem, ends, rest in (("intake", PODS, "*"), ("etl", UUIDS, "-*"), ("nightly", TIMES, "-*")):
        app = came_and_went([f"{stem}-{end}" for end in ends], each_day)
        builder.wrong(Code.CHANGING, pair, f"{stem}{rest}".replace("intake", app.name), app.name)
    for why, names, ages in (
        ("four came and went", [f"intake-{pod}" for pod in PODS[:4]], each_day[:4]),
        ("all of them came on one day: it was made larger", [f"intake-{pod}" for pod in PODS], [(1,)] * 6),
        ("they stay", [f"intake-{number}" for number in range(6)], [tuple(range(7))] * 6),
        ("they are different words", ["mon", "tue", "wed", "thu", "fri", "sat"], each_day),
    ):
        app = came_and_went(names, ages)
        for rest in ("*", "-*"):
            builder.looks_wrong(Code.CHANGING, pair, f"{app.name}{rest}", app.name, why=why)


def several_appids(builder: HoldoutBuilder) -> None:
    """The same client.id, which is no library's default, is used by more than one AppID of a pair."""
    pair = builder.pair()
    for name, count in (("exporter", 2), ("batch-loader", 3), ("webshop", 2)):
        for _ in range(count):
            builder.writer(builder.app(pair), [builder.topic(pair)], client_id=name)
        builder.wrong(Code.SEVERAL_APPIDS, pair, name)
    for way in ("librdkafka.writes-stock", "sarama.writes-stock"):
        for _ in range(2):
            app = builder.app(pair)
            builder.client(app, way, [builder.topic(pair)], client_id=None)
            builder.wrong(Code.NAMELESS, pair, app.name, app.name)
        name = builder.fleet.facts[-1].client_id
        builder.looks_wrong(Code.SEVERAL_APPIDS, pair, name, why="it is what its library gives everybody")
    other = builder.pair()
    for where in (pair, other):
        builder.writer(builder.app(where), [builder.topic(where)], client_id="in-two-pairs")
        builder.looks_wrong(
            Code.SEVERAL_APPIDS, where, "in-two-pairs", why="these are AppIDs of different pairs"
        )
    app = builder.app(pair)
    for host in (builder.host(), builder.host()):
        builder.writer(app, [builder.topic(pair)], client_id="twice", host=host)
    builder.looks_wrong(Code.SEVERAL_APPIDS, pair, "twice", why="one AppID uses it, on two hosts")


def several_kinds(builder: HoldoutBuilder) -> None:
    """One client.id writes and reads, or is used with more than one library."""
    pair = builder.pair()
    for ways in (
        ("librdkafka.writes-safely", "librdkafka.reads-named"),
        ("java-3.9.2.writes-safely", "librdkafka.writes-safely"),
        ("kafka-python.reads-named", "java-3.9.2.reads-named"),
    ):
        app = builder.app(pair)
        for way in ways:
            builder.client(app, way, [builder.topic(pair)], client_id=app.name)
        builder.wrong(Code.SEVERAL_KINDS, pair, app.name, app.name)
    for why, used in (
        (
            "it was updated from one version to another",
            ("java-3.2.3.writes-safely", "java-3.9.2.writes-safely"),
        ),
        ("it writes to two Topics", ("librdkafka.writes-safely", "librdkafka.writes-safely")),
        ("it reads with two assignors", ("librdkafka.reads-named", "librdkafka.reads-range")),
        (
            "it says what it is on its first connection, and not on the next",
            (says_it_once(builder, "group"),),
        ),
    ):
        app = builder.app(pair)
        for way in used:
            builder.client(app, way, [builder.topic(pair)], client_id=app.name)
        builder.looks_wrong(Code.SEVERAL_KINDS, pair, app.name, app.name, why=why)
    app = builder.app(pair)
    for way in ("librdkafka.writes-safely", "librdkafka.reads-named"):
        builder.client(app, way, [builder.topic(pair)])
    builder.looks_wrong(
        Code.SEVERAL_KINDS,
        pair,
        app.name,
        app.name,
        why="the AppID writes and reads, each with a client.id of its own",
    )


def many_topics(builder: HoldoutBuilder) -> None:
    """One client.id uses more than 10 Topics."""
    pair = builder.pair()
    for count in (11, 12, 25):
        app = builder.app(pair)
        builder.wrong(Code.MANY_TOPICS, pair, builder.reader(app, builder.topics(pair, count)), app.name)
    app = builder.app(pair)
    name = builder.reader(app, builder.topics(pair, 10))
    builder.looks_wrong(Code.MANY_TOPICS, pair, name, app.name, why="these are ten")
    app = builder.app(pair)
    for part in ("left", "right"):
        name = builder.reader(app, builder.topics(pair, 8), client_id=f"{app.name}-{part}")
        builder.looks_wrong(
            Code.MANY_TOPICS, pair, name, app.name, why="its AppID uses sixteen, with two client.ids"
        )
    app = builder.app(pair)
    topics = builder.topics(pair, 7)
    builder.reader(app, topics, client_id=app.name)
    name = builder.writer(app, topics, client_id=app.name)
    builder.wrong(Code.SEVERAL_KINDS, pair, name, app.name)
    builder.looks_wrong(
        Code.MANY_TOPICS, pair, name, app.name, why="it reads and writes seven Topics, the same ones"
    )


def both_clusters(builder: HoldoutBuilder) -> None:
    """Clients of one AppID that have no binding of their own were seen on both clusters of the pair on 2 of
    the last 3 days.
    """
    pair = builder.pair()

    def on_both(first: tuple[int, ...], second: tuple[int, ...], *, bound: bool = False) -> App:
        app = builder.app(pair)
        topic = builder.topic(pair)
        builder.writer(app, [topic], client_id=f"{app.name}-a", ages=first)
        builder.writer(app, [topic], client_id=f"{app.name}-b", cluster=pair.second, ages=second)
        if bound:
            builder.register(app, f"{app.name}-b")
            builder.bind(app, instances=[f"{app.name}-b"], cluster=pair.second)
        return app

    always = tuple(range(7))
    for first, second in ((always, always), ((0, 1), (0, 1)), ((0, 2), (0, 1, 2, 3))):
        app = on_both(first, second)
        builder.wrong(Code.BOTH_CLUSTERS, pair, app.name, app.name)
    for why, first, second in (
        ("it has been switched: one day has both", (1, 2, 3, 4, 5, 6), (0, 1)),
        ("that was some days ago", always, (4, 5, 6)),
        ("it was never on both on one day", (1,), (0, 2)),
    ):
        app = on_both(first, second)
        builder.looks_wrong(Code.BOTH_CLUSTERS, pair, app.name, app.name, why=why)
    app = on_both(always, always, bound=True)
    builder.looks_wrong(
        Code.BOTH_CLUSTERS,
        pair,
        app.name,
        app.name,
        why="the client there has a binding of its own to that cluster",
    )


def two_pairs(builder: HoldoutBuilder) -> None:
    """One AppID is used in more than one pair."""
    one, other = builder.pair(), builder.pair()
    for _ in range(3):
        app = builder.app(one)
        again = builder.app(other, app.name)
        builder.writer(app, [builder.topic(one)], host=app.host)
        builder.writer(again, [builder.topic(other)], host=app.host)
        for pair in (one, other):
            builder.wrong(Code.TWO_PAIRS, pair, app.name, app.name)
    for _ in range(2):
        app = builder.app(one)
        builder.app(other, app.name)
        builder.writer(app, [builder.topic(one)])
        for pair in (one, other):
            builder.looks_wrong(
                Code.TWO_PAIRS, pair, app.name, app.name, why="it is registered in both, and used in one"
            )
    for number, pair in enumerate((one, other), 1):
        app = builder.app(pair, f"storefront-{number}")
        builder.writer(app, [builder.topic(pair)], client_id=f"storefront-{number}")
        builder.looks_wrong(Code.TWO_PAIRS, pair, app.name, app.name, why="each pair has a user of its own")


def not_unique(builder: HoldoutBuilder) -> None:
    """A Topic or group has a binding of its own under an AppID, and several applications use it under that AppID."""
    pair = builder.pair()

    def shared(others: int, topics: Sequence[str]) -> App:
        app = builder.app(pair)
        _applications(builder, app, others, topics)
        builder.wrong(Code.SHARED_APPID, pair, app.name, app.name)
        return app

    for others in (1, 3):
        topic = builder.topic(pair)
        app = shared(others, [topic])
        builder.bind(app, topics=[topic])
        builder.wrong(Code.NOT_UNIQUE, pair, topic, app.name)
    topics = builder.topics(pair, 2)
    app = shared(2, topics)
    builder.bind(app, topics=topics[1:])
    builder.wrong(Code.NOT_UNIQUE, pair, topics[1], app.name)

    app = builder.app(pair)
    group, topic = f"{app.name}-common", builder.topic(pair)
    for word in ("checkout", "warehouse"):
        builder.reader(app, [topic], client_id=f"{word}-{app.name}", host=builder.host(), group=group)
    builder.bind(app, groups=[group])
    builder.looks_wrong(
        Code.NOT_UNIQUE, pair, group, app.name, why="who shares a consumer group is one application"
    )
    topic = builder.topic(pair)
    app = builder.app(pair)
    for number in (1, 2, 3):
        builder.writer(app, [topic], client_id=f"{app.name}-{number}", host=builder.host())
    builder.bind(app, topics=[topic])
    builder.looks_wrong(
        Code.NOT_UNIQUE, pair, topic, app.name, why="one application uses it, with three replicas"
    )
    topic = builder.topic(pair)
    app = shared(1, [topic])
    builder.bind(app)
    builder.looks_wrong(Code.NOT_UNIQUE, pair, topic, app.name, why="it has no binding of its own")
    topic, other = builder.topics(pair, 2)
    app = builder.app(pair)
    builder.writer(app, [topic], client_id=f"checkout-{app.name}", host=builder.host())
    builder.writer(app, [other], client_id=f"warehouse-{app.name}", host=builder.host())
    builder.wrong(Code.SHARED_APPID, pair, app.name, app.name)
    builder.bind(app, topics=[topic])
    builder.looks_wrong(
        Code.NOT_UNIQUE, pair, topic, app.name, why="the other application uses another Topic"
    )
    topic = builder.topic(pair)
    app = builder.app(pair)
    builder.writer(app, [topic])
    builder.writer(builder.app(pair), [topic])
    builder.bind(app, topics=[topic])
    builder.looks_wrong(
        Code.NOT_UNIQUE, pair, topic, app.name, why="the other application signs in as another AppID"
    )


def regex(builder: HoldoutBuilder) -> None:
    """A member of a group asks for all Topics, and its AppID has bindings of Topics."""
    pair = builder.pair()
    for way in ("librdkafka.reads-pattern", "java-3.9.2.reads-pattern", "java-3.2.3.reads-pattern"):
        app = builder.app(pair)
        topics = builder.topics(pair, 2)
        name = builder.reader(app, topics, way)
        builder.bind(app, topics=topics[:1])
        builder.wrong(Code.REGEX, pair, name, app.name)
    for why, way, bound in (
        ("none of its AppID's Topics has a binding", "librdkafka.reads-pattern", False),
        ("it subscribes to names", "librdkafka.reads-named", True),
        ("it subscribes to names", "java-3.9.2.reads-named", True),
        ("it subscribes to names", "kafka-python.reads-named", True),
        ("it subscribes to names", "aiokafka.reads-named", True),
        ("it subscribes to names", "kafkajs.reads-named", True),
    ):
        app = builder.app(pair)
        topics = builder.topics(pair, 2)
        name = builder.reader(app, topics, way)
        builder.bind(app, topics=topics[:1] if bound else (), instances=() if bound else [name])
        builder.looks_wrong(Code.REGEX, pair, name, app.name, why=why)
    _regex_of_sarama(builder, pair)


def _regex_of_sarama(builder: HoldoutBuilder, pair: Pair) -> None:
    app = builder.app(pair)
    topics = builder.topics(pair, 2)
    name = builder.reader(app, topics, "sarama.reads-named")
    builder.bind(app, topics=topics[:1])
    builder.wrong(Code.REGEX, pair, name, app.name)


def group_appids(builder: HoldoutBuilder) -> None:
    """Members of one group sign in as different AppIDs."""
    pair, other = builder.pair(), builder.pair()
    for members in (2, 2, 3):
        group, topic = f"common-{builder.number('common')}", builder.topic(pair)
        for _ in range(members):
            builder.reader(builder.app(pair), [topic], group=group)
        builder.wrong(Code.GROUP_APPIDS, pair, group)
    for where in (pair, other):
        builder.reader(builder.app(where), [builder.topic(where)], group="in-two-pairs")
        builder.looks_wrong(
            Code.GROUP_APPIDS, where, "in-two-pairs", why="these are two groups, in different pairs"
        )
    app = builder.app(pair)
    topic = builder.topic(pair)
    for number in (1, 2):
        builder.reader(app, [topic], group="of-one-appid", client_id=f"{app.name}-{number}")
    builder.looks_wrong(
        Code.GROUP_APPIDS, pair, "of-one-appid", why="its members are different clients of one AppID"
    )
    topic = builder.topic(pair)
    for number in (1, 2):
        builder.reader(builder.app(pair), [topic], group=f"apart-{number}")
        builder.looks_wrong(
            Code.GROUP_APPIDS,
            pair,
            f"apart-{number}",
            why="two AppIDs read one Topic, each with a group of its own",
        )


def group_instances(builder: HoldoutBuilder) -> None:
    """Members of one group have different client.ids, and at least one of them is registered."""
    pair = builder.pair()

    def members(count: int, *, registered: int, client_ids: int) -> tuple[App, str]:
        app = builder.app(pair)
        group, topic = f"{app.name}-group", builder.topic(pair)
        names = [f"{app.name}-{number % client_ids}" for number in range(count)]
        for name in names:
            builder.reader(app, [topic], group=group, client_id=name, host=builder.host())
        builder.register(app, *sorted(set(names))[:registered])
        return app, group

    for count, registered in ((2, 1), (3, 2), (4, 1)):
        app, group = members(count, registered=registered, client_ids=count)
        builder.wrong(Code.GROUP_INSTANCES, pair, group, app.name)
    for why, count, registered, client_ids in (
        ("none of them is registered", 3, 0, 3),
        ("all of them have one client.id", 3, 1, 1),
        ("there is one member", 1, 1, 1),
    ):
        app, group = members(count, registered=registered, client_ids=client_ids)
        builder.looks_wrong(Code.GROUP_INSTANCES, pair, group, app.name, why=why)
    app = builder.app(pair)
    topic = builder.topic(pair)
    for part in ("a", "b"):
        name = builder.reader(app, [topic], group=f"{app.name}-{part}", client_id=f"{app.name}-{part}")
        builder.register(app, name)
        builder.looks_wrong(
            Code.GROUP_INSTANCES, pair, f"{app.name}-{part}", app.name, why="each is in a group of its own"
        )


CASES = {
    Code.SHARED_APPID: shared_appid,
    Code.NAMELESS: nameless,
    Code.CHANGING: changing,
    Code.SEVERAL_APPIDS: several_appids,
    Code.SEVERAL_KINDS: several_kinds,
    Code.MANY_TOPICS: many_topics,
    Code.BOTH_CLUSTERS: both_clusters,
    Code.TWO_PAIRS: two_pairs,
    Code.NOT_UNIQUE: not_unique,
    Code.REGEX: regex,
    Code.GROUP_APPIDS: group_appids,
    Code.GROUP_INSTANCES: group_instances,
}

"""Faults of who is who, from the sentences of :mod:`hadash.governance.catalogue.identity`."""

from __future__ import annotations

from collections.abc import Sequence

from hadash.governance.catalogue import Code
from spark.estate.holdout.clients import says_it_once
from spark.estate.holdout.fleet import App, Fleet, Pair

#: What changes in names, as it really does: a pod's suffixes, UUIDs, times, process numbers.
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


def shared_appid(fleet: Fleet) -> None:
    """The clients of an AppID are more than one application. One application are clients whose names are the
    same without numbers, UUIDs, pods' suffixes and words for a role, clients that were seen on the same host,
    and clients that use the same consumer group. Clients that nobody has named, or whose name says nothing
    but a role, do not count.
    """
    pair = fleet.pair()
    for others in (1, 2, 3):
        app = fleet.app(pair)
        _applications(fleet, app, others)
        fleet.wrong(Code.SHARED_APPID, pair, app.name, app.name)
    app = fleet.app(pair)
    for name in ("till", "warehouse"):
        fleet.reader(
            app,
            [fleet.topic(pair)],
            client_id=f"{name}-reader",
            group=f"{app.name}-{name}",
            host=fleet.host(),
        )
    fleet.wrong(Code.SHARED_APPID, pair, app.name, app.name)

    def apart(why: str, *names: str) -> None:
        """Each on a host of its own."""
        app = fleet.app(pair)
        for name in names:
            named = name.replace("intake", app.name)
            fleet.writer(app, [fleet.topic(pair)], client_id=named, host=fleet.host())
        fleet.looks_wrong(Code.SHARED_APPID, pair, app.name, app.name, why=why)

    apart("the names differ in a number", *(f"intake-{number}" for number in (1, 2, 3)))
    apart("the names differ in what a pod's name ends with", *(f"intake-{pod}" for pod in PODS[:3]))
    apart("the names differ in a UUID", *(f"intake-{uuid}" for uuid in UUIDS[:3]))
    apart("the names differ in a word for a role", "intake-reader", "intake-writer", "intake-consumer")
    apart("one of them says nothing but a role", "intake", "producer")
    app = fleet.app(pair)
    for name in ("gateway-in", "desk", "errors"):
        fleet.writer(app, [fleet.topic(pair)], client_id=name)
    fleet.looks_wrong(Code.SHARED_APPID, pair, app.name, app.name, why="all of them run on one host")
    app = fleet.app(pair)
    shared = fleet.host()
    for name, hosts in (("quotes", (fleet.host(), shared)), ("rates", (shared, fleet.host()))):
        for host in hosts:
            fleet.writer(app, [fleet.topic(pair)], client_id=name, host=host)
    fleet.looks_wrong(Code.SHARED_APPID, pair, app.name, app.name, why="they have a host in common")
    app = fleet.app(pair)
    topic = fleet.topic(pair)
    for name in ("blue", "green"):
        fleet.reader(app, [topic], client_id=name, host=fleet.host(), group=f"{app.name}-one")
    fleet.looks_wrong(Code.SHARED_APPID, pair, app.name, app.name, why="they share a consumer group")
    app = fleet.app(pair)
    fleet.writer(app, [fleet.topic(pair)])
    fleet.client(app, "librdkafka.writes-stock", [fleet.topic(pair)], client_id=None, host=fleet.host())
    fleet.wrong(Code.NAMELESS, pair, app.name, app.name)
    fleet.looks_wrong(Code.SHARED_APPID, pair, app.name, app.name, why="nobody has named the other client")


def _applications(fleet: Fleet, app: App, others: int, topics: Sequence[str] = ()) -> list[str]:
    """One application and others beside it, under one AppID: each with a name and a host of its own."""
    words = ("checkout", "warehouse", "invoicing", "newsletter")[: others + 1]
    names = [f"{word}-{app.name}" for word in words]
    for name in names:
        fleet.writer(app, topics or [fleet.topic(app.pair)], client_id=name, host=fleet.host())
    return names


def nameless(fleet: Fleet) -> None:
    """A client has no client.id, or the one that its library gives everybody."""
    pair = fleet.pair()
    for way in sorted(fleet.recording.clients):
        about = fleet.recording.client(way).about
        if not about or about["named"] or way in WITHOUT_DEFAULT:
            continue
        app = fleet.app(pair)
        fleet.client(app, way, [fleet.topic(pair)], client_id=None, group=f"{app.name}-group")
        fleet.wrong(Code.NAMELESS, pair, app.name, app.name)
        name = fleet.estate.facts[-1].client_id
        why = f"{name} is what its library gives a client that nobody has named"
        fleet.looks_wrong(Code.SEVERAL_APPIDS, pair, name, why=why)
    for name in (
        "rdkafka-orders",
        "sarama-importer",
        "producer-of-invoices",
        "consumer-service",
        "kafkajs-bff",
    ):
        app = fleet.app(pair)
        fleet.writer(app, [fleet.topic(pair)], client_id=name)
        fleet.looks_wrong(Code.NAMELESS, pair, app.name, app.name, why=f"{name} is a name of its own")


#: It gives nobody a name: whoever uses it has to say one.
WITHOUT_DEFAULT = ("platformatic.writes-stock", "platformatic.reads-stock")


def changing(fleet: Fleet) -> None:
    """5 client.ids that differ only in numbers, a UUID or a pod's suffix were each seen on one of the last 7
    days only, and not all on the same one.
    """
    pair = fleet.pair()

    def came_and_went(names: Sequence[str], ages: Sequence[tuple[int, ...]]) -> App:
        app = fleet.app(pair)
        topic = fleet.topic(pair)
        for name, days in zip(names, ages, strict=True):
            fleet.writer(app, [topic], client_id=name.replace("intake", app.name), ages=days)
        return app

    each_day = [(age,) for age in range(6)]
    for stem, ends, rest in (("intake", PODS, "*"), ("etl", UUIDS, "-*"), ("nightly", TIMES, "-*")):
        app = came_and_went([f"{stem}-{end}" for end in ends], each_day)
        fleet.wrong(Code.CHANGING, pair, f"{stem}{rest}".replace("intake", app.name), app.name)
    for why, names, ages in (
        ("four came and went", [f"intake-{pod}" for pod in PODS[:4]], each_day[:4]),
        ("all of them came on one day: it was made larger", [f"intake-{pod}" for pod in PODS], [(1,)] * 6),
        ("they stay", [f"intake-{number}" for number in range(6)], [tuple(range(7))] * 6),
        ("they are different words", ["mon", "tue", "wed", "thu", "fri", "sat"], each_day),
    ):
        app = came_and_went(names, ages)
        for rest in ("*", "-*"):
            fleet.looks_wrong(Code.CHANGING, pair, f"{app.name}{rest}", app.name, why=why)


def several_appids(fleet: Fleet) -> None:
    """The same client.id, which is no library's default, is used by more than one AppID of a pair."""
    pair = fleet.pair()
    for name, count in (("exporter", 2), ("batch-loader", 3), ("webshop", 2)):
        for _ in range(count):
            fleet.writer(fleet.app(pair), [fleet.topic(pair)], client_id=name)
        fleet.wrong(Code.SEVERAL_APPIDS, pair, name)
    for way in ("librdkafka.writes-stock", "sarama.writes-stock"):
        for _ in range(2):
            app = fleet.app(pair)
            fleet.client(app, way, [fleet.topic(pair)], client_id=None)
            fleet.wrong(Code.NAMELESS, pair, app.name, app.name)
        name = fleet.estate.facts[-1].client_id
        fleet.looks_wrong(Code.SEVERAL_APPIDS, pair, name, why="it is what its library gives everybody")
    other = fleet.pair()
    for where in (pair, other):
        fleet.writer(fleet.app(where), [fleet.topic(where)], client_id="in-two-pairs")
        fleet.looks_wrong(
            Code.SEVERAL_APPIDS, where, "in-two-pairs", why="these are AppIDs of different pairs"
        )
    app = fleet.app(pair)
    for host in (fleet.host(), fleet.host()):
        fleet.writer(app, [fleet.topic(pair)], client_id="twice", host=host)
    fleet.looks_wrong(Code.SEVERAL_APPIDS, pair, "twice", why="one AppID uses it, on two hosts")


def several_kinds(fleet: Fleet) -> None:
    """One client.id writes and reads, or is used with more than one library."""
    pair = fleet.pair()
    for ways in (
        ("librdkafka.writes-safely", "librdkafka.reads-named"),
        ("java-3.9.2.writes-safely", "librdkafka.writes-safely"),
        ("kafka-python.reads-named", "java-3.9.2.reads-named"),
    ):
        app = fleet.app(pair)
        for way in ways:
            fleet.client(app, way, [fleet.topic(pair)], client_id=app.name)
        fleet.wrong(Code.SEVERAL_KINDS, pair, app.name, app.name)
    for why, used in (
        (
            "it was updated from one version to another",
            ("java-3.2.3.writes-safely", "java-3.9.2.writes-safely"),
        ),
        ("it writes to two Topics", ("librdkafka.writes-safely", "librdkafka.writes-safely")),
        ("it reads with two assignors", ("librdkafka.reads-named", "librdkafka.reads-range")),
        ("it says what it is on its first connection, and not on the next", (says_it_once(fleet, "group"),)),
    ):
        app = fleet.app(pair)
        for way in used:
            fleet.client(app, way, [fleet.topic(pair)], client_id=app.name)
        fleet.looks_wrong(Code.SEVERAL_KINDS, pair, app.name, app.name, why=why)
    app = fleet.app(pair)
    for way in ("librdkafka.writes-safely", "librdkafka.reads-named"):
        fleet.client(app, way, [fleet.topic(pair)])
    fleet.looks_wrong(
        Code.SEVERAL_KINDS,
        pair,
        app.name,
        app.name,
        why="the AppID writes and reads, each with a client.id of its own",
    )


def many_topics(fleet: Fleet) -> None:
    """One client.id uses more than 10 Topics."""
    pair = fleet.pair()
    for count in (11, 12, 25):
        app = fleet.app(pair)
        fleet.wrong(Code.MANY_TOPICS, pair, fleet.reader(app, fleet.topics(pair, count)), app.name)
    app = fleet.app(pair)
    name = fleet.reader(app, fleet.topics(pair, 10))
    fleet.looks_wrong(Code.MANY_TOPICS, pair, name, app.name, why="these are ten")
    app = fleet.app(pair)
    for part in ("left", "right"):
        name = fleet.reader(app, fleet.topics(pair, 8), client_id=f"{app.name}-{part}")
        fleet.looks_wrong(
            Code.MANY_TOPICS, pair, name, app.name, why="its AppID uses sixteen, with two client.ids"
        )
    app = fleet.app(pair)
    topics = fleet.topics(pair, 7)
    fleet.reader(app, topics, client_id=app.name)
    name = fleet.writer(app, topics, client_id=app.name)
    fleet.wrong(Code.SEVERAL_KINDS, pair, name, app.name)
    fleet.looks_wrong(
        Code.MANY_TOPICS, pair, name, app.name, why="it reads and writes seven Topics, the same ones"
    )


def both_clusters(fleet: Fleet) -> None:
    """Clients of one AppID that have no binding of their own were seen on both clusters of the pair on 2 of
    the last 3 days.
    """
    pair = fleet.pair()

    def on_both(first: tuple[int, ...], second: tuple[int, ...], *, bound: bool = False) -> App:
        app = fleet.app(pair)
        topic = fleet.topic(pair)
        fleet.writer(app, [topic], client_id=f"{app.name}-a", ages=first)
        fleet.writer(app, [topic], client_id=f"{app.name}-b", cluster=pair.second, ages=second)
        if bound:
            fleet.register(app, f"{app.name}-b")
            fleet.bind(app, instances=[f"{app.name}-b"], cluster=pair.second)
        return app

    always = tuple(range(7))
    for first, second in ((always, always), ((0, 1), (0, 1)), ((0, 2), (0, 1, 2, 3))):
        app = on_both(first, second)
        fleet.wrong(Code.BOTH_CLUSTERS, pair, app.name, app.name)
    for why, first, second in (
        ("it has been switched: one day has both", (1, 2, 3, 4, 5, 6), (0, 1)),
        ("that was some days ago", always, (4, 5, 6)),
        ("it was never on both on one day", (1,), (0, 2)),
    ):
        app = on_both(first, second)
        fleet.looks_wrong(Code.BOTH_CLUSTERS, pair, app.name, app.name, why=why)
    app = on_both(always, always, bound=True)
    fleet.looks_wrong(
        Code.BOTH_CLUSTERS,
        pair,
        app.name,
        app.name,
        why="the client there has a binding of its own to that cluster",
    )


def two_pairs(fleet: Fleet) -> None:
    """One AppID is used in more than one pair."""
    one, other = fleet.pair(), fleet.pair()
    for _ in range(3):
        app = fleet.app(one)
        again = fleet.app(other, app.name)
        fleet.writer(app, [fleet.topic(one)], host=app.host)
        fleet.writer(again, [fleet.topic(other)], host=app.host)
        for pair in (one, other):
            fleet.wrong(Code.TWO_PAIRS, pair, app.name, app.name)
    for _ in range(2):
        app = fleet.app(one)
        fleet.app(other, app.name)
        fleet.writer(app, [fleet.topic(one)])
        for pair in (one, other):
            fleet.looks_wrong(
                Code.TWO_PAIRS, pair, app.name, app.name, why="it is registered in both, and used in one"
            )
    for number, pair in enumerate((one, other), 1):
        app = fleet.app(pair, f"storefront-{number}")
        fleet.writer(app, [fleet.topic(pair)], client_id=f"storefront-{number}")
        fleet.looks_wrong(Code.TWO_PAIRS, pair, app.name, app.name, why="each pair has a user of its own")


def not_unique(fleet: Fleet) -> None:
    """A Topic or group has a binding of its own under an AppID, and several applications use it under that AppID."""
    pair = fleet.pair()

    def shared(others: int, topics: Sequence[str]) -> App:
        app = fleet.app(pair)
        _applications(fleet, app, others, topics)
        fleet.wrong(Code.SHARED_APPID, pair, app.name, app.name)
        return app

    for others in (1, 3):
        topic = fleet.topic(pair)
        app = shared(others, [topic])
        fleet.bind(app, topics=[topic])
        fleet.wrong(Code.NOT_UNIQUE, pair, topic, app.name)
    topics = fleet.topics(pair, 2)
    app = shared(2, topics)
    fleet.bind(app, topics=topics[1:])
    fleet.wrong(Code.NOT_UNIQUE, pair, topics[1], app.name)

    app = fleet.app(pair)
    group, topic = f"{app.name}-common", fleet.topic(pair)
    for word in ("checkout", "warehouse"):
        fleet.reader(app, [topic], client_id=f"{word}-{app.name}", host=fleet.host(), group=group)
    fleet.bind(app, groups=[group])
    fleet.looks_wrong(
        Code.NOT_UNIQUE, pair, group, app.name, why="who shares a consumer group is one application"
    )
    topic = fleet.topic(pair)
    app = fleet.app(pair)
    for number in (1, 2, 3):
        fleet.writer(app, [topic], client_id=f"{app.name}-{number}", host=fleet.host())
    fleet.bind(app, topics=[topic])
    fleet.looks_wrong(
        Code.NOT_UNIQUE, pair, topic, app.name, why="one application uses it, with three replicas"
    )
    topic = fleet.topic(pair)
    app = shared(1, [topic])
    fleet.bind(app)
    fleet.looks_wrong(Code.NOT_UNIQUE, pair, topic, app.name, why="it has no binding of its own")
    topic, other = fleet.topics(pair, 2)
    app = fleet.app(pair)
    fleet.writer(app, [topic], client_id=f"checkout-{app.name}", host=fleet.host())
    fleet.writer(app, [other], client_id=f"warehouse-{app.name}", host=fleet.host())
    fleet.wrong(Code.SHARED_APPID, pair, app.name, app.name)
    fleet.bind(app, topics=[topic])
    fleet.looks_wrong(Code.NOT_UNIQUE, pair, topic, app.name, why="the other application uses another Topic")
    topic = fleet.topic(pair)
    app = fleet.app(pair)
    fleet.writer(app, [topic])
    fleet.writer(fleet.app(pair), [topic])
    fleet.bind(app, topics=[topic])
    fleet.looks_wrong(
        Code.NOT_UNIQUE, pair, topic, app.name, why="the other application signs in as another AppID"
    )


def regex(fleet: Fleet) -> None:
    """A member of a group asks for all Topics, and its AppID has bindings of Topics."""
    pair = fleet.pair()
    for way in ("librdkafka.reads-pattern", "java-3.9.2.reads-pattern", "java-3.2.3.reads-pattern"):
        app = fleet.app(pair)
        topics = fleet.topics(pair, 2)
        name = fleet.reader(app, topics, way)
        fleet.bind(app, topics=topics[:1])
        fleet.wrong(Code.REGEX, pair, name, app.name)
    for why, way, bound in (
        ("none of its AppID's Topics has a binding", "librdkafka.reads-pattern", False),
        ("it subscribes to names", "librdkafka.reads-named", True),
        ("it subscribes to names", "java-3.9.2.reads-named", True),
        ("it subscribes to names", "kafka-python.reads-named", True),
        ("it subscribes to names", "aiokafka.reads-named", True),
        ("it subscribes to names", "kafkajs.reads-named", True),
    ):
        app = fleet.app(pair)
        topics = fleet.topics(pair, 2)
        name = fleet.reader(app, topics, way)
        fleet.bind(app, topics=topics[:1] if bound else (), instances=() if bound else [name])
        fleet.looks_wrong(Code.REGEX, pair, name, app.name, why=why)
    _regex_of_sarama(fleet, pair)


def _regex_of_sarama(fleet: Fleet, pair: Pair) -> None:
    app = fleet.app(pair)
    topics = fleet.topics(pair, 2)
    name = fleet.reader(app, topics, "sarama.reads-named")
    fleet.bind(app, topics=topics[:1])
    fleet.wrong(Code.REGEX, pair, name, app.name)


def group_appids(fleet: Fleet) -> None:
    """Members of one group sign in as different AppIDs."""
    pair, other = fleet.pair(), fleet.pair()
    for members in (2, 2, 3):
        group, topic = f"common-{fleet.number('common')}", fleet.topic(pair)
        for _ in range(members):
            fleet.reader(fleet.app(pair), [topic], group=group)
        fleet.wrong(Code.GROUP_APPIDS, pair, group)
    for where in (pair, other):
        fleet.reader(fleet.app(where), [fleet.topic(where)], group="in-two-pairs")
        fleet.looks_wrong(
            Code.GROUP_APPIDS, where, "in-two-pairs", why="these are two groups, in different pairs"
        )
    app = fleet.app(pair)
    topic = fleet.topic(pair)
    for number in (1, 2):
        fleet.reader(app, [topic], group="of-one-appid", client_id=f"{app.name}-{number}")
    fleet.looks_wrong(
        Code.GROUP_APPIDS, pair, "of-one-appid", why="its members are different clients of one AppID"
    )
    topic = fleet.topic(pair)
    for number in (1, 2):
        fleet.reader(fleet.app(pair), [topic], group=f"apart-{number}")
        fleet.looks_wrong(
            Code.GROUP_APPIDS,
            pair,
            f"apart-{number}",
            why="two AppIDs read one Topic, each with a group of its own",
        )


def group_instances(fleet: Fleet) -> None:
    """Members of one group have different client.ids, and at least one of them is registered."""
    pair = fleet.pair()

    def members(count: int, *, registered: int, client_ids: int) -> tuple[App, str]:
        app = fleet.app(pair)
        group, topic = f"{app.name}-group", fleet.topic(pair)
        names = [f"{app.name}-{number % client_ids}" for number in range(count)]
        for name in names:
            fleet.reader(app, [topic], group=group, client_id=name, host=fleet.host())
        fleet.register(app, *sorted(set(names))[:registered])
        return app, group

    for count, registered in ((2, 1), (3, 2), (4, 1)):
        app, group = members(count, registered=registered, client_ids=count)
        fleet.wrong(Code.GROUP_INSTANCES, pair, group, app.name)
    for why, count, registered, client_ids in (
        ("none of them is registered", 3, 0, 3),
        ("all of them have one client.id", 3, 1, 1),
        ("there is one member", 1, 1, 1),
    ):
        app, group = members(count, registered=registered, client_ids=client_ids)
        fleet.looks_wrong(Code.GROUP_INSTANCES, pair, group, app.name, why=why)
    app = fleet.app(pair)
    topic = fleet.topic(pair)
    for part in ("a", "b"):
        name = fleet.reader(app, [topic], group=f"{app.name}-{part}", client_id=f"{app.name}-{part}")
        fleet.register(app, name)
        fleet.looks_wrong(
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

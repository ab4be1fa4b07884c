"""What is wrong in a made-up estate, for each rule: as often as it is wanted, each beside something that only looks like it.

A plant says what there is to find because it has put it there; it knows nothing of how the rules look for it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from hadash.governance.catalogue import (
    CHANGING_NAMES,
    CONTROLLER_CHANGES,
    MANY_TOPICS,
    STALLED_MINUTES,
    UNUSED_TOPICS,
    Code,
)
from hadash.lake.access import ALL_TOPICS, LISTING, SURVIVE_USER
from spark.estate.clean import Builder, Size
from spark.estate.model import EVERY_DAY, Estate, Fact

Plant = Callable[[Builder], None]

PLANTS: dict[Code, Plant] = {}


def plants(code: Code) -> Callable[[Plant], Plant]:
    def register(plant: Plant) -> Plant:
        PLANTS[code] = plant
        return plant

    return register


def generate(size: Size, times: int = 2) -> Estate:
    """An estate with known answers.

    :param times: how often each thing that is wrong is in it.
    """
    made = Builder(size)
    for plant in PLANTS.values():
        for _ in range(times):
            plant(made)
    return made.estate


# -- who is who -------------------------------------------------------------------------------------------------------


@plants(Code.SHARED_APPID)
def _shared_appid(b: Builder) -> None:
    pair = b.any_pair()
    shared, same = b.appid(pair, "shared"), b.appid(pair, "alike")
    for appid, names in ((shared, ("cart-1", "stock-1")), (same, ("cart-1", "cart-2"))):
        for name in names:
            b.writes(pair, appid, f"{appid}-{name}", b.any_topic(pair), host=b.host())
    together, host = b.appid(pair, "onehost"), b.host()
    for name in ("cart", "stock"):
        b.writes(pair, together, f"{together}-{name}", b.any_topic(pair), host=host)
    b.estate.answer(Code.SHARED_APPID, pair, shared, shared)


@plants(Code.NAMELESS)
def _nameless(b: Builder) -> None:
    pair = b.any_pair()
    for name in (
        "",
        b.random.choice(["rdkafka", "producer-1", "consumer-audit-3", "sarama", "kafka-python-2.2.3"]),
    ):
        appid = b.appid(pair, "nameless")
        b.writes(pair, appid, name, b.any_topic(pair), host=b.host())
        b.estate.answer(Code.NAMELESS, pair, appid, appid)
    looks_like = b.appid(pair, "named")
    b.writes(pair, looks_like, f"{looks_like}-producer-1", b.any_topic(pair), host=b.host())


@plants(Code.CHANGING)
def _changing(b: Builder) -> None:
    pair = b.any_pair()
    appid, topic, host = b.appid(pair, "changing"), b.any_topic(pair), b.host()
    ending = b.random.choice(["uuid", "pod", "number"])
    for age in EVERY_DAY:
        name = f"{appid}-job-{_made_anew(b, ending)}"
        b.writes(pair, appid, name, topic, host=host, ages=(age,))
    b.estate.answer(Code.CHANGING, pair, f"{_no_digits(appid)}-job{'' if ending == 'pod' else '-'}*", appid)
    # Too few of them; and a fleet that was started today, all at once.
    few, fleet = b.appid(pair, "few"), b.appid(pair, "fleet")
    for age in range(CHANGING_NAMES - 1):
        b.writes(pair, few, f"{few}-job-{1000 + age}", topic, host=host, ages=(age,))
    for number in range(CHANGING_NAMES + 2):
        b.writes(pair, fleet, f"{fleet}-worker-{number}", topic, host=host, ages=(0,))


def _made_anew(b: Builder, how: str) -> str:
    if how == "uuid":
        text = f"{b.random.getrandbits(128):032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    if how == "pod":
        letters = "bcdfghjklmnpqrstvwxz2456789"
        return "-".join("".join(b.random.choices(letters, k=k)) for k in (9, 5))
    return str(b.random.randrange(10**6, 10**7))


def _no_digits(appid: str) -> str:
    """What is left of a made-up AppID (a word and a number) when numbers do not count."""
    return f"{appid.rpartition('-')[0]}-*"


@plants(Code.SEVERAL_APPIDS)
def _several_appids(b: Builder) -> None:
    pair = b.any_pair()
    one, two = b.appid(pair, "twin"), b.appid(pair, "twin")
    for appid in (one, two):
        b.writes(pair, appid, f"{one}-client", b.any_topic(pair), host=b.host())
    b.estate.answer(Code.SEVERAL_APPIDS, pair, f"{one}-client")


@plants(Code.SEVERAL_KINDS)
def _several_kinds(b: Builder) -> None:
    pair = b.any_pair()
    appid = b.appid(pair, "kinds")
    host = b.host()
    b.writes(pair, appid, f"{appid}-both", b.any_topic(pair), host=host)
    b.reads(pair, appid, f"{appid}-both", b.any_topic(pair), f"{appid}-group", host=host)
    b.estate.answer(Code.SEVERAL_KINDS, pair, f"{appid}-both", appid)
    topic = b.any_topic(pair)
    for library in ("apache-kafka-java", "librdkafka"):
        b.writes(pair, appid, f"{appid}-libraries", topic, host=host, library=library)
    b.estate.answer(Code.SEVERAL_KINDS, pair, f"{appid}-libraries", appid)
    for version in ("3.4.0", "3.9.0"):
        b.writes(pair, appid, f"{appid}-updated", topic, host=host, version=version)


@plants(Code.MANY_TOPICS)
def _many_topics(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "many"), b.host()
    topics = b.some_topics(pair, MANY_TOPICS + 1)
    for topic in topics:
        b.writes(pair, appid, f"{appid}-all", topic, host=host)
    for topic in topics[1:]:
        b.writes(pair, appid, f"{appid}-most", topic, host=host)
    b.estate.answer(Code.MANY_TOPICS, pair, f"{appid}-all", appid)


@plants(Code.BOTH_CLUSTERS)
def _both_clusters(b: Builder) -> None:
    pair = b.any_pair()
    first, second = b.sides(pair)
    both, moved, bound = b.appid(pair, "both"), b.appid(pair, "moved"), b.appid(pair, "bound")
    topic = b.any_topic(pair)
    for appid, there in ((both, (0, 1)), (moved, (0,)), (bound, (0, 1, 2))):
        host = b.host()
        b.writes(pair, appid, f"{appid}-here", topic, cluster=first, host=host)
        b.writes(pair, appid, f"{appid}-there", topic, cluster=second, host=host, ages=there)
    b.bind(pair, bound, instances=[f"{bound}-there"])
    b.estate.answer(Code.BOTH_CLUSTERS, pair, both, both)


@plants(Code.TWO_PAIRS)
def _two_pairs(b: Builder) -> None:
    one, other = b.random.sample(b.pairs, 2)
    appid = b.appid(one, "third")
    b.estate.add("appids", pair=other, appid=appid, owner="")
    host = b.host()
    for pair in (one, other):
        b.writes(pair, appid, f"{appid}-client", b.any_topic(pair), host=host)
        b.estate.answer(Code.TWO_PAIRS, pair, appid, appid)


@plants(Code.NOT_UNIQUE)
def _not_unique(b: Builder) -> None:
    pair = b.any_pair()
    appid = b.appid(pair, "unique")
    shared, own = b.some_topics(pair, 2)
    b.writes(pair, appid, f"{appid}-cart", shared, host=b.host())
    stock = b.host()
    b.writes(pair, appid, f"{appid}-stock", shared, host=stock)
    b.writes(pair, appid, f"{appid}-stock", own, host=stock)
    b.bind(pair, appid, topics=[shared, own])
    b.estate.answer(Code.NOT_UNIQUE, pair, shared, appid)
    b.estate.answer(Code.SHARED_APPID, pair, appid, appid)


@plants(Code.REGEX)
def _regex(b: Builder) -> None:
    pair = b.any_pair()
    bound, free = b.appid(pair, "regex"), b.appid(pair, "pattern")
    for appid in (bound, free):
        host, topic = b.host(), b.any_topic(pair)
        b.reads(pair, appid, f"{appid}-reader", topic, f"{appid}-group", host=host)
        _lists(b, pair, appid, f"{appid}-reader", host)
        if appid == bound:
            b.bind(pair, appid, topics=[topic])
            # Somebody who lists Topics without reading them in a group, as a console does.
            b.writes(pair, appid, f"{appid}-writer", topic, host=host)
            _lists(b, pair, appid, f"{appid}-writer", host)
    b.estate.answer(Code.REGEX, pair, f"{bound}-reader", bound)


def _lists(b: Builder, pair: str, appid: str, client_id: str, host: str) -> None:
    cluster = b.sides(pair)[0]
    b.estate.facts.append(Fact(pair, appid, client_id, LISTING, ALL_TOPICS, cluster, host))


@plants(Code.GROUP_APPIDS)
def _group_appids(b: Builder) -> None:
    pair = b.any_pair()
    one, two = b.appid(pair, "member"), b.appid(pair, "member")
    for appid in (one, two):
        b.reads(pair, appid, f"{appid}-reader", b.any_topic(pair), f"{one}-group", host=b.host())
    b.estate.answer(Code.GROUP_APPIDS, pair, f"{one}-group")


@plants(Code.GROUP_INSTANCES)
def _group_instances(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "members"), b.host()
    for number in (1, 2):
        b.reads(pair, appid, f"{appid}-reader-{number}", b.any_topic(pair), f"{appid}-group", host=host)
    b.register(pair, appid, f"{appid}-reader-1")
    b.estate.answer(Code.GROUP_INSTANCES, pair, f"{appid}-group", appid)


# -- rights -----------------------------------------------------------------------------------------------------------


@plants(Code.SUPER_USER)
def _super_user(b: Builder) -> None:
    """(Others may use what it uses. Near it: a right to a prefix, one of everybody, and a Topic to which nobody has any.)"""
    pair = b.any_pair()
    first = b.sides(pair)[0]
    appid, prefixed, anybody, unguarded = (b.appid(pair, "super") for _ in range(4))
    guarded, open_to_all, bare = (f"{pair}.{appid}-{kind}" for kind in ("guarded", "open", "bare"))
    b.add_mirror(pair, (guarded, open_to_all, bare))
    owner = b.appid(pair, "owner")
    b.writes(pair, owner, f"{owner}-writer", guarded, host=b.host())
    b.allow(pair, prefixed, "TOPIC", guarded[:-2], "ALL", pattern="PREFIXED")
    for cluster in b.sides(pair):
        b.allow_on(cluster, "*", "TOPIC", open_to_all, "READ")
    for who, kind, topic in (
        (appid, "produce", guarded),
        (prefixed, "produce", guarded),
        (anybody, "consume", open_to_all),
        (unguarded, "produce", bare),
    ):
        acks = -1 if kind == "produce" else None
        b.estate.facts.append(Fact(pair, who, f"{who}-client", kind, topic, first, b.host(), acks=acks))
    b.joins(pair, anybody, f"{anybody}-client", f"{anybody}-group", host=b.host())
    b.estate.answer(Code.SUPER_USER, pair, appid, appid)


@plants(Code.UNUSED_RIGHTS)
def _unused_rights(b: Builder) -> None:
    pair = b.any_pair()
    names = b.some_topics(pair, UNUSED_TOPICS + 2)
    wide, prefixed, everything, narrow = (b.appid(pair, "rights") for _ in range(4))
    for appid in (wide, prefixed, everything, narrow):
        b.writes(pair, appid, f"{appid}-writer", names[0], host=b.host())
    for topic in names[1:]:
        b.allow(pair, wide, "TOPIC", topic, "READ")
    for topic in names[1:-1]:
        b.allow(pair, narrow, "TOPIC", topic, "READ")
    b.allow(pair, narrow, "TOPIC", names[-1], "DESCRIBE")
    b.allow(pair, prefixed, "TOPIC", f"{pair}.topic-0000", "WRITE", pattern="PREFIXED")
    b.allow(pair, everything, "TOPIC", "*", "ALL")
    for appid in (wide, prefixed, everything):
        b.estate.answer(Code.UNUSED_RIGHTS, pair, appid, appid)


@plants(Code.ACL_DRIFT)
def _acl_drift(b: Builder) -> None:
    pair = b.any_pair()
    first, second = b.sides(pair)
    appid, fine = b.appid(pair, "drift"), b.appid(pair, "nodrift")
    for each in (appid, fine):
        b.writes(pair, each, f"{each}-writer", b.any_topic(pair), host=b.host())
    b.allow_on(first, appid, "GROUP", f"{appid}-group", "READ")
    b.estate.answer(Code.ACL_DRIFT, pair, first, appid)
    # What hadash denies on the standby, and a Topic that only one cluster has.
    b.estate.add(
        "acls",
        cluster=second,
        resource_type="TOPIC",
        resource=b.any_topic(pair),
        pattern="LITERAL",
        principal=f"User:{fine}",
        host="*",
        operation="WRITE",
        permission="DENY",
        by_hadash=True,
    )
    b.add_topic(first, f"{fine}-local")
    b.allow_on(first, fine, "TOPIC", f"{fine}-local", "READ")


# -- clients ----------------------------------------------------------------------------------------------------------


def _one_client(
    b: Builder, code: Code, kind: str, how: dict[str, Any], nearly: dict[str, Any]
) -> tuple[str, str]:
    """An AppID with a client that is wrong and one that nearly is; its pair and name."""
    pair = b.any_pair()
    word = code.value.split("-")[0]
    appid, host, topic = b.appid(pair, word), b.host(), b.any_topic(pair)
    for name, settings in (("wrong", how), ("right", nearly)):
        client_id = f"{appid}-{name}"
        if kind == "produce":
            b.writes(pair, appid, client_id, topic, host=host, **settings)
        else:
            b.reads(pair, appid, client_id, topic, f"{appid}-group-{name}", host=host, **settings)
    b.estate.answer(code, pair, f"{appid}-wrong", appid)
    return pair, appid


@plants(Code.ACKS)
def _acks(b: Builder) -> None:
    _one_client(b, Code.ACKS, "produce", {"acks": b.random.choice([0, 1])}, {"acks": -1})


@plants(Code.TRANSACTIONS)
def _transactions(b: Builder) -> None:
    how = {"transactional": True, "idempotent": True}
    _one_client(b, Code.TRANSACTIONS, "produce", how, {})


@plants(Code.IDEMPOTENT)
def _idempotent(b: Builder) -> None:
    _one_client(b, Code.IDEMPOTENT, "produce", {"idempotent": True}, {})


@plants(Code.NO_RETRIES)
def _no_retries(b: Builder) -> None:
    version = b.random.choice(["2.0.1", "1.1.0", "0.11.0.3"])
    pair, appid = _one_client(b, Code.NO_RETRIES, "produce", {"version": version}, {"version": "2.1.0"})
    if not version.startswith("2"):
        b.estate.answer(Code.CLIENT_VERSION, pair, f"{appid}-wrong", appid)


@plants(Code.KAFKA_10793)
def _kafka_10793(b: Builder) -> None:
    version = b.random.choice(["2.5.0", "2.5.1", "2.6.0", "2.6.1", "2.7.0"])
    nearly = b.random.choice(["2.6.2", "2.7.1", "2.4.1", "2.8.0"])
    _one_client(b, Code.KAFKA_10793, "consume", {"version": version}, {"version": nearly})


@plants(Code.LONG_SESSION)
def _long_session(b: Builder) -> None:
    how = {"session_timeout_ms": 60_000}
    _one_client(b, Code.LONG_SESSION, "consume", how, {"session_timeout_ms": 45_000})


@plants(Code.SESSION_BOUNDS)
def _session_bounds(b: Builder) -> None:
    how = {"session_timeout_ms": b.random.choice([1_000, 5_999])}
    _one_client(b, Code.SESSION_BOUNDS, "consume", how, {"session_timeout_ms": 6_000})


@plants(Code.CLIENT_VERSION)
def _client_version(b: Builder) -> None:
    pair, _ = _one_client(b, Code.CLIENT_VERSION, "consume", {"version": "1.1.1"}, {"version": "2.0.0"})
    # Builds of one's own are named as people like: they are no release, and stop nobody else from being looked at.
    for version in ("20231108103000.1", "1.20231108103000", "3.9.0.20231108103000", "购物", ""):
        own, topic = b.appid(pair, "built"), b.any_topic(pair)
        b.reads(pair, own, f"{own}-reader", topic, f"{own}-group", host=b.host(), version=version)


@plants(Code.SELF_ASSIGNED)
def _self_assigned(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "assigned"), b.host()
    b.use(pair, appid, f"{appid}-alone", "consume", b.any_topic(pair), host=host)
    b.estate.answer(Code.SELF_ASSIGNED, pair, f"{appid}-alone", appid)


@plants(Code.KAFKA_13563)
def _kafka_13563(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "commits"), b.host()
    hit = b.random.choice(["2.6.2", "2.7.2", "2.8.1", "3.0.0", "3.1.1"])
    fine = b.random.choice(["2.6.1", "2.7.0", "3.1.2", "3.2.0", "3.9.0"])
    for name, version in (("hit", hit), ("fine", fine)):
        how = {"host": host, "version": version}
        client_id = f"{appid}-{name}"
        b.use(pair, appid, client_id, "consume", b.any_topic(pair), **how)
        b.use(pair, appid, client_id, "group", f"{appid}-{name}", **how)
        b.estate.answer(Code.SELF_ASSIGNED, pair, client_id, appid)
    b.estate.answer(Code.KAFKA_13563, pair, f"{appid}-hit", appid)
    # A member that commits on a connection on which it has not joined.
    b.reads(pair, appid, f"{appid}-member", b.any_topic(pair), f"{appid}-group", host=host, version=hit)
    b.use(pair, appid, f"{appid}-member", "group", f"{appid}-group", host=b.host(), version=hit)


@plants(Code.SKEWED)
def _skewed(b: Builder) -> None:
    pair = b.any_pair()
    cluster = b.sides(pair)[1]
    name = f"skewed-{b.random.getrandbits(40):010x}"
    b.add_group(cluster, name, [4, 2, 2])
    b.add_group(cluster, f"{name}-even", [3, 2, 2])
    b.add_group(cluster, f"{name}-sticky", [4, 2, 2], protocol="cooperative-sticky")
    b.estate.answer(Code.SKEWED, pair, name)


# -- what is known ----------------------------------------------------------------------------------------------------


@plants(Code.NEVER_SEEN)
def _never_seen(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "declared"), b.host()
    used, unused = b.some_topics(pair, 2)
    b.writes(pair, appid, f"{appid}-writer", used, host=host)
    for name, topic in (("", used), (f"{appid}-writer", unused)):
        b.estate.add("declarations", pair=pair, appid=appid, name=name, kind="produce", resource=topic)
    b.estate.answer(Code.NEVER_SEEN, pair, appid, appid)


@plants(Code.NOT_DECLARED)
def _not_declared(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "surprise"), b.host()
    known, unknown = b.some_topics(pair, 2)
    for topic in (known, unknown):
        b.writes(pair, appid, f"{appid}-writer", topic, host=host)
    b.estate.add(
        "declarations", pair=pair, appid=appid, name=f"{appid}-writer", kind="produce", resource=known
    )
    b.estate.answer(Code.NOT_DECLARED, pair, appid, appid)


@plants(Code.BYPASS)
def _bypass(b: Builder) -> None:
    pair = b.any_pair()
    around, through, mirror = b.appid(pair, "bypass"), b.appid(pair, "through"), b.appid(pair, "mirror")
    for cluster in b.sides(pair):
        b.estate.add("own_users", cluster=cluster, user=mirror)
    for appid in (around, through, mirror):
        topic, host = b.any_topic(pair), b.host()
        b.writes(pair, appid, f"{appid}-writer", topic, host=host, source=SURVIVE_USER)
        # (A reader, too: brokers do not tell who joined a group, so nothing follows from that.)
        b.use(pair, appid, f"{appid}-reader", "consume", topic, host=host, source=SURVIVE_USER)
        if appid == through:
            b.writes(pair, appid, f"{appid}-writer", topic, host=host)
            b.reads(pair, appid, f"{appid}-reader", topic, f"{appid}-group", host=host)
    b.estate.answer(Code.BYPASS, pair, around, around)


# -- clusters and mirrors -----------------------------------------------------------------------------------------------


def _untouched_pair(b: Builder, code: Code) -> str:
    """A pair in which this is not wrong yet; else one in which it is: then nothing more is to be found."""
    taken = {answer.pair for answer in b.estate.answers if answer.code is code}
    free = [pair for pair in b.pairs[:-1] if pair not in taken]
    return b.random.choice(free or sorted(taken))


@plants(Code.ENGINE_VERSIONS)
def _engine_versions(b: Builder) -> None:
    pair = _untouched_pair(b, Code.ENGINE_VERSIONS)
    for row in b.estate.find("clusters", cluster=b.sides(pair)[1]):
        row["version"] = "3.8"
    b.estate.answer(Code.ENGINE_VERSIONS, pair, pair)


@plants(Code.OFFSETS_PARTITIONS)
def _offsets_partitions(b: Builder) -> None:
    pair = _untouched_pair(b, Code.OFFSETS_PARTITIONS)
    cluster = b.sides(pair)[1]
    b.estate.tables["partitions"] = [
        row
        for row in b.estate.tables["partitions"]
        if not (row["cluster"] == cluster and row["topic"] == "__consumer_offsets" and row["partition"] >= 25)
    ]
    b.estate.answer(Code.OFFSETS_PARTITIONS, pair, pair)


@plants(Code.BROKER_IDS)
def _broker_ids(b: Builder) -> None:
    pair = _untouched_pair(b, Code.BROKER_IDS)
    for row in b.estate.find("brokers", cluster=b.sides(pair)[1], broker=103):
        row["broker"] = 3
    b.estate.answer(Code.BROKER_IDS, pair, pair)


@plants(Code.CONTROLLER)
def _controller(b: Builder) -> None:
    pair = _untouched_pair(b, Code.CONTROLLER)
    flapping, calm = b.sides(pair)
    for row in b.estate.find("clusters", cluster=flapping):
        row["controller_epoch"] = 40 + CONTROLLER_CHANGES
    for row in b.estate.find("clusters", cluster=calm):
        row["controller_epoch"] = 40 + CONTROLLER_CHANGES - 1
    b.estate.answer(Code.CONTROLLER, pair, flapping)


def _mirror(b: Builder, word: str) -> tuple[dict[str, Any], str]:
    """A new mirror of two Topics; the mirror, and the Topic of which something is wrong."""
    pair = b.any_pair()
    stamp = f"{b.random.getrandbits(40):010x}"
    topics = [f"{word}-{stamp}", f"{word}-{stamp}-too"]
    return b.add_mirror(pair, topics), topics[0]


@plants(Code.UNDER_REPLICATED)
def _under_replicated(b: Builder) -> None:
    mirror, topic = _mirror(b, "replicas")
    for row in b.estate.find("partitions", cluster=mirror["target"], topic=topic, partition=1):
        row["in_sync"] = row["replicas"][:2]
    b.estate.answer(Code.UNDER_REPLICATED, mirror["pair"], mirror["mirror"])
    fine, topic = _mirror(b, "source")
    for row in b.estate.find("partitions", cluster=fine["source"], topic=topic, partition=1):
        row["in_sync"] = row["replicas"][:2]


@plants(Code.LEADERLESS)
def _leaderless(b: Builder) -> None:
    mirror, topic = _mirror(b, "leader")
    for row in b.estate.find("partitions", cluster=mirror["target"], topic=topic, partition=2):
        row |= {"leader": -1, "in_sync": []}
    b.estate.answer(Code.LEADERLESS, mirror["pair"], mirror["mirror"])


@plants(Code.FEWER_PARTITIONS)
def _fewer_partitions(b: Builder) -> None:
    mirror, topic = _mirror(b, "fewer")
    gone = {"fewer": 2, "more": 0, "none": -1}
    fewer = b.random.choice(["fewer", "none"])
    for at in ("partitions", "topics") if fewer == "none" else ("partitions",):
        b.estate.tables[at] = [
            row
            for row in b.estate.tables[at]
            if not (
                row["cluster"] == mirror["target"]
                and row["topic"] == topic
                and row.get("partition", 0) > gone[fewer] - 1
            )
        ]
    b.estate.answer(Code.FEWER_PARTITIONS, mirror["pair"], topic)
    more, topic = _mirror(b, "more")
    b.estate.tables["partitions"] = [
        row
        for row in b.estate.tables["partitions"]
        if not (row["cluster"] == more["source"] and row["topic"] == topic and row["partition"] == 2)
    ]


@plants(Code.CONFIG_DRIFT)
def _config_drift(b: Builder) -> None:
    mirror, topic = _mirror(b, "config")
    throttled = f"{topic}-too"
    for row in b.estate.find("topics", cluster=mirror["target"], topic=topic):
        row["configs"] = b.random.choice(
            [{"retention.ms": "1"}, {}, row["configs"] | {"max.message.bytes": "9"}]
        )
    for row in b.estate.find("topics", cluster=mirror["target"], topic=throttled):
        row["configs"] = row["configs"] | {"leader.replication.throttled.replicas": "0:1"}
    b.estate.answer(Code.CONFIG_DRIFT, mirror["pair"], topic)


@plants(Code.OVER_RPO)
def _over_rpo(b: Builder) -> None:
    mirror, _ = _mirror(b, "late")
    samples = b.estate.find("lag", mirror=mirror["mirror"])
    for row in samples[100:103]:
        row["seconds"] = 61.0
    b.estate.answer(Code.OVER_RPO, mirror["pair"], mirror["mirror"])
    unknown, _ = _mirror(b, "gap")
    for row in b.estate.find("lag", mirror=unknown["mirror"])[200:220]:
        row |= {"seconds": None, "records": None}


@plants(Code.STALLED)
def _stalled(b: Builder) -> None:
    for state in ("failed", "stopped"):
        mirror, _ = _mirror(b, state)
        mirror |= {"state": state, "fault": "A task of its connector failed."}
        b.estate.answer(Code.STALLED, mirror["pair"], mirror["mirror"])
    stuck, _ = _mirror(b, "stuck")
    slow, _ = _mirror(b, "slow")
    for mirror, pace in ((stuck, 1.0), (slow, 0.5)):
        # Every half minute, for as long as counts: later by as much as time passes, and by half of it.
        begin = b.estate.at - timedelta(minutes=STALLED_MINUTES)
        b.estate.tables["lag"] = [
            row for row in b.estate.tables["lag"] if row["mirror"] != mirror["mirror"] or row["at"] < begin
        ]
        for number in range(STALLED_MINUTES * 2 + 1):
            passed = 30 * number
            at, late = begin + timedelta(seconds=passed), 1 + passed * pace
            b.estate.add("lag", pair=mirror["pair"], mirror=mirror["mirror"], at=at, records=1, seconds=late)
        # Most of these samples are over the RPO, too.
        b.estate.answer(Code.OVER_RPO, mirror["pair"], mirror["mirror"])
    b.estate.answer(Code.STALLED, stuck["pair"], stuck["mirror"])

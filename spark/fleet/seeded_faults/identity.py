"""Faults of identities: AppIDs, InstanceIDs, groups and bindings."""

from __future__ import annotations

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import CHANGING_NAMES, MANY_TOPICS
from hadash.lake.access import ALL_TOPICS, LISTING
from spark.fleet.clean import Builder
from spark.fleet.model import EVERY_DAY, Fact
from spark.fleet.seeded_faults.base import seeds


@seeds(Code.SHARED_APPID)
def _shared_appid(b: Builder) -> None:
    pair = b.any_pair()
    shared, same = b.appid(pair, "shared"), b.appid(pair, "alike")
    for appid, names in ((shared, ("cart-1", "stock-1")), (same, ("cart-1", "cart-2"))):
        for name in names:
            b.writes(pair, appid, f"{appid}-{name}", b.any_topic(pair), host=b.host())
    together, host = b.appid(pair, "onehost"), b.host()
    for name in ("cart", "stock"):
        b.writes(pair, together, f"{together}-{name}", b.any_topic(pair), host=host)
    b.fleet.answer(Code.SHARED_APPID, pair, shared, shared)
    # A Deployment that reads and one that writes are one application; each pod has an address of its own.
    split, topic = b.appid(pair, "split"), b.any_topic(pair)
    for number in range(2):
        b.writes(pair, split, f"{split}-cart-writer-7d9f8b6c5d-x2x4{number + 4}", topic, host=b.host())
        b.reads(pair, split, f"{split}-cart-reader-{number}", topic, f"{split}-group", host=b.host())
    # So are clients in one group; a name that is only a role does not count.
    fellows = b.appid(pair, "fellows")
    for name in ("cart", "stock"):
        b.reads(pair, fellows, f"{fellows}-{name}", topic, f"{fellows}-group", host=b.host())
    b.writes(pair, fellows, f"writer-{b.random.getrandbits(20)}", topic, host=b.host())


@seeds(Code.NAMELESS)
def _nameless(b: Builder) -> None:
    pair = b.any_pair()
    for name in (
        "",
        b.random.choice(["rdkafka", "producer-1", "consumer-audit-3", "sarama", "kafka-python-2.2.3"]),
    ):
        appid = b.appid(pair, "nameless")
        b.writes(pair, appid, name, b.any_topic(pair), host=b.host())
        b.fleet.answer(Code.NAMELESS, pair, appid, appid)
    looks_like = b.appid(pair, "named")
    b.writes(pair, looks_like, f"{looks_like}-producer-1", b.any_topic(pair), host=b.host())


@seeds(Code.CHANGING)
def _changing(b: Builder) -> None:
    pair = b.any_pair()
    appid, topic, host = b.appid(pair, "changing"), b.any_topic(pair), b.host()
    ending = b.random.choice(["uuid", "pod", "number"])
    for age in EVERY_DAY:
        name = f"{appid}-job-{_made_again(b, ending)}"
        b.writes(pair, appid, name, topic, host=host, ages=(age,))
    b.fleet.answer(Code.CHANGING, pair, f"{_no_digits(appid)}-job{'' if ending == 'pod' else '-'}*", appid)
    # Near misses: too few names; and many clients that were all started today.
    few, fleet = b.appid(pair, "few"), b.appid(pair, "fleet")
    for age in range(CHANGING_NAMES - 1):
        b.writes(pair, few, f"{few}-job-{1000 + age}", topic, host=host, ages=(age,))
    for number in range(CHANGING_NAMES + 2):
        b.writes(pair, fleet, f"{fleet}-worker-{number}", topic, host=host, ages=(0,))


def _made_again(b: Builder, how: str) -> str:
    if how == "uuid":
        text = f"{b.random.getrandbits(128):032x}"
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    if how == "pod":
        letters = "bcdfghjklmnpqrstvwxz2456789"
        return "-".join("".join(b.random.choices(letters, k=k)) for k in (9, 5))
    return str(b.random.randrange(10**6, 10**7))


def _no_digits(appid: str) -> str:
    """Return the stem of a generated AppID (a word and a number)."""
    return f"{appid.rpartition('-')[0]}-*"


@seeds(Code.SEVERAL_APPIDS)
def _several_appids(b: Builder) -> None:
    pair = b.any_pair()
    one, two = b.appid(pair, "twin"), b.appid(pair, "twin")
    for appid in (one, two):
        b.writes(pair, appid, f"{one}-client", b.any_topic(pair), host=b.host())
    b.fleet.answer(Code.SEVERAL_APPIDS, pair, f"{one}-client")


@seeds(Code.SEVERAL_KINDS)
def _several_kinds(b: Builder) -> None:
    pair = b.any_pair()
    appid = b.appid(pair, "kinds")
    host = b.host()
    b.writes(pair, appid, f"{appid}-both", b.any_topic(pair), host=host)
    b.reads(pair, appid, f"{appid}-both", b.any_topic(pair), f"{appid}-group", host=host)
    b.fleet.answer(Code.SEVERAL_KINDS, pair, f"{appid}-both", appid)
    topic = b.any_topic(pair)
    for library in ("apache-kafka-java", "librdkafka"):
        b.writes(pair, appid, f"{appid}-libraries", topic, host=host, library=library)
    b.fleet.answer(Code.SEVERAL_KINDS, pair, f"{appid}-libraries", appid)
    for version in ("3.4.0", "3.9.0"):
        b.writes(pair, appid, f"{appid}-updated", topic, host=host, version=version)


@seeds(Code.MANY_TOPICS)
def _many_topics(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "many"), b.host()
    topics = b.some_topics(pair, MANY_TOPICS + 1)
    for topic in topics:
        b.writes(pair, appid, f"{appid}-all", topic, host=host)
    for topic in topics[1:]:
        b.writes(pair, appid, f"{appid}-most", topic, host=host)
    b.fleet.answer(Code.MANY_TOPICS, pair, f"{appid}-all", appid)


@seeds(Code.BOTH_CLUSTERS)
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
    b.fleet.answer(Code.BOTH_CLUSTERS, pair, both, both)


@seeds(Code.TWO_PAIRS)
def _two_pairs(b: Builder) -> None:
    one, other = b.random.sample(b.pairs, 2)
    appid = b.appid(one, "third")
    b.fleet.add("appids", pair=other, appid=appid, owner="")
    host = b.host()
    for pair in (one, other):
        b.writes(pair, appid, f"{appid}-client", b.any_topic(pair), host=host)
        b.fleet.answer(Code.TWO_PAIRS, pair, appid, appid)


@seeds(Code.NOT_UNIQUE)
def _not_unique(b: Builder) -> None:
    pair = b.any_pair()
    appid = b.appid(pair, "unique")
    shared, own = b.some_topics(pair, 2)
    b.writes(pair, appid, f"{appid}-cart", shared, host=b.host())
    stock = b.host()
    b.writes(pair, appid, f"{appid}-stock", shared, host=stock)
    b.writes(pair, appid, f"{appid}-stock", own, host=stock)
    b.bind(pair, appid, topics=[shared, own])
    b.fleet.answer(Code.NOT_UNIQUE, pair, shared, appid)
    b.fleet.answer(Code.SHARED_APPID, pair, appid, appid)


@seeds(Code.REGEX)
def _regex(b: Builder) -> None:
    pair = b.any_pair()
    bound, free = b.appid(pair, "regex"), b.appid(pair, "pattern")
    for appid in (bound, free):
        host, topic = b.host(), b.any_topic(pair)
        b.reads(pair, appid, f"{appid}-reader", topic, f"{appid}-group", host=host)
        _lists(b, pair, appid, f"{appid}-reader", host)
        if appid == bound:
            b.bind(pair, appid, topics=[topic])
            # A client that lists Topics without reading them in a group, as a console does.
            b.writes(pair, appid, f"{appid}-writer", topic, host=host)
            _lists(b, pair, appid, f"{appid}-writer", host)
    b.fleet.answer(Code.REGEX, pair, f"{bound}-reader", bound)


def _lists(b: Builder, pair: str, appid: str, client_id: str, host: str) -> None:
    cluster = b.sides(pair)[0]
    b.fleet.facts.append(Fact(pair, appid, client_id, LISTING, ALL_TOPICS, cluster, host))


@seeds(Code.GROUP_APPIDS)
def _group_appids(b: Builder) -> None:
    pair = b.any_pair()
    one, two = b.appid(pair, "member"), b.appid(pair, "member")
    for appid in (one, two):
        b.reads(pair, appid, f"{appid}-reader", b.any_topic(pair), f"{one}-group", host=b.host())
    b.fleet.answer(Code.GROUP_APPIDS, pair, f"{one}-group")


@seeds(Code.GROUP_INSTANCES)
def _group_instances(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "members"), b.host()
    for number in (1, 2):
        b.reads(pair, appid, f"{appid}-reader-{number}", b.any_topic(pair), f"{appid}-group", host=host)
    b.register(pair, appid, f"{appid}-reader-1")
    b.fleet.answer(Code.GROUP_INSTANCES, pair, f"{appid}-group", appid)

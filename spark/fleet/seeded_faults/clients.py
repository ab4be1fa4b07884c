"""Faults of clients: wrong settings, and old versions."""

from __future__ import annotations

from typing import Any

from hadash.governance.catalogue import Code
from hadash.lake.access import CSV
from spark.fleet.clean import Builder
from spark.fleet.seeded_faults.base import seeds


def _one_client(
    b: Builder, code: Code, kind: str, how: dict[str, Any], nearly: dict[str, Any]
) -> tuple[str, str]:
    """Add an AppID with a faulty client and a near miss; return its pair and name."""
    pair = b.any_pair()
    word = code.value.split("-")[0]
    appid, host, topic = b.appid(pair, word), b.host(), b.any_topic(pair)
    for name, settings in (("wrong", how), ("right", nearly)):
        client_id = f"{appid}-{name}"
        if kind == "produce":
            b.writes(pair, appid, client_id, topic, host=host, **settings)
        else:
            b.reads(pair, appid, client_id, topic, f"{appid}-group-{name}", host=host, **settings)
    b.fleet.answer(code, pair, f"{appid}-wrong", appid)
    return pair, appid


@seeds(Code.ACKS)
def _acks(b: Builder) -> None:
    _one_client(b, Code.ACKS, "produce", {"acks": b.random.choice([0, 1])}, {"acks": -1})


@seeds(Code.MIN_IN_SYNC)
def _min_in_sync(b: Builder) -> None:
    pair = b.any_pair()
    appid = b.appid(pair, "insync")
    alone, enough, read, single = (f"{pair}.{appid}-{word}" for word in ("alone", "enough", "read", "single"))
    b.add_mirror(pair, (alone, enough, read))
    b.add_topic(b.sides(pair)[0], single, replicas=1)
    for topic, value in ((alone, "1"), (enough, "3"), (read, "1"), (single, "1")):
        for row in b.fleet.find("topics", topic=topic):
            row["configs"] = row["configs"] | {"min.insync.replicas": value}
    host = b.host()
    for topic in (alone, enough, single):
        b.writes(pair, appid, f"{appid}-writer", topic, host=host, acks=-1)
    b.reads(pair, appid, f"{appid}-reader", read, f"{appid}-group", host=host)
    b.fleet.answer(Code.MIN_IN_SYNC, pair, alone)


@seeds(Code.MIN_IN_SYNC_UNKNOWN)
def _min_in_sync_unknown(b: Builder) -> None:
    """(It needs a pair of its own, because the fault affects all Topics of a cluster.)"""
    number = 100 + len(b.fleet.tables["pairs"])
    pair = f"unread-{number}"
    b.add_pair(pair, number, topics=0)
    appid = b.appid(pair, "unread")
    unread, own = f"{pair}.{appid}-unread", f"{pair}.{appid}-own"
    b.add_mirror(pair, (unread, own))
    del b.fleet.find("brokers", cluster=b.sides(pair)[0])[-1]["configs"]["min.insync.replicas"]
    for row in b.fleet.find("topics", topic=own):
        row["configs"] = row["configs"] | {"min.insync.replicas": "2"}
    host = b.host()
    for topic in (unread, own):
        b.writes(pair, appid, f"{appid}-writer", topic, host=host, acks=-1)
    b.fleet.answer(Code.MIN_IN_SYNC_UNKNOWN, pair, unread)


@seeds(Code.TRANSACTIONS)
def _transactions(b: Builder) -> None:
    how = {"transactional": True, "idempotent": True}
    _one_client(b, Code.TRANSACTIONS, "produce", how, {})


@seeds(Code.IDEMPOTENT)
def _idempotent(b: Builder) -> None:
    _one_client(b, Code.IDEMPOTENT, "produce", {"idempotent": True}, {})


@seeds(Code.NO_RETRIES)
def _no_retries(b: Builder) -> None:
    """(Libraries that do not retry do not name themselves, either: Java before 2.4 and KafkaJS send no name to
    a Gateway.)
    """
    silent = {"library": "", "version": ""}
    pair, appid = _one_client(b, Code.NO_RETRIES, "produce", silent, {"version": "2.4.0"})
    # Some clients name their library on their first connection, and not on the next.
    host, topic = b.host(), b.any_topic(pair)
    once = b.appid(pair, "once")
    for how in (silent, {"library": "kgo", "version": "v1.22.2"}):
        b.writes(pair, once, f"{once}-writer", topic, host=host, **how)
    # An idempotent producer retries, whether its library is known or not.
    safe = b.appid(pair, "safe")
    b.writes(pair, safe, f"{safe}-writer", topic, host=b.host(), idempotent=True, **silent)
    b.fleet.answer(Code.IDEMPOTENT, pair, f"{safe}-writer", safe)
    # A file may have versions that no Gateway sees; a missing library in a file means nothing.
    old, new = ({"library": "kafka-python", "version": v, "source": CSV} for v in ("2.1.5", "2.2.0"))
    _one_client(b, Code.NO_RETRIES, "produce", old, new)
    version = b.random.choice(["2.0.1", "1.1.0", "0.11.0.3"])
    pair, appid = _one_client(
        b, Code.NO_RETRIES, "produce", {"version": version, "source": CSV}, {**silent, "source": CSV}
    )
    kept = b.appid(pair, "kept")
    b.writes(pair, kept, f"{kept}-writer", b.any_topic(pair), host=b.host(), version="2.1.0", source=CSV)
    if not version.startswith("2"):
        b.fleet.answer(Code.CLIENT_VERSION, pair, f"{appid}-wrong", appid)


@seeds(Code.KAFKA_10793)
def _kafka_10793(b: Builder) -> None:
    version = b.random.choice(["2.5.0", "2.5.1", "2.6.0", "2.6.1", "2.7.0"])
    nearly = b.random.choice(["2.6.2", "2.7.1", "2.4.1", "2.8.0"])
    _one_client(b, Code.KAFKA_10793, "consume", {"version": version}, {"version": nearly})


@seeds(Code.LONG_SESSION)
def _long_session(b: Builder) -> None:
    how = {"session_timeout_ms": 60_000}
    _one_client(b, Code.LONG_SESSION, "consume", how, {"session_timeout_ms": 45_000})


@seeds(Code.SESSION_BOUNDS)
def _session_bounds(b: Builder) -> None:
    how = {"session_timeout_ms": b.random.choice([1_000, 5_999])}
    _one_client(b, Code.SESSION_BOUNDS, "consume", how, {"session_timeout_ms": 6_000})


@seeds(Code.CLIENT_VERSION)
def _client_version(b: Builder) -> None:
    """(Two major versions behind 3.9 is older than clients that report their version, so it comes from files.)"""
    wrong, right = {"version": "1.1.1", "source": CSV}, {"version": "2.0.0", "source": CSV}
    pair, _ = _one_client(b, Code.CLIENT_VERSION, "consume", wrong, right)
    # Private builds have arbitrary names: they are not releases, and must not disturb other clients' results.
    for version in ("20231108103000.1", "1.20231108103000", "3.9.0.20231108103000", "购物", ""):
        own, topic = b.appid(pair, "built"), b.any_topic(pair)
        how = {"host": b.host(), "version": version, "source": CSV}
        b.reads(pair, own, f"{own}-reader", topic, f"{own}-group", **how)


@seeds(Code.SELF_ASSIGNED)
def _self_assigned(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "assigned"), b.host()
    b.use(pair, appid, f"{appid}-alone", "consume", b.any_topic(pair), host=host)
    b.fleet.answer(Code.SELF_ASSIGNED, pair, f"{appid}-alone", appid)


@seeds(Code.KAFKA_13563)
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
        b.fleet.answer(Code.SELF_ASSIGNED, pair, client_id, appid)
    b.fleet.answer(Code.KAFKA_13563, pair, f"{appid}-hit", appid)
    # A member that commits on another connection than that on which it joined.
    b.reads(pair, appid, f"{appid}-member", b.any_topic(pair), f"{appid}-group", host=host, version=hit)
    b.use(pair, appid, f"{appid}-member", "group", f"{appid}-group", host=b.host(), version=hit)


@seeds(Code.SKEWED)
def _skewed(b: Builder) -> None:
    pair = b.any_pair()
    cluster = b.sides(pair)[1]
    name = f"skewed-{b.random.getrandbits(40):010x}"
    one, *others = b.some_topics(pair, 4)
    b.add_group(cluster, name, [others, others])
    b.add_group(cluster, f"{name}-even", [others] * 3)
    b.add_group(cluster, f"{name}-sticky", [others, others], protocol="cooperative-sticky")
    # Near misses: a member that subscribes to more Topics than the others, and two with different Topics.
    b.add_group(cluster, f"{name}-more", [[one], [one], [one, *others]])
    b.add_group(cluster, f"{name}-apart", [[one], others])
    b.fleet.answer(Code.SKEWED, pair, name)
    # Members with the same Topics are skewed, whatever the others have.
    b.add_group(cluster, f"{name}-among", [others, others, [one]])
    b.fleet.answer(Code.SKEWED, pair, f"{name}-among")

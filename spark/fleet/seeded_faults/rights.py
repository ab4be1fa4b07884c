"""Faults of rights: rights that are too wide, or on one cluster only."""

from __future__ import annotations

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import UNUSED_TOPICS
from spark.fleet.clean import Builder
from spark.fleet.model import Fact
from spark.fleet.seeded_faults.base import seeds


@seeds(Code.SUPER_USER)
def _super_user(b: Builder) -> None:
    """(Others have rights to its Topic. Near misses: a right to a prefix, one for all users, and a Topic
    without any rights.)
    """
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
        b.fleet.facts.append(Fact(pair, who, f"{who}-client", kind, topic, first, b.host(), acks=acks))
    b.joins(pair, anybody, f"{anybody}-client", f"{anybody}-group", host=b.host())
    b.fleet.answer(Code.SUPER_USER, pair, appid, appid)


@seeds(Code.UNUSED_RIGHTS)
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
        b.fleet.answer(Code.UNUSED_RIGHTS, pair, appid, appid)


@seeds(Code.ACL_DRIFT)
def _acl_drift(b: Builder) -> None:
    pair = b.any_pair()
    first, second = b.sides(pair)
    appid, fine = b.appid(pair, "drift"), b.appid(pair, "nodrift")
    for each in (appid, fine):
        b.writes(pair, each, f"{each}-writer", b.any_topic(pair), host=b.host())
    b.allow_on(first, appid, "GROUP", f"{appid}-group", "READ")
    b.fleet.answer(Code.ACL_DRIFT, pair, first, appid)
    refused, elsewhere = b.appid(pair, "refused"), b.appid(pair, "elsewhere")
    for each in (refused, elsewhere):
        b.writes(pair, each, f"{each}-writer", b.any_topic(pair), host=b.host())
    b.allow(pair, refused, "TOPIC", f"{pair}.topic-00001", "WRITE")
    b.allow_on(second, refused, "TOPIC", f"{pair}.topic-0000", "WRITE", "PREFIXED", permission="DENY")
    b.fleet.answer(Code.ACL_DRIFT, pair, first, refused)
    b.allow_on(first, elsewhere, "TRANSACTIONAL_ID", elsewhere, "ALL")
    b.allow_on(second, elsewhere, "TRANSACTIONAL_ID", elsewhere, "ALL", host="10.0.0.1")
    b.fleet.answer(Code.ACL_DRIFT, pair, first, elsewhere)
    _same_in_other_words(b, pair)
    # Near misses: hadash's denial on the standby, and a Topic that only one cluster has.
    b.fleet.add(
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


def _same_in_other_words(b: Builder, pair: str) -> None:
    """Add rights that are written differently and give the same."""
    first, second = b.sides(pair)
    appid = b.appid(pair, "words")
    one, two = b.some_topics(pair, 2)
    b.allow_on(first, appid, "TOPIC", one, "ALL")
    for operation in ("READ", "WRITE"):
        b.allow_on(second, appid, "TOPIC", one, operation)
    # A prefix that covers one mirrored Topic equals its name; READ implies DESCRIBE; ``*`` covers all groups.
    b.allow_on(first, appid, "TOPIC", two, "READ", "PREFIXED")
    b.allow_on(second, appid, "TOPIC", two, "READ")
    b.allow_on(second, appid, "TOPIC", two, "DESCRIBE")
    b.allow_on(first, appid, "GROUP", "*", "ALL")
    b.allow_on(second, appid, "GROUP", "*", "READ")

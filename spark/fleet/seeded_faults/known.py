"""Faults of declarations: uses that are not declared, or not seen; and clients that bypass the Gateway."""

from __future__ import annotations

from hadash.governance.catalogue import Code
from hadash.governance.catalogue.figures import UNSEEN_DAYS
from spark.fleet.clean import Builder
from spark.fleet.model import LONG_AGO
from spark.fleet.seeded_faults.base import seeds


@seeds(Code.NEVER_SEEN)
def _never_seen(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "declared"), b.host()
    used, unused = b.some_topics(pair, 2)
    b.writes(pair, appid, f"{appid}-writer", used, host=host)
    for name, topic in (("", used), (f"{appid}-writer", unused)):
        b.fleet.add("declarations", pair=pair, appid=appid, name=name, kind="produce", resource=topic)
    b.fleet.answer(Code.NEVER_SEEN, pair, appid, appid)
    # A job that runs once a month (near miss), and one that has not run for longer.
    for word, age in (("monthly", UNSEEN_DAYS - 5), ("gone", LONG_AGO)):
        job = b.appid(pair, word)
        b.writes(pair, job, f"{job}-writer", used, host=host, ages=(age,))
        b.fleet.add("declarations", pair=pair, appid=job, name="", kind="produce", resource=used)
    b.fleet.answer(Code.NEVER_SEEN, pair, job, job)


@seeds(Code.NOT_DECLARED)
def _not_declared(b: Builder) -> None:
    pair = b.any_pair()
    appid, host = b.appid(pair, "surprise"), b.host()
    known, unknown = b.some_topics(pair, 2)
    for topic in (known, unknown):
        b.writes(pair, appid, f"{appid}-writer", topic, host=host)
    b.fleet.add(
        "declarations", pair=pair, appid=appid, name=f"{appid}-writer", kind="produce", resource=known
    )
    b.fleet.answer(Code.NOT_DECLARED, pair, appid, appid)


@seeds(Code.BYPASS)
def _bypass(b: Builder) -> None:
    pair = b.any_pair()
    around, through, mirror = b.appid(pair, "bypass"), b.appid(pair, "through"), b.appid(pair, "mirror")
    for cluster in b.sides(pair):
        b.fleet.add("own_users", cluster=cluster, user=mirror)
    for appid in (around, through, mirror):
        topic, host = b.any_topic(pair), b.host()
        b.survives(pair, appid, f"{appid}-writer", "produce", topic, host)
        # (A reader, too: brokers do not report who joined a group, so it must not seem self-assigned.)
        b.survives(pair, appid, f"{appid}-reader", "consume", topic, host)
        if appid == through:
            b.writes(pair, appid, f"{appid}-writer", topic, host=host)
            b.reads(pair, appid, f"{appid}-reader", topic, f"{appid}-group", host=host)
    b.fleet.answer(Code.BYPASS, pair, around, around)

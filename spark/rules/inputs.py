"""Reads the rules' input from the lake."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from hadash.lake import snapshots
from hadash.lake.access import USES
from hadash.lake.snapshots import Snapshot
from hadash.lake.store import Store
from spark.rules import prepared
from spark.rules.base import Inputs
from spark.rules.holding import Held
from spark.rules.sides import sides
from spark.transform.topology import lately, listings

#: The time that is covered for values that change quickly: controllers, and the lag of mirrors.
HISTORY = timedelta(days=1)


def read(
    held: Held, store: Store, facts: DataFrame, newest_day: str, snapshot: Snapshot, window_days: int
) -> Inputs:
    """Return the rules' input.

    :param held: keeps tables that several rules use.
    :param facts: all facts (:data:`spark.schemas.FACTS`).
    :param newest_day: the last day in them.
    :param window_days: uses seen within these days count.
    """
    table = partial(held.snapshot_table, store, [snapshot])
    history = snapshots.whole(store, snapshot.at - HISTORY)
    history = [each for each in history if each.at <= snapshot.at]
    # The users of hadash itself and of its mirrors are not applications.
    own = table("own_users").select("cluster", F.col("user").alias("appid")).distinct()
    # Facts whose cluster is not in their pair (as after a typing error in a file) do not count.
    pairs = table("pairs")
    facts = facts.join(F.broadcast(sides(pairs)), ["pair", "cluster"], "left_semi")
    facts = facts.join(F.broadcast(own), ["cluster", "appid"], "left_anti")
    used = held.hold(lately(facts, newest_day, window_days))
    documents = table("documents")
    return Inputs(
        facts=used,
        remembered=held.hold_small(facts.where(F.col("kind").isin(*USES))),
        listings=held.hold_small(listings(facts, newest_day, window_days)),
        documents=documents,
        bindings=held.hold(prepared.bindings(documents)),
        applications=held.hold(prepared.applications(used)),
        clusters=table("clusters"),
        controllers=held.snapshot_table(store, history, "clusters", with_moment=True).where(
            "controller_epoch IS NOT NULL"
        ),
        brokers=table("brokers"),
        topics=table("topics"),
        partitions=table("partitions", often=True),
        acls=table("acls", often=True),
        own_users=own,
        groups=table("groups"),
        members=table("members"),
        pairs=pairs,
        appids=table("appids"),
        instances=table("instances"),
        declarations=table("declarations"),
        mirrors=table("mirrors"),
        lag=held.snapshot_table(store, history, "lag").where(F.col("at") >= F.lit(snapshot.at - HISTORY)),
    )

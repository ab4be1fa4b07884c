"""Facts and registry → advice what to register first, for each pair, with the hosts of the clients. Pure."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from hadash.radius.nodes import AccessEdge
from spark.schemas import ADVICE, CRITICAL
from spark.transform.advice import advise
from spark.transform.fleet import NoPair, fleet_of
from spark.transform.pairwise import SEEN, by_pair

#: Steps for each pair, at most: more than users do before the next run.
MOST = 20
#: Where fewer Topics and groups than this move together, no advice is needed.
LEAST_RADIUS = 10

#: The value of ``what`` for an AppID whose client.ids change.
CHANGING = "changing"


def advice(
    facts: DataFrame,
    registry: DataFrame,
    lasting: DataFrame | None = None,
    most: int = MOST,
    least_radius: int = LEAST_RADIUS,
) -> DataFrame:
    """Return :data:`spark.schemas.ADVICE`.

    :param facts: the facts that count as use.
    :param lasting: pair and appid of AppIDs whose client.ids do not change; ``None`` for all. Others cannot be
        registered.
    """
    known = registry
    if lasting is not None:
        changing = facts.select("pair", "appid").distinct().join(lasting, ["pair", "appid"], "left_anti")
        known = known.unionByName(changing.withColumn("what", F.lit(CHANGING)), allowMissingColumns=True)

    def steps_of_pair(rows: pa.Table) -> pa.Table:
        return pa.Table.from_pylist(
            list(_step_rows(rows, most, least_radius)), schema=to_arrow_schema(_STEPS)
        )

    steps = by_pair(facts, known).applyInArrow(steps_of_pair, _STEPS)
    return _with_hosts(steps, facts)


_STEPS = StructType([field for field in ADVICE.fields if field.name != "hosts"])


def _step_rows(rows: pa.Table, most: int, least_radius: int) -> Iterator[dict[str, object]]:
    is_seen = pc.equal(rows["what"], SEEN)
    seen = rows.filter(is_seen)
    columns = (seen[name].to_pylist() for name in ("appid", "name", "kind", "resource"))
    uses = [AccessEdge(a, c or "", k, r) for a, c, k, r in zip(*columns, strict=True)]
    registry = rows.filter(pc.invert(is_seen)).to_pylist()
    pair = rows["pair"][0].as_py()
    try:
        fleet = fleet_of(pair, uses, registry)
    except NoPair:
        return
    cannot, critical = (
        frozenset(row["appid"] for row in registry if row["what"] == what) for what in (CHANGING, CRITICAL)
    )
    for place, step in enumerate(advise(fleet, most, least_radius, cannot, critical), 1):
        yield {
            "pair": pair,
            "place": place,
            "appid": step.appid,
            "before": step.before,
            "after": step.after,
            "critical_before": step.critical_before,
            "critical_after": step.critical_after,
            "island": step.island,
            "clients": list(step.clients),
        }


def _with_hosts(steps: DataFrame, facts: DataFrame) -> DataFrame:
    each = steps.select("pair", "place", "appid", F.explode("clients").alias("client_id"))
    hosts = (
        each.join(
            facts.select("pair", "appid", "client_id", "host").distinct(), ["pair", "appid", "client_id"]
        )
        .groupBy("pair", "place")
        .agg(F.array_sort(F.collect_set("host")).alias("hosts"))
    )
    # For clients that were only declared, no host is known.
    found = steps.join(hosts, ["pair", "place"], "left").withColumn("hosts", F.coalesce("hosts", F.array()))
    return found.select(*ADVICE.names).orderBy("pair", "place")

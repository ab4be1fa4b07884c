"""What to register first, for each pair: facts → advice, with the hosts on which the clients run. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from hadash.switching.things import Use
from spark.schemas import ADVICE
from spark.transform.advice import advise
from spark.transform.pairwise import SEEN, by_pair

#: Steps for each pair at most: more than anybody does before the next run.
MOST = 20
#: Where fewer Topics and groups than this move together, nobody has to be advised.
LEAST_RADIUS = 10


def advice(
    facts: DataFrame,
    registry: DataFrame,
    lasting: DataFrame | None = None,
    most: int = MOST,
    least_radius: int = LEAST_RADIUS,
) -> DataFrame:
    """:data:`spark.schemas.ADVICE`.

    :param facts: those that count as use.
    :param lasting: pair and appid of those whose client.ids last; ``None`` for all. The others cannot be registered.
    """
    known = registry.where("what = 'instance'")
    if lasting is not None:
        changing = facts.select("pair", "appid").distinct().join(lasting, ["pair", "appid"], "left_anti")
        known = known.unionByName(changing.withColumn("what", F.lit("changing")), allowMissingColumns=True)

    def steps_of_pair(rows: pa.Table) -> pa.Table:
        return pa.Table.from_pylist(
            list(_step_rows(rows, most, least_radius)), schema=to_arrow_schema(_STEPS)
        )

    steps = by_pair(facts, known).applyInArrow(steps_of_pair, _STEPS)
    return _with_hosts(steps, facts)


_STEPS = StructType([field for field in ADVICE.fields if field.name != "hosts"])


def _step_rows(rows: pa.Table, most: int, least_radius: int) -> Iterator[dict[str, object]]:
    names = ("what", "appid", "name", "kind", "resource")
    uses: list[Use] = []
    registered: dict[str, set[str]] = defaultdict(set)
    cannot: set[str] = set()
    for what, appid, name, kind, resource in zip(*(rows[n].to_pylist() for n in names), strict=True):
        if what == SEEN:
            uses.append(Use(appid, name or "", kind, resource))
        elif what == "changing":
            cannot.add(appid)
        else:
            registered[appid].add(name)
    for place, step in enumerate(advise(uses, registered, most, least_radius, cannot), 1):
        yield {
            "pair": rows["pair"][0].as_py(),
            "place": place,
            "appid": step.appid,
            "before": step.before,
            "after": step.after,
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
    return steps.join(hosts, ["pair", "place"], "left").select(*ADVICE.names).orderBy("pair", "place")

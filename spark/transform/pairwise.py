"""Combines the observed uses and the registry of each pair into one group of rows, for results that cannot be
computed from parts of a pair. Pure.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, GroupedData
from pyspark.sql import functions as F

from spark.schemas import REGISTRY

#: The value of ``what`` for an observed use.
SEEN = "seen"


def by_pair(uses: DataFrame, registry: DataFrame) -> GroupedData:
    """Return rows of :data:`spark.schemas.REGISTRY`, also for uses (their client.id is the ``name``), grouped
    by pair. Rows without a pair are left out.

    :param uses: rows with pair, appid, client_id, kind and resource.
    """
    seen = uses.select(
        "pair", F.lit(SEEN).alias("what"), "appid", F.col("client_id").alias("name"), "kind", "resource"
    ).distinct()
    together = seen.unionByName(registry, allowMissingColumns=True).select(*REGISTRY.names)
    return together.where("pair IS NOT NULL").groupBy("pair")

"""What was seen of each pair together with what is known of it, as one table a pair: some things are no sum
of parts. Pure.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, GroupedData
from pyspark.sql import functions as F

from spark.schemas import REGISTRY

#: What stands in ``what`` of a use that was seen.
SEEN = "seen"


def by_pair(uses: DataFrame, registry: DataFrame) -> GroupedData:
    """Rows of :data:`spark.schemas.REGISTRY`, also for uses: their client.id is the ``name``. What belongs to
    no pair is left out.

    :param uses: with pair, appid, client_id, kind and resource.
    """
    seen = uses.select(
        "pair", F.lit(SEEN).alias("what"), "appid", F.col("client_id").alias("name"), "kind", "resource"
    ).distinct()
    together = seen.unionByName(registry, allowMissingColumns=True).select(*REGISTRY.names)
    return together.where("pair IS NOT NULL").groupBy("pair")

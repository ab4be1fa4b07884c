"""The two sides of pairs and of mirrors. Pure."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def sides(pairs: DataFrame) -> DataFrame:
    """Return pair, cluster: a row for each side of a pair."""
    return pairs.select("pair", F.explode(F.array("first", "second")).alias("cluster"))


def mirrored_topics(mirrors: DataFrame) -> DataFrame:
    """Return pair, mirror, source, target, topic: a row for each Topic of a mirror."""
    return mirrors.select("pair", "mirror", "source", "target", F.explode("topics").alias("topic"))


def answered(clusters: DataFrame) -> DataFrame:
    """Return cluster: those that answered."""
    return clusters.where("fault IS NULL OR fault = ''").select("cluster")

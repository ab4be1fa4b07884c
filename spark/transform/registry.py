"""Builds the registry: the data about a fleet besides its observed uses, for functions over whole fleets. Pure."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark.rules.base import Inputs
from spark.rules.rights import allowed_topics, of_users
from spark.schemas import CRITICAL, REGISTRY


def registry(inputs: Inputs) -> DataFrame:
    """Return :data:`spark.schemas.REGISTRY`.

    Rights are those of the pair's default cluster. A switch back, which asks the other one, finds the same
    rights unless they have drifted apart, which is a finding.
    """
    parts = (
        _rows(inputs.pairs, "pair", names=F.array("first", "second", "default")),
        _rows(inputs.mirrors, "mirror", name="mirror", cluster="source", names="topics"),
        _rows(inputs.documents, "document", appid="appid", content="content"),
        _rows(inputs.appids.where("critical"), CRITICAL, appid="appid"),
        _rows(inputs.instances, "instance", appid="appid", name="name"),
        _rows(inputs.declarations, "declared", appid="appid", name="name", kind="kind", resource="resource"),
        _rows(_rights(inputs), "allowed", appid="appid", resource="topic"),
    )
    found = parts[0]
    for part in parts[1:]:
        found = found.unionByName(part, allowMissingColumns=True)
    return found.select(*REGISTRY.names)


def _rights(inputs: Inputs) -> DataFrame:
    """Return the rights that name Topics. (A right to all Topics does not show what its user does.)"""
    default = inputs.pairs.select("pair", F.col("default").alias("cluster"))
    return (
        allowed_topics(inputs, of_users(inputs)).where("named").join(default, ["pair", "cluster"]).distinct()
    )


def _rows(table: DataFrame, what: str, **columns: object) -> DataFrame:
    found = [
        (F.col(value) if isinstance(value, str) else value).alias(name)  # type: ignore[attr-defined]
        for name, value in columns.items()
    ]
    missing = [
        F.lit(None).cast(field.dataType).alias(field.name)
        for field in REGISTRY
        if field.name not in {"pair", "what", *columns}
    ]
    return table.select("pair", F.lit(what).alias("what"), *found, *missing)

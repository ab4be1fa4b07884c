"""Computes data that several rules need: bindings from documents, and the applications of clients. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from hadash.bindings.model import BindingDocument
from hadash.identity.habits import ANY, CHANGING_PARTS, LIBRARY_NAME, application_words
from spark.schemas import APPLICATIONS, BINDINGS

CLIENT = ("pair", "appid", "client_id")


def is_named() -> Column:
    """Return whether the client.id was set by an application: it is not empty and no library's default."""
    name = F.coalesce("client_id", F.lit(""))
    return (name != "") & ~name.rlike(LIBRARY_NAME)


def stem(name: Column) -> Column:
    """Return the stem of a name, like :func:`hadash.identity.habits.stem`."""
    for pattern in CHANGING_PARTS:
        name = F.regexp_replace(name, pattern, ANY)
    return name


def bindings(documents: DataFrame) -> DataFrame:
    """Return :data:`spark.schemas.BINDINGS`: a row for each name that has a binding of its own."""
    return documents.select("pair", "appid", "content").mapInArrow(_bindings, BINDINGS)


def _bindings(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = [row for each in batch.to_pylist() for row in _binding_rows(**each)]
        yield pa.RecordBatch.from_pylist(rows, schema=to_arrow_schema(BINDINGS))


def _binding_rows(pair: str, appid: str, content: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a document; none if it cannot be read."""
    document = BindingDocument.from_bytes(appid, content.encode())
    if document is None:
        return
    bound = [("instance", name) for name in document.instances]
    bound += [("topic", name) for name in document.topics]
    bound += [("topic", name) for topics in document.topic_lists for name in topics]
    bound += [("group", name) for name in document.groups]
    for kind, name in bound:
        yield {"pair": pair, "appid": appid, "kind": kind, "name": name}


def applications(facts: DataFrame) -> DataFrame:
    """Return :data:`spark.schemas.APPLICATIONS`: the application of each named client.

    Clients are one application if their names differ only in parts that change with each process and in words
    for a role (such as a Deployment that reads and one that writes), if they run on one host, or if they are in
    one consumer group. A name that is only a role does not count. AppIDs whose clients all have the same stem
    are left out: they are one application.
    """
    group = F.when(F.col("kind") == "group", F.col("resource"))
    named = facts.where(is_named()).withColumn("stem", stem(F.col("client_id")))
    places = named.select(*CLIENT, "host", group.alias("group"), "stem").distinct()
    several = places.groupBy("pair", "appid").agg(F.count_distinct("stem").alias("stems")).where("stems > 1")
    return (
        places.join(several.select("pair", "appid"), ["pair", "appid"])
        .groupBy("pair", "appid")
        .applyInArrow(_applications, APPLICATIONS)
    )


def _applications(rows: pa.Table) -> pa.Table:
    found = _joined(zip(*(rows[name].to_pylist() for name in ("stem", "host", "group")), strict=True))
    made = {
        (row["pair"], row["appid"], row["client_id"], found[row["stem"]])
        for row in rows.select(["pair", "appid", "client_id", "stem"]).to_pylist()
        if row["stem"] in found
    }
    return pa.Table.from_pylist(
        [dict(zip(APPLICATIONS.names, row, strict=True)) for row in sorted(made)],
        schema=to_arrow_schema(APPLICATIONS),
    )


def _joined(places: Iterable[tuple[str, str | None, str | None]]) -> dict[str, str]:
    """Return each stem's application: the first, in order, of the stems that are connected by words, hosts or
    groups.

    >>> _joined([("web-*", "a", None), ("cart-*", "a", None), ("job-*", "b", None)])
    {'cart-*': 'cart-*', 'job-*': 'job-*', 'web-*': 'cart-*'}
    >>> carts = [("cart-reader-*", "a", "carts"), ("cart-writer-*", "b", None), ("audit-*", "c", "carts")]
    >>> _joined([*carts, ("writer", "d", None)])
    {'audit-*': 'audit-*', 'cart-reader-*': 'audit-*', 'cart-writer-*': 'audit-*'}
    """
    alike: dict[tuple[str, object], set[str]] = defaultdict(set)
    stems: set[str] = set()
    for name, host, group in places:
        words = application_words(name)
        if not words:
            continue
        stems.add(name)
        alike["words", words].add(name)
        if host:
            alike["host", host].add(name)
        if group:
            alike["group", group].add(name)
    first = {name: name for name in stems}

    def root(name: str) -> str:
        while first[name] != name:
            first[name] = name = first[first[name]]
        return name

    for together in alike.values():
        roots = {root(name) for name in together}
        least = min(roots)
        for each in roots:
            first[each] = least
    return {name: root(name) for name in sorted(stems)}

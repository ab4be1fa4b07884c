"""Builds the input for the plan of a switch (:class:`hadash.radius.fleet.Fleet`) from the rows of one pair.
Pure; no Spark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from hadash.bindings.model import BindingDocument
from hadash.inventory.access_edges import allowed_uses, declared_uses, topics_of
from hadash.inventory.relations import Relation
from hadash.radius.fleet import Fleet, MirrorOf
from hadash.radius.nodes import AccessEdge


class NoPair(ValueError):
    """The registry does not have a pair."""


def fleet_of(pair: str, seen: Iterable[AccessEdge], registry: Iterable[Mapping[str, Any]]) -> Fleet:
    """Return the fleet of one pair.

    :param registry: the rows of :data:`spark.schemas.REGISTRY` of this pair.
    :raises NoPair: the row of the pair itself is missing.
    """
    rows: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in registry:
        rows[row["what"]].append(row)
    if not rows["pair"]:
        raise NoPair(f"Nobody has said which clusters pair {pair} has.")
    first, second, default = rows["pair"][0]["names"]
    mirrors = tuple(MirrorOf(m["name"], m["cluster"], frozenset(m["names"])) for m in rows["mirror"])
    uses = sorted(set(seen))
    uses += declared_uses((_relation(row) for row in rows["declared"]), uses)
    topics = topics_of(uses, (topic for mirror in mirrors for topic in mirror.topics))
    rights = ((row["appid"], row["resource"]) for row in rows["allowed"] if row["resource"] in topics)
    uses += allowed_uses(rights, uses)
    instances: dict[str, set[str]] = defaultdict(set)
    for row in rows["instance"]:
        instances[row["appid"]].add(row["name"])
    return Fleet(
        pair=pair,
        clusters=(first, second),
        default=default,
        uses=tuple(uses),
        documents={a: d for row in rows["document"] for a, d in _documents(row)},
        instances={appid: frozenset(names) for appid, names in instances.items()},
        mirrors=mirrors,
    )


def _relation(row: Mapping[str, Any]) -> Relation:
    return Relation(row["appid"], row["name"], row["kind"], row["resource"])


def _documents(row: Mapping[str, Any]) -> Iterable[tuple[str, BindingDocument]]:
    """Yield the binding document of a row; none if it cannot be read (then plans are refused until it is
    repaired).
    """
    document = BindingDocument.from_bytes(row["appid"], row["content"].encode())
    if document is not None:
        yield row["appid"], document

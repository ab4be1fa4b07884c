"""From the rows of one pair to what the plan of a switch is made from (:class:`hadash.radius.fleet.Fleet`).
Pure; no Spark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from hadash.bindings.model import BindingDocument
from hadash.inventory.relations import Relation
from hadash.radius.fleet import Fleet, MirrorOf
from hadash.radius.nodes import AccessEdge
from hadash.switching.planning.access_edges import allowed_uses, declared_uses, topics_of


class NoPair(ValueError):
    """The registry does not say which clusters a pair has."""


def fleet_of(pair: str, seen: Iterable[AccessEdge], registry: Iterable[Mapping[str, Any]]) -> Fleet:
    """:param registry: rows of :data:`spark.schemas.REGISTRY`, of this pair.
    :raises NoPair: they do not say which clusters it has.
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
    """One that cannot be read says nothing here; a plan is refused until it is repaired."""
    document = BindingDocument.from_bytes(row["appid"], row["content"].encode())
    if document is not None:
        yield row["appid"], document

"""Declared relations beside those that were seen, as pages show them. Nothing here changes anything."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings

from hadash.inventory import selectors
from hadash.inventory.differences import Difference, State, differences
from hadash.inventory.models import AppID, Declaration, Pair
from hadash.inventory.relations import Relation
from hadash.inventory.relations_csv import written
from hadash.presentation import badges

#: Most rows of each group on an AppID's page; the pair's page has all of them.
SHOWN = 25


@dataclass(frozen=True, slots=True)
class Row:
    """One relation. ``declaration`` is ``None`` when it is not declared, or when it was not queried."""

    relation: Relation
    state: badges.State
    #: Whether it was only seen: then it has no InstanceID because a client has no client.id.
    is_undeclared: bool
    last_seen: datetime | None
    declaration: Declaration | None = None

    @property
    def key(self) -> str:
        """The relation within its AppID as the value of a form's field; see :func:`chosen`."""
        _appid, *rest = self.relation
        return json.dumps(rest, ensure_ascii=False)


def chosen(appid: AppID, keys: Iterable[str]) -> list[Relation]:
    """Return the relations that a form names; values that no page has made are left out."""
    found = []
    for key in keys:
        try:
            instance_id, kind, resource = json.loads(key)
        except (ValueError, TypeError):
            continue
        if isinstance(instance_id, str) and isinstance(kind, str) and isinstance(resource, str):
            found.append(Relation(appid.name, instance_id, kind, resource))
    return found


@dataclass(frozen=True, slots=True)
class Group:
    """The relations of one state: their number, and the first of them."""

    state: badges.State
    count: int
    rows: Sequence[Row]


def section(appid: AppID) -> dict[str, Any]:
    """Return the values for an AppID's page: its relations by state. Two queries."""
    held = Declaration.objects.filter(appid=appid).select_related("appid", "declared_by")
    by_relation = {row.relation: row for row in held}
    found = differences(by_relation, selectors.seen(appid.pair, appid))
    groups = {}
    for state in State:
        of_it = [difference for difference in found if difference.state is state]
        rows = [_row(difference, by_relation.get(difference.relation)) for difference in of_it[:SHOWN]]
        groups[state.value] = Group(badges.of_declaration(state), len(of_it), rows)
    return {"declared": groups, "declared_any": bool(found), "window_days": settings.ACCESS_WINDOW_DAYS}


def of_pair(pair: Pair, query: str = "") -> list[Difference]:
    """Return all relations declared or seen in a pair, of AppIDs with ``query`` in their names. Two queries."""
    return differences(selectors.declared(pair, query=query), selectors.seen(pair, query=query))


def file_of(pair: Pair, query: str = "", state: str = "") -> str:
    """Return the declared relations as the file that can be imported; with a ``state`` the relations in that
    state, even if they were only seen.
    """
    notes = selectors.declared(pair, query=query)
    found = [d.relation for d in of_pair(pair, query) if d.state == state] if state else sorted(notes)
    return written({relation: notes.get(relation, "") for relation in found})


def rows(found: Iterable[Difference]) -> list[Row]:
    return [_row(difference) for difference in found]


def _row(difference: Difference, declaration: Declaration | None = None) -> Row:
    state = badges.of_declaration(difference.state)
    return Row(
        difference.relation, state, difference.state is State.UNDECLARED, difference.last_seen, declaration
    )

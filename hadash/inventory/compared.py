"""Compares the declared relations of a whole pair with the seen ones, a page at a time. It gives the same
result as :mod:`hadash.inventory.differences` without reading all rows: a large pair has a million relations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db import connection

from hadash.inventory.differences import Difference, State
from hadash.inventory.models import AppID, Pair
from hadash.inventory.relations import Relation
from hadash.inventory.selectors import access_since

#: Relations of one state that are counted for a page, at most: of a large pair, counting all would take longer than the
#: rest of the page.
MOST_COUNTED = 4_000
#: Most AppIDs that a query may match to be named in the SQL, where each is found by its index.
NAMED_APPIDS = 500

#: When a declaration ``d`` of AppID ``a`` was last seen. A declaration of the AppID as a whole is seen when any
#: of its clients is.
_SEEN_OF_DECLARED = """
    SELECT max(s.last_seen) FROM inventory_access s WHERE s.pair_id = a.pair_id AND s.appid = a.name AND s.kind = d.kind
    AND s.resource = d.resource AND (d.instance_id = '' OR d.instance_id = s.client_id) AND s.last_seen >= %(since)s
"""
_DECLARED = "inventory_declaration d JOIN inventory_appid a ON a.id = d.appid_id WHERE a.pair_id = %(pair)s"
#: Seen relations that no declaration covers.
_UNDECLARED = """
    inventory_access s WHERE s.pair_id = %(pair)s AND s.last_seen >= %(since)s AND NOT EXISTS (
        SELECT FROM inventory_declaration d JOIN inventory_appid a ON a.id = d.appid_id
        WHERE a.pair_id = s.pair_id AND a.name = s.appid AND d.kind = s.kind AND d.resource = s.resource
        AND d.instance_id IN ('', s.client_id))
"""

#: True where a seen row ``s`` is the second one of its relation: the client was seen on both clusters.
_SEEN_ON_ANOTHER = """
    SELECT FROM inventory_access o WHERE o.pair_id = s.pair_id AND o.appid = s.appid AND o.client_id = s.client_id
    AND o.kind = s.kind AND o.resource = s.resource AND o.cluster < s.cluster AND o.last_seen >= %(since)s
"""


#: The orders of the relations: the columns of the query (AppID, client.id, kind, resource, last seen) by which they are
#: sorted, after the name of the first.
ORDERS: dict[str, tuple[int, ...]] = {
    "appid": (1, 2, 3, 4),
    "instance": (2, 1, 3, 4),
    "kind": (3, 1, 2, 4),
    "resource": (4, 1, 2, 3),
    "seen": (5, 1, 2, 3, 4),
}


@dataclass(frozen=True, slots=True)
class Count:
    """A number of relations. ``at_least``: there are more, which were not counted."""

    number: int
    at_least: bool = False


class Compared:
    """The relations of a pair, sorted. (:func:`hadash.inventory.differences.differences` returns all in
    memory.)

    :param query: only of AppIDs that have it in their names.
    :param appid: only of this AppID; empty for all.
    :param state: only in this state; ``None`` for all.
    :param order: one of :data:`ORDERS`, with a "-" before it when it is descending. (By other than the AppID the
        database has to sort all of them.)
    """

    def __init__(
        self, pair: Pair, query: str = "", appid: str = "", state: State | None = None, order: str = "appid"
    ) -> None:
        self._state = state
        first, *then = ORDERS[order.removeprefix("-")]
        descending = " DESC" if order.startswith("-") else ""
        self._order = ", ".join([f"{first}{descending} NULLS LAST", *map(str, then)])
        self._values: dict[str, Any] = {"pair": pair.pk, "since": access_since()}
        self._of_declared = self._of_seen = ""
        if appid:
            self._choose([appid] if query.casefold() in appid.casefold() else [])
        elif query:
            names = AppID.objects.filter(pair=pair, name__icontains=query).values_list("name", flat=True)
            found = list(names.order_by()[: NAMED_APPIDS + 1])
            if len(found) <= NAMED_APPIDS:
                self._choose(found)
            else:
                self._values["like"] = f"%{_escaped(query)}%"
                self._of_declared, self._of_seen = "AND a.name ILIKE %(like)s", "AND s.appid ILIKE %(like)s"

    def _choose(self, appids: Sequence[str]) -> None:
        self._values["appids"] = list(appids)
        self._of_declared, self._of_seen = "AND a.name = ANY(%(appids)s)", "AND s.appid = ANY(%(appids)s)"

    @cached_property
    def counts(self) -> dict[State, Count]:
        """The number of relations in each state, whatever state is chosen; up to :data:`MOST_COUNTED`."""
        known = self._of_declarations()
        return {
            state: known[state] if state in known else self._count(state, MOST_COUNTED) for state in State
        }

    def _of_declarations(self) -> dict[State, Count]:
        """Return the numbers of declarations that were seen and that were not, from one query; empty when there
        are so many that each has to be counted up to its own limit.
        """
        seen = _SEEN_OF_DECLARED.replace("SELECT max(s.last_seen) FROM", "SELECT FROM")
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FILTER (WHERE seen), count(*) FILTER (WHERE NOT seen) FROM"
                f" (SELECT EXISTS ({seen}) AS seen FROM {_DECLARED} {self._of_declared} LIMIT "
                f"{2 * MOST_COUNTED}) AS said",
                self._values,
            )
            agreed, unseen = cursor.fetchone()
        if agreed + unseen >= 2 * MOST_COUNTED:
            return {}
        return {State.AGREED: _up_to(agreed), State.UNSEEN: _up_to(unseen)}

    def page(self, offset: int, limit: int) -> list[Difference]:
        """Return ``limit`` relations from ``offset`` on."""
        values = {**self._values, "limit": limit, "offset": offset, "up_to": offset + limit}
        parts = []
        if self._state is not State.UNDECLARED:
            wanted = {State.UNSEEN: "WHERE at IS NULL", State.AGREED: "WHERE at IS NOT NULL"}
            parts.append(
                "(SELECT appid, client_id, kind, resource, at, true AS is_declared FROM ("
                f"SELECT a.name AS appid, d.instance_id AS client_id, d.kind, d.resource, ({_SEEN_OF_DECLARED}) AS at"
                f" FROM {_DECLARED} {self._of_declared}) AS said {wanted[self._state] if self._state else ''}"
                f" ORDER BY {self._order} LIMIT %(up_to)s)"
            )
        if self._state in (None, State.UNDECLARED):
            parts.append(
                "(SELECT s.appid, s.client_id, s.kind, s.resource, max(s.last_seen) AS at, false AS is_declared"
                f" FROM {_UNDECLARED} {self._of_seen} GROUP BY 1, 2, 3, 4 ORDER BY {self._order} LIMIT %(up_to)s)"
            )
        sql = (
            f"SELECT * FROM ({' UNION ALL '.join(parts)}) AS found"
            f" ORDER BY {self._order} LIMIT %(limit)s OFFSET %(offset)s"
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, values)
            return [_difference(row) for row in cursor.fetchall()]

    @property
    def first(self) -> First:
        """The relations that :attr:`counts` has counted, for pages. Later ones can be found by a query."""
        states = [self._state] if self._state else list(State)
        return First(self, sum(self.counts[state].number for state in states))

    def __len__(self) -> int:
        """Count all chosen relations, without a limit."""
        return sum(self._count(state, None).number for state in ([self._state] if self._state else State))

    def __getitem__(self, chosen: slice) -> list[Difference]:
        start, stop = chosen.start or 0, chosen.stop
        return self.page(start, stop - start)

    def _count(self, state: State, most: int | None) -> Count:
        if state is State.UNDECLARED:
            # (Only where a client was seen on both clusters does a relation have two rows: it is one.)
            inner = f"SELECT 1 FROM {_UNDECLARED} {self._of_seen} AND NOT EXISTS ({_SEEN_ON_ANOTHER})"
        else:
            is_seen = f"({_SEEN_OF_DECLARED}) IS {'NOT ' if state is State.AGREED else ''}NULL"
            inner = f"SELECT 1 FROM {_DECLARED} {self._of_declared} AND {is_seen}"
        limit = "" if most is None else f" LIMIT {most + 1}"
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM ({inner}{limit}) AS counted", self._values)
            (number,) = cursor.fetchone()
        return Count(number) if most is None else _up_to(number)


@dataclass(frozen=True, slots=True)
class First:
    """The first ``count`` relations."""

    found: Compared
    count: int

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, chosen: slice) -> list[Difference]:
        return self.found[chosen]


def _up_to(number: int) -> Count:
    return Count(number) if number <= MOST_COUNTED else Count(MOST_COUNTED, at_least=True)


def _difference(row: tuple[Any, ...]) -> Difference:
    *relation, at, is_declared = row
    state = State.UNDECLARED if not is_declared else State.UNSEEN if at is None else State.AGREED
    return Difference(Relation(*relation), state, at)


def _escaped(text: str) -> str:
    r"""Escape text for LIKE.

    >>> _escaped("50%_off")
    '50\\%\\_off'
    """
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")

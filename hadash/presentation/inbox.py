"""What runs now, and what waits for a person: the counts beside the navigation, and the first lists of the overview."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import CharField, F, Q, QuerySet, Value

from hadash.accounts.roles import DECIDE, OPERATE, REQUEST, VIEW, on_pairs
from hadash.presentation import batches, changes, pools, selectors


@dataclass(frozen=True, slots=True)
class Inbox:
    """Primary keys of the switches, batches, and changes of bindings and pools that run, or wait for one person."""

    running_switches: Sequence[int] = ()
    running_batches: Sequence[int] = ()
    waiting_switches: Sequence[int] = ()
    waiting_batches: Sequence[int] = ()
    waiting_changes: Sequence[int] = ()
    waiting_pool_changes: Sequence[int] = ()

    @property
    def waiting(self) -> int:
        """The number of all that wait for the person."""
        every = (self.waiting_switches, self.waiting_batches, self.waiting_changes, self.waiting_pool_changes)
        return sum(map(len, every))


#: Compiled queries that are kept, each for one person with one set of rights.
KEPT_QUERIES = 500


def inbox_of(user: Any) -> Inbox:
    """Return what runs and ``user`` may see, and what waits for ``user``. One query."""
    rights = tuple(on_pairs(user, permission) for permission in (VIEW, DECIDE, OPERATE, REQUEST))
    query = _query_of(user, rights)
    keys: dict[str, list[int]] = defaultdict(list)
    if query is not None:
        with connection.cursor() as cursor:
            cursor.execute(*query)
            for where, key in cursor.fetchall():
                keys[where].append(key)
    return Inbox(**keys)


_Query = tuple[str, tuple[Any, ...]] | None

#: By all that a query depends on: whose it is, and on which pairs they have the permissions that it asks for.
_queries: dict[tuple[int, tuple[Q, ...]], _Query] = {}
_lock = threading.Lock()


def _query_of(user: Any, rights: tuple[Q, ...]) -> _Query:
    """Return the compiled query of a person. It stands on every page, and to build it took most of the time of a small
    page; PostgreSQL answers it in a millisecond.
    """
    key = (user.pk, rights)
    with _lock:  # (requests are served by threads)
        if key in _queries:
            return _queries[key]
    compiled = _compiled(user)
    with _lock:
        while len(_queries) >= KEPT_QUERIES:
            del _queries[next(iter(_queries))]
        _queries[key] = compiled
    return compiled


def _compiled(user: Any) -> _Query:
    """Return the SQL and its parameters; ``None`` when there is nothing that the person may see."""
    found: dict[str, QuerySet[Any]] = {
        "running_switches": selectors.running(user),
        "running_batches": batches.running(user),
        "waiting_switches": selectors.waiting_for(user),
        "waiting_batches": batches.waiting_for(user),
        "waiting_changes": changes.waiting_for(user),
        "waiting_pool_changes": pools.waiting_for(user),
    }
    first, *others = (
        rows.order_by()
        .annotate(where=Value(where, CharField()), key_of=F("pk"))
        .values_list("where", "key_of")
        for where, rows in found.items()
    )
    try:
        sql, parameters = first.union(*others, all=True).query.sql_with_params()
    except EmptyResultSet:
        return None
    return sql, tuple(parameters)

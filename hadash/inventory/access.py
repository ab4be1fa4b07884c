"""What clients use: the access that the Gateways have observed, collected and stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from django.db import transaction

from hadash.identity.names import fitting
from hadash.inventory.gateways import ask_all, ask_every
from hadash.inventory.models import Access, AppID, Pair


def collect(*, every: bool = False) -> int:
    """Store the access that the Gateways have observed; return the number of facts.

    :param every: raise :class:`GatewaySilent` if a live Gateway does not answer; else it is skipped.
    """
    facts = ask_every("/access", "access") if every else ask_all("/access", "access")
    pairs = {cluster.name: pair for pair in Pair.objects.all() for cluster in pair.clusters}
    return store(facts, pairs)


#: The columns with names that come from clients, and their lengths.
_NAMES: dict[str, int] = {
    field.name: field.max_length or 0
    for field in Access._meta.fields
    if field.name in ("appid", "client_id", "resource", "host", "library", "version")
}


def store(facts: Iterable[dict[str, Any]], pairs: dict[str, Pair]) -> int:
    """Upsert access facts; return the number of rows. Facts of an unknown cluster, or of a kind that only a
    newer Gateway knows, are dropped. Several Gateways may report the same fact.
    """
    rows: dict[tuple[Any, ...], Access] = {}
    for fact in facts:
        pair = pairs.get(fact["cluster"])
        if pair is None or fact["kind"] not in Access.Kind.values:
            continue
        names = {field: fitting(fact[field], limit) for field, limit in _NAMES.items()}
        key = (pair.pk, names["appid"], names["client_id"], fact["kind"], names["resource"], fact["cluster"])
        row = Access(
            pair=pair,
            kind=fact["kind"],
            cluster=fact["cluster"],
            **names,
            details=fact["details"],
            first_seen=datetime.fromtimestamp(fact["first_seen"], UTC),
            last_seen=datetime.fromtimestamp(fact["last_seen"], UTC),
        )
        older, newer = sorted((rows.get(key, row), row), key=lambda each: each.last_seen)
        _keep_known(older, newer)
        rows[key] = newer
    # Sorted, so that concurrent calls lock rows in the same order: PostgreSQL keeps each row locked until the
    # transaction ends, and opposite orders would be a deadlock.
    ordered = [rows[key] for key in sorted(rows)]
    _keep_memberships(ordered)
    with transaction.atomic():
        Access.objects.bulk_create(
            ordered,
            update_conflicts=True,
            unique_fields=["pair", "appid", "client_id", "kind", "resource", "cluster"],
            update_fields=["last_seen", "host", "library", "version", "details"],
        )
        _register_seen(ordered)
    return len(rows)


def together(earlier: Mapping[str, Any], later: Mapping[str, Any]) -> dict[str, Any]:
    """Merge the details of a client's use: values that ``later`` lacks are kept. A client that joins a group on
    one connection and commits on another is still a member.

    >>> together({"assignors": ["range"], "member": True}, {"member": False})
    {'assignors': ['range'], 'member': True}
    """
    known = {**earlier, **later}
    if "member" in known:
        known["member"] = bool(earlier.get("member") or later.get("member"))
    return known


def _keep_memberships(rows: Iterable[Access]) -> None:
    """Restore, from the table, the details of clients in groups whose JOIN_GROUP none of these Gateways has
    seen, or that have not named their library since a Gateway was started.
    """
    lacking = {
        (row.pair_id, row.appid, row.client_id, row.resource, row.cluster): row
        for row in rows
        if row.kind == Access.Kind.GROUP and ("assignors" not in row.details or not row.library)
    }
    if not lacking:
        return
    for held in Access.objects.filter(
        kind=Access.Kind.GROUP, appid__in={row.appid for row in lacking.values()}
    ):
        row = lacking.get((held.pair_id, held.appid, held.client_id, held.resource, held.cluster))
        if row is not None:
            _keep_known(held, row)


def _keep_known(earlier: Access, later: Access) -> None:
    """Copy to ``later`` the details and the library that it lacks."""
    later.details = together(earlier.details, later.details)
    if not later.library and later.host == earlier.host:
        later.library, later.version = earlier.library, earlier.version


def _register_seen(rows: Iterable[Access]) -> None:
    """Create the AppIDs that were seen and do not exist yet."""
    seen = {(row.pair_id, row.appid) for row in rows}
    named = AppID.objects.filter(name__in={name for _, name in seen})
    new = seen - set(named.values_list("pair_id", "name"))
    AppID.objects.bulk_create(
        [AppID(pair_id=pair, name=name) for pair, name in sorted(new)], ignore_conflicts=True
    )

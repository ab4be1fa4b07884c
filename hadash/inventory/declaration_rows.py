"""Writes rows of declared relations, within the transaction of :mod:`hadash.inventory.declarations`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from hadash.inventory.differences import Changes
from hadash.inventory.models import AppID, Declaration, InstanceID
from hadash.inventory.relations import Relation

#: Rows that one statement writes, at most.
BATCH = 1000


def unregistered(appids: Mapping[str, AppID], relations: Iterable[Relation]) -> list[tuple[str, str]]:
    """Return the (AppID, InstanceID) of ``relations`` that are not registered, sorted."""
    named = {(relation.appid, relation.instance_id) for relation in relations if relation.instance_id}
    known = InstanceID.objects.filter(appid__in=[appids[name] for name in {name for name, _ in named}])
    return sorted(named - set(known.values_list("appid__name", "name")))


def write(
    user: Any, appids: Mapping[str, AppID], found: Changes, notes: Mapping[Relation, str], source: str
) -> list[str]:
    """Write the changes ``found``; return the names of the InstanceIDs that were registered with them."""
    new = unregistered(appids, found.added)
    InstanceID.objects.bulk_create(
        [InstanceID(appid=appids[appid], name=name) for appid, name in new],
        batch_size=BATCH,
        ignore_conflicts=True,  # one may be registered by itself at the same time
    )
    Declaration.objects.bulk_create(
        [
            Declaration(
                appid=appids[relation.appid],
                instance_id=relation.instance_id,
                kind=relation.kind,
                resource=relation.resource,
                note=notes[relation],
                source=source,
                declared_by=user,
            )
            for relation in found.added
        ],
        batch_size=BATCH,
    )
    rows = _rows(appids, (*found.noted, *found.withdrawn))
    for relation in found.noted:
        rows[relation].note = notes[relation]
    Declaration.objects.bulk_update([rows[relation] for relation in found.noted], ["note"], batch_size=BATCH)
    Declaration.objects.filter(pk__in=[rows[relation].pk for relation in found.withdrawn]).delete()
    return [name for _appid, name in new]


def _rows(appids: Mapping[str, AppID], relations: Collection[Relation]) -> dict[Relation, Declaration]:
    """Return the declarations of some AppIDs by relation."""
    of = {appids[relation.appid] for relation in relations}
    held = Declaration.objects.filter(appid__in=of).select_related("appid")
    return {row.relation: row for row in held}


def told(found: Changes, registered: Iterable[str]) -> dict[str, list[str]]:
    """Return changes as the audit log keeps them, without empty lists."""
    texts = {
        "added": list(map(str, found.added)),
        "noted": list(map(str, found.noted)),
        "withdrawn": list(map(str, found.withdrawn)),
        "registered": list(registered),
    }
    return {name: listed for name, listed in texts.items() if listed}

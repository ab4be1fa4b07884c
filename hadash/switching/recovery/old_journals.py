"""Remove what ended switches, manual changes and Gateways leave in ZooKeeper, once nobody can need it any more.

The journals of switches stay for some days, because a PostgreSQL that is restored from a backup reads in them how far
its switches have come. For the same reason the journal of a switch that PostgreSQL does not know stays for good.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from django.conf import settings
from django.utils import timezone
from kazoo.client import KazooClient

from hadash.bindings import layout
from hadash.bindings.client import reaching
from hadash.bindings.pending_retries import remove_expired
from hadash.identity.names import decode
from hadash.inventory.gateways import zookeeper
from hadash.inventory.installation import claimed
from hadash.switching.machines.binding_changes import OPEN as OPEN_CHANGES
from hadash.switching.machines.switches import ENDED
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.switches import Switch

#: Keys in one query of the database.
AT_ONCE = 500


def remove_old_journals() -> int:
    """Remove journals and placements of what ended more than ``SWITCH_JOURNAL_DAYS`` ago, and return how many.

    :raises StoreUnavailable: ZooKeeper does not answer; the next call removes the rest.
    """
    client = claimed(zookeeper())
    with reaching():
        keys = [decode(child) for child in client.get_children(layout.SWITCHES)]
        removed = 0
        for first in range(0, len(keys), AT_ONCE):
            removed += _remove(client, _ended(keys[first : first + AT_ONCE]))
    return removed


def remove_old_departures() -> None:
    """Remove the notes of departed Gateways whose clients cannot come back any more.

    :raises StoreUnavailable: ZooKeeper does not answer; the next call removes the rest.
    """
    client = claimed(zookeeper())
    with reaching():
        remove_expired(client)


def _ended(keys: Iterable[str]) -> list[str]:
    """Those of ``keys`` that ended long enough ago."""
    before = timezone.now() - timedelta(days=settings.SWITCH_JOURNAL_DAYS)
    old = {"key__in": list(keys), "ended_at__lt": before}
    switches = Switch.objects.filter(status__in=[status.value for status in ENDED], **old)
    changes = BindingChange.objects.filter(**old).exclude(
        status__in=[status.value for status in OPEN_CHANGES]
    )
    return [*switches.values_list("key", flat=True), *changes.values_list("key", flat=True)]


def _remove(client: KazooClient, keys: Iterable[str]) -> int:
    count = 0
    for key in keys:
        client.delete(layout.switch(key), recursive=True)
        count += 1
    return count

"""Turns mirrors round for a switch: holds them, reverses them, or lets them go on as they were."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import transaction

from hadash.inventory.models import Cluster
from hadash.kafka.errors import ConnectError
from hadash.kafka.values import Partition
from hadash.mirroring.models import Mirror
from hadash.mirroring.offsets import OffsetSync, resume_after
from hadash.mirroring.services import (
    Fence,
    await_stopped,
    connect_client,
    connector_of,
    is_held_back,
    nobody_else,
    save_offset_syncs,
    start,
)
from hadash.mirroring.standby_topics import make_active, make_standby, needs

#: Requests to Connect that run in parallel, at most.
CONNECT_ORDERS = 32

log = logging.getLogger(__name__)


def pause_before_turning(mirrors: Sequence[Mirror], fence: Fence = nobody_else) -> None:
    """Ask the connectors of drained mirrors to pause. Connect stores that: a worker that restarts copies
    nothing.

    (Stopping them would make Connect rebalance, which takes a second while clients wait; :func:`reverse` does
    it later.) Until :func:`reverse` or :func:`resume_unturned` the mirrors count as turning.
    """
    with transaction.atomic():
        fence()
        Mirror.objects.filter(pk__in=[mirror.pk for mirror in mirrors]).update(turning=True)
    connect, seconds = connect_client(), settings.SWITCH_CONNECT_SECONDS
    with ThreadPoolExecutor(max_workers=CONNECT_ORDERS) as beside:
        orders = [
            beside.submit(connect.pause, connector_of(mirror, mirror.source), seconds) for mirror in mirrors
        ]
        for order in orders:
            order.result()


def turn_on_record(mirror: Mirror, ends: Mapping[Partition, OffsetSync]) -> None:
    """Do the part of :func:`reverse` that needs no server, when the new source is lost. Nothing is copied, and
    the mirror counts as turning until the other side is rebuilt.

    :param ends: as in :func:`reverse`.
    """
    with transaction.atomic():
        mirror.source, mirror.turning = mirror.pair.other(mirror.source), True
        mirror.known_ends, mirror.known_ends_at = [], None
        mirror.save(update_fields=["source", "turning", "known_ends", "known_ends_at"])
        save_offset_syncs(mirror, {p: OffsetSync(point.target, point.source) for p, point in ends.items()})


def hold(mirrors: Sequence[Mirror], active: Cluster, fence: Fence = nobody_else) -> None:
    """Stop the connectors of mirrors whose source is lost, in both directions, and wait until their tasks have
    ended.

    A source that comes back must not be copied behind the records that clients have written since, and an
    interrupted turn must not copy either. The mirrors count as turning until :func:`resume_unturned`, or until
    the other side is rebuilt. Topics on ``active``, where clients write from now on, get their settings for
    clients.

    :raises ConnectError: Connect does not answer.
    :raises MirrorError: a connector does not stop.
    :raises KafkaError: ``active`` does not answer.
    """
    with transaction.atomic():
        fence()
        Mirror.objects.filter(pk__in=[mirror.pk for mirror in mirrors]).update(turning=True)
    connect = connect_client()
    both = [connector_of(m, source) for m in mirrors for source in (m.source, m.pair.other(m.source))]
    names = [name for name in both if connect.status(name) is not None]
    for name in names:
        fence()
        connect.stop(name)
    for name in names:
        await_stopped(name)
    for mirror in mirrors:
        fence()
        make_active(mirror, active)


def resume_unturned(mirror: Mirror, fence: Fence = nobody_else) -> None:
    """Undo :func:`pause_before_turning` or :func:`hold`, if it was called."""
    if mirror.rebuilding or not (mirror.turning or _held_back(mirror)):
        return
    fence()
    connect_client().resume(connector_of(mirror, mirror.source))
    with transaction.atomic():
        fence()
        Mirror.objects.filter(pk=mirror.pk).update(turning=False)


def _held_back(mirror: Mirror) -> bool:
    """Return whether a mirror is paused or stopped in Connect although PostgreSQL does not say so, because it
    may have lost its last commits. While Connect does not answer the result is ``False``; pages show that the
    mirror does not run.
    """
    try:
        return is_held_back(mirror)
    except ConnectError as error:
        log.warning("whether mirror %s is paused is not known: %s", mirror.name, error)
        return False


def reverse(mirror: Mirror, ends: Mapping[Partition, OffsetSync], fence: Fence = nobody_else) -> None:
    """Turn a drained mirror round: stop the old direction, then start the new one after the drained point.

    May be repeated: the old connector and its tasks have stopped before the new one runs. The new one copies
    only records after ``ends``, and is never set back: no record is copied back or twice.

    :param ends: where both sides corresponded when the mirror was drained, in the *old* direction.
    """
    connect = connect_client()
    old_source = mirror.source
    new_source = mirror.pair.other(old_source)
    old = connector_of(mirror, old_source)
    if connect.status(old) is not None:
        fence()
        connect.stop(old)
        await_stopped(old)
    fence()
    _change_roles(mirror, new_source)
    start(mirror, new_source, resume_after(ends), fence)
    with transaction.atomic():
        fence()
        mirror.source, mirror.turning = new_source, False
        # What was known is of the other side; should the new source be lost now, nothing of it is known yet.
        mirror.known_ends, mirror.known_ends_at = [], None
        mirror.save(update_fields=["source", "turning", "known_ends", "known_ends_at"])
        save_offset_syncs(mirror, {p: OffsetSync(point.target, point.source) for p, point in ends.items()})


def _change_roles(mirror: Mirror, active: Cluster) -> None:
    """Set the Topics on both sides for the roles in which clients write to ``active``. Idempotent."""
    old = mirror.pair.other(active)
    if missing := set(mirror.topics) - set(mirror.topic_settings):
        # Not stored yet by a look: the old side still has the settings for clients.
        mirror.topic_settings = {**mirror.topic_settings, **needs(old, active, missing).active}
        mirror.save(update_fields=["topic_settings"])
    make_active(mirror, active)
    make_standby(old, needs(active, old, mirror.topics).standby)

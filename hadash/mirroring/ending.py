"""Ends a mirror: stops its connectors, finds how far it has written, and deletes it."""

from __future__ import annotations

from collections.abc import Callable

from hadash.kafka.errors import ConnectError
from hadash.kafka.values import Partition
from hadash.mirroring.models import Mirror
from hadash.mirroring.offsets import written_up_to
from hadash.mirroring.services import (
    MirrorError,
    await_stopped,
    connect_client,
    connector_of,
    offset_syncs_of,
    status_of,
)
from hadash.sentences import say


def stop(mirror: Mirror, fence: Callable[[], None]) -> dict[Partition, int]:
    """Stop a mirror; return up to which offsets it has written on its target.

    Connect commits a mirror's progress when it stops, so the result is exact: records beyond it were written by
    other clients.

    :raises MirrorError: it has no connector, so it is not known how far it has written; or it does not stop.
    """
    name = connector_of(mirror, mirror.source)
    if status_of(mirror) is None:
        raise MirrorError(
            say(
                "Connect knows no connector for mirror %(mirror)s: how far it has written is not known.",
                mirror=mirror.name,
            )
        )
    fence()
    connect_client().stop(name)
    await_stopped(name)
    copied = connect_client().offsets(name)
    return {p: written_up_to(sync, copied.get(p)) for p, sync in offset_syncs_of(mirror).items()}


def go_on(mirror: Mirror, fence: Callable[[], None]) -> None:
    """Undo :func:`stop`."""
    fence()
    connect_client().resume(connector_of(mirror, mirror.source))


def remove(mirror: Mirror, fence: Callable[[], None], no_way_back: Callable[[], None] = lambda: None) -> None:
    """Delete the connectors of both directions with their offsets, and the mirror itself. May be repeated.

    The offsets have to go: a later mirror of the same name would skip the records that this one has copied.

    :param no_way_back: called before each step that :func:`go_on` cannot undo: a mirror that is resumed without
        its offsets copies everything a second time.
    """
    connect = connect_client()
    for source in mirror.pair.clusters:
        name = connector_of(mirror, source)
        if connect.status(name) is None:
            continue
        fence()
        connect.stop(name)
        await_stopped(name)
        no_way_back()
        try:
            connect.forget_offsets(name)
        except ConnectError as error:
            raise MirrorError(
                say("Connect does not forget the offsets of %(name)s: %(error)s", name=name, error=error)
            ) from None
        connect.delete(name)
    no_way_back()
    fence()
    mirror.delete()

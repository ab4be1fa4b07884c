"""Records the presence of each worker. The overview shows it: without a worker no approved switch begins."""

from __future__ import annotations

from typing import Any

from celery.signals import worker_ready, worker_shutdown

from hadash.inventory.workers import Presence

_presences: list[Presence] = []


@worker_ready.connect
def begin(sender: Any, **kwargs: object) -> None:
    """Start recording the presence of a worker. :param sender: Celery's consumer."""
    presence = Presence(sender.hostname, list(sender.app.amqp.queues.consume_from))
    presence.start()
    _presences.append(presence)


@worker_shutdown.connect
def end(**kwargs: object) -> None:
    while _presences:
        _presences.pop().stop()

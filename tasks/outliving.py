"""A worker outlives the loss of Redis."""

from __future__ import annotations

from typing import Any

from kombu.transport import redis


class ForgivingQoS(redis.QoS):
    """Keeps what a worker was given and has not acknowledged.

    When its connection breaks, kombu gives these tasks back through that same connection, which has forgotten whose it was: the
    AttributeError ends the worker (kombu 5.7). They need not be given back. A stage that still runs goes on here; one that
    has not begun is picked up when its lease runs out; and what Redis hands out once more finds its token used up.
    """

    def restore_unacked(self, client: Any = None) -> None:
        if self.channel.connection.client is None:
            self._delivered.clear()
        else:
            super().restore_unacked(client)


def outlive_redis() -> None:
    """For every worker of this process."""
    redis.Channel.QoS = ForgivingQoS

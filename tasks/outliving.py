"""A worker outlives the loss of Redis."""

from __future__ import annotations

from typing import Any

from kombu.transport import redis, virtual


class ForgivingQoS(redis.QoS):
    """Keeps what a worker was given and has not acknowledged.

    When its connection breaks, kombu gives these tasks back through that same connection, which has forgotten
    whose it was; and a task that ends later is acknowledged through its channel, which has no connection any
    more. Each is an AttributeError that ends the worker (kombu 5.7). Neither is needed. A stage that still
    runs goes on here; one that has not begun is picked up when its lease runs out; and what Redis hands out
    once more finds its token used up.
    """

    def restore_unacked(self, client: Any = None) -> None:
        if self._cut_off:
            self._delivered.clear()
        else:
            super().restore_unacked(client)

    def ack(self, delivery_tag: str) -> None:
        if self._cut_off:
            virtual.QoS.ack(self, delivery_tag)
        else:
            super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if self._cut_off:
            virtual.QoS.ack(self, delivery_tag)
        else:
            super().reject(delivery_tag, requeue)

    @property
    def _cut_off(self) -> bool:
        """Whether this channel has lost its connection for good: the worker has opened another one, or will."""
        connection = self.channel.connection
        return connection is None or connection.client is None


def outlive_redis() -> None:
    """For every worker of this process."""
    redis.Channel.QoS = ForgivingQoS

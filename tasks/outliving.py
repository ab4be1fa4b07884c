"""Lets a worker survive the loss of Redis."""

from __future__ import annotations

from typing import Any

from kombu.transport import redis, virtual


class ForgivingQoS(redis.QoS):
    """Tracks the tasks that a worker has received and not acknowledged.

    When the connection breaks, kombu returns these tasks through the same connection, which has lost its
    channel; and a task that ends later is acknowledged through a channel without a connection. Either is an
    AttributeError that ends the worker (kombu 5.7). Neither is needed: a stage that still runs continues here,
    one that has not begun is picked up when its lease expires, and a task that Redis delivers again finds its
    token used up.
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
        """Whether this channel has permanently lost its connection: the worker has opened another one, or will."""
        connection = self.channel.connection
        return connection is None or connection.client is None


def outlive_redis() -> None:
    """Install :class:`ForgivingQoS` for the workers of this process."""
    redis.Channel.QoS = ForgivingQoS

"""Writes of a client that has left, which its broker has not answered yet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from hadash.gateway.session.relay import Relay

log = logging.getLogger(__name__)

#: The least seconds to wait for a write that was just sent, even if its client has been gone for long.
LEAST_LINGER_SECONDS = 0.25


class Leaving(Protocol):
    """The parts of a client that are needed here."""

    @property
    def relay(self) -> Relay: ...

    @property
    def blocked(self) -> bool:
        """Whether a block waits for the client's writes."""

    def describe(self) -> str: ...


async def writes_answered(client: Leaving, seconds: float, again: float, cut_off: Callable[[], None]) -> None:
    """Return when the broker has answered the client's writes, or was hung up on because it did not.

    Under a block only the broker's answer, or its end, proves that the writes do not arrive after the block. The switch
    decides how long the block may take, so the wait lasts as long as the block.

    :param seconds: how long to wait for the broker.
    :param again: the same for each further wait, under a block.
    :param cut_off: called before the broker is hung up on.
    """
    seconds = max(seconds, LEAST_LINGER_SECONDS)
    while True:
        try:
            await asyncio.wait_for(client.relay.quiet(), seconds)
            return
        except TimeoutError:
            log.warning("%s has left; its writes are not answered in time", client.describe())
        if not client.blocked:
            cut_off()
            client.relay.upstream.abort()
            return
        seconds = again

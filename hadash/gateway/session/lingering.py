"""What a client leaves behind when it goes: writes that its broker has not answered yet."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from hadash.gateway.session.relay import Relay

log = logging.getLogger(__name__)

#: Seconds for which what was just written is waited for in any case: also when its client has been gone for long.
LEAST_LINGER_SECONDS = 0.25


class Leaving(Protocol):
    """As much of a client as is needed here."""

    @property
    def relay(self) -> Relay: ...

    @property
    def blocked(self) -> bool:
        """Whether a block waits for what it wrote."""

    def describe(self) -> str: ...


async def writes_answered(client: Leaving, seconds: float, again: float, cut_off: Callable[[], None]) -> None:
    """Return when the broker has answered what the client wrote, or is hung up on because it does not.

    Under a block nothing but the broker's answer, or its end, proves that the writes do not arrive after it.
    How long the block may take is for the switch to decide: it is waited for as long as it lasts.

    :param seconds: for how long the broker is waited for; ``again``: each further time, under a block.
    :param cut_off: called before it is hung up on.
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

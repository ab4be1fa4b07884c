"""A Gateway as a member that switches wait for: it joins before it serves, joins again in every new session with
ZooKeeper, and obeys the bindings that it reads there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException
from kazoo.protocol.states import KazooState

from hadash.bindings.client import LOST_REPLY
from hadash.bindings.errors import NameTaken
from hadash.bindings.member import Member
from hadash.bindings.watch import BindingWatcher, Update
from hadash.gateway.context import GatewayContext

log = logging.getLogger(__name__)


class Membership:
    """Keeps one Gateway a member.

    :param on_superseded: called in the Gateway's loop when another process has the name; see :attr:`superseded`.
    """

    def __init__(
        self,
        client: KazooClient,
        member: Member,
        context: GatewayContext,
        on_superseded: Callable[[], None],
    ) -> None:
        self._client = client
        self._member = member
        self._context = context
        self._on_superseded = on_superseded
        self._watcher = BindingWatcher(client, self._changed, self._forgotten)
        #: Why this process must stop: another one has the name.
        self.superseded: NameTaken | None = None

    async def read_bindings(self) -> None:
        """Read the bindings, and hear of changes from now on. Waits for ZooKeeper as long as it takes: a Gateway that
        does not know them must not serve clients.
        """
        await asyncio.to_thread(self._watcher.start)

    async def join(self) -> None:
        """Become a member, before any client is served: a switch must not overlook this Gateway.

        :raises NameTaken: another process has the name.
        """
        applier = self._context.binding_applier
        applier.inherit(await asyncio.to_thread(self._member.predecessor))
        await asyncio.to_thread(self._member.join, applier.applied.report)

    def follow(self) -> None:
        """Become a member again in each new session, from now on."""
        self._client.add_listener(self._session_changed)

    def follow_no_longer(self) -> None:
        self._client.remove_listener(self._session_changed)

    async def leave(self) -> None:
        """Be no member any more. A switch need not wait for a Gateway that was stopped on purpose, only for clients of
        it that may come back.
        """
        await asyncio.to_thread(self._member.leave, self._context.binding_applier.departure())

    async def give_way(self, abort: Callable[[], Awaitable[None]]) -> None:
        """End by ``abort``, because another process has the name.

        Switches must learn of the clients that this process cuts off before they reconnect to the other process, which
        does not know them: a block would catch what they send again.
        """
        try:
            await asyncio.to_thread(self._member.expect_everybody_back)
        except (*LOST_REPLY, KazooException) as error:  # the process must stop nevertheless
            log.error(
                "ZooKeeper could not be told whose clients may send again what was not answered: %r", error
            )
        await abort()

    # -- in threads of kazoo ---------------------------------------------------------------------------------------

    def _changed(self, update: Update) -> None:
        self._in_loop(self._context.binding_applier.update, update)

    def _forgotten(self, epoch: int | None) -> None:
        """Join again after a restore, which brings no live members back, so that switches wait for this Gateway."""
        self._in_loop(self._context.binding_applier.forgotten, epoch)
        if epoch is None:
            self._client.handler.spawn(self._join_again)

    def _session_changed(self, state: str) -> None:
        """Become a member again in a new session, which has lost the ephemeral node. Traffic continues in any case,
        unless another process has the name.
        """
        log.warning("ZooKeeper connection: %s", state)
        self._context.health.zookeeper_connected = state == KazooState.CONNECTED
        if self._context.health.zookeeper_connected:
            self._client.handler.spawn(self._join_again)

    def _join_again(self) -> None:
        try:
            self._member.join()
        except NameTaken as error:
            self.superseded = self.superseded or error
            self._in_loop(self._on_superseded)
        except KazooException as error:  # the next connection tries again
            log.warning("The Gateway could not become a member again: %r", error)

    def _in_loop(self, do: Callable[..., object], *values: object) -> None:
        self._context.loop.call_soon_threadsafe(do, *values)

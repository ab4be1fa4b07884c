"""One client connection: each request gets a verdict, each answer leaves in the order of its request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from hadash.bindings.model import Binding, BindingState
from hadash.gateway import rewrite, versions
from hadash.gateway.breaker import Verdict, judge
from hadash.gateway.codec import ErrorCode, decode_request, encode_response
from hadash.gateway.kinds import Kind
from hadash.gateway.members import HeldHeartbeat, Members
from hadash.gateway.nodes import Node
from hadash.gateway.records import Produced, read_produce
from hadash.gateway.refusals import refuse, refuse_partitions
from hadash.gateway.relay import Relay, is_transaction
from hadash.gateway.replies import ReplyQueue
from hadash.gateway.signin import SignedIn, sign_in
from hadash.gateway.upstream import UpstreamUnavailable
from hadash.gateway.wire import ClientReader, Request, UnknownKind, WireError, parse_request

if TYPE_CHECKING:
    from hadash.gateway.server import Gateway

log = logging.getLogger(__name__)


class ClientConnection:
    """From accept to close. All methods run in the Gateway's loop.

    :param node: the virtual node whose port the client came to, ``None`` for the bootstrap port.
    """

    def __init__(
        self,
        gateway: Gateway,
        reader: ClientReader,
        writer: asyncio.StreamWriter,
        node: Node | None,
    ) -> None:
        self.gateway = gateway
        self.reader = reader
        self.writer = writer
        self.node = node
        peer = writer.get_extra_info("peername")
        self.host = str(peer[0]) if peer else ""
        self.replies = ReplyQueue(writer)
        self.members = Members()
        #: The kind of the request that is parked; empty while none is.
        self.parked: str = ""
        #: Set with the sign-in; the Gateway knows a connection only from then on.
        self._relay: Relay | None = None
        self._relaying: asyncio.Task[None] | None = None
        self._wakeups: list[asyncio.Future[None]] = []
        self._has_waited = False
        self._away_since: float | None = None
        self._closing = False
        self._stopping = False
        self._broker_gone = False
        reader.on_end = self._wake

    @property
    def relay(self) -> Relay:
        assert self._relay is not None, "before sign-in there is no cluster to relay to"
        return self._relay

    @property
    def signed(self) -> SignedIn:
        """Who this is."""
        return self.relay.signed

    # -- life ---------------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve the client until it leaves. Never raises what the client or a broker did wrong."""
        try:
            await self._attend()
            await self._linger()
        finally:
            self._end()

    async def _attend(self) -> None:
        try:
            signed = await asyncio.wait_for(sign_in(self), self.gateway.settings.authentication_seconds)
            if signed is None:
                return
            self._relay = Relay(self.gateway, signed, self.host, self.replies, self.members)
            self.gateway.signed_in(self)
            if self.binding(signed.client_id).cluster != self.relay.cluster:
                self.binding_changed()  # it has moved while it signed in
            self._relaying = asyncio.create_task(self._relay_answers())
            await self._serve()
        except TimeoutError:
            self.turned_away("authentication time", "did not sign in in time")
        except WireError as error:
            self.turned_away("protocol", str(error))
        except UpstreamUnavailable as error:
            self.turned_away("cluster", str(error))
        except (ConnectionError, OSError):
            pass

    async def _linger(self) -> None:
        """The client has left, but what it wrote is still on its way: a block waits for it as for any other, and a
        broker may drop unread requests of a connection that is cut."""
        if self._relay is None or self._broker_gone:
            return
        seconds = self.gateway.settings.linger_seconds
        try:
            await asyncio.wait_for(self.relay.quiet(), seconds)
        except TimeoutError:
            log.warning("%s has left; its writes are not answered after %g s", self.describe(), seconds)

    def turned_away(self, reason: str, why: str) -> None:
        """Note why a client was refused: in the log, and counted by ``reason``."""
        known = self._relay is not None
        who = f"{self.signed.appid} › {self.signed.client_id}" if known else "not signed in"
        log.warning("client %s (%s): %s", self.host, who, why)
        self.gateway.traffic.count_refused(reason)

    def _end(self) -> None:
        if self._relaying is not None:
            self._relaying.cancel()
        if self._relay is not None:
            self.gateway.signed_out(self)
            self.signed.upstream.close()
            self.relay.mutations.abandon()
        self.members.close()
        self.writer.close()

    async def _relay_answers(self) -> None:
        try:
            await self.signed.upstream.run(self._client_has_room)
        except WireError as error:
            self.turned_away("protocol", str(error))
        except (ConnectionError, OSError):
            pass
        finally:
            self._broker_gone = True
            self.relay.mutations.abandon()
            self._wake()
            self.writer.close()

    async def _client_has_room(self) -> None:
        """The client's back-pressure on the broker; one that has left exerts none."""
        try:
            await self.writer.drain()
        except (ConnectionError, OSError):
            pass

    async def _serve(self) -> None:
        limit = self.gateway.settings.max_frame_bytes
        while not self._closing:
            frame = await self.reader.next_frame(limit)
            if frame is None:
                return
            request = parse_request(frame)
            if request.kind is Kind.API_VERSIONS:
                self.replies.open().complete(versions.answer(request, self.gateway.served_versions()))
                continue
            if not request.supported:
                raise UnknownKind(f"{request.kind.name} version {request.version} is not served here")
            await self._handle(request, self.reader.frame_arrived)
            await self._client_has_room()

    # -- one request --------------------------------------------------------------------------------------------

    def binding(self, client_id: str) -> Binding:
        return self.gateway.table.binding(self.signed.appid, client_id)

    @property
    def state(self) -> BindingState:
        return self.binding(self.signed.client_id).state

    def _judge(self, kind: Kind, binding: Binding) -> Verdict:
        return judge(
            kind,
            binding.state,
            signed_home=self.relay.cluster == binding.cluster,
            node_home=self.node is None or self.node.cluster == binding.cluster,
        )

    async def _handle(self, request: Request, arrived: float) -> None:
        """
        :param arrived: when its first byte came, in the loop's time: its client counts from there.
        """
        self.gateway.traffic.count_request(request.kind.name, self.relay.cluster)
        message: Any = None
        if request.kind is Kind.PRODUCE:
            message = read_produce(request)
            self._refuse_transaction(message)
            await self._room_in_flight(request.client_id)
        elif request.kind is not Kind.FETCH:
            message = decode_request(request)
        self._still_wanted(request, message)
        deadline = arrived + self.gateway.settings.park_seconds
        while True:
            binding = self.binding(request.client_id)
            verdict = self._judge(request.kind, binding)
            if verdict is not Verdict.PARK:
                break
            in_time = await self._park(request, message, deadline)
            self._still_wanted(request, message)
            if not in_time:
                self.members.note(request, message, "active")
                self._refuse(request, message, binding, parked=True)
                return
        self.members.note(request, message, "active")
        match verdict:
            case Verdict.RELAY:
                self.relay.relay(request, message, binding)
                await self._broker_has_room()
            case Verdict.HOLD:
                self._hold(request, message)
            case Verdict.REBALANCE:
                self.replies.open().complete(refuse(request, ErrorCode.rebalance_in_progress, message))
            case Verdict.LOOK_UP_AWAY:
                await self._look_up_away(request, message, binding)
            case _:
                self._refuse(request, message, binding)

    async def _room_in_flight(self, client_id: str) -> None:
        """Wait for earlier writes. A block has to wait for all that are in flight, so few when one is coming."""
        settings = self.gateway.settings
        settling = self.binding(client_id).state in (BindingState.GATHER, BindingState.SETTLE)
        limit = settings.settling_in_flight if settling else settings.max_in_flight
        if not self.relay.mutations.fewer_than(limit):
            self._has_waited = True
            await self._unless_gone(self.relay.mutations.wait_for_fewer_than(limit))

    async def _broker_has_room(self) -> None:
        """The broker's back-pressure on the client."""
        if self.signed.upstream.congested:
            await self._unless_gone(self.signed.upstream.drain())

    async def _unless_gone(self, waiting: Coroutine[Any, Any, None]) -> None:
        """Wait, but no longer than client and broker are there: a broker may be silent for ever.

        :raises ConnectionResetError: one of them has gone.
        """
        waited = asyncio.ensure_future(waiting)
        gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wakeups.append(gone)
        try:
            while not waited.done():
                if self._broker_gone or self.reader.ended or self.writer.is_closing():
                    raise ConnectionResetError
                await asyncio.wait({waited, gone}, return_when=asyncio.FIRST_COMPLETED)
                if gone.done():  # woken for some reason: look what there is
                    gone = asyncio.get_running_loop().create_future()
                    self._wakeups.append(gone)
            waited.result()
        finally:
            waited.cancel()
            if gone in self._wakeups:
                self._wakeups.remove(gone)

    def _still_wanted(self, request: Request, message: Any) -> None:
        """Drop what a client left behind while it waited here: it has sent it again elsewhere, and both would be
        written. A write that is never acknowledged (acks=0) is not sent again, so it is not dropped either.

        :raises ConnectionResetError: the client or its broker has gone.
        """
        if not self._has_waited:
            return
        unacknowledged = request.kind is Kind.PRODUCE and message.acks == 0
        left = (self.reader.ended or self.writer.is_closing()) and not unacknowledged
        if self._broker_gone or left or self._stopping:
            raise ConnectionResetError

    @staticmethod
    def _refuse_transaction(produced: Produced) -> None:
        if produced.transactional_id:
            raise UnknownKind("a transactional PRODUCE; hadash does not move transactions")

    async def _park(self, request: Request, message: Any, deadline: float) -> bool:
        """Wait for a change of binding; false when the time is over or too much is parked already."""
        loop = asyncio.get_running_loop()
        self._has_waited = True
        if loop.time() >= deadline or self.gateway.parked >= self.gateway.settings.max_parked:
            return False
        wakeup: asyncio.Future[None] = loop.create_future()
        self._wakeups.append(wakeup)
        self.gateway.parked += 1
        self.parked = request.kind.name
        self.members.note(request, message, "parked")
        try:
            async with asyncio.timeout_at(deadline):
                await wakeup
        except TimeoutError:
            return False
        finally:
            self.gateway.parked -= 1
            self.parked = ""
            if wakeup in self._wakeups:
                self._wakeups.remove(wakeup)
        return True

    def _wake(self) -> None:
        """Let everything that is parked look again at what there is."""
        wakeups, self._wakeups = self._wakeups, []
        for wakeup in wakeups:
            if not wakeup.done():
                wakeup.set_result(None)

    def _refuse(self, request: Request, message: Any, binding: Binding, *, parked: bool = False) -> None:
        """Answer with the error that makes the client look again, or start anew.

        :param parked: it has waited here in vain.
        """
        if request.kind is not Kind.PRODUCE:
            self.replies.open().complete(refuse(request, None, message))
        elif message.acks == 0:
            # There is no answer that could tell this client: it leaves when its connection closes.
            self.turned_away("acks=0", "a write that asks for no answer cannot be sent elsewhere; it is lost")
            self._close_when_answered()
        else:
            errors = self.relay.produce_errors(message, binding, parked=parked)
            self.replies.open().complete(refuse_partitions(request, errors))

    # -- after a move -------------------------------------------------------------------------------------------

    async def _look_up_away(self, request: Request, message: Any, binding: Binding) -> None:
        """Tell a client that is signed in to the old cluster where it belongs now, or make it sign in anew."""
        placement = self.gateway.table.placement(binding)
        now = asyncio.get_running_loop().time()
        recent = (
            self._away_since is None or now - self._away_since < self.gateway.settings.away_lookup_seconds
        )
        if placement is not None and recent:
            if request.kind is Kind.METADATA:
                self.relay.metadata(request, message)
                await self._broker_has_room()
                return
            if request.kind is Kind.FIND_COORDINATOR and not is_transaction(message):
                groups = tuple(message.coordinator_keys) if request.version >= 4 else (message.key,)
                found = rewrite.coordinators_from_placement(
                    request.version, groups, placement, self.gateway.nodes
                )
                if found is not None:
                    self.replies.open().complete(
                        encode_response(request.kind, request.version, request.correlation_id, found)
                    )
                    return
        self._close_when_answered()

    def _close_when_answered(self) -> None:
        """Stop reading; close as soon as every earlier request has its answer."""
        self._closing = True
        if len(self.replies) == 0:
            self.writer.close()
        else:
            self.replies.on_empty = self.writer.close

    async def shut_down(self) -> None:
        """The Gateway stops: what is parked is dropped (it was not passed on), what is under way gets its answer."""
        self._closing = self._stopping = True
        self._wake()
        await self._linger()
        self.writer.close()

    # -- changes of binding -------------------------------------------------------------------------------------

    def binding_changed(self) -> None:
        """Called after the table has changed: what was parked or held is judged again."""
        self._wake()
        for held in list(self.members.held):
            self._judge_held(held)
        binding = self.binding(self.signed.client_id)
        if binding.cluster == self.relay.cluster:
            self._away_since = None
        elif self._away_since is None:
            self._away_since = asyncio.get_running_loop().time()
            self.relay.leave_cluster()
            if self.node is not None and self.node.cluster == binding.cluster:
                # The client believes to be on the new cluster already. No answer could make it leave.
                self._close_when_answered()

    @property
    def is_quiet(self) -> bool:
        """Whether every mutation has been answered to the client."""
        return self.relay.mutations.count == 0

    def describe(self) -> str:
        """Who this is and what is going on, for the log."""
        return (
            f"{self.signed.appid} › {self.signed.client_id} ({self.relay.mutations.count} mutations, "
            f"{len(self.replies)} unanswered, parked {self.parked or 'nothing'}, "
            f"held {len(self.members.held)}, waiting {len(self.relay.unanswered)})"
        )

    # -- settling -----------------------------------------------------------------------------------------------

    def _hold(self, request: Request, message: Any) -> None:
        # Twice the gathering: when nobody ends it, the heartbeat goes to the cluster before the session ends.
        seconds = 2 * self.gateway.settings.gather_seconds
        self.members.hold(request, message, self.replies.open(), seconds, self.relay.release)

    def _judge_held(self, held: HeldHeartbeat) -> None:
        verdict = self._judge(Kind.HEARTBEAT, self.binding(held.request.client_id))
        if verdict is Verdict.HOLD:
            return
        if verdict is Verdict.RELAY:
            self.relay.release(held)
            return
        self.members.let_go(held)
        error = ErrorCode.rebalance_in_progress if verdict is Verdict.REBALANCE else ErrorCode.not_coordinator
        held.reply.complete(refuse(held.request, error, held.message))

"""One client connection: each request gets a verdict, each answer leaves in the order of its request."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hadash.bindings.model import Binding, BindingState
from hadash.gateway import rewrite, versions
from hadash.gateway.breaker import Verdict, judge
from hadash.gateway.codec import (
    ErrorCode,
    build,
    decode_request,
    decode_response,
    encode_request,
    encode_response,
    request_class,
)
from hadash.gateway.kinds import MUTATIONS, Kind
from hadash.gateway.nodes import Node
from hadash.gateway.records import Produced, read_fetched, read_produce
from hadash.gateway.refusals import refuse, refuse_partitions
from hadash.gateway.replies import Reply, ReplyQueue
from hadash.gateway.signin import SignedIn, sign_in
from hadash.gateway.traffic import AccessKey, Stream
from hadash.gateway.upstream import UpstreamUnavailable
from hadash.gateway.wire import (
    ClientReader,
    MalformedFrame,
    Request,
    UnknownKind,
    WireError,
    framed,
    parse_request,
    read_frame,
)

if TYPE_CHECKING:
    from hadash.gateway.server import Gateway

log = logging.getLogger(__name__)

#: Correlation id of the requests that the Gateway itself sends on a client's connection.
OWN_CORRELATION_ID = -7

#: Kinds whose answers wait for other members of the group; a move ends the wait.
_WAITING_KINDS = frozenset({Kind.JOIN_GROUP, Kind.SYNC_GROUP})


@dataclass(slots=True)
class Member:
    """A group member on this connection and how far it has settled: active, held, parked or joining."""

    group: str
    member_id: str
    state: str = "active"
    #: Seconds that the coordinator kept its last JOIN_GROUP waiting: the group's own join delay.
    join_seconds: float | None = None


@dataclass(slots=True, eq=False)
class HeldHeartbeat:
    request: Request
    message: Any
    reply: Reply
    timer: asyncio.TimerHandle | None = None


@dataclass(slots=True, eq=False)
class Unanswered:
    """A JOIN_GROUP or SYNC_GROUP that the cluster has not answered yet."""

    request: Request
    message: Any
    reply: Reply


@dataclass(slots=True)
class InFlight:
    """Counts mutations that the client has not been answered yet; those who wait for fewer are told."""

    count: int = 0
    waiters: list[tuple[int, asyncio.Future[None]]] = field(default_factory=list)
    abandoned: bool = False

    def enter(self) -> None:
        self.count += 1

    def leave(self) -> None:
        if self.abandoned:
            return
        self.count -= 1
        if self.waiters:
            for limit, waiter in self.waiters:
                if self.count < limit and not waiter.done():
                    waiter.set_result(None)
            self.waiters = [entry for entry in self.waiters if not entry[1].done()]

    def abandon(self) -> None:
        """The broker or the client is gone: what is in flight may have happened, but nobody waits for it any more."""
        self.count = 0
        self.abandoned = True
        for _, waiter in self.waiters:
            if not waiter.done():
                waiter.set_result(None)
        self.waiters.clear()

    async def fewer_than(self, limit: int) -> None:
        """Return when fewer than ``limit`` are in flight."""
        if self.count >= limit and not self.abandoned:
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self.waiters.append((limit, waiter))
            await waiter


def _is_transaction(message: Any) -> bool:
    """Whether a FIND_COORDINATOR looks for a transaction's; version 0 knows groups only."""
    return bool(getattr(message, "key_type", 0))


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
        self.signed: SignedIn | None = None
        self.replies = ReplyQueue(writer)
        self.members: dict[str, Member] = {}
        self.parked: str = ""
        self._mutations = InFlight()
        self._unanswered_acks0 = False
        self._held: list[HeldHeartbeat] = []
        self._unanswered: list[Unanswered] = []
        self._wakeups: list[asyncio.Future[None]] = []
        self._away_since: float | None = None
        self._closing = False
        self._gone = False
        reader.on_end = self._wake

    # -- life ---------------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Serve the client until it leaves. Never raises what the client or a broker did wrong."""
        relay: asyncio.Task[None] | None = None
        try:
            self.signed = await asyncio.wait_for(sign_in(self), self.gateway.settings.authentication_seconds)
            if self.signed is None:
                return
            self.gateway.signed_in(self)
            relay = asyncio.create_task(self._relay_answers())
            await self._serve()
        except TimeoutError:
            self.turned_away("authentication time", "did not sign in in time")
        except WireError as error:
            self.turned_away("protocol", str(error))
        except UpstreamUnavailable as error:
            self.turned_away("cluster", str(error))
        except (ConnectionError, OSError):
            pass
        finally:
            self._end(relay)

    def turned_away(self, reason: str, why: str) -> None:
        """Note why a client was refused: in the log, and counted by ``reason``."""
        who = f"{self.signed.appid} › {self.signed.client_id}" if self.signed else "not signed in"
        log.warning("client %s (%s): %s", self.host, who, why)
        self.gateway.traffic.count_refused(reason)

    def _end(self, relay: asyncio.Task[None] | None) -> None:
        if relay is not None:
            relay.cancel()
        if self.signed is not None:
            self.gateway.signed_out(self)
            self.signed.upstream.close()
        for held in self._held:
            if held.timer is not None:
                held.timer.cancel()
        self._mutations.abandon()
        self.writer.close()

    async def _relay_answers(self) -> None:
        assert self.signed is not None
        try:
            await self.signed.upstream.run(self.writer.drain)
        except WireError as error:
            self.turned_away("protocol", str(error))
        except (ConnectionError, OSError):
            pass
        finally:
            self._gone = True
            self._mutations.abandon()
            self._wake()
            self.writer.close()

    async def _serve(self) -> None:
        limit = self.gateway.settings.max_frame_bytes
        while not self._closing:
            frame = await read_frame(self.reader, limit)
            if frame is None:
                return
            request = parse_request(frame)
            if request.kind is Kind.API_VERSIONS:
                self.replies.open().complete(versions.answer(request, self.gateway.served_versions()))
                continue
            if not request.supported:
                raise UnknownKind(f"{request.kind.name} version {request.version} is not served here")
            await self._handle(request)
            await self.writer.drain()

    # -- one request ----------------------------------------------------------------------------------------

    def binding(self, client_id: str) -> Binding:
        assert self.signed is not None
        return self.gateway.table.binding(self.signed.appid, client_id)

    def _judge(self, kind: Kind, binding: Binding) -> Verdict:
        assert self.signed is not None
        return judge(
            kind,
            binding.state,
            signed_home=self.signed.upstream.cluster == binding.cluster,
            node_home=self.node is None or self.node.cluster == binding.cluster,
        )

    async def _handle(self, request: Request) -> None:
        assert self.signed is not None
        self.gateway.traffic.count_request(request.kind.name, self.signed.upstream.cluster)
        message: Any = None
        if request.kind is Kind.PRODUCE:
            message = read_produce(request)
            self._refuse_transaction(message.transactional_id)
            await self._mutations.fewer_than(self._in_flight_limit(request.client_id))
            self._still_here()
        elif request.kind is not Kind.FETCH:
            message = decode_request(request)
        reply: Reply | None = None
        deadline: float | None = None
        loop = asyncio.get_running_loop()
        while True:
            binding = self.binding(request.client_id)
            verdict = self._judge(request.kind, binding)
            if verdict is not Verdict.PARK:
                break
            if deadline is None:
                deadline = loop.time() + self.gateway.settings.park_seconds
            in_time = await self._park(request, message, deadline - loop.time())
            self._still_here()
            if not in_time:
                verdict = Verdict.REFUSE
                break
        self._set_member_state(request, message, "active")
        match verdict:
            case Verdict.RELAY:
                await self._relay(request, message, binding)
            case Verdict.HOLD:
                self._hold(request, message)
            case Verdict.REBALANCE:
                reply = self.replies.open()
                reply.complete(refuse(request, ErrorCode.rebalance_in_progress, message))
            case Verdict.LOOK_UP_AWAY:
                await self._look_up_away(request, message, binding)
            case _:
                self._refuse(request, message, binding)

    def _still_here(self) -> None:
        """Drop what a client left behind: it has sent it again elsewhere, and both would be written.

        :raises ConnectionResetError: the client or its broker has gone while this connection waited.
        """
        if self._gone or self.reader.ended or self.writer.is_closing():
            raise ConnectionResetError

    def _wake(self) -> None:
        """Let everything that is parked look again at what there is."""
        wakeups, self._wakeups = self._wakeups, []
        for wakeup in wakeups:
            if not wakeup.done():
                wakeup.set_result(None)

    def _in_flight_limit(self, client_id: str) -> int:
        """How many mutations may be in flight. A block has to wait for all of them, so few when one is coming."""
        settings = self.gateway.settings
        settling = self.binding(client_id).state in (BindingState.GATHER, BindingState.SETTLE)
        return settings.settling_in_flight if settling else settings.max_in_flight

    def _refuse_transaction(self, transactional_id: str | None) -> None:
        if transactional_id:
            raise UnknownKind("a transactional PRODUCE; hadash does not move transactions")

    async def _park(self, request: Request, message: Any, seconds: float) -> bool:
        """Wait for a change of binding; false when the time is over or too much is parked already."""
        if seconds <= 0 or self.gateway.parked >= self.gateway.settings.max_parked:
            return False
        wakeup: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wakeups.append(wakeup)
        self.gateway.parked += 1
        self.parked = request.kind.name
        self._set_member_state(request, message, "parked")
        try:
            await asyncio.wait_for(wakeup, seconds)
        except TimeoutError:
            return False
        finally:
            self.gateway.parked -= 1
            self.parked = ""
            if wakeup in self._wakeups:
                self._wakeups.remove(wakeup)
        return True

    def _refuse(self, request: Request, message: Any, binding: Binding) -> None:
        if request.kind is Kind.PRODUCE:
            produced: Produced = message
            if produced.acks == 0:
                # There is no answer that could tell this client: it leaves when its connection closes.
                self._close_when_answered()
                return
            self.replies.open().complete(refuse_partitions(request, self._produce_errors(produced, binding)))
            return
        self.replies.open().complete(refuse(request, None, message))

    def _produce_errors(self, produced: Produced, binding: Binding) -> dict[tuple[str, int], ErrorCode]:
        """UNKNOWN_PRODUCER_ID where the other cluster counts this producer's batches, so that it starts anew on
        this one; for all else the error that sends the client to the right node."""
        errors = {}
        for p in produced.partitions:
            origin = self.gateway.producers.of(*p.sequence_key) if p.producer_id >= 0 else None
            foreign = origin is not None and origin != binding.cluster
            errors[p.topic, p.partition] = (
                ErrorCode.unknown_producer_id if foreign else ErrorCode.not_leader_or_follower
            )
        return errors

    # -- relaying ---------------------------------------------------------------------------------------------

    async def _relay(self, request: Request, message: Any, binding: Binding) -> None:
        assert self.signed is not None
        match request.kind:
            case Kind.PRODUCE:
                errors = self._produce_errors(message, binding)
                if ErrorCode.unknown_producer_id in errors.values():
                    self.replies.open().complete(refuse_partitions(request, errors))
                    return
                self._relay_produce(request, message)
            case Kind.FETCH:
                self._send(request, transform=self._count_fetched(request))
            case Kind.METADATA:
                self._send(request, rewrite.without_topic_creation(message), self._metadata(request))
            case Kind.FIND_COORDINATOR:
                if _is_transaction(message):
                    self.replies.open().complete(
                        refuse(request, ErrorCode.transactional_id_authorization_failed, message)
                    )
                    return
                self._send(request, transform=self._coordinator(request))
            case Kind.INIT_PRODUCER_ID if message.transactional_id:
                self.replies.open().complete(
                    refuse(request, ErrorCode.transactional_id_authorization_failed, message)
                )
                return
            case Kind.DESCRIBE_CLUSTER:
                self._send(request, transform=self._cluster(request))
            case Kind.OFFSET_COMMIT:
                self._observe("group", message.group_id)
                changed = rewrite.without_leader_epochs(message) if request.version >= 6 else None
                self._send(request, changed)
            case Kind.JOIN_GROUP:
                self._relay_join(request, message)
            case Kind.SYNC_GROUP:
                self._send_waiting(request, message, None, None)
            case Kind.LEAVE_GROUP:
                self.members.pop(message.group_id, None)
                self._send(request)
            case _:
                self._send(request)
        await self.signed.upstream.drain()

    def _send(
        self,
        request: Request,
        changed: Any = None,
        transform: Callable[[bytes], bytes | None] | None = None,
        reply: Reply | None = None,
    ) -> Reply:
        """Relay ``request`` (or ``changed`` in its place); ``transform`` makes the client's answer of the cluster's."""
        assert self.signed is not None
        if reply is None:
            if request.kind in MUTATIONS:
                self._mutations.enter()
                reply = self.replies.open(self._mutations.leave)
            else:
                reply = self.replies.open()
        answered = reply

        def on_answer(payload: bytes) -> None:
            data = transform(payload) if transform is not None else None
            answered.complete(framed(payload) if data is None else data)

        data = (
            framed(request.frame)
            if changed is None
            else encode_request(
                request.kind, request.version, request.correlation_id, request.client_id, changed
            )
        )
        self.signed.upstream.send(data, request.correlation_id, on_answer)
        return reply

    def _relay_produce(self, request: Request, produced: Produced) -> None:
        assert self.signed is not None
        cluster = self.signed.upstream.cluster
        for p in produced.idempotent:
            self.gateway.producers.remember(cluster, *p.sequence_key)
        stream = Stream(self.signed.appid, request.client_id, cluster)
        for p in produced.partitions:
            self._observe("produce", p.topic, p.records, acks=produced.acks, idempotent=p.producer_id >= 0)
        records = sum(p.records for p in produced.partitions)
        if produced.acks == 0:
            self._unanswered_acks0 = True
            self.gateway.traffic.count_produced(stream, records)
            self.signed.upstream.send(framed(request.frame), request.correlation_id, None)
            return

        def count(payload: bytes) -> None:
            self.gateway.traffic.count_produced(stream, records)

        self._send(request, transform=count)

    def _relay_join(self, request: Request, message: Any) -> None:
        assert self.signed is not None
        cluster = self.signed.upstream.cluster
        changed = None
        if message.member_id and self.gateway.member_ids.of(message.member_id) not in (None, cluster):
            # A member id of the other cluster: without it the coordinator gives out a new one at once.
            changed = message = replace(message, member_id="")
        protocols = [p.name for p in message.protocols]
        self._observe(
            "group",
            message.group_id,
            assignors=protocols,
            session_timeout_ms=int(message.session_timeout.total_seconds() * 1000),
        )

        loop = asyncio.get_running_loop()
        asked = loop.time()

        def joined(payload: bytes) -> None:
            response = decode_response(Kind.JOIN_GROUP, request.version, payload)
            if response.member_id:
                self.gateway.member_ids.remember(cluster, response.member_id)
            if response.error_code is ErrorCode.none:
                waited = loop.time() - asked
                member = Member(message.group_id, response.member_id, join_seconds=waited)
                self.members[message.group_id] = member

        self._set_member_state(request, message, "joining")
        self._send_waiting(request, message, changed, joined)

    def _send_waiting(
        self, request: Request, message: Any, changed: Any, transform: Callable[[bytes], None] | None
    ) -> None:
        """Relay a request whose answer waits for others; a move can answer it first."""
        waiting: Unanswered | None = None

        def on_answer(payload: bytes) -> None:
            if waiting in self._unanswered:
                self._unanswered.remove(waiting)
                if transform is not None:
                    transform(payload)

        reply = self._send(request, changed, on_answer)
        waiting = Unanswered(request, message, reply)
        self._unanswered.append(waiting)

    # -- answers that are rewritten ---------------------------------------------------------------------------

    def _metadata(self, request: Request) -> Callable[[bytes], bytes]:
        assert self.signed is not None
        signed = self.signed

        def transform(payload: bytes) -> bytes:
            gateway, cluster = self.gateway, signed.upstream.cluster
            response = decode_response(Kind.METADATA, request.version, payload)
            gateway.learn_brokers(cluster, response.brokers)
            binding = self.binding(request.client_id)
            placement = gateway.table.placement(binding)
            pair = gateway.settings.pair
            if cluster != binding.cluster and placement is not None:
                changed = rewrite.metadata_moved(response, request.version, pair, placement, gateway.nodes)
            else:
                changed = rewrite.metadata(response, request.version, pair, cluster, gateway.nodes)
            return encode_response(Kind.METADATA, request.version, request.correlation_id, changed)

        return transform

    def _coordinator(self, request: Request) -> Callable[[bytes], bytes]:
        assert self.signed is not None
        cluster = self.signed.upstream.cluster

        def transform(payload: bytes) -> bytes:
            response = decode_response(Kind.FIND_COORDINATOR, request.version, payload)
            changed = rewrite.find_coordinator(response, request.version, cluster, self.gateway.nodes)
            return encode_response(Kind.FIND_COORDINATOR, request.version, request.correlation_id, changed)

        return transform

    def _cluster(self, request: Request) -> Callable[[bytes], bytes]:
        assert self.signed is not None
        cluster = self.signed.upstream.cluster

        def transform(payload: bytes) -> bytes:
            response = decode_response(Kind.DESCRIBE_CLUSTER, request.version, payload)
            pair = self.gateway.settings.pair
            changed = rewrite.describe_cluster(response, request.version, pair, cluster, self.gateway.nodes)
            return encode_response(Kind.DESCRIBE_CLUSTER, request.version, request.correlation_id, changed)

        return transform

    def _count_fetched(self, request: Request) -> Callable[[bytes], None]:
        assert self.signed is not None
        stream = Stream(self.signed.appid, request.client_id, self.signed.upstream.cluster)

        def transform(payload: bytes) -> None:
            try:
                counts = read_fetched(payload, request.version)
            except MalformedFrame:
                return  # it is the client's to judge; here it is only not counted
            for topic, records in counts.items():
                self._observe("consume", topic, records)
                self.gateway.traffic.count_consumed(stream, records)

        return transform

    # -- after a move -------------------------------------------------------------------------------------------

    async def _look_up_away(self, request: Request, message: Any, binding: Binding) -> None:
        """Tell a client that is signed in to the old cluster where it belongs now, or make it sign in anew."""
        assert self.signed is not None
        placement = self.gateway.table.placement(binding)
        now = asyncio.get_running_loop().time()
        recent = (
            self._away_since is None or now - self._away_since < self.gateway.settings.away_lookup_seconds
        )
        if placement is not None and recent:
            if request.kind is Kind.METADATA:
                self._send(request, rewrite.without_topic_creation(message), self._metadata(request))
                await self.signed.upstream.drain()
                return
            if request.kind is Kind.FIND_COORDINATOR and not _is_transaction(message):
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

    # -- changes of binding -------------------------------------------------------------------------------------

    def binding_changed(self) -> None:
        """Called after the table has changed: what was parked or held is judged again."""
        assert self.signed is not None
        self._wake()
        for held in list(self._held):
            self._judge_held(held)
        binding = self.binding(self.signed.client_id)
        if binding.cluster == self.signed.upstream.cluster:
            self._away_since = None
        elif self._away_since is None:
            self._away_since = asyncio.get_running_loop().time()
            self._leave_cluster(binding)

    def _leave_cluster(self, binding: Binding) -> None:
        """This connection's client has moved: end what still waits on the old cluster."""
        assert self.signed is not None
        for waiting in self._unanswered:
            waiting.reply.complete(refuse(waiting.request, ErrorCode.not_coordinator, waiting.message))
        self._unanswered.clear()
        for member in self.members.values():
            self._send_leave(member)
        self.members.clear()
        if self.node is not None and self.node.cluster == binding.cluster:
            # The client believes to be on the new cluster already. No answer could make it leave.
            self._close_when_answered()

    def _send_leave(self, member: Member) -> None:
        """Take a member out of its group on the old cluster, which would wait for it until its session ends."""
        assert self.signed is not None
        message = build(request_class(Kind.LEAVE_GROUP, 1), group_id=member.group, member_id=member.member_id)
        data = encode_request(Kind.LEAVE_GROUP, 1, OWN_CORRELATION_ID, self.signed.client_id, message)
        self.signed.upstream.send(data, OWN_CORRELATION_ID, lambda payload: None)

    @property
    def is_quiet(self) -> bool:
        """Whether every mutation has been answered to the client."""
        return self._mutations.count == 0

    def describe(self) -> str:
        """Who this is and what is going on, for the log."""
        who = f"{self.signed.appid} › {self.signed.client_id}" if self.signed else self.host
        return (
            f"{who} ({self._mutations.count} mutations, {len(self.replies)} unanswered, "
            f"parked {self.parked or 'nothing'}, held {len(self._held)}, waiting {len(self._unanswered)})"
        )

    async def quiet(self) -> None:
        """Return when every mutation has been answered to the client (a block is then in effect here)."""
        assert self.signed is not None
        if self._unanswered_acks0:
            # acks=0 has no answer. A broker works off a connection's requests one by one, so the answer to one
            # more request proves that it has worked off those before.
            self._unanswered_acks0 = False
            self._mutations.enter()
            data = encode_request(
                Kind.API_VERSIONS,
                0,
                OWN_CORRELATION_ID,
                self.signed.client_id,
                build(request_class(Kind.API_VERSIONS, 0)),
            )
            self.signed.upstream.send(data, OWN_CORRELATION_ID, lambda payload: self._mutations.leave())
        await self._mutations.fewer_than(1)

    # -- settling -------------------------------------------------------------------------------------------------

    def _hold(self, request: Request, message: Any) -> None:
        held = HeldHeartbeat(request, message, self.replies.open())
        self._held.append(held)
        loop = asyncio.get_running_loop()
        # Twice the gathering: when nobody ends it, the heartbeat goes to the cluster before the session ends.
        held.timer = loop.call_later(2 * self.gateway.settings.gather_seconds, self._release_held, held)
        self._set_member_state(request, message, "held")

    def _release_held(self, held: HeldHeartbeat) -> None:
        """Let the cluster answer after all."""
        self._forget_held(held)
        self._send(held.request, reply=held.reply)

    def _judge_held(self, held: HeldHeartbeat) -> None:
        verdict = self._judge(Kind.HEARTBEAT, self.binding(held.request.client_id))
        if verdict is Verdict.HOLD:
            return
        if verdict is Verdict.RELAY:
            self._release_held(held)
            return
        self._forget_held(held)
        error = ErrorCode.rebalance_in_progress if verdict is Verdict.REBALANCE else ErrorCode.not_coordinator
        held.reply.complete(refuse(held.request, error, held.message))

    def _forget_held(self, held: HeldHeartbeat) -> None:
        if held.timer is not None:
            held.timer.cancel()
        self._held.remove(held)
        self._set_member_state(held.request, held.message, "active")

    def _set_member_state(self, request: Request, message: Any, state: str) -> None:
        if request.kind not in (Kind.HEARTBEAT, Kind.JOIN_GROUP):
            return
        member = self.members.get(message.group_id)
        if member is None:
            member = self.members[message.group_id] = Member(message.group_id, message.member_id)
        if message.member_id:
            member.member_id = message.member_id
        member.state = state

    # -- reporting ------------------------------------------------------------------------------------------------

    def _observe(self, kind: str, resource: str, records: int = 0, **details: Any) -> None:
        assert self.signed is not None
        signed = self.signed
        key = AccessKey(signed.appid, signed.client_id, kind, resource, signed.upstream.cluster)
        self.gateway.traffic.observe(
            key, self.host, signed.library, signed.library_version, records, **details
        )

    @property
    def state(self) -> BindingState:
        assert self.signed is not None
        return self.binding(self.signed.client_id).state

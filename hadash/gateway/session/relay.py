"""Passes requests to the cluster that a client is signed in to, and turns the cluster's answers into the client's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Set
from dataclasses import dataclass, replace
from typing import Any

from hadash.bindings.model import Binding
from hadash.gateway.brokers.upstream import Streamed
from hadash.gateway.clients.libraries import JOINS_AT_ONCE_WITHOUT_ID
from hadash.gateway.clients.members import ConnectionMembers, Member, assignors_of, session_timeout_ms_of
from hadash.gateway.clients.observer import Observer
from hadash.gateway.clients.signed_in import SignedIn
from hadash.gateway.context import GatewayContext
from hadash.gateway.protocol.api_keys import LOOK_UPS, MUTATIONS, ApiKey
from hadash.gateway.protocol.codec import (
    ErrorCode,
    build,
    decode_response,
    encode_request,
    encode_response,
    request_class,
)
from hadash.gateway.protocol.positions import FetchPositions
from hadash.gateway.protocol.records import FetchedCounter, Produced, produce_errors
from hadash.gateway.protocol.since import FindCoordinator, OffsetCommit, OffsetFetch, TxnOffsetCommit
from hadash.gateway.protocol.wire import Request, length_of
from hadash.gateway.rules.refusals import refuse
from hadash.gateway.session.acks0 import Acks0
from hadash.gateway.session.directory import Directory, is_transaction
from hadash.gateway.session.sequence_guard import FirstBatch, SequenceGuard
from hadash.gateway.virtual import rewrite
from hadash.gateway.virtual.producer_ids import given_out, renumbered
from hadash.gateway.waiting.inflight import InFlight
from hadash.gateway.waiting.replies import Reply, ReplyQueue

#: Errors of a PRODUCE after which the cluster may nevertheless have its records. If the client sends them again to
#: another cluster, they are duplicates. (The leader has appended them, but has not heard from enough followers in time,
#: or has lost the partition meanwhile.)
MAYBE_WRITTEN = frozenset(
    int(error)
    for error in (
        ErrorCode.unknown_server_error,
        ErrorCode.not_leader_or_follower,
        ErrorCode.request_timed_out,
        ErrorCode.not_enough_replicas_after_append,
        ErrorCode.kafka_storage_error,
    )
)

#: The correlation id of requests that the Gateway itself sends on a client's connection.
OWN_CORRELATION_ID = -7


def _nobody(errors: Set[int]) -> None:
    """Ignore errors after the connection has ended."""


@dataclass(slots=True, eq=False)
class Unanswered:
    """A JOIN_GROUP or SYNC_GROUP that the cluster has not answered yet: its answer waits for other members."""

    request: Request
    message: Any
    reply: Reply


class Relay:
    """The requests of one signed-in client on their way to its cluster and back."""

    def __init__(
        self,
        context: GatewayContext,
        signed: SignedIn,
        host: str,
        replies: ReplyQueue,
        members: ConnectionMembers,
        maybe_written: Callable[[Set[int]], None],
    ) -> None:
        """:param maybe_written: called with the errors of an answer that are :data:`MAYBE_WRITTEN`, before the client
        gets them.
        """
        self.context = context
        self.signed = signed
        self.host = host
        self.replies = replies
        self.members = members
        self._maybe_written = maybe_written
        self.mutations = InFlight()
        self.openings = SequenceGuard(context.settings.retry_seconds)
        self.unanswered: list[Unanswered] = []
        self._acks0 = Acks0()
        self.upstream = signed.upstream
        self.cluster = signed.upstream.cluster
        self.observer = Observer(context.traffic, signed, host)
        self.positions = FetchPositions()
        #: Since when the client belongs to the other cluster, in the loop's time; ``None`` if it does not.
        self.away_since: float | None = None

    def close(self) -> None:
        """End all waits and stop reporting errors, because the connection ends."""
        self.mutations.abandon()
        self._maybe_written = _nobody

    def answer(self, request: Request, data: bytes) -> None:
        """Answer ``request`` instead of the cluster."""
        self.replies.open().complete(data)

    # -- one request -------------------------------------------------------------------------------------------

    def relay(self, request: Request, message: Any, binding: Binding) -> None:
        """Pass ``request`` on; its answer goes to the client when it arrives."""
        match request.kind:
            case kind if kind in LOOK_UPS and self.context.redirects:
                self.send(request, rewrite.changed_by(rewrite.without_topic_creation, message))
            case ApiKey.PRODUCE:
                self._produce(request, message, binding)
            case ApiKey.FETCH:
                self._fetch(request)
            case ApiKey.METADATA:
                Directory(self).answer_metadata(request, message)
            case ApiKey.FIND_COORDINATOR if is_transaction(message) and not self.context.transactions:
                self._refuse_transaction(request, message)
            case ApiKey.FIND_COORDINATOR:
                Directory(self).answer_coordinators(request, message)
            case ApiKey.INIT_PRODUCER_ID if message.transactional_id and not self.context.transactions:
                self._refuse_transaction(request, message)
            case ApiKey.INIT_PRODUCER_ID if message.transactional_id:
                self.send(request)  # the coordinator knows the producer by its original id
            case ApiKey.TXN_OFFSET_COMMIT if request.version >= TxnOffsetCommit.LEADER_EPOCH:
                self.send(request, rewrite.without_leader_epochs(message))
            case ApiKey.INIT_PRODUCER_ID:
                self.send(request, transform=self._producer_id(request))
            case ApiKey.DESCRIBE_CLUSTER:
                self.send(request, transform=self._cluster(request))
            case ApiKey.OFFSET_COMMIT:
                self.observer.commits(message.group_id, self.members.seen(request, message))
                self.send(
                    request,
                    rewrite.without_leader_epochs(message)
                    if request.version >= OffsetCommit.LEADER_EPOCH
                    else None,
                )
            case ApiKey.JOIN_GROUP:
                self._join(request, message)
            case ApiKey.OFFSET_FETCH:
                self._observe_reading(request, message)
                self.send(request)
            case ApiKey.SYNC_GROUP:
                self._send_waiting(request, message, None, None)
            case ApiKey.LEAVE_GROUP:
                self.members.leave(request, message)
                self.send(request)
            case _:
                self.send(request)

    def _refuse_transaction(self, request: Request, message: Any) -> None:
        error = ErrorCode.transactional_id_authorization_failed
        self.answer(request, refuse(request, error, message))

    def send(
        self,
        request: Request,
        changed: Any = None,
        transform: Callable[[bytes], bytes | None] | None = None,
        reply: Reply | None = None,
    ) -> Reply:
        """Relay ``request`` (or ``changed`` instead); ``transform`` turns the cluster's answer into the client's."""
        if reply is None:
            if request.kind in MUTATIONS:
                self.mutations.enter()
                reply = self.replies.open(self.mutations.leave)
            else:
                reply = self.replies.open()
        answered, counter = reply, self.observer.counter(request.kind)

        def on_answer(payload: bytes) -> None:
            counter.bytes_out += len(payload)
            data = transform(payload) if transform is not None else None
            if data is None:
                answered.complete(length_of(payload), payload)
            else:
                answered.complete(data)

        if changed is None:
            self._pass(request, on_answer)
        else:
            data = encode_request(
                request.kind, request.version, request.correlation_id, request.client_id, changed
            )
            self.upstream.send((data,), request.correlation_id, on_answer)
        return reply

    def _pass(
        self, request: Request, on_answer: Callable[[bytes], None] | None, stream: Streamed | None = None
    ) -> None:
        """Send a request on unchanged."""
        frame = request.frame
        self.upstream.send((length_of(frame), frame), request.correlation_id, on_answer, stream)

    def sign_in_again(self, request: Request, is_over: Callable[[Request, bytes], bool]) -> None:
        """Relay a message of a client's own re-authentication. The Gateway's own requests wait until it is over: a
        broker hangs up if it gets any other request between its messages.
        """
        reply, counter = self.replies.open(), self.observer.counter(request.kind)

        def on_answer(payload: bytes) -> None:
            counter.bytes_out += len(payload)
            reply.complete(length_of(payload), payload)
            if is_over(request, payload):
                self.upstream.release()

        self.upstream.hold(pause=False)
        data = (length_of(request.frame), request.frame)
        self.upstream.send(data, request.correlation_id, on_answer, signs_in=True)

    def _send_own(
        self, kind: ApiKey, version: int, on_answer: Callable[[bytes], None], **values: Any
    ) -> None:
        """Send a request of the Gateway's own on the client's connection to its cluster."""
        message = build(request_class(kind, version), **values)
        data = encode_request(kind, version, OWN_CORRELATION_ID, self.signed.client_id, message)
        self.upstream.send((data,), OWN_CORRELATION_ID, on_answer)

    # -- writes ------------------------------------------------------------------------------------------------

    def _produce(self, request: Request, produced: Produced, binding: Binding) -> None:
        since = self.context.table.since(self.signed.appid, self.signed.client_id, binding)
        opens: list[tuple[FirstBatch, int]] = []
        if since is not None and not produced.transactional_id:
            # (A transaction's coordinator knows its producer by the id that it issued.)
            opens = self._opens(produced, since)
            now = self.context.loop.time()
            if produced.acks and any(self.openings.comes_too_early(*each, now) for each in opens):
                self.answer(request, refuse(request))
                return
            frame = renumbered(request.frame, produced, since)
            if frame is not request.frame:
                request = replace(request, frame=frame)
        records = self.observer.producing(produced)
        if produced.acks == 0:
            self._acks0.written()
            self.observer.produced(records)
            self._pass(request, None)
            return
        if opens:
            self.openings.sent(opens)

        def answered(payload: bytes) -> None:
            self.observer.produced(records)
            errors = produce_errors(payload, request.version)
            if opens:
                self.openings.answered(opens, set(errors), self.context.loop.time())
            if refused := MAYBE_WRITTEN.intersection(errors.values()):
                self._maybe_written(refused)

        self.send(request, transform=answered)

    def _opens(self, produced: Produced, since: Callable[[str], int]) -> list[tuple[FirstBatch, int]]:
        """Return the partitions whose sequence the cluster does not know yet, with the sequence numbers sent there."""
        found = []
        for p in produced.partitions:
            epoch = since(p.topic) if p.producer_id >= 0 else 0
            if epoch:
                opening = FirstBatch(p.topic, p.partition, p.producer_id, p.producer_epoch, epoch)
                if not self.openings.is_open(opening):
                    found.append((opening, p.sequence))
        return found

    def has_to_open(self, produced: Produced) -> bool:
        """Whether a first batch of one of these partitions is under way; this request is not sent before its answer."""
        if not self.openings.any_under_way:
            return False
        return any(self.openings.is_opening(p.topic, p.partition) for p in produced.partitions)

    @property
    def is_quiet(self) -> bool:
        """Whether no write is under way for which an answer could still come."""
        return self.mutations.abandoned or not (self.mutations.count or self._acks0.on_the_way)

    @property
    def owes_answers(self) -> bool:
        """Whether the client waits for the answer to a mutation: if it is cut off now, it sends the mutation again."""
        return self.mutations.count > self._acks0.proofs

    async def quiet(self) -> None:
        """Return when every mutation that has been sent by now is answered.

        A block is then in effect here: later requests are judged under it, and the client may have other Topics to
        write to.
        """
        if self._acks0.on_the_way and not self.mutations.abandoned:
            self._acks0.asked()
            self.mutations.enter()
            self._send_own(ApiKey.API_VERSIONS, 0, self._acks0_proved)
        await self.mutations.wait_for_present()

    def _acks0_proved(self, payload: bytes) -> None:
        self._acks0.proved()
        self.mutations.leave()

    # -- groups ------------------------------------------------------------------------------------------------

    def _join(self, request: Request, message: Any) -> None:
        cluster, changed = self.cluster, None
        if self._comes_with_another_clusters_id(message) and (
            getattr(message, "group_instance_id", None) or self.signed.library in JOINS_AT_ONCE_WITHOUT_ID
        ):
            # A static member: if the coordinator still remembers the group, it would fence the member for its foreign
            # id, which ends the client. Without an id the member takes its own place, as after a restart. And
            # librdkafka joins at once without one.
            changed = message = replace(message, member_id="")
        # Any other member keeps its id. The coordinator does not know it and says so (UNKNOWN_MEMBER_ID), as after a
        # session that has ended. Without the id it would say MEMBER_ID_REQUIRED, which it never says to a request that
        # has one: @platformatic/kafka then keeps its old id, asks with it again, and fails.
        self.observer.joins(message.group_id, assignors_of(message), session_timeout_ms_of(message))
        loop = asyncio.get_running_loop()
        asked = loop.time()
        waits = self.members.waits(request, message)
        waits.joining += 1

        def joined(payload: bytes) -> None:
            response = decode_response(ApiKey.JOIN_GROUP, request.version, payload)
            if response.member_id:
                self.context.member_ids.remember(cluster, response.member_id)
            waits.joining -= 1
            if response.error_code is ErrorCode.none:
                self.members.joined(message.group_id, response.member_id, message, loop.time() - asked)

        self._send_waiting(request, message, changed, joined)

    def _comes_with_another_clusters_id(self, message: Any) -> bool:
        """Whether a JOIN_GROUP has a member id that the other cluster issued."""
        return bool(message.member_id) and self.context.member_ids.of(message.member_id) not in (
            None,
            self.cluster,
        )

    def _observe_reading(self, request: Request, message: Any) -> None:
        """Note the partitions whose offsets a member asks for: it reads them, even if no records come. (Other clients
        ask too, to show the lag of a group, but they are not members.)"""
        groups = message.groups if request.version >= OffsetFetch.GROUPS else (message,)
        own = self.members.groups()
        for group in groups:
            if group.group_id in own:
                for topic in group.topics or ():
                    self.observer.reading(topic.name)

    def _send_waiting(
        self, request: Request, message: Any, changed: Any, transform: Callable[[bytes], None] | None
    ) -> None:
        """Relay a request whose answer waits for other members; a move can answer it first."""
        waiting: Unanswered | None = None

        def on_answer(payload: bytes) -> None:
            if waiting in self.unanswered:
                self.unanswered.remove(waiting)
                if transform is not None:
                    transform(payload)

        reply = self.send(request, changed, on_answer)
        waiting = Unanswered(request, message, reply)
        self.unanswered.append(waiting)

    def leave_cluster(self) -> None:
        """End the requests that wait on the old cluster, and the memberships there, because the client has moved."""
        self.leave_groups(lambda group: True)

    def leave_groups(self, moved: Callable[[str], bool]) -> None:
        """Do the same as :meth:`leave_cluster` for the groups that have moved; the client itself may stay."""
        for waiting in [each for each in self.unanswered if moved(each.message.group_id)]:
            self.unanswered.remove(waiting)
            waiting.reply.complete(refuse(waiting.request, ErrorCode.not_coordinator, waiting.message))
        for member in self.members.all():
            if moved(member.group):
                self._send_leave(member)
                self.members.left(member)

    def _send_leave(self, member: Member) -> None:
        """Take a member out of its group on the old cluster, which would wait for it until its session ends."""
        self._send_own(
            ApiKey.LEAVE_GROUP, 1, lambda payload: None, group_id=member.group, member_id=member.member_id
        )

    # -- answers that are rewritten ----------------------------------------------------------------------------

    def _producer_id(self, request: Request) -> Callable[[bytes], bytes]:
        def transform(payload: bytes) -> bytes:
            response = decode_response(ApiKey.INIT_PRODUCER_ID, request.version, payload)
            if response.error_code is ErrorCode.none:
                place = self.context.pair.clusters.index(self.cluster)
                response = replace(response, producer_id=given_out(response.producer_id, place))
            return encode_response(ApiKey.INIT_PRODUCER_ID, request.version, request.correlation_id, response)

        return transform

    def _cluster(self, request: Request) -> Callable[[bytes], bytes]:
        def transform(payload: bytes) -> bytes:
            response = decode_response(ApiKey.DESCRIBE_CLUSTER, request.version, payload)
            pair, nodes = self.context.settings.pair, self.context.nodes
            changed = rewrite.describe_cluster(response, request.version, pair, self.cluster, nodes)
            return encode_response(ApiKey.DESCRIBE_CLUSTER, request.version, request.correlation_id, changed)

        return transform

    def _fetch(self, request: Request) -> None:
        self.positions.note(request)
        answer = _FetchAnswer(self, request)
        self._pass(request, answer.whole, answer)

    # -- after a move --------------------------------------------------------------------------------------------

    @property
    def moved_recently(self) -> bool:
        """Whether the client has moved so recently that its switch's placement still holds."""
        if self.away_since is None:
            return False
        return self.context.loop.time() - self.away_since < self.context.settings.away_lookup_seconds

    def look_up_away(self, request: Request, message: Any) -> bool:
        """Answer a look-up of a client that has moved; false when no source can answer, and it has to sign in again."""
        if request.kind is ApiKey.FIND_COORDINATOR and is_transaction(message):
            return False
        if self.context.redirects:
            return False  # once signed in again, the client asks the other cluster itself
        binding = self.context.table.binding(self.signed.appid, self.signed.client_id)
        if not self.context.lookups.can_ask(binding.cluster):
            placement = self.context.table.placement(binding) if self.moved_recently else None
            if placement is None:
                return False
            if request.kind is ApiKey.FIND_COORDINATOR:
                groups = (
                    message.coordinator_keys if request.version >= FindCoordinator.KEYS else (message.key,)
                )
                if any(group not in placement.coordinators for group in groups):
                    return False
        if request.kind is ApiKey.METADATA:
            Directory(self).answer_metadata(request, message)
        elif request.kind is ApiKey.FIND_COORDINATOR:
            Directory(self).answer_coordinators(request, message)
        else:
            return False
        return True

    def broken(self, error: Exception) -> None:
        """End the connection, because an answer of the cluster cannot be read."""
        self.upstream.abort()
        if self.upstream.owner is not None:
            self.upstream.owner.upstream_lost(str(error))


class _FetchAnswer:
    """The answer to a FETCH on its way to the client: whole, or in pieces while it arrives. Its records are counted."""

    __slots__ = ("_counter", "_relay", "_reply", "_total")

    def __init__(self, relay: Relay, request: Request) -> None:
        self._relay = relay
        self._counter = FetchedCounter(request.version)
        self._total = relay.observer.counter(request.kind)
        self._reply = relay.replies.open()

    def whole(self, payload: bytes) -> None:
        self._total.bytes_out += len(payload)
        self._counter.feed(payload)
        self._count()
        self._reply.complete(length_of(payload), payload)

    def begin(self, length: int) -> None:
        self._total.bytes_out += length
        self._reply.pass_on(length.to_bytes(4, "big"))

    def piece(self, data: bytes) -> None:
        self._counter.feed(data)
        self._reply.pass_on(data)

    def end(self) -> None:
        self._count()
        self._reply.complete()

    def _count(self) -> None:
        if self._counter.counts:
            self._relay.observer.consumed(self._counter.counts)

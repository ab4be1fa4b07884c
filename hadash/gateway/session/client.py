"""A signed-in client: judges each of its requests, and acts on the verdict."""

from __future__ import annotations

import logging
from collections.abc import Set
from functools import partial
from typing import Any

from hadash.bindings.model import Binding, BindingState
from hadash.gateway.brokers.upstream import introduce_in_line
from hadash.gateway.clients.libraries import Library
from hadash.gateway.clients.members import ConnectionMembers, HeldHeartbeat
from hadash.gateway.clients.signed_in import SignedIn
from hadash.gateway.context import GatewayContext
from hadash.gateway.protocol.api_keys import DATA, GROUP, SIGN_IN, TRANSACTIONS, ApiKey
from hadash.gateway.protocol.codec import ErrorCode, decode_request
from hadash.gateway.protocol.records import Produced, read_produce
from hadash.gateway.protocol.wire import MalformedFrame, NotServed, Request, parse_request
from hadash.gateway.rules.binding_resolver import BindingResolver
from hadash.gateway.rules.pending_retries import seconds_expected
from hadash.gateway.rules.refusals import is_incremental, refuse
from hadash.gateway.rules.verdicts import Verdict, judge
from hadash.gateway.session.client_auth import SignInAgain, software_of
from hadash.gateway.session.its_connection import ItsConnection
from hadash.gateway.session.lingering import writes_answered
from hadash.gateway.session.parked import Parked, is_unacknowledged
from hadash.gateway.session.relay import Relay
from hadash.gateway.session.states import CLIENT, ClientState, HeldUpBy, Step
from hadash.gateway.virtual import unasked
from hadash.gateway.virtual.rewrite import without_session
from hadash.gateway.waiting.timing_wheel import Entry
from hadash.identity.names import printable

log = logging.getLogger(__name__)


class Client:
    """A client from sign-in to the end; its states are a table in :mod:`hadash.gateway.session.states`. All methods run
    in the Gateway's loop.
    """

    def __init__(self, context: GatewayContext, connection: ItsConnection, signed: SignedIn) -> None:
        self.context = context
        self.connection = connection
        self.signed = signed
        self.host = connection.host
        self.node = connection.node
        self.members = ConnectionMembers(
            context.group_members, signed.appid, signed.client_id, self.host, signed.upstream.cluster
        )
        self.relay = Relay(context, signed, self.host, connection.replies, self.members, self.maybe_written)
        connection.replies.on_lost = self.answer_lost
        self._parked: Parked | None = None
        #: Whether the next request waits until the cluster has answered earlier writes.
        self._wants_room = False
        #: Whether a request has waited here, so that the client may have sent it again elsewhere.
        self._has_waited = False
        self.state = ClientState.NEW
        #: Since when the client has been gone, in the loop's time.
        self._gone_since: float | None = None
        #: Set when the client has hung up while requests wait here.
        self._leaves_by: Entry | None = None
        self._again = SignInAgain(signed, context.listener, context.settings)
        self.resolver = BindingResolver(
            context.table, signed.appid, signed.client_id, self.relay.cluster, context.resolve_times
        )

    def __str__(self) -> str:
        return f"{printable(self.signed.appid)} › {printable(self.signed.client_id)}"

    # -- what happens to a request ---------------------------------------------------------------------------------

    def judge(self, kind: ApiKey, binding: Binding | None) -> Verdict:
        """Return the verdict on a request; ``binding`` is ``None`` when its names are on different clusters."""
        if binding is None:
            return Verdict.REFUSE
        cluster = binding.cluster
        return judge(
            kind,
            binding.state,
            signed_home=self.relay.cluster == cluster,
            node_home=self.node is None or self.node.cluster == cluster,
        )

    # -- life ------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begin to serve the client, once it is signed in."""
        self._say_library()
        self.relay.upstream.owner = self
        self.context.clients.signed_in(self)
        if self.relay.upstream.transport.is_closing():
            self.upstream_lost("")  # the transport will not report it any more
        elif not self.resolver.belongs_here:
            self.binding_changed()  # the client has moved during its sign-in

    def _say_library(self) -> None:
        """Remember the client's library, or take over the one that another of its connections has named."""
        signed, libraries = self.signed, self.context.libraries
        who = signed.appid, signed.client_id, self.host
        if signed.library:
            libraries.tell(*who, Library(signed.library, signed.library_version))
        else:
            signed.library, signed.library_version = libraries.of(*who)

    @property
    def held_up_by(self) -> HeldUpBy:
        """Why the client's next request has to wait."""
        if self._parked is not None:
            return HeldUpBy.BINDING
        if self._wants_room:
            return HeldUpBy.WRITES
        if self.relay.upstream.congested:
            return HeldUpBy.BROKER
        return HeldUpBy.ANSWERS if self._owes_too_many_answers() else HeldUpBy.NOTHING

    @property
    def waits(self) -> bool:
        """Whether the client's next request has to wait."""
        return self.held_up_by is not HeldUpBy.NOTHING

    def go_on_when_answered(self) -> None:
        """If it waits for answers to earlier ones, let the connection go on when one was sent."""
        if self.held_up_by is HeldUpBy.ANSWERS:
            self._has_waited = True
            self.connection.replies.on_sent = self.connection.go_on

    @property
    def blocked(self) -> bool:
        """Whether a block waits for the client's writes."""
        return self.resolver.blocked

    def _owes_too_many_answers(self) -> bool:
        """Whether earlier requests must be answered first: each holds memory until then, and so do the answers that
        wait behind it.
        """
        return len(self.connection.replies) >= self.context.settings.max_unanswered

    @property
    def parked(self) -> str:
        """The kind of the parked request; empty if none is parked."""
        return "" if self._parked is None else self._parked.request.kind.name

    def client_gone(self) -> None:
        """Called when the client has hung up. Waiting requests are dropped, except those it will not send again."""
        self._gone_since = self.context.loop.time()
        if self.relay.owes_answers:
            self.context.binding_applier.cut_off(self, "it hung up")
        if self._parked is not None and not is_unacknowledged(self._parked.request, self._parked.message):
            self._drop()
        elif self.waits:
            # Writes that request no answer are still passed on, if the broker takes them in time.
            self._leaves_by = Entry(self.connection.leave)
            self.context.timer.add(self._leaves_by, self._linger_seconds)

    def answer_lost(self) -> None:
        """Note that the answer to a mutation could not be sent to the client any more: it sends the mutation again.

        Its connection has ended, but that is not heard yet.
        """
        self.context.binding_applier.cut_off(self, "it was gone when its answer came")

    def give_way(self, to: Client) -> None:
        """Let ``to`` serve the client, which has named its client.id only now. No request was handled before."""
        to._gone_since, to._has_waited = self._gone_since, self._has_waited
        self.state = CLIENT.after(self.state, Step.RENAME)
        self.members.close()
        self.relay.close()
        self.context.clients.signed_out(self)
        self.context.traffic.sign_ins -= 1  # ``to`` counts it again

    def left_during_sign_in(self) -> None:
        """Note that the client has hung up before it was served.

        It may have sent again elsewhere what it sent after its sign-in.
        """
        self._gone_since = self.context.loop.time()
        self._has_waited = True

    def left_over(self) -> None:
        """Note that requests wait for others' turns: the client may hang up and send them again elsewhere."""
        self._has_waited = True

    def upstream_lost(self, why: str) -> None:
        """End, because the broker is gone: what is under way may have happened, and nothing more can be sent."""
        if why:
            self.connection.turned_away("protocol", why)
        if not self.relay.is_quiet:
            self.context.binding_applier.cut_off(self, why or self.relay.upstream.ended_by)
        self.relay.mutations.abandon()
        self._drop()
        self.connection.leave()

    def maybe_written(self, errors: Set[int]) -> None:
        """Note that the broker has refused records that it may nevertheless hold; the client sends them again."""
        settings = self.context.settings
        self.context.binding_applier.cut_off(
            self,
            f"its broker answered with errors {sorted(errors)}",
            seconds_expected(errors, settings.retry_seconds, settings.return_seconds),
        )

    def upstream_paused(self) -> None:
        """Note the broker's back-pressure on the client: requests that arrive now wait here, as :attr:`waits` says."""
        self._has_waited = True

    def upstream_resumed(self) -> None:
        self.connection.go_on()

    def answers_pile_up(self) -> None:
        """Stop reading the broker, because the client does not take its answers; requests that arrive now wait here.

        A block does not wait for a client to read: during a block the answers under way are still read from the broker.
        """
        self._has_waited = True
        if self.relay.is_quiet or not (self.blocked or self.state is ClientState.LEAVING):
            self.relay.upstream.transport.pause_reading()

    def _drop(self) -> None:
        """Forget the parked request, and leave if there was one."""
        if self._forget_parked():
            self.connection.leave()

    def _forget_parked(self) -> bool:
        """Forget the parked request, and return whether there was one."""
        parked, self._parked = self._parked, None
        if parked is None:
            return False
        self.context.purgatory.cancel(parked)
        parked.waits.parked -= 1
        return True

    def shut_down(self) -> None:
        """End, because the Gateway stops: a parked request is dropped (it was not passed on); requests under way are
        answered."""
        self._drop()
        self.connection.leave()

    def leave(self) -> None:
        """End as soon as the broker has answered what was written.

        A block waits for that as for any other client, and a broker may drop unread requests of a cut connection.
        """
        if not CLIENT.allows(self.state, Step.LEAVE):
            return
        self.state = CLIENT.after(self.state, Step.LEAVE)
        if self.relay.is_quiet:
            self._end()
        else:
            self.relay.upstream.transport.resume_reading()  # a client that reads slowly must not delay its answers
            self.context.spawn(self._linger())

    @property
    def _linger_seconds(self) -> float:
        """For how many seconds the connection to the broker is still kept."""
        seconds = self.context.settings.linger_seconds
        if self._gone_since is None:
            return seconds
        return max(0.0, self._gone_since + seconds - self.context.loop.time())

    async def _linger(self) -> None:
        cut_off = partial(self.context.binding_applier.cut_off, self, "its broker did not answer in time")
        await writes_answered(self, self._linger_seconds, self.context.settings.linger_seconds, cut_off)
        self._end()

    def _end(self) -> None:
        if self._leaves_by is not None:
            self._leaves_by.drop()
        self._forget_parked()
        for held in list(self.members.held):
            self.context.purgatory.cancel(held)
        self.members.close()
        self.context.clients.signed_out(self)
        self.relay.upstream.owner = None
        self.relay.upstream.close()
        self.relay.close()
        self.connection.close()
        self.state = CLIENT.after(self.state, Step.END)
        self.connection.let_go()

    def describe(self) -> str:
        """Return the client's name and state, for the log."""
        return (
            f"{self} ({self.relay.mutations.count} mutations, {len(self.connection.replies)} unanswered, "
            f"parked {self.parked or 'nothing'}, held {len(self.members.held)}, "
            f"waiting {len(self.relay.unanswered)}, {self.state}, line {self.connection.line})"
        )

    # -- one request -----------------------------------------------------------------------------------------------

    def handle(self, frame: bytes, arrived: float) -> bool:
        """Handle one request; false when there is no room for it yet (it is handed over again when there is).

        :param arrived: when its first byte was received, in the loop's time: its client's timeout counts from there.
        :raises WireError: the request breaks the protocol.
        """
        request = parse_request(frame)
        if request.kind is ApiKey.API_VERSIONS:
            self._tell_versions(request)
            return True
        self._check_served(request)
        if request.client_id != self.signed.client_id and not self._signs_in_as_before(request):
            self._is_named(request.client_id)
            return False  # the client that takes over handles it
        if self.state is ClientState.NEW:
            self.state = CLIENT.after(self.state, Step.BEGIN)
        request = unasked.as_served(request)
        message = self._read(request)
        if request.kind is ApiKey.PRODUCE and (
            self._must_wait_for_room() or self._must_wait_to_open(message)
        ):
            return False
        if self._has_waited and not (self.connection.still_there() or is_unacknowledged(request, message)):
            # The client has sent it again elsewhere, and both would be written.
            self.connection.leave()
            return True
        self.relay.observer.request(request.kind, len(frame))
        self._handle(request, message, arrived)
        return True

    def _tell_versions(self, request: Request) -> None:
        """Answer with the versions that both clusters serve; the request may name the client's library."""
        if software := software_of(request):
            self.signed.library, self.signed.library_version = software
            self._say_library()
            introduce_in_line(self.relay.upstream, request.client_id, *software)
        self.relay.replies.open().complete(self.context.versions.answer(request))

    def _check_served(self, request: Request) -> None:
        """:raises NotServed: the Gateway does not serve such requests."""
        if not request.supported:
            raise NotServed(f"{request.kind.name} version {request.version} is not served here")
        if request.kind in TRANSACTIONS and not self.context.transactions:
            raise NotServed(f"{request.kind.name}; hadash does not move transactions")

    def _is_named(self, client_id: str) -> None:
        """Let the client be served under the client.id that its first request has: it signed in without one.

        :raises MalformedFrame: it has another one already, or was served without one.
        """
        if self.signed.client_id or self.state is not ClientState.NEW:
            raise MalformedFrame(f"the client.id changes to {client_id!r} on one connection")
        self.connection.named(client_id)

    def _read(self, request: Request) -> Any:
        """Return the request's values; ``None`` for a FETCH that goes on as it came.

        :raises WireError: it cannot be read. :raises NotServed: it writes in a transaction.
        """
        if request.kind is ApiKey.PRODUCE:
            produced = read_produce(request)
            if produced.transactional_id and not self.context.transactions:
                raise NotServed("a transactional PRODUCE; hadash does not move transactions")
            return produced
        if request.kind is ApiKey.FETCH and not (self.resolver.by_request or self.context.redirects):
            return None
        return decode_request(request)

    def _handle(self, request: Request, message: Any, arrived: float) -> None:
        """Handle a request that has room, and that its client has sent nowhere else."""
        if request.kind in SIGN_IN:
            self._again.check(request, message)
            self.relay.sign_in_again(request, self._again.is_over)
            return
        if self.context.redirects and request.kind in DATA | GROUP:
            self._refuse(request, message)  # it has to connect to the brokers
            return
        if request.kind is ApiKey.FETCH and self.resolver.by_request:
            if is_incremental(request.version, message):
                # It names only what has changed. When it is told that its session is gone, the client names everything.
                self.relay.answer(request, refuse(request, None, message))
                return
            request = without_session(request)
        binding = self.resolver.of(request, message)
        verdict = self.judge(request.kind, binding)
        if verdict is Verdict.PARK:
            self._park(request, message, arrived)
        else:
            self._act(request, message, binding, verdict)

    def _signs_in_as_before(self, request: Request) -> bool:
        """Whether a client that signed in without a client.id does so again."""
        return request.kind in SIGN_IN and self.signed.named_later and not request.client_id

    def _must_wait_for_room(self) -> bool:
        """Whether earlier writes must be answered first. A block waits for all writes, so few are allowed before it."""
        settings = self.context.settings
        quiescing = self.resolver.binding.state in (BindingState.HOLD_HEARTBEATS, BindingState.QUIESCE)
        limit = settings.quiescing_in_flight if quiescing else settings.max_in_flight
        mutations = self.relay.mutations
        if mutations.fewer_than(limit):
            return False
        self._wants_room = self._has_waited = True
        mutations.when_fewer_than(limit, self._has_room)
        return True

    def _must_wait_to_open(self, produced: Produced) -> bool:
        """Whether the cluster must first learn where the sequence of an idempotent producer begins."""
        if not self.relay.has_to_open(produced):
            return False
        self._wants_room = self._has_waited = True
        self.relay.mutations.when_fewer_than(1, self._has_room)
        return True

    def _has_room(self) -> None:
        self._wants_room = False
        self.connection.go_on()

    def _act(self, request: Request, message: Any, binding: Binding | None, verdict: Verdict) -> None:
        self.members.seen(request, message)
        match verdict:
            case Verdict.RELAY:
                assert binding is not None
                self.relay.relay(request, message, binding)
            case Verdict.HOLD:
                self._hold(request, message)
            case Verdict.REBALANCE:
                self.relay.answer(request, refuse(request, ErrorCode.rebalance_in_progress, message))
            case Verdict.LOOK_UP_AWAY:
                self._look_up_away(request, message)
            case _:
                self._refuse(request, message)

    # -- waiting ---------------------------------------------------------------------------------------------------

    def _park(self, request: Request, message: Any, arrived: float) -> None:
        """Wait for a change of binding; if the time is over, or too much is parked already, refuse at once."""
        self._has_waited = True
        if self.connection.gone and not is_unacknowledged(request, message):
            self.connection.leave()  # no client would receive the answer
            return
        left = arrived + self.context.settings.park_seconds - self.context.loop.time()
        parked = Parked(self, request, message)
        if left <= 0 or not self.context.purgatory.park(parked, left):
            self._refuse(request, message)
            return
        self._parked = parked
        parked.waits = self.members.waits(request, message)
        parked.waits.parked += 1

    def unparked(self, parked: Parked, *, in_time: bool) -> None:
        """Continue with a parked request: the binding has changed, or the time is over."""
        self._parked = None
        parked.waits.parked -= 1
        self.connection.guard(partial(self._go_on_with, parked.request, parked.message, in_time))
        self.connection.guard(self.connection.go_on)

    def _go_on_with(self, request: Request, message: Any, in_time: bool) -> None:
        if not (self.connection.still_there() or is_unacknowledged(request, message)):
            self.connection.leave()  # the client has already sent it again elsewhere
        elif in_time:
            binding = self.resolver.of(request, message)
            self._act(request, message, binding, self.judge(request.kind, binding))
        else:
            self._refuse(request, message)

    def _refuse(self, request: Request, message: Any) -> None:
        """Answer with the error that makes the client look up again."""
        if request.kind is not ApiKey.PRODUCE:
            self.relay.answer(request, refuse(request, None, message))
        elif message.acks == 0:
            # No answer could tell this client: it leaves when its connection closes.
            self.connection.turned_away(
                "acks=0", "a write that asks for no answer cannot be sent elsewhere; it is lost"
            )
            self.connection.close_when_answered()
        else:
            self.relay.answer(request, refuse(request))

    # -- after a move ----------------------------------------------------------------------------------------------

    def _look_up_away(self, request: Request, message: Any) -> None:
        """Tell a client that is signed in to the old cluster where it belongs now, or make it sign in again."""
        if not self.relay.look_up_away(request, message):
            self.connection.close_when_answered()

    # -- changes of binding ----------------------------------------------------------------------------------------

    def binding_changed(self) -> None:
        """Called after the table has changed. The purgatory checks what is parked or held."""
        self.resolver.refresh()
        if self.connection.slow and self.blocked and not self.relay.is_quiet:
            self.relay.upstream.transport.resume_reading()
        if self.resolver.belongs_here:
            self.relay.away_since = None
            if self.resolver.by_request:
                self.relay.leave_groups(self.resolver.is_away)
        elif self.relay.away_since is None:
            self.relay.away_since = self.context.loop.time()
            self.relay.leave_cluster()
            if self.node is not None and self.node.cluster == self.resolver.binding.cluster:
                # The client believes that it is on the new cluster already. No answer could make it leave.
                self.connection.close_when_answered()

    # -- quiescing --------------------------------------------------------------------------------------------------

    def _hold(self, request: Request, message: Any) -> None:
        # Twice as long as a switch holds heartbeats: if the switch never ends the hold, the heartbeat still reaches the
        # cluster before the session ends.
        seconds = 2 * self.context.settings.hold_heartbeats_seconds
        held = HeldHeartbeat(self, request, message, self.relay.replies.open())
        if self.context.purgatory.park(held, seconds):
            self.members.hold(held)
        else:
            self.relay.send(request, reply=held.reply)

    def judge_held(self, held: HeldHeartbeat) -> Verdict:
        return self.judge(ApiKey.HEARTBEAT, self.resolver.of(held.request, held.message))

    def released(self, held: HeldHeartbeat, *, overdue: bool) -> None:
        """Release a held heartbeat: to the cluster when the hold was never ended, else as it is judged now."""
        self.members.let_go(held)
        verdict = self.judge_held(held)
        if overdue or verdict is Verdict.RELAY:
            self.relay.send(held.request, reply=held.reply)
            return
        error = ErrorCode.rebalance_in_progress if verdict is Verdict.REBALANCE else ErrorCode.not_coordinator
        held.reply.complete(refuse(held.request, error, held.message))

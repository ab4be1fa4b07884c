"""How changes of bindings come into effect in this process, and how that is reported to ZooKeeper."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Protocol

from hadash.bindings.epochs import Report, Span
from hadash.bindings.member import Member
from hadash.bindings.model import BindingState
from hadash.bindings.pending_retries import Departure
from hadash.bindings.watch import Update
from hadash.gateway import remembered
from hadash.gateway.clients.members import Guarding
from hadash.gateway.clients.registry import Clients
from hadash.gateway.clients.signed_in import SignedIn
from hadash.gateway.reporting.traffic import Traffic
from hadash.gateway.rules.pending_retries import PendingRetries
from hadash.gateway.rules.table import AppliedEpoch, BindingTable
from hadash.gateway.settings import GatewaySettings
from hadash.gateway.virtual.known_topics import KnownTopics
from hadash.gateway.waiting.purgatory import Purgatory
from hadash.gateway.waiting.slices import Slices

log = logging.getLogger(__name__)


class HasGoverning(Protocol):
    @property
    def blocked(self) -> bool: ...


class HasWrites(Protocol):
    """The requests of a client that are on their way to its cluster."""

    @property
    def cluster(self) -> str: ...

    @property
    def is_quiet(self) -> bool: ...

    def quiet(self) -> Coroutine[Any, Any, None]: ...


class Affected(Protocol):
    """The parts of a signed-in client that a change of its binding concerns."""

    @property
    def signed(self) -> SignedIn: ...

    @property
    def connection(self) -> Guarding: ...

    @property
    def resolver(self) -> HasGoverning: ...

    @property
    def relay(self) -> HasWrites: ...

    def binding_changed(self) -> None: ...

    def describe(self) -> str: ...


class BindingApplier:
    """Puts changes of bindings into effect. All methods run in the Gateway's loop.

    :param member: ``None`` only where no switch waits for an applied epoch (tests).
    :param spawn: runs a coroutine in the background until the Gateway ends.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        loop: asyncio.AbstractEventLoop,
        spawn: Callable[[Any], Any],
        table: BindingTable,
        clients: Clients[Any],
        known_topics: KnownTopics,
        traffic: Traffic,
        purgatory: Purgatory,
        slices: Slices,
        member: Member | None,
    ) -> None:
        self._settings = settings
        self._loop = loop
        self._spawn = spawn
        self._table = table
        self._clients = clients
        self._known_topics = known_topics
        self._traffic = traffic
        self._purgatory = purgatory
        self._slices = slices
        self._member = member
        #: ZooKeeper's last epoch, while that is less than was seen here: ZooKeeper has lost changes.
        self.zookeeper_lost_after: int | None = None
        self.applied = AppliedEpoch()
        #: The clients that may send again what a cluster may already have.
        self.pending_retries = PendingRetries()
        self._reported = asyncio.Event()

    def update(self, update: Update) -> None:
        """Put a change of bindings into effect, and report its epoch once it is in effect (see :meth:`_in_effect`)."""
        before = self.applied.latest
        span = self.applied.begin(update.epoch)
        waits: list[Any] = []
        self.applied.read(update.documents)
        # Unreadable documents were written at an unknown epoch after those seen before; at a start that may be any.
        self.applied.not_read(update.unreadable, span)
        changed = self._table.apply(update)
        self._known_topics.placed(update.placements.values())
        log.info("epoch %d: bindings of %s", update.epoch, ", ".join(sorted(changed)[:10]) or "nobody")
        stops = self._table.held_epochs()
        self.applied.release_but(stops)
        self._hold_for_the_returning(changed, before)
        for appid in changed:
            stopped = any(b.state is not BindingState.FORWARD for b in self._table.bindings_of(appid))
            self._traffic.pauses.bindings_changed(appid, stopped=stopped)
            affected: list[Affected] = self._clients.of(appid)
            for client in affected:
                client.connection.guard(client.binding_changed)
                # Also when the call above failed: requests in flight are in flight anyway.
                if client.resolver.blocked and not client.relay.is_quiet:
                    waits.append(client.relay.quiet())
        # In slices: the change is also in effect for requests whose turn has not come, and other clients are served
        # meanwhile.
        self._slices.run(self._purgatory.checking(changed), lambda _: None, _release_failed)
        self._spawn(self._in_effect(span, waits))

    def forgotten(self, epoch: int | None) -> None:
        """Note that ZooKeeper has another history than the one that was seen (``None``: that is over).

        Its epochs then stand for other changes: none of them is in effect here, whatever their numbers.
        """
        self.zookeeper_lost_after = epoch
        self._reported.set()

    @property
    def report(self) -> Report:
        """The report for ZooKeeper."""
        return Report() if self.zookeeper_lost_after is not None else self.applied.report

    def inherit(self, report: Report | None) -> None:
        """Take over from a process of this name that did not shut down cleanly.

        A cluster may still process what that process had sent to it, and it is unknown until when. So the blocks that
        it had not put into effect are not in effect now.

        Its clients have to send again what was not answered, to the same cluster, which knows what it already has. If
        they found a block, and then the other cluster, the records would be written twice. See
        :meth:`_hold_for_the_returning`.

        :param report: the last report of that process; ``None`` when it shut down cleanly, or there was none.
        """
        if report is not None:
            self.applied.hold(epoch for epoch in self._table.held_epochs() if not report.has(epoch))
            self.pending_retries.expect_everybody(self._loop.time() + self._settings.return_seconds)

    def departure(self) -> Departure | None:
        """Return the clients that may still come back if this process ends now; ``None`` when there are none."""
        now = self._loop.time()
        expected, everybody = self.pending_retries.all(now), self.pending_retries.everybody(now)
        until = max([everybody, *(time for clients in expected.values() for time in clients.values())])
        if until <= now:
            return None
        clusters = {
            appid: tuple(sorted({cluster for _, cluster in clients})) for appid, clients in expected.items()
        }
        return Departure(self._settings.id, until - now, None if everybody else clusters)

    def cut_off(self, client: Affected, why: str, seconds: float | None = None) -> None:
        """Note that a client will send writes again.

        Its connection, or its broker's, has ended while writes were under way, or they were refused although the
        cluster may have them. A block that waits for them can no longer come into effect: it would catch what is sent
        again, and send it to the other cluster.

        :param why: the reason, for the log.
        :param seconds: how long the client is expected; the default is ``return_seconds``.
        """
        appid, client_id = client.signed.appid, client.signed.client_id
        now = self._loop.time()
        until = now + (self._settings.return_seconds if seconds is None else seconds)
        if self.pending_retries.expect(appid, client_id, client.relay.cluster, now, until):
            log.info(
                "%s may send again what %s has already: %s", client.describe(), client.relay.cluster, why
            )
        caught = {
            binding.epoch
            for binding in self._table.resolver(appid, client_id)
            if binding.cluster == client.relay.cluster
            and binding.state is BindingState.BLOCK
            and self.applied.is_pending(binding.epoch)
        }
        for epoch in caught:
            log.warning("epoch %d cannot come into effect: %s was cut off", epoch, client.describe())
        self.applied.hold(caught)

    def _hold_for_the_returning(self, appids: set[str], before: int) -> None:
        """Delay what leads to a block (hold_heartbeats, quiesce) until clients that may come back have had time to.

        A block that is written before that time does not come into effect as long as its binding stands, because it
        would catch them.

        :param before: the last epoch that was known before this change.
        """
        now = self._loop.time()
        everybody = self.pending_retries.everybody(now)
        held: dict[int, float] = {}
        for appid in appids:
            awaited = [(binding, everybody) for binding in self._table.bindings_of(appid) if everybody]
            for (client_id, cluster), until in self.pending_retries.of(appid, now).items():
                resolver = self._table.resolver(appid, client_id)
                awaited += [(binding, until) for binding in resolver if binding.cluster == cluster]
            for binding, until in awaited:
                if binding.epoch > before and binding.state is not BindingState.FORWARD:
                    over = math.inf if binding.state is BindingState.BLOCK else until
                    held[binding.epoch] = max(over, held.get(binding.epoch, 0.0))
        self.applied.hold(held)
        for epoch, over in held.items():
            log.warning("epoch %d waits for clients to come back", epoch)
            if over < math.inf:
                self._loop.call_at(over, self._have_returned, epoch)

    def _have_returned(self, epoch: int) -> None:
        self.applied.let_go(epoch)
        log.info("epoch %d waits no more for clients to come back", epoch)
        self._reported.set()

    async def _in_effect(self, span: Span, waits: list[Any]) -> None:
        """Put a block into effect once nothing that it stops is in flight any more."""
        epoch = span[1]
        waiting = {asyncio.ensure_future(wait) for wait in waits}
        while waiting:
            done, waiting = await asyncio.wait(waiting, timeout=self._settings.slow_block_seconds)
            failed = [each for each in done if each.cancelled() or each.exception()]
            if failed:
                # What it waited for may be in flight still: the span stays pending for ever, and the switch returns.
                error = None if failed[0].cancelled() else failed[0].exception()
                log.error("epoch %d cannot come into effect: a wait for it failed", epoch, exc_info=error)
                return
            if waiting:
                self._reported.set()  # the block is obeyed nevertheless
                log.warning(
                    "epoch %d waits for %s", epoch, "; ".join(self._in_flight()) or "unknown requests"
                )
        self.applied.finish(span)
        log.info("epoch %d is in effect", epoch)
        self._reported.set()

    def _in_flight(self) -> list[str]:
        """Describe the clients that blocks which are not in effect yet wait for."""
        return [client.describe() for client in self._clients if not client.relay.is_quiet]

    def _remember(self, epoch: int) -> None:
        if self._settings.state and epoch:
            try:
                remembered.note(Path(self._settings.state), epoch)
            except OSError as error:
                log.warning("epoch %d could not be noted in HADASH_GATEWAY_STATE: %s", epoch, error)

    async def keep_reporting(self) -> None:
        """Report the applied epoch, one write at a time; if ZooKeeper is away, the report is only delayed."""
        reported: Report | None = None
        while True:
            await self._reported.wait()
            self._reported.clear()
            report = self.report
            if self._member is None or report == reported:
                continue
            try:
                await asyncio.to_thread(self._member.report_applied, report)
                reported = report
                await asyncio.to_thread(self._remember, report.latest)
                log.info("reported: epoch %d, without %s", report.latest, list(report.missing) or "exception")
            except (
                Exception
            ) as error:  # kazoo raises many kinds; the next change or reconnection reports again
                log.warning("epoch %d could not be reported: %s", report.latest, error)
                await asyncio.sleep(1)
                self._reported.set()


def _release_failed(error: Exception) -> None:
    log.error("what waited for a change could not be released", exc_info=error)

"""The life of a Gateway: it begins to listen, serves, and ends in order or at once."""

from __future__ import annotations

import asyncio
import logging

from hadash.bindings.member import Member
from hadash.bindings.model import ClusterDescription, PairDescription
from hadash.gateway.listeners.accounts import Accounts
from hadash.gateway.session.accepting import Acceptor
from hadash.gateway.settings import GatewaySettings
from hadash.gateway.wiring import build_context

log = logging.getLogger(__name__)


class Gateway:
    """One Gateway for one pair. ``member`` is ``None`` only where no switch waits for an applied epoch (tests).

    :raises BadListener: the settings of the listener cannot be used. :raises LakeError: there is no such lake.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        pair: PairDescription,
        clusters: dict[str, ClusterDescription],
        member: Member | None,
        accounts: Accounts | None = None,
    ) -> None:
        self._settings = settings
        self._clusters = clusters
        self._one_left = asyncio.Event()
        self.context = build_context(
            settings, pair, clusters, member, accounts or Accounts(), self._one_left.set
        )
        self._acceptor = Acceptor(self.context)

    async def start(self) -> None:
        """Start to listen.

        :raises OSError: a port is taken. :raises NodeOutOfRange: a broker's number has no port.
        """
        context = self.context
        await context.cluster_versions.refresh()
        context.ports.open(self._clusters.values(), self._acceptor.listen)
        for task in (
            self._keep_versions(),
            self._keep_samples(),
            context.certificates.keep(),
            context.binding_applier.keep_reporting(),
            context.access_reports.run(),
        ):
            context.spawn(task)

    async def stop(self) -> None:
        """Stop listening, wait until clients have the answers to their writes under way, and hang up."""
        clients, connections = self.context.clients, self.context.connections
        self._acceptor.close()
        # A client with nothing under way is gone at once; the others have as long as a client that leaves. The loop
        # also stops clients that sign in only now.
        while those := list(clients):
            self._one_left.clear()
            for client in those:
                client.shut_down()
            if not clients:
                break
            await self._one_left.wait()
        for connection in connections:
            connection.close()
        while connections:
            self._one_left.clear()
            await self._one_left.wait()
        await self._close()

    async def abort(self) -> None:
        """Stop relaying at once: another process has taken this Gateway's place."""
        self._acceptor.close()
        for client in list(self.context.clients):
            client.relay.upstream.abort()
        for connection in self.context.connections:
            connection.abort()
        await self._close()

    async def _close(self) -> None:
        self.context.lookups.close()
        await self.context.access_reports.write()
        await self.context.background.end()
        self.context.timer.close()
        self.context.member_ids.close()

    def cluster_changed(self, description: ClusterDescription) -> None:
        """Take over a cluster's new description, which the control plane has published."""
        self._clusters[description.name] = description
        self.context.ports.learn(description.name, description.brokers)

    async def _keep_versions(self) -> None:
        while True:
            await asyncio.sleep(self._settings.versions_seconds)
            self.context.ports.try_again()
            await self.context.cluster_versions.refresh()

    async def _keep_samples(self) -> None:
        while True:
            await asyncio.sleep(self._settings.traffic_seconds)
            steps = self.context.traffic.sample(self.context.purgatory.count)
            self.context.slices.run(steps, lambda _: None, _sampling_failed)


def _sampling_failed(error: Exception) -> None:
    log.error("samples of traffic could not be summed up", exc_info=error)

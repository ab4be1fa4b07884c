"""The Gateway process: listeners, the table in effect, and what ZooKeeper hears of it."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Iterable
from typing import Any

from hadash.bindings.membership import Member
from hadash.bindings.model import BindingState, Broker, ClusterDescription, PairDescription
from hadash.bindings.watch import Update
from hadash.gateway.connection import ClientConnection
from hadash.gateway.kinds import Kind
from hadash.gateway.nodes import Node, NodeMap, NodeOutOfRange
from hadash.gateway.origins import Origins
from hadash.gateway.settings import GatewaySettings
from hadash.gateway.table import AppliedEpoch, BindingTable
from hadash.gateway.traffic import Traffic
from hadash.gateway.upstream import Upstream, UpstreamUnavailable, read_api_versions
from hadash.gateway.versions import Ranges, intersection
from hadash.gateway.wire import ClientReader, WireError

log = logging.getLogger(__name__)

#: StreamReader buffer of a client: one default batch of librdkafka (1 MB) without a second round of the loop.
CLIENT_BUFFER_BYTES = 1 << 20


class Gateway:
    """One Gateway for one pair. ``member`` is ``None`` only where nobody waits for an applied epoch (tests)."""

    def __init__(
        self,
        settings: GatewaySettings,
        pair: PairDescription,
        clusters: dict[str, ClusterDescription],
        member: Member | None,
    ) -> None:
        self.settings = settings
        self.pair = pair
        self.clusters = clusters
        self.table = BindingTable(pair.default)
        self.nodes = NodeMap(
            {name: clusters[name].number for name in pair.clusters},
            settings.advertised_host,
            settings.port,
            settings.ports_per_cluster,
        )
        self.producers = Origins()
        self.member_ids = Origins()
        self.traffic = Traffic(settings.traffic_samples)
        self.parked = 0
        self.connections: dict[str, set[ClientConnection]] = {}
        self.applied = AppliedEpoch()
        self._member = member
        self._reported = asyncio.Event()
        self._ranges: dict[str, Ranges] = {}
        self._servers: list[asyncio.Server] = []
        self._listening: set[int] = set()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    # -- life ---------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen. :raises OSError: a port is taken."""
        await self._refresh_versions()
        await self._listen(self.settings.port, None)
        for description in self.clusters.values():
            self.nodes.learn(description.name, description.brokers)
        for node in self.nodes.nodes():
            await self._listen(self.nodes.port(node), node)
        self._spawn(self._keep_versions())
        self._spawn(self._keep_samples())
        self._spawn(self._keep_reporting())

    async def stop(self) -> None:
        """Stop listening, let every write that is under way be answered to its client, and hang up."""
        for server in self._servers:
            server.close()
        open_ = [connection for same in self.connections.values() for connection in same]
        await asyncio.gather(*(connection.shut_down() for connection in open_), return_exceptions=True)
        for task in list(self._tasks):
            task.cancel()
        for writer in list(self._writers):
            writer.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _spawn(self, coroutine: Any) -> None:
        task = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a task of the Gateway failed", exc_info=task.exception())

    async def _listen(self, port: int, node: Node | None) -> None:
        if port in self._listening:
            return
        self._listening.add(port)

        async def accept(reader: ClientReader, writer: asyncio.StreamWriter) -> None:
            self._writers.add(writer)
            try:
                await ClientConnection(self, reader, writer, node).run()
            finally:
                self._writers.discard(writer)

        loop = asyncio.get_running_loop()

        def connection() -> asyncio.StreamReaderProtocol:
            reader = ClientReader(limit=CLIENT_BUFFER_BYTES, loop=loop)
            return asyncio.StreamReaderProtocol(reader, accept, loop=loop)  # type: ignore[arg-type]

        self._servers.append(await loop.create_server(connection, self.settings.host, port))

    # -- clusters -------------------------------------------------------------------------------------------------

    def learn_brokers(self, cluster: str, brokers: Iterable[Any]) -> None:
        """Follow a cluster's brokers from a METADATA response that passed by."""
        self._learn(cluster, tuple(Broker(int(b.node_id), b.host, int(b.port)) for b in brokers))

    def cluster_changed(self, description: ClusterDescription) -> None:
        """The control plane published a new description."""
        self.clusters[description.name] = description
        self._learn(description.name, description.brokers)

    def _learn(self, cluster: str, brokers: tuple[Broker, ...]) -> None:
        try:
            fresh = self.nodes.learn(cluster, brokers)
        except NodeOutOfRange as error:
            log.error("%s", error)
            return
        for node in fresh:
            self._spawn(self._listen(self.nodes.port(node), node))

    def _bootstrap(self, cluster: str) -> Broker:
        known = self.nodes.brokers(cluster)
        if known:
            return random.choice(known)
        host, _, port = self.clusters[cluster].bootstrap_servers.split(",")[0].rpartition(":")
        return Broker(-1, host, int(port))

    async def open_upstream(self, appid: str, client_id: str, node: Node | None) -> Upstream:
        """A connection to the cluster that a client is bound to: its own broker, or any for a bootstrap."""
        cluster = self.table.binding(appid, client_id).cluster
        broker = self.nodes.broker(node) if node is not None and node.cluster == cluster else None
        return await self._open(cluster, broker or self._bootstrap(cluster))

    async def _open(self, cluster: str, broker: Broker) -> Upstream:
        description = self.clusters[cluster]
        return await Upstream.open(
            description, broker, self.settings.connect_seconds, self.settings.max_frame_bytes
        )

    def served_versions(self) -> dict[Kind, tuple[int, int]]:
        return intersection(self._ranges.values())

    async def _refresh_versions(self) -> None:
        for name in self.clusters:
            try:
                upstream = await self._open(name, self._bootstrap(name))
            except UpstreamUnavailable as error:
                log.warning("%s", error)
                continue
            try:
                self._ranges[name] = await asyncio.wait_for(
                    read_api_versions(upstream), self.settings.connect_seconds
                )
            except (WireError, UpstreamUnavailable, TimeoutError, OSError) as error:
                log.warning("API versions of cluster %s cannot be read: %s", name, error)
            finally:
                upstream.close()

    async def _keep_versions(self) -> None:
        while True:
            await asyncio.sleep(self.settings.versions_seconds)
            await self._refresh_versions()

    async def _keep_samples(self) -> None:
        while True:
            await asyncio.sleep(self.settings.traffic_seconds)
            self.traffic.sample(self.parked)

    # -- connections ------------------------------------------------------------------------------------------------

    def signed_in(self, connection: ClientConnection) -> None:
        self.connections.setdefault(connection.signed.appid, set()).add(connection)

    def signed_out(self, connection: ClientConnection) -> None:
        same = self.connections.get(connection.signed.appid, set())
        same.discard(connection)
        if not same:
            self.connections.pop(connection.signed.appid, None)

    # -- bindings -----------------------------------------------------------------------------------------------------

    def update(self, update: Update) -> None:
        """Put a change of bindings into effect; its epoch is reported when it is (see :meth:`_in_effect`)."""
        self.applied.begin(update.epoch)
        waits = []
        self.applied.read(update.documents)
        if not update.complete:
            self.applied.not_read(update.unreadable, update.epoch)
        changed = self.table.apply(update)
        log.info("epoch %d: bindings of %s", update.epoch, ", ".join(sorted(changed)[:10]) or "nobody")
        for appid in changed:
            for connection in list(self.connections.get(appid, ())):
                try:
                    connection.binding_changed()
                    if connection.state is BindingState.BLOCK:
                        waits.append(connection.relay.quiet())
                except Exception:
                    # One connection must not keep the change from the others: it signs in anew.
                    log.exception("%s cannot follow a change of its binding", connection.describe())
                    connection.writer.close()
        self._spawn(self._in_effect(update.epoch, waits))

    async def _in_effect(self, epoch: int, waits: list[Any]) -> None:
        """A block is in effect when nothing that it stops is in flight any more."""
        waiting = {asyncio.ensure_future(wait) for wait in waits}
        while waiting:
            _, waiting = await asyncio.wait(waiting, timeout=self.settings.slow_block_seconds)
            if waiting:
                log.warning(
                    "epoch %d waits for %s", epoch, "; ".join(self._in_flight()) or "unknown requests"
                )
        self.applied.finish(epoch)
        log.info("epoch %d is in effect", epoch)
        self._reported.set()

    def _in_flight(self) -> list[str]:
        """What blocks that are not in effect yet wait for."""
        return [c.describe() for group in self.connections.values() for c in group if not c.is_quiet]

    async def _keep_reporting(self) -> None:
        """Report the applied epoch, one write at a time; ZooKeeper's absence only delays it."""
        reported = -1
        while True:
            await self._reported.wait()
            self._reported.clear()
            epoch = self.applied.value
            if self._member is None or epoch == reported:
                continue
            try:
                await asyncio.to_thread(self._member.report_applied, epoch)
                reported = epoch
                log.info("epoch %d is reported", epoch)
            except (
                Exception
            ) as error:  # kazoo raises many kinds; the next change or reconnection reports again
                log.warning("the applied epoch %d could not be reported: %s", epoch, error)
                await asyncio.sleep(1)
                self._reported.set()

"""The Gateway process: listeners, the bindings in effect, and the reports to ZooKeeper."""

from __future__ import annotations

import asyncio
import logging
import socket
from pathlib import Path
from typing import Any

from hadash.bindings.member import Member
from hadash.bindings.model import Broker, ClusterDescription, PairDescription
from hadash.gateway.brokers.nodes import Node, NodeMap, NodeOutOfRange
from hadash.gateway.brokers.upstream import UpstreamUnavailable, read_api_versions
from hadash.gateway.brokers.upstreams import Upstreams
from hadash.gateway.clients.binding_applier import BindingApplier
from hadash.gateway.clients.connections import Connections
from hadash.gateway.clients.libraries import Libraries
from hadash.gateway.clients.member_ids import MemberIds
from hadash.gateway.clients.members import GroupMembers
from hadash.gateway.clients.registry import Clients
from hadash.gateway.clients.unauthenticated import Unauthenticated
from hadash.gateway.context import GatewayContext
from hadash.gateway.health import Health
from hadash.gateway.listeners.accounts import Accounts
from hadash.gateway.listeners.listener import Listener
from hadash.gateway.protocol.api_keys import TRANSACTIONS, ApiKey
from hadash.gateway.protocol.versions import CachedAnswers, Ranges, intersection
from hadash.gateway.protocol.wire import WireError
from hadash.gateway.reporting.durations import RESOLVE_BOUNDS, Durations
from hadash.gateway.reporting.lake import AccessReports
from hadash.gateway.reporting.traffic import Traffic
from hadash.gateway.rules.table import BindingTable
from hadash.gateway.session.accepting import Acceptor
from hadash.gateway.session.client import Client
from hadash.gateway.settings import GatewaySettings
from hadash.gateway.virtual.known_topics import KnownTopics
from hadash.gateway.virtual.lookups import Lookups
from hadash.gateway.waiting.memory_pool import MemoryPool
from hadash.gateway.waiting.purgatory import Purgatory, Timer
from hadash.gateway.waiting.slices import Slices
from hadash.gateway.waiting.turns import CLIENT_TURNS, HANDSHAKE_TURNS, SIGN_IN_TURNS, Turns
from hadash.lake.store import Store

log = logging.getLogger(__name__)


#: How many different notes are logged; further ones are dropped: a log that repeats itself for each client helps
#: nobody.
MAX_NOTES = 1000


class Gateway:
    """One Gateway for one pair. ``member`` is ``None`` only where no switch waits for an applied epoch (tests)."""

    def __init__(
        self,
        settings: GatewaySettings,
        pair: PairDescription,
        clusters: dict[str, ClusterDescription],
        member: Member | None,
        accounts: Accounts | None = None,
    ) -> None:
        self.settings = settings
        self.loop = asyncio.get_running_loop()
        self.accounts = accounts or Accounts()
        self.listener = Listener.of(settings, self.accounts, pair.clusters)
        self.certificates = self.listener.certificates
        #: Whether transactional producers are served.
        self.transactions = settings.transactions == "relay"
        #: Whether the Gateway serves look-ups only, and clients connect to the brokers themselves.
        self.redirects = settings.mode == "redirect"
        self.pair = pair
        self.clusters = clusters
        self.table = BindingTable(pair.default)
        self.nodes = NodeMap(
            {name: clusters[name].number for name in pair.clusters},
            settings.advertised_host,
            settings.port,
            settings.ports_per_cluster,
        )
        numbers = {name: clusters[name].number for name in pair.clusters}
        state = Path(settings.state) if settings.state else None
        #: The ids of group members, by the cluster that knows them.
        self.member_ids = MemberIds(numbers, state / "members" if state else None)
        #: The members of groups, independent of the connection on which a request arrives.
        self.group_members = GroupMembers(self.loop.time)
        #: Topics that are known to exist, for comparison with answers of brokers that know fewer.
        self.known_topics = KnownTopics()
        self.traffic = Traffic(settings.traffic_samples, reports=bool(settings.lake))
        self.resolve_times = Durations(RESOLVE_BOUNDS)
        self.health = Health()
        self.slices = Slices(self.loop)
        self.upstreams = Upstreams(
            settings,
            pair,
            clusters,
            self.table,
            self.nodes,
            self.listener,
            self.accounts,
            self.traffic,
            self.spawn,
        )
        self.lookups = Lookups(
            self.upstreams, self.nodes, self.known_topics, self.slices, self.learn_brokers, self.spawn
        )
        lake = Store(settings.lake) if settings.lake else None
        self.access_reports = AccessReports(
            lake,
            pair.name,
            settings.id,
            settings.lake_seconds,
            settings.lake_first_seconds,
            self.traffic,
            self.slices,
        )
        self._noted: set[str] = set()
        self.timer = Timer(self.loop)
        self.purgatory = Purgatory(self.timer, settings.max_parked, settings.max_parked_bytes)
        self._one_left = asyncio.Event()
        #: The signed-in clients.
        self.clients: Clients[Client] = Clients(self.traffic, self._one_left.set)
        self.unauthenticated = Unauthenticated(
            settings.max_unauthenticated_connections,
            settings.max_unauthenticated_per_host,
            settings.max_unauthenticated_bytes,
            self.loop.time,
        )
        #: All connections, signed in or not.
        self.connections = Connections(
            settings.max_connections,
            self.unauthenticated,
            self.listener,
            self.traffic,
            self._one_left.set,
            self.loop.time,
        )
        self.binding_applier = BindingApplier(
            settings,
            self.loop,
            self.spawn,
            self.table,
            self.clients,
            self.known_topics,
            self.traffic,
            self.purgatory,
            self.slices,
            member,
        )
        self._ranges: dict[str, Ranges] = {}
        self.versions = CachedAnswers(self._served_versions())
        self.context = GatewayContext(
            settings=settings,
            pair=pair,
            loop=self.loop,
            spawn=self.spawn,
            timer=self.timer,
            slices=self.slices,
            listener=self.listener,
            table=self.table,
            nodes=self.nodes,
            versions=self.versions,
            health=self.health,
            traffic=self.traffic,
            access_reports=self.access_reports,
            resolve_times=self.resolve_times,
            libraries=Libraries(),
            member_ids=self.member_ids,
            group_members=self.group_members,
            known_topics=self.known_topics,
            purgatory=self.purgatory,
            memory_pool=MemoryPool(
                settings.max_partial_bytes, settings.partial_seconds, self.timer, self.loop.time
            ),
            client_turns=Turns(self.loop, CLIENT_TURNS),
            sign_in_turns=Turns(self.loop, SIGN_IN_TURNS),
            handshake_turns=Turns(self.loop, HANDSHAKE_TURNS),
            upstreams=self.upstreams,
            lookups=self.lookups,
            binding_applier=self.binding_applier,
            clients=self.clients,
            connections=self.connections,
            unauthenticated=self.unauthenticated,
            learn_brokers=self.learn_brokers,
            note_once=self.note_once,
        )
        self._acceptor = Acceptor(self.context)
        self._listening: set[int] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- life --------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start to listen.

        :raises OSError: a port is taken.
        """
        await self._refresh_versions()
        await self._listen(self.settings.port, None)
        for description in self.clusters.values():
            self.nodes.learn(description.name, description.brokers)
        for node in self.nodes.nodes():
            await self._listen_as(node)
        self.spawn(self._keep_versions())
        self.spawn(self._keep_samples())
        self.spawn(self.certificates.keep())
        self.spawn(self.binding_applier.keep_reporting())
        self.spawn(self.access_reports.run())

    async def stop(self) -> None:
        """Stop listening, wait until clients have the answers to their writes under way, and hang up."""
        self._acceptor.close()
        # A client with nothing under way is gone at once; the others have as long as a client that leaves. The loop
        # also stops clients that sign in only now.
        while clients := list(self.clients):
            self._one_left.clear()
            for client in clients:
                client.shut_down()
            if not self.clients:
                break
            await self._one_left.wait()
        for connection in self.connections:
            connection.close()
        while self.connections:
            self._one_left.clear()
            await self._one_left.wait()
        await self._close()

    async def abort(self) -> None:
        """Stop relaying at once: another process has taken this Gateway's place."""
        self._acceptor.close()
        for client in list(self.clients):
            client.relay.upstream.abort()
        for connection in self.connections:
            connection.abort()
        await self._close()

    async def _close(self) -> None:
        self.lookups.close()
        await self.access_reports.write()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.timer.close()
        self.member_ids.close()

    def spawn(self, coroutine: Any) -> asyncio.Task[Any]:
        """Run ``coroutine`` in the background; it ends with the Gateway."""
        task = self.loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a task of the Gateway failed", exc_info=task.exception())

    async def _listen_as(self, node: Node) -> None:
        """Listen in place of ``node``, unless clients connect to the broker itself."""
        if not self.redirects:
            await self._listen(self.nodes.port(node), node)

    async def _listen_late(self, node: Node) -> None:
        """Listen in place of a broker that the Gateway has learned of while it serves, as soon as its port is free."""
        port = self.nodes.port(node)
        try:
            await self._listen_as(node)
        except OSError as error:
            if port not in self.health.unheard:
                log.error("clients cannot reach %s: port %d cannot be listened on: %s", node, port, error)
            self.health.unheard[port] = node
        else:
            self.health.unheard.pop(port, None)

    async def _listen(self, port: int, node: Node | None) -> None:
        if port in self._listening:
            return
        self._acceptor.listen(self._socket(port), node)
        self._listening.add(port)

    def _socket(self, port: int) -> socket.socket:
        """Return a socket that is bound, but not listening yet."""
        family = socket.AF_INET6 if ":" in self.settings.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self.settings.workers > 1:
                # Several processes share the ports: the kernel assigns each connection to one of them.
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            bound.bind((self.settings.host, port))
        except OSError:
            bound.close()
            raise
        return bound

    # -- clusters ------------------------------------------------------------------------------------------------

    def learn_brokers(self, cluster: str, brokers: tuple[Broker, ...]) -> None:
        """Learn a cluster's brokers from a METADATA answer that passes through."""
        self._learn(cluster, brokers)

    def cluster_changed(self, description: ClusterDescription) -> None:
        """Take over a cluster's new description, which the control plane has published."""
        self.clusters[description.name] = description
        self._learn(description.name, description.brokers)

    def _learn(self, cluster: str, brokers: tuple[Broker, ...]) -> None:
        try:
            fresh = self.nodes.learn(cluster, brokers)
        except NodeOutOfRange as error:
            log.error("%s", error)
            return
        for node in fresh:
            self.spawn(self._listen_late(node))

    def note_once(self, what: str) -> None:
        """Log once something that an operator should fix."""
        if what not in self._noted and len(self._noted) < MAX_NOTES:
            self._noted.add(what)
            log.warning("%s", what)

    def _served_versions(self) -> dict[ApiKey, tuple[int, int]]:
        return intersection(self._ranges.values(), () if self.transactions else TRANSACTIONS)

    async def _refresh_versions(self) -> None:
        for name in self.clusters:
            try:
                upstream = await self.upstreams.open_cluster(name)
            except UpstreamUnavailable as error:
                log.warning("%s", error)
                self.health.reached[name] = False
                continue
            try:
                self._ranges[name] = await asyncio.wait_for(
                    read_api_versions(upstream), self.settings.connect_seconds
                )
                self.health.reached[name] = True
            except (WireError, UpstreamUnavailable, TimeoutError, OSError) as error:
                log.warning("API versions of cluster %s cannot be read: %s", name, error)
                self.health.reached[name] = False
            finally:
                upstream.close()
        self.versions.serve(self._served_versions())

    async def _keep_versions(self) -> None:
        while True:
            await asyncio.sleep(self.settings.versions_seconds)
            for node in [*self.health.unheard.values()]:
                await self._listen_late(node)
            await self._refresh_versions()

    async def _keep_samples(self) -> None:
        while True:
            await asyncio.sleep(self.settings.traffic_seconds)
            steps = self.traffic.sample(self.purgatory.count)
            self.slices.run(steps, lambda _: None, _sampling_failed)


def _sampling_failed(error: Exception) -> None:
    log.error("samples of traffic could not be summed up", exc_info=error)

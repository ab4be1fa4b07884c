"""The Gateway process: listeners, the table in effect, and what ZooKeeper hears of it."""

from __future__ import annotations

import asyncio
import logging
import random
import socket
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from hadash.bindings.membership import Member
from hadash.bindings.model import Broker, ClusterDescription, PairDescription
from hadash.gateway.accounts import Accounts
from hadash.gateway.applying import Applying
from hadash.gateway.client import Client
from hadash.gateway.connection import ClientConnection
from hadash.gateway.kinds import TRANSACTIONS, Kind
from hadash.gateway.known_topics import KnownTopics
from hadash.gateway.lake import AccessReports
from hadash.gateway.listener import Listener, SecurityProtocol, Unidentified
from hadash.gateway.lookups import Lookups
from hadash.gateway.metrics import RESOLVE_BOUNDS, Durations
from hadash.gateway.nodes import Node, NodeMap, NodeOutOfRange
from hadash.gateway.origins import Origins
from hadash.gateway.purgatory import Purgatory, Timer
from hadash.gateway.settings import GatewaySettings
from hadash.gateway.signing_in import sign_in_to
from hadash.gateway.slices import Slices
from hadash.gateway.table import BindingTable
from hadash.gateway.traffic import Traffic
from hadash.gateway.upstream import Upstream, UpstreamUnavailable, read_api_versions
from hadash.gateway.versions import Ranges, intersection
from hadash.gateway.wire import WireError
from hadash.lake.store import Store

log = logging.getLogger(__name__)


#: Different things that are logged once; beyond it nothing new is: a log that says the same of everybody helps nobody.
MAX_NOTES = 1000


class Gateway:
    """One Gateway for one pair. ``member`` is ``None`` only where nobody waits for an applied epoch (tests)."""

    def __init__(
        self,
        settings: GatewaySettings,
        pair: PairDescription,
        clusters: dict[str, ClusterDescription],
        member: Member | None,
        accounts: Accounts | None = None,
    ) -> None:
        self.settings = settings
        self.listener = Listener.of(settings)
        #: Whether transactional producers are served.
        self.transactions = settings.transactions == "relay"
        #: Look-ups only: clients speak to the brokers themselves.
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
        self.member_ids = Origins(numbers, state / "members" if state else None)
        #: What brokers that know less are held against.
        self.known_topics = KnownTopics()
        self.traffic = Traffic(settings.traffic_samples, reports=bool(settings.lake))
        self.loop = asyncio.get_running_loop()
        self.resolve_times = Durations(RESOLVE_BOUNDS)
        self.zookeeper_connected = True
        self.accounts = accounts or Accounts()
        self.lookups = Lookups(self)
        self.slices = Slices(self.loop)
        lake = Store(settings.lake) if settings.lake else None
        self.reports = AccessReports(
            lake, pair.name, settings.id, settings.lake_seconds, self.traffic, self.slices
        )
        self._noted: set[str] = set()
        self.timer = Timer(self.loop)
        self.purgatory = Purgatory(self.timer, settings.max_parked, settings.max_parked_bytes)
        #: Those who are signed in, by AppID.
        self.clients: dict[str, set[Client]] = {}
        #: All connections, signed in or not.
        self.connections: set[ClientConnection] = set()
        self.applying = Applying(self, member)
        self._one_left = asyncio.Event()
        self._ranges: dict[str, Ranges] = {}
        self._servers: list[asyncio.Server] = []
        self._listening: set[int] = set()
        self._tasks: set[asyncio.Task[Any]] = set()

    # -- life ---------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Listen. :raises OSError: a port is taken."""
        await self._refresh_versions()
        await self._listen(self.settings.port, None)
        for description in self.clusters.values():
            self.nodes.learn(description.name, description.brokers)
        for node in self.nodes.nodes():
            await self._listen_as(node)
        self.spawn(self._keep_versions())
        self.spawn(self._keep_samples())
        self.spawn(self.applying.keep_reporting())
        self.spawn(self.reports.run())

    async def stop(self) -> None:
        """Stop listening, let every write that is under way be answered to its client, and hang up."""
        for server in self._servers:
            server.close()
        # Who has nothing under way is gone at once; the others have as long as a client that leaves. One that signs in
        # only now is told, too.
        while clients := list(self.all_clients()):
            self._one_left.clear()
            for client in clients:
                client.shut_down()
            if not any(True for _ in self.all_clients()):
                break
            await self._one_left.wait()
        for connection in list(self.connections):
            connection.close()
        while self.connections:
            self._one_left.clear()
            await self._one_left.wait()
        self.lookups.close()
        await self.reports.write()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.timer.close()
        self.member_ids.close()

    def spawn(self, coroutine: Any) -> asyncio.Task[Any]:
        """Run ``coroutine`` beside everything else; it ends with the Gateway."""
        task = self.loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a task of the Gateway failed", exc_info=task.exception())

    async def _listen_as(self, node: Node) -> None:
        """Be ``node`` for clients, unless they are sent to the broker itself."""
        if not self.redirects:
            await self._listen(self.nodes.port(node), node)

    async def _listen(self, port: int, node: Node | None) -> None:
        if port in self._listening:
            return
        self._listening.add(port)

        server = await self.loop.create_server(
            lambda: ClientConnection(self, node),
            sock=self._socket(port),
            backlog=self.settings.accept_backlog,
            ssl=self.listener.context,
            ssl_handshake_timeout=self.settings.authentication_seconds if self.listener.context else None,
        )
        self._servers.append(server)

    def _socket(self, port: int) -> socket.socket:
        """Bound, but not listening yet. (uvloop's own reuse_port asks the kernel too late.)"""
        family = socket.AF_INET6 if ":" in self.settings.host else socket.AF_INET
        bound = socket.socket(family, socket.SOCK_STREAM)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if self.settings.workers > 1:
                # Several processes share the ports: the kernel gives each connection to one of them.
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            bound.bind((self.settings.host, port))
        except OSError:
            bound.close()
            raise
        return bound

    # -- clusters -------------------------------------------------------------------------------------------------

    def learn_brokers(self, cluster: str, brokers: tuple[Broker, ...]) -> None:
        """Follow a cluster's brokers from a METADATA answer that passed by."""
        self._learn(cluster, brokers)

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
            self.spawn(self._listen_as(node))

    def _bootstrap(self, cluster: str) -> Broker:
        """Any broker. :raises UpstreamUnavailable: the cluster is none of this pair's."""
        if cluster not in self.clusters:
            raise UpstreamUnavailable(
                f"a binding leads to cluster {cluster!r}, which pair {self.pair.name} does not have"
            )
        known = self.nodes.brokers(cluster)
        if known:
            return random.choice(known)
        host, _, port = self.clusters[cluster].bootstrap_servers.split(",")[0].rpartition(":")
        return Broker(-1, host, int(port))

    async def open_upstream(self, appid: str, client_id: str, node: Node | None) -> Upstream:
        """A connection to the cluster that serves a client: the broker whose node it came to, if its cluster does so
        in any way, else any of the cluster that it is bound to.

        :raises UpstreamUnavailable: the broker cannot be reached, or nobody knows which cluster it is.
        """
        if self.table.is_unknown(appid):
            raise UpstreamUnavailable(
                f"the binding document of {appid} cannot be read, so its cluster is not known: repair or delete it"
            )
        cluster, broker = self.table.binding(appid, client_id).cluster, None
        if node is not None and node.cluster in self.table.reachable(appid, client_id):
            cluster, broker = node.cluster, self.nodes.broker(node)
        return await self._open(cluster, broker or self._bootstrap(cluster))

    async def open_as(self, appid: str, client_id: str, node: Node | None) -> Upstream:
        """A connection for a client that brings no password: signed in with its AppID's account, where the cluster asks
        for one.

        :raises Unidentified: there is no such account, or the AppID may not be used without authentication.
        :raises UpstreamUnavailable: the broker cannot be reached, or refuses the account.
        """
        unauthenticated = self.listener.protocol is SecurityProtocol.PLAINTEXT
        if unauthenticated and appid not in self.accounts.unauthenticated:
            raise Unidentified(
                f"AppID {appid} may not be used without authentication (HADASH_GATEWAY_ACCOUNTS does not say so)"
            )
        upstream = await self.open_upstream(appid, client_id, node)
        if not self.clusters[upstream.cluster].security_protocol.startswith("SASL"):
            return upstream
        account = self.accounts.of(appid, upstream.cluster)
        try:
            if account is None:
                raise Unidentified(
                    f"HADASH_GATEWAY_ACCOUNTS has no account of AppID {appid} on cluster {upstream.cluster}"
                )
            await sign_in_to(upstream, account, client_id)
        except BaseException:
            upstream.close()
            raise
        return upstream

    async def open_cluster(self, cluster: str) -> Upstream:
        """A connection to any broker of ``cluster``. :raises UpstreamUnavailable: it cannot be reached."""
        return await self._open(cluster, self._bootstrap(cluster))

    def note_once(self, what: str) -> None:
        """Log something that an operator should mend, once."""
        if what not in self._noted and len(self._noted) < MAX_NOTES:
            self._noted.add(what)
            log.warning("%s", what)

    async def _open(self, cluster: str, broker: Broker) -> Upstream:
        description = self.clusters[cluster]
        context = self.listener.upstream if description.security_protocol.endswith("SSL") else None
        return await Upstream.open(
            description.name,
            broker,
            context,
            self.settings.connect_seconds,
            self.settings.max_frame_bytes,
            self.settings.write_buffer_bytes,
            self.settings.silence_seconds,
        )

    def served_versions(self) -> dict[Kind, tuple[int, int]]:
        """What clients are told that they may send."""
        return intersection(self._ranges.values(), () if self.transactions else TRANSACTIONS)

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
            steps = self.traffic.sample(self.purgatory.count)
            self.slices.run(steps, lambda _: None, _sampling_failed)

    # -- connections ------------------------------------------------------------------------------------------------

    def accepted(self, connection: ClientConnection) -> bool:
        """Take a new connection on; false when there are too many."""
        if len(self.connections) >= self.settings.max_connections:
            return False
        self.connections.add(connection)
        return True

    def closed(self, connection: ClientConnection) -> None:
        self.connections.discard(connection)
        self._one_left.set()

    def signed_in(self, client: Client) -> None:
        self.clients.setdefault(client.signed.appid, set()).add(client)
        self.traffic.sign_ins += 1

    def signed_out(self, client: Client) -> None:
        same = self.clients.get(client.signed.appid, set())
        same.discard(client)
        if not same:
            self.clients.pop(client.signed.appid, None)
        self._one_left.set()

    def all_clients(self) -> Iterator[Client]:
        return chain.from_iterable(self.clients.values())


def _sampling_failed(error: Exception) -> None:
    log.error("samples of traffic could not be summed up", exc_info=error)

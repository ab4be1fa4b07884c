"""Opens connections to the clusters: for clients, signed in by the Gateway if they bring no password, and for the
Gateway itself.
"""

from __future__ import annotations

import random
import ssl
from collections.abc import Callable
from typing import Any

from hadash.bindings.model import Broker, ClusterDescription, PairDescription
from hadash.gateway.brokers.nodes import Node, NodeMap
from hadash.gateway.brokers.upstream import Upstream, UpstreamUnavailable
from hadash.gateway.brokers.upstream_auth import CLIENT_ID, OwnSession
from hadash.gateway.listeners.accounts import Account, Accounts
from hadash.gateway.listeners.listener import Listener, SecurityProtocol, Unidentified
from hadash.gateway.protocol import proxy_protocol
from hadash.gateway.protocol.proxy_protocol import Passed
from hadash.gateway.reporting.traffic import Traffic
from hadash.gateway.rules.table import BindingTable
from hadash.gateway.settings import GatewaySettings


class Upstreams:
    """Opens connections. ``clusters`` holds the descriptions that the control plane published last.

    :param spawn: runs a coroutine in the background until the Gateway ends.
    """

    def __init__(
        self,
        settings: GatewaySettings,
        pair: PairDescription,
        clusters: dict[str, ClusterDescription],
        table: BindingTable,
        nodes: NodeMap,
        listener: Listener,
        accounts: Accounts,
        traffic: Traffic,
        spawn: Callable[[Any], Any],
    ) -> None:
        self._settings = settings
        self._pair = pair
        self._clusters = clusters
        self._table = table
        self._nodes = nodes
        self._listener = listener
        self._certificates = listener.certificates
        self._accounts = accounts
        self._traffic = traffic
        self._spawn = spawn

    def _bootstrap(self, cluster: str) -> Broker:
        """Return any broker of the cluster.

        :raises UpstreamUnavailable: the cluster does not belong to this pair.
        """
        if cluster not in self._clusters:
            raise UpstreamUnavailable(
                f"a binding leads to cluster {cluster!r}, which pair {self._pair.name} does not have"
            )
        known = self._nodes.brokers(cluster)
        if known:
            return random.choice(known)
        host, _, port = self._clusters[cluster].bootstrap_servers.split(",")[0].rpartition(":")
        return Broker(-1, host, int(port))

    async def open_upstream(self, appid: str, client_id: str, node: Node | None, passed: Passed) -> Upstream:
        """Open a connection to the cluster that serves a client: to the broker whose node the client connected to, if
        that broker's cluster serves any of its requests, else to any broker of the cluster that it is bound to.

        :param passed: the addresses of the client's own connection.

        :raises Unidentified: the cluster would take the client for the Gateway itself.
        :raises UpstreamUnavailable: the broker cannot be reached, or the client's cluster is not known.
        """
        if self._table.is_unknown(appid):
            raise UpstreamUnavailable(
                f"the binding document of {appid} cannot be read, so its cluster is not known: repair or delete it"
            )
        cluster, broker = self._table.binding(appid, client_id).cluster, None
        if node is not None and node.cluster in self._table.reachable(appid, client_id):
            cluster, broker = node.cluster, self._nodes.broker(node)
        return await self._open(
            cluster, broker or self._bootstrap(cluster), self._context_for(appid, cluster), passed
        )

    async def open_as(self, appid: str, client_id: str, node: Node | None, passed: Passed) -> Upstream:
        """Open a connection for a client that brings no password, signed in with its AppID's account if the cluster
        requires one.

        :raises Unidentified: there is no such account, or the AppID may not be used without authentication.
        :raises UpstreamUnavailable: the broker cannot be reached, or refuses the account.
        """
        unauthenticated = self._listener.protocol is SecurityProtocol.PLAINTEXT
        if unauthenticated and appid not in self._accounts.unauthenticated:
            raise Unidentified(
                f"AppID {appid} may not be used without authentication (HADASH_GATEWAY_ACCOUNTS does not say so)"
            )
        upstream = await self.open_upstream(appid, client_id, node, passed)
        if not self.uses_sasl(upstream.cluster):
            return upstream
        account = self._accounts.of(appid, upstream.cluster)
        try:
            if account is None:
                raise Unidentified(
                    f"HADASH_GATEWAY_ACCOUNTS has no account of AppID {appid} on cluster {upstream.cluster}"
                )
            await self.sign_in(upstream, account, client_id)
        except BaseException:
            upstream.close()
            raise
        return upstream

    @property
    def connect_seconds(self) -> float:
        """The seconds to wait for a broker."""
        return self._settings.connect_seconds

    async def sign_in_to_look_up(self, upstream: Upstream) -> None:
        """Sign in with the look-up account, if the cluster requires one.

        :raises UpstreamUnavailable: the cluster refuses it.
        """
        if self.uses_sasl(upstream.cluster):
            await self.sign_in(upstream, self._accounts.lookup[upstream.cluster])

    def can_look_up(self, cluster: str) -> bool:
        """Whether there is an account for ``cluster``; without SASL that is the Gateway's own certificate."""
        if cluster in self._clusters and not self.uses_sasl(cluster):
            return self._certificates.presents_own(cluster)
        return cluster in self._accounts.lookup

    async def open_cluster(self, cluster: str) -> Upstream:
        """Open a connection to any broker of ``cluster``.

        :raises UpstreamUnavailable: the broker cannot be reached.
        """
        return await self._open(cluster, self._bootstrap(cluster), self._certificates.own(cluster))

    async def sign_in(self, upstream: Upstream, account: Account, client_id: str = CLIENT_ID) -> None:
        """Sign a connection in with an account of the Gateway's own, and keep it signed in as long as it lasts.

        :raises UpstreamUnavailable: the broker refuses the account.
        """
        seconds = self._settings.connect_seconds
        await OwnSession(upstream, account, client_id, seconds, self._spawn, self._renewed).begin()

    def _renewed(self) -> None:
        self._traffic.renewed_sessions += 1

    def uses_sasl(self, cluster: str) -> bool:
        """Whether ``cluster`` requires its clients to sign in."""
        return self._clusters[cluster].security_protocol.startswith("SASL")

    def _context_for(self, appid: str, cluster: str) -> ssl.SSLContext:
        """Return the TLS context for a client's connection to ``cluster``. A cluster without SASL identifies the client
        by the certificate.

        :raises Unidentified: there is only the Gateway's own certificate.
        """
        if self.uses_sasl(cluster):
            return self._certificates.own(cluster)
        context = self._certificates.of(appid, cluster)
        if context is None and self._certificates.presents_own(cluster):
            raise Unidentified(
                f"HADASH_GATEWAY_ACCOUNTS has no certificate of AppID {appid} for cluster {cluster}, which "
                f"knows its clients "
                f"by their certificates: add [appids.{appid}.{cluster}] with certificate and key"
            )
        return context or self._certificates.own(cluster)

    async def _open(
        self, cluster: str, broker: Broker, tls: ssl.SSLContext, passed: Passed | None = None
    ) -> Upstream:
        """Open a connection.

        :param passed: the addresses of the client's connection; ``None`` for a connection of the Gateway's own.
        """
        header = b""
        if cluster in self._settings.upstream_proxy_protocol:
            header = proxy_protocol.LOCAL if passed is None else proxy_protocol.encode(passed)
        description = self._clusters[cluster]
        context = tls if description.security_protocol.endswith("SSL") else None
        return await Upstream.open(
            description.name,
            broker,
            context,
            self._settings.connect_seconds,
            self._settings.max_frame_bytes,
            self._settings.write_buffer_bytes,
            self._settings.silence_seconds,
            header,
        )

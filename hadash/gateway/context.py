"""The objects that the parts of one Gateway share: created once, handed to each part, and never replaced.

None of them knows its users. :mod:`hadash.gateway.wiring` creates them and defines the order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hadash.bindings.model import PairDescription
from hadash.gateway.background import Background
from hadash.gateway.brokers.cluster_versions import ClusterVersions
from hadash.gateway.brokers.nodes import NodeMap
from hadash.gateway.brokers.upstreams import Upstreams
from hadash.gateway.clients.binding_applier import BindingApplier
from hadash.gateway.clients.connections import Connections
from hadash.gateway.clients.libraries import Libraries
from hadash.gateway.clients.member_ids import MemberIds
from hadash.gateway.clients.members import GroupMembers
from hadash.gateway.clients.registry import Clients
from hadash.gateway.clients.unauthenticated import Unauthenticated
from hadash.gateway.health import Health
from hadash.gateway.listeners.certificates import Certificates
from hadash.gateway.listeners.listener import Listener
from hadash.gateway.ports import Ports
from hadash.gateway.protocol.versions import CachedAnswers
from hadash.gateway.reporting.durations import Durations
from hadash.gateway.reporting.lake import AccessReports
from hadash.gateway.reporting.log_limit import Notes
from hadash.gateway.reporting.traffic import Traffic
from hadash.gateway.rules.table import BindingTable
from hadash.gateway.settings import GatewaySettings
from hadash.gateway.virtual.known_topics import KnownTopics
from hadash.gateway.virtual.lookups import Lookups
from hadash.gateway.waiting.memory_pool import MemoryPool
from hadash.gateway.waiting.purgatory import Purgatory, Timer
from hadash.gateway.waiting.slices import Slices
from hadash.gateway.waiting.turns import Turns


@dataclass(frozen=True, slots=True, eq=False)
class GatewayContext:
    """The shared objects of one Gateway."""

    settings: GatewaySettings
    pair: PairDescription
    loop: asyncio.AbstractEventLoop
    background: Background
    timer: Timer
    slices: Slices
    listener: Listener
    table: BindingTable
    nodes: NodeMap
    ports: Ports
    cluster_versions: ClusterVersions
    health: Health
    traffic: Traffic
    access_reports: AccessReports
    resolve_times: Durations
    libraries: Libraries
    #: The ids of group members, by the cluster that knows them.
    member_ids: MemberIds
    #: The members of groups, independent of the connection on which a request arrives.
    group_members: GroupMembers
    #: Topics that are known to exist, for comparison with answers of brokers that know fewer.
    known_topics: KnownTopics
    purgatory: Purgatory
    #: Memory for large requests while they arrive.
    memory_pool: MemoryPool
    #: The order in which requests are handled: of signed-in clients, and of connections that are not signed in yet.
    client_turns: Turns
    sign_in_turns: Turns
    #: The order in which TLS handshakes begin.
    handshake_turns: Turns
    upstreams: Upstreams
    lookups: Lookups
    binding_applier: BindingApplier
    clients: Clients[Any]
    connections: Connections
    unauthenticated: Unauthenticated
    notes: Notes

    @property
    def spawn(self) -> Callable[[Any], asyncio.Task[Any]]:
        """Runs a coroutine in the background; it ends with the Gateway."""
        return self.background.spawn

    @property
    def versions(self) -> CachedAnswers:
        """The API versions that clients are told they may use."""
        return self.cluster_versions.answers

    @property
    def certificates(self) -> Certificates:
        return self.listener.certificates

    @property
    def transactions(self) -> bool:
        """Whether transactional producers are served."""
        return self.settings.transactions == "relay"

    @property
    def redirects(self) -> bool:
        """Whether the Gateway serves look-ups only, and clients connect to the brokers themselves."""
        return self.settings.mode == "redirect"

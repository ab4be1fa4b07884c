"""Creates what the parts of one Gateway share, each with what it needs, in the order in which they need each other."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hadash.bindings.member import Member
from hadash.bindings.model import ClusterDescription, PairDescription
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
from hadash.gateway.context import GatewayContext
from hadash.gateway.health import Health
from hadash.gateway.listeners.accounts import Accounts
from hadash.gateway.listeners.listener import Listener
from hadash.gateway.ports import Ports
from hadash.gateway.reporting.durations import RESOLVE_BOUNDS, Durations
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
from hadash.gateway.waiting.turns import CLIENT_TURNS, HANDSHAKE_TURNS, SIGN_IN_TURNS, Turns
from hadash.lake.store import Store


def build_context(
    settings: GatewaySettings,
    pair: PairDescription,
    clusters: dict[str, ClusterDescription],
    member: Member | None,
    accounts: Accounts,
    one_left: Callable[[], None],
) -> GatewayContext:
    """Create the shared objects of one Gateway, in the loop that is to run it.

    :param clusters: the descriptions of both; the caller replaces one that changes.
    :param member: ``None``: no switch waits for an applied epoch.
    :param one_left: called when a client or a connection has ended.
    :raises BadListener: the settings of the listener cannot be used. :raises LakeError: there is no such lake.
    """
    loop = asyncio.get_running_loop()
    # -- what needs nothing of the others
    background, timer, slices, health = Background(loop), Timer(loop), Slices(loop), Health()
    listener = Listener.of(settings, accounts, pair.clusters)
    table = BindingTable(pair.default)
    known_topics = KnownTopics()
    purgatory = Purgatory(timer, settings.max_parked, settings.max_parked_bytes)
    traffic = Traffic(settings.traffic_samples, reports=bool(settings.lake))
    numbers = {name: clusters[name].number for name in pair.clusters}
    nodes = NodeMap(numbers, settings.advertised_host, settings.port, settings.ports_per_cluster)
    unauthenticated = Unauthenticated(
        settings.max_unauthenticated_connections,
        settings.max_unauthenticated_per_host,
        settings.max_unauthenticated_bytes,
        loop.time,
    )
    # -- the way to the brokers
    ports = Ports(settings, nodes, health)
    upstreams = Upstreams(
        settings, pair, clusters, table, nodes, listener, accounts, traffic, background.spawn
    )
    versions = ClusterVersions(
        pair.clusters,
        upstreams,
        health.reached,
        transactions=settings.transactions == "relay",
        seconds=settings.connect_seconds,
    )
    lookups = Lookups(upstreams, nodes, known_topics, slices, ports.learn, background.spawn)
    # -- clients, and what is in effect for them
    clients: Clients[Any] = Clients(traffic, one_left)
    connections = Connections(
        settings.max_connections, unauthenticated, listener, traffic, one_left, loop.time
    )
    binding_applier = BindingApplier(
        settings,
        loop,
        background.spawn,
        table,
        clients,
        known_topics,
        traffic,
        purgatory,
        slices,
        member,
    )
    access_reports = AccessReports(
        Store(settings.lake) if settings.lake else None,
        pair.name,
        settings.id,
        settings.lake_seconds,
        settings.lake_first_seconds,
        traffic,
        slices,
    )
    return GatewayContext(
        settings=settings,
        pair=pair,
        loop=loop,
        background=background,
        timer=timer,
        slices=slices,
        listener=listener,
        table=table,
        nodes=nodes,
        ports=ports,
        cluster_versions=versions,
        health=health,
        traffic=traffic,
        access_reports=access_reports,
        resolve_times=Durations(RESOLVE_BOUNDS),
        libraries=Libraries(),
        member_ids=MemberIds(numbers, Path(settings.state) / "members" if settings.state else None),
        group_members=GroupMembers(loop.time),
        known_topics=known_topics,
        purgatory=purgatory,
        memory_pool=MemoryPool(settings.max_partial_bytes, settings.partial_seconds, timer, loop.time),
        client_turns=Turns(loop, CLIENT_TURNS),
        sign_in_turns=Turns(loop, SIGN_IN_TURNS),
        handshake_turns=Turns(loop, HANDSHAKE_TURNS),
        upstreams=upstreams,
        lookups=lookups,
        binding_applier=binding_applier,
        clients=clients,
        connections=connections,
        unauthenticated=unauthenticated,
        notes=Notes(logging.getLogger("hadash.gateway")),
    )

"""What the parts of one Gateway share: made once, handed to each of them, and never changed.

None of these knows who uses it. Which of them there are, and in which order they are made, says
:mod:`hadash.gateway.server`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hadash.bindings.model import Broker, PairDescription
from hadash.gateway.protocol.versions import CachedAnswers
from hadash.gateway.reporting.durations import Durations
from hadash.gateway.reporting.traffic import Traffic
from hadash.gateway.rules.binding_applier import Applying
from hadash.gateway.rules.table import BindingTable
from hadash.gateway.session.certificates import Certificates
from hadash.gateway.session.clients import Clients
from hadash.gateway.session.connections import Connections
from hadash.gateway.session.libraries import Libraries
from hadash.gateway.session.listener import Listener
from hadash.gateway.session.member_ids import Origins
from hadash.gateway.session.members import GroupMembers
from hadash.gateway.session.unauthenticated import Unauthenticated
from hadash.gateway.session.upstreams import Upstreams
from hadash.gateway.settings import GatewaySettings
from hadash.gateway.virtual.known_topics import KnownTopics
from hadash.gateway.virtual.lookups import Lookups
from hadash.gateway.virtual.nodes import NodeMap
from hadash.gateway.waiting.memory_pool import MemoryPool
from hadash.gateway.waiting.purgatory import Purgatory, Timer
from hadash.gateway.waiting.slices import Slices
from hadash.gateway.waiting.turns import Turns


@dataclass(frozen=True, slots=True, eq=False)
class GatewayContext:
    settings: GatewaySettings
    pair: PairDescription
    loop: asyncio.AbstractEventLoop
    #: Runs something beside everything else; it ends with the Gateway.
    spawn: Callable[[Any], asyncio.Task[Any]]
    timer: Timer
    slices: Slices
    listener: Listener
    table: BindingTable
    nodes: NodeMap
    #: What clients are told that they may send.
    versions: CachedAnswers
    traffic: Traffic
    resolve_times: Durations
    libraries: Libraries
    #: The ids of group members, by the cluster that knows them.
    member_ids: Origins
    #: The members of groups, whichever of their connections their requests come in on.
    group_members: GroupMembers
    #: What brokers that know less are held against.
    known_topics: KnownTopics
    purgatory: Purgatory
    #: Memory for large requests of clients while they come in.
    memory_pool: MemoryPool
    #: Whose requests are handled next, of those who are signed in and of those who are not yet.
    client_turns: Turns
    sign_in_turns: Turns
    #: Whose TLS handshake begins next.
    handshake_turns: Turns
    upstreams: Upstreams
    lookups: Lookups
    applying: Applying
    clients: Clients[Any]
    connections: Connections
    unauthenticated: Unauthenticated
    #: Follows a cluster's brokers from a METADATA answer that passed by.
    learn_brokers: Callable[[str, tuple[Broker, ...]], None]
    #: Logs something that an operator should mend, once.
    note_once: Callable[[str], None]

    @property
    def certificates(self) -> Certificates:
        return self.listener.certificates

    @property
    def transactions(self) -> bool:
        """Whether transactional producers are served."""
        return self.settings.transactions == "relay"

    @property
    def redirects(self) -> bool:
        """Look-ups only: clients speak to the brokers themselves."""
        return self.settings.mode == "redirect"

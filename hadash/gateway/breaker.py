"""The Breaker's rules: what happens to a request, given its client's binding. Pure, one table a state.

A request is *home* when its connection is signed in to the bound cluster and, for requests that only one node can
answer, goes to a node of that cluster. Otherwise it is *away*: its client has not followed a switch yet.
"""

from __future__ import annotations

from enum import Enum

from hadash.bindings.model import BindingState
from hadash.gateway.kinds import DATA, GROUP, TRANSACTIONS, Kind


class Verdict(Enum):
    """What the connection does with a request."""

    #: Pass it to the cluster.
    RELAY = "relay"
    #: Keep it, and stop reading the connection, until the binding changes or its time is over.
    PARK = "park"
    #: Keep a heartbeat's answer back (the connection is read on) until the state changes.
    HOLD = "hold"
    #: Answer REBALANCE_IN_PROGRESS: the member commits and rejoins.
    REBALANCE = "rebalance"
    #: Answer the retriable error that sends the client to the right node.
    REFUSE = "refuse"
    #: Answer a lookup from the switch's placement, or close the connection so that the client signs in anew.
    LOOK_UP_AWAY = "look up away"


#: States of a binding × kinds, for requests that are home. What is not named is relayed.
_HOME: dict[BindingState, dict[Kind, Verdict]] = {
    BindingState.FORWARD: {},
    BindingState.GATHER: {Kind.HEARTBEAT: Verdict.HOLD},
    BindingState.SETTLE: {
        Kind.HEARTBEAT: Verdict.REBALANCE,
        Kind.JOIN_GROUP: Verdict.PARK,
        # A join that was under way ends here: its member would begin to read before the block.
        Kind.SYNC_GROUP: Verdict.PARK,
    },
    BindingState.BLOCK: {
        Kind.PRODUCE: Verdict.PARK,
        Kind.FETCH: Verdict.PARK,
        Kind.LIST_OFFSETS: Verdict.PARK,
        Kind.OFFSET_COMMIT: Verdict.PARK,
        Kind.OFFSET_FETCH: Verdict.PARK,
        Kind.JOIN_GROUP: Verdict.PARK,
        Kind.SYNC_GROUP: Verdict.PARK,
        Kind.INIT_PRODUCER_ID: Verdict.PARK,
        Kind.OFFSET_FOR_LEADER_EPOCH: Verdict.PARK,
        **dict.fromkeys(TRANSACTIONS, Verdict.PARK),
        Kind.HEARTBEAT: Verdict.REBALANCE,
    },
}

#: Kinds for requests that are away, in whatever state. What is not named is relayed to the old cluster.
_AWAY: dict[Kind, Verdict] = {
    **dict.fromkeys(DATA | GROUP | TRANSACTIONS, Verdict.REFUSE),
    # The member is one of the old cluster, which is to forget it.
    Kind.LEAVE_GROUP: Verdict.RELAY,
    Kind.METADATA: Verdict.LOOK_UP_AWAY,
    Kind.FIND_COORDINATOR: Verdict.LOOK_UP_AWAY,
    Kind.INIT_PRODUCER_ID: Verdict.LOOK_UP_AWAY,
}


def judge(kind: Kind, state: BindingState, *, signed_home: bool, node_home: bool) -> Verdict:
    """What to do with a request.

    :param signed_home: the connection is signed in to the bound cluster.
    :param node_home: the node that the client believes to speak to belongs to the bound cluster (true for a
        bootstrap connection, which is no node).

    >>> judge(Kind.PRODUCE, BindingState.BLOCK, signed_home=True, node_home=True)
    <Verdict.PARK: 'park'>
    >>> judge(Kind.PRODUCE, BindingState.FORWARD, signed_home=True, node_home=False)
    <Verdict.REFUSE: 'refuse'>
    """
    if not signed_home:
        return _AWAY.get(kind, Verdict.RELAY)
    if not node_home and (kind in DATA or kind in GROUP):
        return Verdict.REFUSE
    return _HOME[state].get(kind, Verdict.RELAY)

"""The rules for what happens to a request, given its client's binding. Pure, with one table per state.

A request is *home* when its connection is signed in to the bound cluster and, for requests that only one node can
answer, goes to a node of that cluster. Otherwise it is *away*: its client has not followed a switch yet.
"""

from __future__ import annotations

from enum import Enum

from hadash.bindings.model import BindingState
from hadash.gateway.protocol.api_keys import DATA, GROUP, TRANSACTIONS, ApiKey


class Verdict(Enum):
    """What the connection does with a request."""

    #: Pass it to the cluster.
    RELAY = "relay"
    #: Keep it, and stop reading the connection, until the binding changes or the time is over.
    PARK = "park"
    #: Withhold a heartbeat's answer until the state changes; the connection is still read.
    HOLD = "hold"
    #: Answer REBALANCE_IN_PROGRESS: the member commits and rejoins.
    REBALANCE = "rebalance"
    #: Answer the retriable error that sends the client to the right node.
    REFUSE = "refuse"
    #: Answer a lookup from the switch's placement, or close the connection so that the client signs in again.
    LOOK_UP_AWAY = "look up away"


#: The verdicts for requests that are home, by state and kind. Other kinds are relayed.
_HOME: dict[BindingState, dict[ApiKey, Verdict]] = {
    BindingState.FORWARD: {},
    BindingState.HOLD_HEARTBEATS: {ApiKey.HEARTBEAT: Verdict.HOLD},
    BindingState.QUIESCE: {
        ApiKey.HEARTBEAT: Verdict.REBALANCE,
        ApiKey.JOIN_GROUP: Verdict.PARK,
        # A join in progress ends here: otherwise its member would begin to read before the block.
        ApiKey.SYNC_GROUP: Verdict.PARK,
    },
    BindingState.BLOCK: {
        ApiKey.PRODUCE: Verdict.PARK,
        ApiKey.FETCH: Verdict.PARK,
        ApiKey.LIST_OFFSETS: Verdict.PARK,
        ApiKey.OFFSET_COMMIT: Verdict.PARK,
        ApiKey.OFFSET_FETCH: Verdict.PARK,
        ApiKey.JOIN_GROUP: Verdict.PARK,
        ApiKey.SYNC_GROUP: Verdict.PARK,
        ApiKey.INIT_PRODUCER_ID: Verdict.PARK,
        ApiKey.OFFSET_FOR_LEADER_EPOCH: Verdict.PARK,
        **dict.fromkeys(TRANSACTIONS, Verdict.PARK),
        ApiKey.HEARTBEAT: Verdict.REBALANCE,
    },
}

#: The verdicts for requests that are away, by kind, in any state. Other kinds are relayed to the old cluster.
_AWAY: dict[ApiKey, Verdict] = {
    **dict.fromkeys(DATA | GROUP | TRANSACTIONS, Verdict.REFUSE),
    # The member belongs to the old cluster, which should forget it.
    ApiKey.LEAVE_GROUP: Verdict.RELAY,
    ApiKey.METADATA: Verdict.LOOK_UP_AWAY,
    ApiKey.FIND_COORDINATOR: Verdict.LOOK_UP_AWAY,
    ApiKey.INIT_PRODUCER_ID: Verdict.LOOK_UP_AWAY,
}


def judge(kind: ApiKey, state: BindingState, *, signed_home: bool, node_home: bool) -> Verdict:
    """Decide what to do with a request.

    :param signed_home: whether the connection is signed in to the bound cluster.
    :param node_home: whether the node that the client addresses belongs to the bound cluster (true for a bootstrap
        connection, which is not a node).

    >>> judge(ApiKey.PRODUCE, BindingState.BLOCK, signed_home=True, node_home=True)
    <Verdict.PARK: 'park'>
    >>> judge(ApiKey.PRODUCE, BindingState.FORWARD, signed_home=True, node_home=False)
    <Verdict.REFUSE: 'refuse'>
    """
    if not signed_home:
        return _AWAY.get(kind, Verdict.RELAY)
    if not node_home and (kind in DATA or kind in GROUP):
        return Verdict.REFUSE
    return _HOME[state].get(kind, Verdict.RELAY)

"""What happens to a request: the whole table, spelled out.

Read a row as: "in this state, a request of these kinds from such a client …".
"""

from __future__ import annotations

import itertools

import pytest

from hadash.bindings.model import BindingState
from hadash.gateway.protocol.api_keys import DATA, GROUP, MUTATIONS, ApiKey
from hadash.gateway.rules.verdicts import Verdict, judge

FORWARD, HOLD_HEARTBEATS, QUIESCE, BLOCK = BindingState
RELAY, PARK, HOLD, REBALANCE, REFUSE, LOOK_UP_AWAY = Verdict

#: Where transactions are admitted.
TRANSACTION_KINDS = (
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
)

#: A client that is where it belongs, in each state. Kinds that a row does not name are relayed.
AT_HOME: dict[BindingState, dict[Verdict, set[ApiKey]]] = {
    # Nothing is going on.
    FORWARD: {},
    # Members are collected: their heartbeats wait, so that all can be told together. All else flows.
    HOLD_HEARTBEATS: {HOLD: {ApiKey.HEARTBEAT}},
    # Members are told to commit and rejoin, and wait in the rejoin. Reads, writes and commits still flow.
    QUIESCE: {REBALANCE: {ApiKey.HEARTBEAT}, PARK: {ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP}},
    # Nothing new reaches the cluster: no record, no offset, no generation, no producer id; and no read either,
    # for what is read now would be committed nowhere. Lookups go on: they change nothing and nobody would wait
    # for them. A member may leave: it takes nothing with it.
    BLOCK: {
        REBALANCE: {ApiKey.HEARTBEAT},
        PARK: {
            ApiKey.PRODUCE,
            ApiKey.FETCH,
            ApiKey.LIST_OFFSETS,
            ApiKey.OFFSET_COMMIT,
            ApiKey.OFFSET_FETCH,
            ApiKey.JOIN_GROUP,
            ApiKey.SYNC_GROUP,
            ApiKey.INIT_PRODUCER_ID,
            ApiKey.OFFSET_FOR_LEADER_EPOCH,
            *TRANSACTION_KINDS,
        },
    },
}

#: A client that is signed in to the cluster it has been moved from, in every state.
SIGNED_IN_ELSEWHERE: dict[Verdict, set[ApiKey]] = {
    # What only the right node can answer is answered with "look again".
    REFUSE: {
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.LIST_OFFSETS,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.OFFSET_FOR_LEADER_EPOCH,
        *TRANSACTION_KINDS,
    },
    # Looking again is answered from where the switch put things, for this sign-in is worth nothing over there.
    LOOK_UP_AWAY: {ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.INIT_PRODUCER_ID},
    # The old cluster is to forget its member; the rest only reads.
    RELAY: {
        ApiKey.LEAVE_GROUP,
        ApiKey.DESCRIBE_GROUPS,
        ApiKey.LIST_GROUPS,
        ApiKey.SASL_HANDSHAKE,
        ApiKey.API_VERSIONS,
        ApiKey.DESCRIBE_CONFIGS,
        ApiKey.SASL_AUTHENTICATE,
        ApiKey.DESCRIBE_CLUSTER,
    },
}

#: A client that is signed in to the right cluster but believes to speak to a node of the other one.
ON_A_NODE_ELSEWHERE: set[ApiKey] = set(DATA | GROUP)


def expected(kind: ApiKey, state: BindingState, signed_home: bool, node_home: bool) -> Verdict:
    if not signed_home:
        return next(verdict for verdict, kinds in SIGNED_IN_ELSEWHERE.items() if kind in kinds)
    if not node_home and kind in ON_A_NODE_ELSEWHERE:
        return REFUSE
    return next((verdict for verdict, kinds in AT_HOME[state].items() if kind in kinds), RELAY)


@pytest.mark.parametrize("state", BindingState)
@pytest.mark.parametrize("kind", ApiKey)
def test_the_verdict_on_every_request(kind: ApiKey, state: BindingState) -> None:
    for signed_home, node_home in itertools.product([True, False], repeat=2):
        verdict = judge(kind, state, signed_home=signed_home, node_home=node_home)
        assert verdict is expected(kind, state, signed_home, node_home), (signed_home, node_home)


def test_the_rows_above_name_every_kind_once() -> None:
    assert sorted(kind for kinds in SIGNED_IN_ELSEWHERE.values() for kind in kinds) == sorted(ApiKey)
    assert set(AT_HOME) == set(BindingState)


@pytest.mark.parametrize("node_home", [True, False])
@pytest.mark.parametrize("signed_home", [True, False])
@pytest.mark.parametrize("kind", [ApiKey.PRODUCE, ApiKey.OFFSET_COMMIT])
def test_a_block_lets_no_mutation_through(kind: ApiKey, signed_home: bool, node_home: bool) -> None:
    """The one promise that everything else rests on, said without the table."""
    assert judge(kind, BLOCK, signed_home=signed_home, node_home=node_home) in (PARK, REFUSE)


@pytest.mark.parametrize("state", BindingState)
@pytest.mark.parametrize("kind", [ApiKey.PRODUCE, ApiKey.OFFSET_COMMIT])
def test_no_mutation_reaches_the_cluster_that_was_left(kind: ApiKey, state: BindingState) -> None:
    for node_home in (True, False):
        assert judge(kind, state, signed_home=False, node_home=node_home) is REFUSE


#: APIs that change nothing which a switch must not lose: they read, look something up, sign in, or are about a
#: membership, which the group forms again on the other cluster.
CHANGE_NOTHING_TO_LOSE = {
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.METADATA,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.LIST_GROUPS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.FIND_COORDINATOR,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FETCH,
    ApiKey.JOIN_GROUP,
    ApiKey.SYNC_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.LEAVE_GROUP,
    ApiKey.API_VERSIONS,
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
}


def test_every_other_api_is_counted_as_under_way_until_it_is_answered() -> None:
    """The proof of a block rests on it. A new API belongs to one of the two."""
    assert set(ApiKey) - CHANGE_NOTHING_TO_LOSE == MUTATIONS

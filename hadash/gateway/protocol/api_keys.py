"""The Kafka APIs that pass through a Gateway, and the versions of each that it offers and serves."""

from __future__ import annotations

from enum import IntEnum


class ApiKey(IntEnum):
    """Kafka's API keys, as far as a Gateway serves them."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_CONFIGS = 32
    SASL_AUTHENTICATE = 36
    DESCRIBE_CLUSTER = 60


#: The lowest and highest version offered, whatever the clusters support. The highest stops before messages begin to
#: carry Topic ids, broker endpoints or cluster ids, which differ between the clusters: PRODUCE 10 and FETCH 16 have
#: broker endpoints, FETCH 11 the broker id of a preferred read replica, 12 the last fetched leader epoch and 13 Topic
#: ids, METADATA 10 Topic ids, API_VERSIONS 5 the cluster id, OFFSET_COMMIT/OFFSET_FETCH 9 KIP-848 member epochs,
#: FIND_COORDINATOR 5, INIT_PRODUCER_ID 5 and the APIs of transactions from 4 on the second transaction protocol.
#: LIST_OFFSETS 8 asks what is in tiered storage, which each cluster fills by itself.
#: METADATA stops at 8 because librdkafka trusts the leader epochs of version 9: it sends an epoch of -1 as 0 in its
#: FETCH, and a leader with a higher epoch refuses that for ever (FENCED_LEADER_EPOCH).
OFFERED: dict[ApiKey, tuple[int, int]] = {
    ApiKey.PRODUCE: (3, 9),
    ApiKey.FETCH: (4, 10),
    ApiKey.LIST_OFFSETS: (1, 7),
    ApiKey.METADATA: (0, 8),
    ApiKey.OFFSET_COMMIT: (2, 8),
    ApiKey.OFFSET_FETCH: (1, 8),
    ApiKey.FIND_COORDINATOR: (0, 4),
    ApiKey.JOIN_GROUP: (0, 9),
    ApiKey.HEARTBEAT: (0, 4),
    ApiKey.LEAVE_GROUP: (0, 5),
    ApiKey.SYNC_GROUP: (0, 5),
    ApiKey.DESCRIBE_GROUPS: (0, 5),
    ApiKey.LIST_GROUPS: (0, 4),
    ApiKey.SASL_HANDSHAKE: (0, 1),
    ApiKey.API_VERSIONS: (0, 3),
    ApiKey.INIT_PRODUCER_ID: (0, 4),
    ApiKey.OFFSET_FOR_LEADER_EPOCH: (2, 4),
    ApiKey.ADD_PARTITIONS_TO_TXN: (0, 3),
    ApiKey.ADD_OFFSETS_TO_TXN: (0, 3),
    ApiKey.END_TXN: (0, 3),
    ApiKey.TXN_OFFSET_COMMIT: (0, 3),
    ApiKey.DESCRIBE_CONFIGS: (1, 4),
    ApiKey.SASL_AUTHENTICATE: (0, 2),
    ApiKey.DESCRIBE_CLUSTER: (0, 1),
}

#: Versions that are served although they are not offered. Sarama asks brokers for their versions only from 1.46 on;
#: before that it uses those of its ``Config.Version``, and a broker supports them all
#: (:mod:`hadash.gateway.virtual.unasked`): METADATA 9 from a ``Version`` of 2.4 on and 10 from 2.8 on (Sarama 1.41 to
#: 1.45), FETCH 11 from 2.3 on (1.26 to 1.45), OFFSET_COMMIT 1 whatever the ``Version`` (up to 1.40).
UNASKED: dict[ApiKey, tuple[int, int]] = {
    ApiKey.FETCH: (11, 11),
    ApiKey.METADATA: (9, 10),
    ApiKey.OFFSET_COMMIT: (1, 1),
}

#: The versions that a client may send, whether or not they were offered.
SERVED: dict[ApiKey, tuple[int, int]] = {
    api: (min(low, UNASKED.get(api, (low, high))[0]), max(high, UNASKED.get(api, (low, high))[1]))
    for api, (low, high) in OFFERED.items()
}

#: Lowest versions that are named to clients although they are not served: librdkafka before 2.11 compresses only for a
#: broker that names PRODUCE 0 (as brokers do; Kafka 4 still names it for them, KAFKA-18659).
NAMED_LOWEST: dict[ApiKey, int] = {ApiKey.PRODUCE: 0}

#: APIs that are served, but not named to clients: a client that sees OFFSET_FOR_LEADER_EPOCH compares the epochs of
#: the cluster that it came from with those of the other, and considers its records truncated.
HIDDEN = frozenset({ApiKey.OFFSET_FOR_LEADER_EPOCH})

#: APIs that only transactions need: served where transactions are allowed.
TRANSACTIONS = frozenset(
    {ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN, ApiKey.TXN_OFFSET_COMMIT}
)

#: APIs that the Gateway answers or starts itself, whether or not a cluster supports them.
OWN = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})

#: The APIs of a SASL exchange: at the beginning, or again later (KIP-368).
SIGN_IN = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})

#: APIs that may be sent before sign-in.
BEFORE_SIGN_IN = OWN

#: Requests that change something on the cluster that a switch must not lose: a block is in effect only when every one
#: of them has been answered.
MUTATIONS = frozenset({ApiKey.PRODUCE, ApiKey.OFFSET_COMMIT, *TRANSACTIONS})

#: Requests for the place of something, or for an id: all that passes through a Gateway that redirects.
LOOK_UPS = frozenset(
    {ApiKey.METADATA, ApiKey.FIND_COORDINATOR, ApiKey.DESCRIBE_CLUSTER, ApiKey.INIT_PRODUCER_ID}
)

#: Requests that only a group's coordinator answers.
GROUP = frozenset(
    {
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.JOIN_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.TXN_OFFSET_COMMIT,
    }
)

#: Requests that only a partition's leader answers.
DATA = frozenset({ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH})


def lookup(api_key: int) -> ApiKey | None:
    """Return the API of ``api_key``; ``None`` for one that a Gateway does not serve."""
    try:
        return ApiKey(api_key)
    except ValueError:
        return None

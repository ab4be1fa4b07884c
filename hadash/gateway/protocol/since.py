"""From which version of an API on something is in its messages: every version that the Gateway's code depends on.

Beside :data:`~hadash.gateway.protocol.api_keys.OFFERED`, because the two go together. Whoever raises the highest version
that is offered looks up here what the code knows of that API, follows each name to the places that use it, and adds
what is new; a name that no version served any more can tell apart is dead, and a test says so. The source of each is
Kafka's own description of its messages (``clients/src/main/resources/common/message``).
"""

from __future__ import annotations

from hadash.gateway.protocol.api_keys import ApiKey


class Produce:
    #: The answer has the start of the log.
    LOG_START = 5
    #: The answer names the records that were refused.
    RECORD_ERRORS = 8
    #: Compact texts and tags (KIP-482).
    FLEXIBLE = 9


class Fetch:
    #: Request and answer have the start of the log.
    LOG_START = 5
    #: Sessions, in which a request names what has changed only (KIP-227).
    SESSION = 7
    #: The request has the leader epoch of each partition (KIP-320).
    LEADER_EPOCH = 9
    #: The request names the client's rack, the answer a replica to read from (KIP-392).
    RACK = 11


class Metadata:
    #: The controller, each broker's rack, whether a Topic is internal. And a request for all Topics names ``null``
    #: from here on; before, an empty list.
    CONTROLLER = 1
    CLUSTER_ID = 2
    THROTTLE_TIME = 3
    OFFLINE_REPLICAS = 5
    #: Each partition has its leader's epoch.
    LEADER_EPOCH = 7
    #: What the client may do with the Topic and the cluster (KIP-430).
    OPERATIONS = 8
    TOPIC_ID = 10


class OffsetCommit:
    #: No partition has a time of its own any more.
    NO_TIME = 2
    LEADER_EPOCH = 6


class OffsetFetch:
    #: The answer has an error of its own, beside those of the partitions.
    ERROR = 2
    #: One request asks about several groups.
    GROUPS = 8


class FindCoordinator:
    #: One request asks about several groups (KIP-699).
    KEYS = 4


class LeaveGroup:
    #: Several members leave at once (KIP-345).
    MEMBERS = 3


class TxnOffsetCommit:
    LEADER_EPOCH = 2


class ApiVersions:
    #: The client says what library it is (KIP-511).
    SOFTWARE = 3


class SaslHandshake:
    #: SASL_AUTHENTICATE follows; before, the mechanism's own messages, bare (KIP-152).
    AUTHENTICATE = 1


#: By the kind that they are of.
SINCE: dict[ApiKey, type] = {
    ApiKey.PRODUCE: Produce,
    ApiKey.FETCH: Fetch,
    ApiKey.METADATA: Metadata,
    ApiKey.OFFSET_COMMIT: OffsetCommit,
    ApiKey.OFFSET_FETCH: OffsetFetch,
    ApiKey.FIND_COORDINATOR: FindCoordinator,
    ApiKey.LEAVE_GROUP: LeaveGroup,
    ApiKey.TXN_OFFSET_COMMIT: TxnOffsetCommit,
    ApiKey.API_VERSIONS: ApiVersions,
    ApiKey.SASL_HANDSHAKE: SaslHandshake,
}

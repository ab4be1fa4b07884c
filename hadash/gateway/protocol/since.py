"""The version of an API from which on its messages contain something: every version that the Gateway's code depends on.

It belongs together with :data:`~hadash.gateway.protocol.api_keys.OFFERED`. When the highest offered version is raised,
look up here what the code knows about that API, follow each name to its uses, and add what is new. A name that no
longer distinguishes any served versions is dead, and a test reports it. The source of each is Kafka's own description
of its messages (``clients/src/main/resources/common/message``).
"""

from __future__ import annotations

from hadash.gateway.protocol.api_keys import ApiKey


class Produce:
    #: The answer has the start of the log.
    LOG_START = 5
    #: The answer names the records that were refused.
    RECORD_ERRORS = 8
    #: Compact strings and tagged fields (KIP-482).
    FLEXIBLE = 9


class Fetch:
    #: Request and answer have the log start offset.
    LOG_START = 5
    #: Fetch sessions, in which a request names only what has changed (KIP-227).
    SESSION = 7
    #: The request has the leader epoch of each partition (KIP-320).
    LEADER_EPOCH = 9
    #: The request names the client's rack, the answer a replica to read from (KIP-392).
    RACK = 11


class Metadata:
    #: The controller, each broker's rack, whether a Topic is internal. From here on a request for all Topics has
    #: ``null`` instead of an empty list.
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
    #: Partitions no longer have a timestamp of their own.
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
    #: The client names its library (KIP-511).
    SOFTWARE = 3


class SaslHandshake:
    #: SASL_AUTHENTICATE follows; before, the mechanism's own messages follow without a Kafka header (KIP-152).
    AUTHENTICATE = 1


#: The classes above by API.
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

"""The description of a rule, and the names of all rules."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hadash.sentences import Sentence


class Severity(StrEnum):
    """How bad a finding is if nothing is done."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


#: Points that a finding adds to the score of its AppID and of its pair: high 10, medium 4, low 1.
WEIGHTS = {Severity.HIGH: 10, Severity.MEDIUM: 4, Severity.LOW: 1}


class About(StrEnum):
    """What a finding is about: its ``name`` is the name of one of these. (A finding of an AppID has that, too.)"""

    PAIR = "pair"
    CLUSTER = "cluster"
    MIRROR = "mirror"
    TOPIC = "topic"
    GROUP = "group"
    APPID = "appid"
    CLIENT = "client"


class Code(StrEnum):
    """The name of a rule, in pages, the API and tables."""

    # identity
    SHARED_APPID = "appid-shared"
    NAMELESS = "client-without-instanceid"
    CHANGING = "instanceid-changes"
    SEVERAL_APPIDS = "instanceid-of-several-appids"
    SEVERAL_KINDS = "instanceid-of-several-kinds"
    MANY_TOPICS = "instanceid-many-topics"
    BOTH_CLUSTERS = "appid-in-both-clusters"
    TWO_PAIRS = "appid-in-two-pairs"
    NOT_UNIQUE = "binding-not-unique"
    REGEX = "regex-under-topic-bindings"
    GROUP_APPIDS = "group-of-several-appids"
    GROUP_INSTANCES = "group-of-several-instanceids"
    # rights
    SUPER_USER = "super-user-as-appid"
    UNUSED_RIGHTS = "rights-not-used"
    ACL_DRIFT = "acl-drift"
    # clients
    ACKS = "acks-not-all"
    MIN_IN_SYNC = "acks-all-min-insync-one"
    MIN_IN_SYNC_UNKNOWN = "acks-all-min-insync-unknown"
    TRANSACTIONS = "transactional-producer"
    IDEMPOTENT = "idempotent-producer"
    NO_RETRIES = "producer-without-retries"
    SELF_ASSIGNED = "self-assigned-partitions"
    KAFKA_10793 = "consumer-kafka-10793"
    KAFKA_13563 = "consumer-kafka-13563"
    LONG_SESSION = "long-session-timeout"
    SESSION_BOUNDS = "session-timeout-out-of-bounds"
    SKEWED = "skewed-assignment"
    CLIENT_VERSION = "client-far-behind-engine"
    # declared and seen uses
    NEVER_SEEN = "declared-never-seen"
    NOT_DECLARED = "seen-not-declared"
    BYPASS = "gateway-bypassed"
    # clusters
    ENGINE_VERSIONS = "engine-versions-apart"
    OFFSETS_PARTITIONS = "consumer-offsets-partitions"
    BROKER_IDS = "equal-broker-ids"
    CONTROLLER = "controller-flapping"
    UNDER_REPLICATED = "target-under-replicated"
    LEADERLESS = "target-leaderless"
    # mirrors
    FEWER_PARTITIONS = "mirror-fewer-partitions"
    CONFIG_DRIFT = "config-drift"
    OVER_RPO = "lag-over-rpo"
    STALLED = "mirror-stalled"


@dataclass(frozen=True, slots=True)
class Entry:
    """One rule. ``evidence`` is a template that is filled with the values of a finding.

    ``holds`` says when there is a finding, with the deciding figures, so that a person can check it.
    ``measure`` names the value of the evidence that says how large the finding is; it is empty for a rule
    whose findings cannot get worse. ``of_switch`` is the template for all clients that one switch moves;
    ``None`` for rules that do not look at these.
    """

    code: Code
    severity: Severity
    about: About
    title: Sentence
    holds: Sentence
    evidence: Sentence
    remedy: Sentence
    source: str
    measure: str = ""
    of_switch: Sentence | None = None

    @property
    def weight(self) -> int:
        return WEIGHTS[self.severity]

    @property
    def looks_at_clusters(self) -> bool:
        """Whether the rule cannot judge a pair when one of its clusters did not answer."""
        return self.code in _OF_CLUSTERS

    @property
    def looks_at_mirrors(self) -> bool:
        """Whether the rule cannot judge a mirror whose state is not known."""
        return self.code in _OF_MIRRORS


#: The rules that need data from the clusters themselves, besides the uses that were seen.
_OF_CLUSTERS = frozenset(
    {
        Code.SUPER_USER,
        Code.UNUSED_RIGHTS,
        Code.ACKS,
        Code.MIN_IN_SYNC,
        Code.MIN_IN_SYNC_UNKNOWN,
        Code.SESSION_BOUNDS,
        Code.SKEWED,
        Code.CLIENT_VERSION,
        Code.ENGINE_VERSIONS,
        Code.OFFSETS_PARTITIONS,
        Code.BROKER_IDS,
        Code.CONTROLLER,
        Code.UNDER_REPLICATED,
        Code.LEADERLESS,
        Code.FEWER_PARTITIONS,
        Code.CONFIG_DRIFT,
        Code.ACL_DRIFT,
    }
)

#: The rules about the state of a mirror, which its Connect and both clusters report.
_OF_MIRRORS = frozenset({Code.OVER_RPO, Code.STALLED})

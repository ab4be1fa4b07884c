"""What is said of a rule, and the names of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hadash.sentences import Sentence


class Severity(StrEnum):
    """How bad it is if nothing is done."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


#: What a finding adds to the score of its AppID and of its pair: two of a kind are as bad as one and a bit of the next.
WEIGHTS = {Severity.HIGH: 10, Severity.MEDIUM: 4, Severity.LOW: 1}


class About(StrEnum):
    """What a finding is about: ``name`` of a finding is one of these. (What is the AppID's has an AppID besides.)"""

    PAIR = "pair"
    CLUSTER = "cluster"
    MIRROR = "mirror"
    TOPIC = "topic"
    GROUP = "group"
    APPID = "appid"
    CLIENT = "client"


class Code(StrEnum):
    """The name of a rule, in pages, the API and tables."""

    # who is who
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
    # what is known
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
    """One rule. ``evidence`` is a template with the values that the rule has found.

    ``holds`` says when there is a finding, with the figures that decide, so that a person can check one.
    ``measure`` is the value of the evidence that says how much of it there is, for a rule whose findings can
    get worse; empty for one whose findings cannot. ``of_switch`` is what is said of all clients together that
    one switch moves; ``None`` for rules that do not look at these.
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
        """Whether it can say nothing about a pair of which a cluster did not answer."""
        return self.code in _OF_CLUSTERS

    @property
    def looks_at_mirrors(self) -> bool:
        """Whether it can say nothing about a mirror of which nobody knows how it is."""
        return self.code in _OF_MIRRORS


#: The rules that look at what clusters say of themselves, besides at what was seen.
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

#: The rules about how a mirror is, which its Connect and both clusters say.
_OF_MIRRORS = frozenset({Code.OVER_RPO, Code.STALLED})

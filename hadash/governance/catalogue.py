"""The rules of governance: what each is called, how bad what it finds is, how that is said, what to do, and where it comes from. Pure.

What a rule looks at stands elsewhere: over a whole estate in ``spark/rules/``, over the clients of one switch in
:mod:`hadash.governance.findings`. The page of all rules is made of this.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hadash.sentences import Sentence, say


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
    # clients
    ACKS = "acks-not-all"
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
    ACL_DRIFT = "acl-drift"
    OVER_RPO = "lag-over-rpo"
    STALLED = "mirror-stalled"


@dataclass(frozen=True, slots=True)
class Entry:
    """One rule. ``evidence`` is a template with the values that the rule has found.

    ``holds`` says when there is a finding, with the figures that decide, so that a person can check one.
    """

    code: Code
    severity: Severity
    about: About
    title: Sentence
    holds: Sentence
    evidence: Sentence
    remedy: Sentence
    source: str

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


# -- figures that decide ----------------------------------------------------------------------------------------------

#: Topics of one InstanceID, beyond which it drags along too many others.
MANY_TOPICS = 10
#: Names of one application that each came and went on one of so many days.
CHANGING_NAMES, CHANGING_DAYS = 5, 7
#: Days of the newest ones on which an AppID has to be seen on both clusters: a switch leaves it on both for one.
BOTH_DAYS, BOTH_OF_DAYS = 2, 3
#: Topics that an AppID may use and does not, beyond which its rights are too wide: one may be for a release to come.
UNUSED_TOPICS = 3
#: How many of a mirror's samples of a day may be over the RPO, in percent.
OVER_RPO_PERCENT = 1.0
#: Minutes for which a mirror may get later and later, and how much of that time it has to have got later by, in percent.
STALLED_MINUTES, STALLED_PERCENT = 10, 90
#: Changes of the controller within a day.
CONTROLLER_CHANGES = 3
#: How many partitions one member has more than another, and how many times as many.
SKEW_PARTITIONS, SKEW_TIMES = 2, 2
#: Major versions that a Java client may be behind its engine.
MAJORS_BEHIND = 1


_SWITCHING, _GATEWAY, _PIPELINE = "docs/switching.md", "docs/gateway.md", "docs/pipeline.md"
_OWN = "docs/own-clusters.md"
_IDENTITY = "docs/architecture.md"
#: What DiDi, whose engine ours is compatible with, asks of users of its high availability, and of those who share one.
_RULES_OF_HA, _SHARED_USERS = "DiDi Kafka HA: rules for its use", "DiDi Kafka HA: shared users"

CATALOGUE: dict[Code, Entry] = {
    entry.code: entry
    for entry in (
        # -- who is who -----------------------------------------------------------------------------------------
        Entry(
            Code.SHARED_APPID,
            Severity.HIGH,
            About.APPID,
            say("AppID shared by several applications"),
            say(
                "Clients with different names (apart from numbers, UUIDs and pods' suffixes) run on hosts that have nothing in common."
            ),
            say("%(count)s applications sign in as %(appid)s: %(applications)s."),
            say(
                "Give each application an AppID of its own. Until then register their InstanceIDs, so that each can move by itself."
            ),
            _SHARED_USERS,
        ),
        Entry(
            Code.NAMELESS,
            Severity.MEDIUM,
            About.APPID,
            say("Client without InstanceID"),
            say("A client has no client.id, or the one that its library gives everybody."),
            say("Clients of %(appid)s without a name of their own (%(count)s): %(clients)s on %(hosts)s."),
            say(
                "Set client.id in the application, then register it. Without one it moves only together with the whole AppID."
            ),
            _IDENTITY,
        ),
        Entry(
            Code.CHANGING,
            Severity.MEDIUM,
            About.CLIENT,
            say("InstanceID that changes at each start"),
            say(
                "%(names)s client.ids that differ only in numbers, a UUID or a pod's suffix were each seen on one of the last %(days)s days only, and not all on the same one.",
                names=CHANGING_NAMES,
                days=CHANGING_DAYS,
            ),
            say("%(count)s client.ids of %(appid)s came and went: %(examples)s."),
            say(
                "Take what changes (a process number, a pod's name, the time) out of client.id: a binding of a name that is gone governs nobody."
            ),
            _IDENTITY,
        ),
        Entry(
            Code.SEVERAL_APPIDS,
            Severity.MEDIUM,
            About.CLIENT,
            say("One InstanceID used by several AppIDs"),
            say(
                "The same client.id, which is no library's default, is used by more than one AppID of a pair."
            ),
            say("client.id %(client)s is used by %(appids)s."),
            say(
                "Nothing breaks, because a binding names both. But logs and quotas mix them up: name clients after their application."
            ),
            _PIPELINE,
        ),
        Entry(
            Code.SEVERAL_KINDS,
            Severity.LOW,
            About.CLIENT,
            say("One InstanceID for several kinds of client"),
            say("One client.id writes and reads, or is used with more than one library."),
            say("%(client)s of %(appid)s is used for %(kinds)s."),
            say(
                "Name producers and consumers differently: then what one writes need not move with what the other reads."
            ),
            _PIPELINE,
        ),
        Entry(
            Code.MANY_TOPICS,
            Severity.MEDIUM,
            About.CLIENT,
            say("InstanceID on many Topics"),
            say("One client.id uses more than %(topics)s Topics.", topics=MANY_TOPICS),
            say("%(client)s of %(appid)s uses %(count)s Topics: all of them move when it moves."),
            say("Split it: one client.id for each group of Topics that belong together."),
            _SWITCHING,
        ),
        Entry(
            Code.BOTH_CLUSTERS,
            Severity.HIGH,
            About.APPID,
            say("AppID active in both clusters"),
            say(
                "Clients of one AppID that have no binding of their own were seen on both clusters of the pair on %(days)s of the last %(of)s days.",
                days=BOTH_DAYS,
                of=BOTH_OF_DAYS,
            ),
            say("%(appid)s is used on %(clusters)s: %(clients)s."),
            say(
                "Find out who goes past the Gateway, or bind these InstanceIDs where they are. What is written to a standby Topic is lost."
            ),
            _RULES_OF_HA,
        ),
        Entry(
            Code.TWO_PAIRS,
            Severity.HIGH,
            About.APPID,
            say("AppID in a third cluster"),
            say("One AppID is used in more than one pair."),
            say("%(appid)s is used in the pairs %(pairs)s."),
            say(
                "Let it sign in as another user in one of the pairs: the bindings of an AppID are one document for all pairs."
            ),
            _OWN,
        ),
        Entry(
            Code.NOT_UNIQUE,
            Severity.HIGH,
            About.APPID,
            say("AppID#Topic or AppID##Group not unique"),
            say(
                "A Topic or group has a binding of its own under an AppID, and several applications use it under that AppID."
            ),
            say(
                "%(resource)s is bound by itself, and %(count)s applications of %(appid)s use it: %(applications)s."
            ),
            say(
                "Bind the InstanceIDs instead: a binding of the Topic moves all who use it under this AppID."
            ),
            _SHARED_USERS,
        ),
        Entry(
            Code.REGEX,
            Severity.MEDIUM,
            About.CLIENT,
            say("Regex subscriber under Topic bindings"),
            say("A member of a group asks for all Topics, and its AppID has bindings of Topics."),
            say(
                "%(client)s of %(appid)s asks for all Topics, and %(count)s of the AppID's Topics have a binding of their own."
            ),
            say(
                "Let it subscribe to names, or bind it as a whole by its InstanceID: one consumer reads from one cluster."
            ),
            _SHARED_USERS,
        ),
        Entry(
            Code.GROUP_APPIDS,
            Severity.HIGH,
            About.GROUP,
            say("Consumer group across several AppIDs"),
            say("Members of one group sign in as different AppIDs."),
            say("Group %(group)s has members of %(appids)s."),
            say(
                "Let all members of a group sign in as one AppID: a group is on one cluster, so these can only move together."
            ),
            _SWITCHING,
        ),
        Entry(
            Code.GROUP_INSTANCES,
            Severity.MEDIUM,
            About.GROUP,
            say("Consumer group across several InstanceIDs"),
            say("Members of one group have different client.ids, and at least one of them is registered."),
            say(
                "Group %(group)s of %(appid)s has %(count)s client.ids, of which %(registered)s are registered: %(clients)s."
            ),
            say(
                "Give all members of a group one client.id, or register all of them: they can only move together."
            ),
            _SWITCHING,
        ),
        # -- rights -----------------------------------------------------------------------------------------------
        Entry(
            Code.SUPER_USER,
            Severity.HIGH,
            About.APPID,
            say("Super user used as AppID"),
            say(
                "An AppID uses a Topic to which others have rights and it has none: only a super user can. (Brokers do not tell who theirs are.)"
            ),
            say(
                "%(appid)s uses %(topics)s on %(clusters)s without a right to it, which only a super user can."
            ),
            say(
                "Give the application a user of its own: a super user cannot be blocked, nor kept off a standby Topic."
            ),
            _RULES_OF_HA,
        ),
        Entry(
            Code.UNUSED_RIGHTS,
            Severity.LOW,
            About.APPID,
            say("AppID may do more than it uses"),
            say(
                "Its rights allow more than %(topics)s Topics that it was not seen to use.",
                topics=UNUSED_TOPICS,
            ),
            say("%(appid)s may use %(count)s Topics that it does not use: %(topics)s."),
            say(
                "Take back the rights: what is allowed and not seen makes the plan of a switch larger than it has to be."
            ),
            _RULES_OF_HA,
        ),
        # -- clients ----------------------------------------------------------------------------------------------
        Entry(
            Code.ACKS,
            Severity.HIGH,
            About.CLIENT,
            say("acks other than all"),
            say("A client writes with acks=1 or acks=0 to a Topic with more than one replica."),
            say("%(client)s of %(appid)s writes with acks=%(acks)s to %(topics)s."),
            say(
                "Set acks=all: what is acknowledged before it is replicated cannot be proved to be mirrored."
            ),
            _SWITCHING,
        ),
        Entry(
            Code.TRANSACTIONS,
            Severity.HIGH,
            About.CLIENT,
            say("Transactional producer"),
            say("A client writes in transactions."),
            say("%(client)s of %(appid)s writes in transactions to %(topics)s."),
            say(
                "Stop it for a switch, or accept it: a transaction that is open when it moves ends with an error."
            ),
            _GATEWAY,
        ),
        Entry(
            Code.IDEMPOTENT,
            Severity.LOW,
            About.CLIENT,
            say("Idempotent producer"),
            say("A client writes with a producer id."),
            say("%(client)s of %(appid)s writes with a producer id to %(topics)s."),
            say(
                "Nothing has to be done behind hadash's Gateway, which sees to its sequence numbers. DiDi's engine does not: there it may lose records."
            ),
            "KIP-98",
        ),
        Entry(
            Code.NO_RETRIES,
            Severity.HIGH,
            About.CLIENT,
            say("Producer before 2.1 without retries"),
            say("A Java client before 2.1 writes: its retries are 0 unless somebody has set them."),
            say("%(client)s of %(appid)s (%(version)s) writes to %(topics)s."),
            say(
                "Set retries, or update it to 2.1 or later: while writes are blocked it would lose what it sends."
            ),
            "KIP-91",
        ),
        Entry(
            Code.SELF_ASSIGNED,
            Severity.HIGH,
            About.CLIENT,
            say("Consumer with self-assigned partitions"),
            say("A client reads and was never a member of a group."),
            say("%(client)s of %(appid)s reads %(topics)s without being a member of a group."),
            say(
                "Let it subscribe with a group, or see to its offsets when it has moved: the other cluster has others."
            ),
            _SWITCHING,
        ),
        Entry(
            Code.KAFKA_10793,
            Severity.MEDIUM,
            About.CLIENT,
            say("Consumer hit by KAFKA-10793"),
            say("A Java consumer 2.5.0, 2.5.1, 2.6.0, 2.6.1 or 2.7.0 is a member of a group."),
            say(
                "%(client)s of %(appid)s (%(version)s) can stop consuming for ever when its coordinator moves."
            ),
            say("Update it to 2.6.2, 2.7.1, 2.8.0 or later, or have somebody ready who restarts it."),
            "KAFKA-10793",
        ),
        Entry(
            Code.KAFKA_13563,
            Severity.MEDIUM,
            About.CLIENT,
            say("Consumer hit by KAFKA-13563"),
            say(
                "A Java consumer from 2.6.2, 2.7.1 or 2.8.0 on and before 3.2 (but 3.1.2) commits in a group of which it was never a member."
            ),
            say(
                "%(client)s of %(appid)s (%(version)s) never commits again in group %(group)s when its coordinator moves."
            ),
            say(
                "Update it to 3.1.2, 3.2.0 or later, or let it subscribe instead of assigning itself partitions."
            ),
            "KAFKA-13563",
        ),
        Entry(
            Code.LONG_SESSION,
            Severity.LOW,
            About.CLIENT,
            say("Long session timeout"),
            say("session.timeout.ms of a member is longer than a switch of the pair waits for consumers."),
            say(
                "%(client)s of %(appid)s has a session timeout of %(seconds)s s in group %(group)s; a switch waits %(settle)s s."
            ),
            say("Lower session.timeout.ms, or give consumers more time in the rules of the pair."),
            _SWITCHING,
        ),
        Entry(
            Code.SESSION_BOUNDS,
            Severity.HIGH,
            About.CLIENT,
            say("Session timeout out of bounds"),
            say(
                "session.timeout.ms of a member is outside of group.min.session.timeout.ms and group.max.session.timeout.ms of one of the pair's clusters."
            ),
            say(
                "%(client)s of %(appid)s has a session timeout of %(seconds)s s in group %(group)s; %(cluster)s allows %(least)s to %(most)s s."
            ),
            say(
                "Make both clusters' bounds the same, or change session.timeout.ms: there it could not join its group."
            ),
            "KIP-735",
        ),
        Entry(
            Code.SKEWED,
            Severity.LOW,
            About.GROUP,
            say("Skewed assignment"),
            say(
                "The range assignor gives one member of a group at least %(times)s times as many partitions as another, and at least %(partitions)s more.",
                times=SKEW_TIMES,
                partitions=SKEW_PARTITIONS,
            ),
            say(
                "Group %(group)s assigns %(most)s partitions to one of its %(members)s members and %(least)s to another."
            ),
            say(
                "Use the sticky, cooperative-sticky or round-robin assignor: range hands the first members one more of each Topic."
            ),
            "KIP-54",
        ),
        Entry(
            Code.CLIENT_VERSION,
            Severity.LOW,
            About.CLIENT,
            say("Client far behind its engine"),
            say(
                "A Java client is more than %(majors)s major version behind the engine of one of the pair's clusters.",
                majors=MAJORS_BEHIND,
            ),
            say("%(client)s of %(appid)s is version %(version)s, %(cluster)s is %(engine)s."),
            say(
                "Update the client: what Kafka removes it removes one major version later, and nobody tests further apart."
            ),
            "KIP-896",
        ),
        # -- what is known ------------------------------------------------------------------------------------------
        Entry(
            Code.NEVER_SEEN,
            Severity.LOW,
            About.APPID,
            say("Declared but never seen"),
            say("Somebody has declared a use that was not seen within the window."),
            say("%(count)s declared uses of %(appid)s were not seen: %(uses)s."),
            say("Take the declaration back if nobody uses it any more: until then it counts in plans."),
            _IDENTITY,
        ),
        Entry(
            Code.NOT_DECLARED,
            Severity.LOW,
            About.APPID,
            say("Seen but not declared"),
            say("An AppID that has declarations was seen with a use that none of them covers."),
            say("%(count)s uses of %(appid)s were seen that nobody has declared: %(uses)s."),
            say("Declare them if they are right, or ask the owner what they are."),
            _IDENTITY,
        ),
        Entry(
            Code.BYPASS,
            Severity.HIGH,
            About.APPID,
            say("Client that bypasses the Gateway"),
            say("Brokers have seen a client that no Gateway has seen."),
            say(
                "Clients of %(appid)s that reach the cluster without the Gateway (%(count)s): %(clients)s on %(hosts)s."
            ),
            say(
                "Give them the Gateway's address, and close the brokers' to clients: a switch cannot move what it does not see."
            ),
            _GATEWAY,
        ),
        # -- clusters -------------------------------------------------------------------------------------------------
        Entry(
            Code.ENGINE_VERSIONS,
            Severity.LOW,
            About.PAIR,
            say("Engine versions apart"),
            say("The clusters of a pair run different versions."),
            say("%(first)s runs %(first_version)s, %(second)s %(second_version)s."),
            say(
                "Bring both to the same version before a switch that matters: the Gateway offers only what both can do."
            ),
            _SHARED_USERS,
        ),
        Entry(
            Code.OFFSETS_PARTITIONS,
            Severity.LOW,
            About.PAIR,
            say("__consumer_offsets partitions differ"),
            say("__consumer_offsets has a different number of partitions on the clusters of a pair."),
            say(
                "__consumer_offsets has %(first_partitions)s partitions on %(first)s and %(second_partitions)s on %(second)s."
            ),
            say(
                "Nothing has to be done behind hadash, which translates offsets. DiDi's engine copies that Topic: set offsets.topic.num.partitions alike before the first group."
            ),
            _RULES_OF_HA,
        ),
        Entry(
            Code.BROKER_IDS,
            Severity.LOW,
            About.PAIR,
            say("Equal broker ids in a pair"),
            say("A broker id occurs in both clusters of a pair."),
            say("%(first)s and %(second)s both have the broker ids %(ids)s."),
            say(
                "Nothing has to be done behind hadash's Gateway, which gives brokers other ids. Elsewhere clients take a broker of one cluster for that of the other."
            ),
            _RULES_OF_HA,
        ),
        Entry(
            Code.CONTROLLER,
            Severity.MEDIUM,
            About.CLUSTER,
            say("Controller flapping"),
            say(
                "The controller's epoch has gone up by %(changes)s or more within a day.",
                changes=CONTROLLER_CHANGES,
            ),
            say("The controller of %(cluster)s has changed %(count)s times within a day."),
            say(
                "Look at the controllers' logs and at their disks and network before a switch: each change delays it."
            ),
            _PIPELINE,
        ),
        Entry(
            Code.UNDER_REPLICATED,
            Severity.HIGH,
            About.MIRROR,
            say("Under-replicated partitions on the target"),
            say(
                "A partition of a mirrored Topic has fewer replicas in sync on the target than it has replicas."
            ),
            say(
                "%(count)s partitions of mirror %(mirror)s are under-replicated on %(cluster)s: %(partitions)s."
            ),
            say(
                "Bring the brokers of the target back before a switch: it would make the last good replica the only one."
            ),
            _PIPELINE,
        ),
        Entry(
            Code.LEADERLESS,
            Severity.HIGH,
            About.MIRROR,
            say("Partitions without leader on the target"),
            say("A partition of a mirrored Topic has no leader on the target."),
            say("%(count)s partitions of mirror %(mirror)s have no leader on %(cluster)s: %(partitions)s."),
            say(
                "Bring the brokers of the target back: what is written to these partitions cannot be mirrored, and a switch is refused."
            ),
            _PIPELINE,
        ),
        # -- mirrors ----------------------------------------------------------------------------------------------------
        Entry(
            Code.FEWER_PARTITIONS,
            Severity.HIGH,
            About.TOPIC,
            say("Mirror has fewer partitions"),
            say(
                "A mirrored Topic has fewer partitions on the target than on the source, or does not exist there."
            ),
            say(
                "%(topic)s has %(source_partitions)s partitions on %(source)s and %(target_partitions)s on %(target)s."
            ),
            say(
                "Add partitions on the target until both have as many: records of the others are not mirrored."
            ),
            _SWITCHING,
        ),
        Entry(
            Code.CONFIG_DRIFT,
            Severity.MEDIUM,
            About.TOPIC,
            say("Config drift"),
            say("A config that was set on a mirrored Topic differs between the clusters."),
            say("%(topic)s: %(configs)s."),
            say("Set both alike: after a switch clients would meet other limits and another retention."),
            _PIPELINE,
        ),
        Entry(
            Code.ACL_DRIFT,
            Severity.HIGH,
            About.APPID,
            say("ACL drift"),
            say(
                "A right of an AppID exists on one cluster of its pair only. (What hadash itself has made does not count.)"
            ),
            say("%(count)s rights of %(appid)s are on %(cluster)s only: %(rights)s."),
            say(
                "Grant them on the other cluster, too, or take them back: after a switch its clients would be refused."
            ),
            _PIPELINE,
        ),
        Entry(
            Code.OVER_RPO,
            Severity.HIGH,
            About.MIRROR,
            say("Lag over the RPO"),
            say(
                "More than %(percent)s %% of a mirror's samples of the last day were later than the RPO of the pair.",
                percent=OVER_RPO_PERCENT,
            ),
            say(
                "Mirror %(mirror)s was later than %(rpo)s s in %(percent)s %% of the last day, %(most)s s at most."
            ),
            say(
                "Give the mirror more tasks or bandwidth, or agree on another RPO: so much is lost when the source is."
            ),
            _SWITCHING,
        ),
        Entry(
            Code.STALLED,
            Severity.HIGH,
            About.MIRROR,
            say("Mirror stalled or failed"),
            say(
                "A mirror is stopped or has failed, or got later by %(percent)s %% of the last %(minutes)s minutes and more.",
                percent=STALLED_PERCENT,
                minutes=STALLED_MINUTES,
            ),
            say(
                "Mirror %(mirror)s is %(state)s, and got later by %(later)s s within %(minutes)s minutes. %(why)s"
            ),
            say(
                "Look at its connector's log, and start it again. Until it runs nothing of it can be switched."
            ),
            _SWITCHING,
        ),
    )
}

"""Rules about clusters and their mirrors."""

from __future__ import annotations

from hadash.governance.catalogue.entry import About, Code, Entry, Severity
from hadash.governance.catalogue.figures import (
    CONTROLLER_CHANGES,
    OVER_RPO_MINUTES,
    OVER_RPO_PERCENT,
    STALLED_MINUTES,
    STALLED_PERCENT,
)
from hadash.governance.catalogue.sources import PIPELINE, RULES_OF_HA, SHARED_USERS, SWITCHING
from hadash.sentences import say

ENTRIES = (
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
        SHARED_USERS,
    ),
    Entry(
        Code.OFFSETS_PARTITIONS,
        Severity.LOW,
        About.PAIR,
        say("__consumer_offsets partitions differ"),
        say("__consumer_offsets has a different number of partitions on the clusters of a pair."),
        say(
            "__consumer_offsets has %(first_partitions)s partitions on %(first)s and %(second_partitions)s on "
            "%(second)s."
        ),
        say(
            "Nothing has to be done behind hadash, which translates offsets. DiDi's engine copies that Topic: "
            "set offsets.topic.num.partitions alike before the first group."
        ),
        RULES_OF_HA,
    ),
    Entry(
        Code.BROKER_IDS,
        Severity.MEDIUM,
        About.PAIR,
        say("Equal broker ids in a pair"),
        say(
            "A broker id occurs in both clusters of a pair of dialect didi. (Its Gateways redirect, so clients "
            "meet the brokers' own ids. hadash's Gateways give brokers other ids: of other pairs nothing is found.)"
        ),
        say("%(first)s and %(second)s both have the broker ids %(ids)s."),
        say(
            "Give the brokers of one cluster other ids: a client that moves keeps its connection to a broker "
            "whose id it knows, and so goes on with the old cluster."
        ),
        RULES_OF_HA,
    ),
    Entry(
        Code.CONTROLLER,
        Severity.MEDIUM,
        About.CLUSTER,
        say("Controller flapping"),
        say(
            "The controller's epoch has gone up by %(changes)s or more within a day, from one snapshot to the "
            "next. (Where it goes down, its cluster was made again.)",
            changes=CONTROLLER_CHANGES,
        ),
        say("The controller of %(cluster)s has changed %(count)s times within a day."),
        say(
            "Look at the controllers' logs and at their disks and network before a switch: each change delays it."
        ),
        PIPELINE,
        measure="count",
    ),
    Entry(
        Code.UNDER_REPLICATED,
        Severity.HIGH,
        About.MIRROR,
        say("Under-replicated partitions on the target"),
        say(
            "A partition of a mirrored Topic has fewer replicas in sync on the target than it has replicas. "
            "(One without a leader is another finding.)"
        ),
        say("%(count)s partitions of mirror %(mirror)s are under-replicated on %(cluster)s: %(partitions)s."),
        say(
            "Bring the brokers of the target back before a switch: it would make the last good replica the only one."
        ),
        PIPELINE,
        measure="count",
    ),
    Entry(
        Code.LEADERLESS,
        Severity.HIGH,
        About.MIRROR,
        say("Partitions without leader on the target"),
        say("A partition of a mirrored Topic has no leader on the target."),
        say("%(count)s partitions of mirror %(mirror)s have no leader on %(cluster)s: %(partitions)s."),
        say(
            "Bring the brokers of the target back: what is written to these partitions cannot be mirrored, and "
            "a switch is refused."
        ),
        PIPELINE,
        measure="count",
    ),
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
        say("Add partitions on the target until both have as many: records of the others are not mirrored."),
        SWITCHING,
    ),
    Entry(
        Code.CONFIG_DRIFT,
        Severity.MEDIUM,
        About.TOPIC,
        say("Config drift"),
        say(
            "A config that was set on a mirrored Topic differs between the clusters. (max.message.bytes and the "
            "kind of its timestamps do not count: hadash itself sets them on a standby.)"
        ),
        say("%(topic)s: %(configs)s."),
        say("Set both alike: after a switch clients would meet other limits and another retention."),
        PIPELINE,
    ),
    Entry(
        Code.OVER_RPO,
        Severity.HIGH,
        About.MIRROR,
        say("Lag over the RPO"),
        say(
            "For more than %(percent)s %% of the last day a mirror was later than the RPO of the pair, or "
            "nobody could tell how late it was. (A sample counts until the next one; samples of less than %(minutes)s "
            "minutes say nothing yet.)",
            percent=OVER_RPO_PERCENT,
            minutes=OVER_RPO_MINUTES,
        ),
        say(
            "Mirror %(mirror)s was later than %(rpo)s s, or nobody could tell how late, in %(percent)s %% of "
            "the last day; the most that was measured is %(most)s s."
        ),
        say(
            "Give the mirror more tasks or bandwidth, or agree on another RPO: so much is lost when the source is."
        ),
        SWITCHING,
        measure="percent",
    ),
    Entry(
        Code.STALLED,
        Severity.HIGH,
        About.MIRROR,
        say("Mirror stalled or failed"),
        say(
            "A mirror is stopped or has failed, or got later by %(percent)s %% of the last %(minutes)s minutes "
            "of its samples and more. (While nobody can tell how late it is, it gets later by as much as time passes.)",
            percent=STALLED_PERCENT,
            minutes=STALLED_MINUTES,
        ),
        say(
            "Mirror %(mirror)s is %(state)s, and got later by %(later)s s within %(minutes)s minutes. %(why)s"
        ),
        say("Look at its connector's log, and start it again. Until it runs nothing of it can be switched."),
        SWITCHING,
        measure="later",
    ),
)

"""Rules about rights."""

from __future__ import annotations

from hadash.governance.catalogue.entry import About, Code, Entry, Severity
from hadash.governance.catalogue.figures import UNUSED_TOPICS
from hadash.governance.catalogue.sources import PIPELINE, RULES_OF_HA
from hadash.sentences import say

ENTRIES = (
    Entry(
        Code.SUPER_USER,
        Severity.HIGH,
        About.APPID,
        say("Super user used as AppID"),
        say(
            "An AppID uses a Topic to which others have rights and it has none: only a super user can. (Brokers "
            "do not tell who theirs are.)"
        ),
        say("%(appid)s uses %(topics)s on %(clusters)s without a right to it, which only a super user can."),
        say(
            "Give the application a user of its own: a super user cannot be blocked, nor kept off a standby Topic."
        ),
        RULES_OF_HA,
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
        RULES_OF_HA,
        measure="count",
    ),
    Entry(
        Code.ACL_DRIFT,
        Severity.HIGH,
        About.CLUSTER,
        say("ACL drift"),
        say(
            "An AppID may do something on one cluster of its pair and not on the other. Rights count by "
            "what they give, as in Kafka, however they are written: those of everybody, prefixes, * and "
            "hosts do, ALL gives every operation, READ, WRITE, DELETE and ALTER give DESCRIBE, "
            "ALTER_CONFIGS gives DESCRIBE_CONFIGS, and DENY wins. "
            "Compared are READ, WRITE and DESCRIBE (and another operation, if a right of the AppID names "
            "it and not just ALL) of mirrored Topics, groups and transactional ids that the AppID has a "
            "right to or was seen to use. (What hadash itself has made does not count.)"
        ),
        say("%(count)s rights of %(appid)s are on %(cluster)s only: %(rights)s."),
        say(
            "Grant them on the other cluster, too, or take them back: after a switch its clients would be refused."
        ),
        PIPELINE,
        measure="count",
    ),
)

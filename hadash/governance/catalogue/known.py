"""Rules about the difference between declared and seen uses, and about clients that bypass the Gateway."""

from __future__ import annotations

from hadash.governance.catalogue.entry import About, Code, Entry, Severity
from hadash.governance.catalogue.figures import UNSEEN_DAYS
from hadash.governance.catalogue.sources import GATEWAY, IDENTITY
from hadash.sentences import say

ENTRIES = (
    Entry(
        Code.NEVER_SEEN,
        Severity.LOW,
        About.APPID,
        say("Declared but never seen"),
        say(
            "Somebody has declared a use that was not seen on any of the last %(days)s days: a job that runs "
            "once a month was. (Nothing is found while the reports of the pair do not reach back so far: "
            "it may not have run yet.)",
            days=UNSEEN_DAYS,
        ),
        say("%(count)s declared uses of %(appid)s were not seen: %(uses)s."),
        say("Take the declaration back if nobody uses it any more: until then it counts in plans."),
        IDENTITY,
        measure="count",
    ),
    Entry(
        Code.NOT_DECLARED,
        Severity.LOW,
        About.APPID,
        say("Seen but not declared"),
        say("An AppID that has declarations was seen with a use that none of them covers."),
        say("%(count)s uses of %(appid)s were seen that nobody has declared: %(uses)s."),
        say("Declare them if they are right, or ask the owner what they are."),
        IDENTITY,
        measure="count",
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
            "Give them the Gateway's address, and close the brokers' to clients: a switch cannot move what it "
            "does not see."
        ),
        GATEWAY,
        measure="count",
    ),
)

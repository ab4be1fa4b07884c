"""Rules about identities: AppIDs, InstanceIDs and groups."""

from __future__ import annotations

from hadash.governance.catalogue.entry import About, Code, Entry, Severity
from hadash.governance.catalogue.figures import (
    BOTH_DAYS,
    BOTH_OF_DAYS,
    CHANGING_DAYS,
    CHANGING_NAMES,
    MANY_TOPICS,
)
from hadash.governance.catalogue.sources import (
    IDENTITY,
    OWN_CLUSTERS,
    PIPELINE,
    RULES_OF_HA,
    SHARED_USERS,
    SWITCHING,
)
from hadash.sentences import say

ENTRIES = (
    Entry(
        Code.SHARED_APPID,
        Severity.HIGH,
        About.APPID,
        say("AppID shared by several applications"),
        say(
            "The clients of an AppID are more than one application. One application are clients whose "
            "names are the same without numbers, UUIDs, pods' suffixes and words for a role (reader, "
            "writer, producer, consumer and the like), "
            "clients that were seen on the same host, and clients that use the same consumer group. "
            "Clients that nobody has named, or whose name says nothing but a role, do not count."
        ),
        say("%(count)s applications sign in as %(appid)s: %(applications)s."),
        say(
            "Give each application an AppID of its own. Until then register their InstanceIDs, so that each can "
            "move by itself."
        ),
        SHARED_USERS,
        measure="count",
    ),
    Entry(
        Code.NAMELESS,
        Severity.MEDIUM,
        About.APPID,
        say("Client without InstanceID"),
        say("A client has no client.id, or the one that its library gives everybody."),
        say("Clients of %(appid)s without a name of their own (%(count)s): %(clients)s on %(hosts)s."),
        say(
            "Set client.id in the application, then register it. Without one it moves only together with the "
            "whole AppID."
        ),
        IDENTITY,
        measure="count",
    ),
    Entry(
        Code.CHANGING,
        Severity.MEDIUM,
        About.CLIENT,
        say("InstanceID that changes at each start"),
        say(
            "%(names)s client.ids that differ only in numbers, a UUID or a pod's suffix were each seen on one "
            "of the last %(days)s days only, and not all on the same one.",
            names=CHANGING_NAMES,
            days=CHANGING_DAYS,
        ),
        say("%(count)s client.ids of %(appid)s came and went: %(examples)s."),
        say(
            "Take what changes (a process number, a pod's name, the time) out of client.id: a binding of a name "
            "that is gone governs nobody."
        ),
        IDENTITY,
        measure="count",
    ),
    Entry(
        Code.SEVERAL_APPIDS,
        Severity.MEDIUM,
        About.CLIENT,
        say("One InstanceID used by several AppIDs"),
        say("The same client.id, which is no library's default, is used by more than one AppID of a pair."),
        say("client.id %(client)s is used by %(appids)s."),
        say(
            "Nothing breaks, because a binding names both. But logs and quotas mix them up: name clients after "
            "their application."
        ),
        PIPELINE,
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
        PIPELINE,
    ),
    Entry(
        Code.MANY_TOPICS,
        Severity.MEDIUM,
        About.CLIENT,
        say("InstanceID on many Topics"),
        say("One client.id uses more than %(topics)s Topics.", topics=MANY_TOPICS),
        say("%(client)s of %(appid)s uses %(count)s Topics: all of them move when it moves."),
        say("Split it: one client.id for each group of Topics that belong together."),
        SWITCHING,
        measure="count",
    ),
    Entry(
        Code.BOTH_CLUSTERS,
        Severity.HIGH,
        About.APPID,
        say("AppID active in both clusters"),
        say(
            "Clients of one AppID that have no binding of their own were seen on both clusters of the pair on "
            "%(days)s of the last %(of)s days.",
            days=BOTH_DAYS,
            of=BOTH_OF_DAYS,
        ),
        say("%(appid)s is used on %(clusters)s: %(clients)s."),
        say(
            "Find out who goes past the Gateway, or bind these InstanceIDs where they are. What is written to a "
            "standby Topic is lost."
        ),
        RULES_OF_HA,
    ),
    Entry(
        Code.TWO_PAIRS,
        Severity.HIGH,
        About.APPID,
        say("AppID in a third cluster"),
        say("One AppID is used in more than one pair."),
        say("%(appid)s is used in the pairs %(pairs)s."),
        say(
            "Let it sign in as another user in one of the pairs: the bindings of an AppID are one document "
            "for all pairs."
        ),
        OWN_CLUSTERS,
        of_switch=say(
            "%(appids)s: the bindings of an AppID are one document for all pairs, so its clients there would "
            "obey them, too. Let it "
            "sign in as another user in one of the pairs."
        ),
    ),
    Entry(
        Code.NOT_UNIQUE,
        Severity.HIGH,
        About.APPID,
        say("AppID#Topic or AppID##Group not unique"),
        say(
            "A Topic or group has a binding of its own under an AppID, and several applications (as told apart "
            "for a shared AppID) use it under that AppID."
        ),
        say(
            "%(resource)s is bound by itself, and %(count)s applications of %(appid)s use it: %(applications)s."
        ),
        say("Bind the InstanceIDs instead: a binding of the Topic moves all who use it under this AppID."),
        SHARED_USERS,
        measure="count",
    ),
    Entry(
        Code.REGEX,
        Severity.MEDIUM,
        About.CLIENT,
        say("Regex subscriber under Topic bindings"),
        say(
            "A member of a group asks for all Topics, and its AppID has bindings of Topics. (Sarama asks for "
            "all of them also when it subscribes to names, unless Metadata.Full is false.)"
        ),
        say(
            "%(client)s of %(appid)s asks for all Topics, and %(count)s of the AppID's Topics have a binding "
            "of their own."
        ),
        say(
            "Let it subscribe to names, or bind it as a whole by its InstanceID: one consumer reads from one cluster."
        ),
        SHARED_USERS,
        measure="count",
    ),
    Entry(
        Code.GROUP_APPIDS,
        Severity.HIGH,
        About.GROUP,
        say("Consumer group across several AppIDs"),
        say("Members of one group sign in as different AppIDs."),
        say("Group %(group)s has members of %(appids)s."),
        say(
            "Let all members of a group sign in as one AppID: a group is on one cluster, so these can only "
            "move together."
        ),
        SWITCHING,
    ),
    Entry(
        Code.GROUP_INSTANCES,
        Severity.MEDIUM,
        About.GROUP,
        say("Consumer group across several InstanceIDs"),
        say("Members of one group have different client.ids, and at least one of them is registered."),
        say(
            "Group %(group)s of %(appid)s has %(count)s client.ids, of which %(registered)s are registered: "
            "%(clients)s."
        ),
        say(
            "Give all members of a group one client.id, or register all of them: they can only move together."
        ),
        SWITCHING,
        measure="count",
    ),
)

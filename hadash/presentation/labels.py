"""The words for phases, stages, audit verbs and other codes, in the viewer's language."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from hadash.governance.catalogue import About, Code, Severity
from hadash.switching.machines.switches import Kind, Phase, Stage

PHASES: dict[Phase, Any] = {
    Phase.BLOCK: pgettext_lazy("phase", "Block"),
    Phase.FORWARD: pgettext_lazy("phase", "Forward"),
    Phase.VERIFY: pgettext_lazy("phase", "Verify"),
}

#: How a cluster keeps its metadata: as snapshots note it → as Kafka writes it.
CLUSTER_MODES = {"zookeeper": "ZooKeeper", "kraft": "KRaft"}

STAGE_WORDS: dict[Stage, Any] = {
    Stage.PRECHECK: _("precheck"),
    Stage.QUIESCE: _("quiesce"),
    Stage.BLOCK: _("block"),
    Stage.DRAIN: _("drain"),
    Stage.TRANSLATE: _("translate"),
    Stage.CATCH_UP: _("catch up"),
    Stage.FORWARD: _("forward"),
    Stage.REVERSE: _("reverse"),
    Stage.VERIFY: _("verify"),
    Stage.RETURN: _("return"),
    Stage.REHEARSE: _("rehearse"),
    Stage.ASSESS: _("assess"),
}

#: The purpose of each stage in one line, shown until the stage itself has reported something.
STAGE_PURPOSES: dict[Stage, Any] = {
    Stage.PRECHECK: _("Everything that must hold before a client notices anything."),
    Stage.QUIESCE: _("Consumers commit and park their rejoin; reads and writes go on."),
    Stage.BLOCK: _("From here on nothing new reaches the source."),
    Stage.DRAIN: _("Waits for the mirror and proves that both sides end alike."),
    Stage.TRANSLATE: _("Sets the groups' offsets on the target and reads them back."),
    Stage.CATCH_UP: _(
        "Waits until the target has what the readers may have seen, and sets their offsets there."
    ),
    Stage.FORWARD: _("The clients belong to the target from here on."),
    Stage.REVERSE: _("The mirror turns round, off the critical path."),
    Stage.VERIFY: _("Every client is seen on the target and works there."),
    Stage.RETURN: _("Everything as it was before the switch."),
    Stage.ASSESS: _("Holds the mirror and counts what the target does not have."),
    Stage.REHEARSE: _("Measures the mirror and tries the offsets; clients notice nothing."),
}

VERBS: dict[str, Any] = {
    "request": _("requested"),
    "approve": _("approved"),
    "decline": _("declined"),
    "cancel": _("cancelled"),
    "abort": _("aborted"),
    "retry": _("ran again"),
    "close": _("closed"),
    "postpone": _("postponed the removal of the old Topics of"),
    "keep": _("kept the old Topics of"),
    "retire": _("lets the old Topics be removed of"),
    "retire failed": _("could not remove the old Topics of"),
    "removed": _("removed a part of what was left of"),
    "retired": _("removed the old Topics of"),
    "pair": _("paired"),
    "unpair": _("unpaired"),
    "expire": _("expired"),
    "register": _("registered"),
    "unregister": _("took back"),
    "bindings changed": _("changed the bindings by"),
    "bindings not changed": _("could not carry out"),
    "pool changed": _("changed"),
    "accept differences": _("accepted differences of"),
    "ask for full audit": _("asked for a full audit of"),
    "cancel full audit": _("cancelled the full audit of"),
    "withdraw acceptance": _("took back the acceptance of differences of"),
    "pool not changed": _("could not change"),
    "declare": _("declared relations of"),
    "withdraw": _("withdrew the relation"),
    "import": _("imported relations of"),
    "start": _("started"),
    "pause": _("asked for a pause of"),
    "resume": _("resumed"),
    "stop": _("stopped"),
    "finish": _("finished"),
    "end": _("ended early"),
    "review": _("reviewed"),
    "report unreplicated": _("counted the unreplicated records of"),
    "abandon": _("abandoned the target of"),
    "rebuild": _("had the lost side rebuilt after"),
    "rebuilt": _("rebuilt the lost side after"),
    "rebuild failed": _("could not rebuild the lost side after"),
    "comment": _("commented on"),
    "policy": _("changed the rules of"),
    "exclude": _("excluded"),
    "include": _("included again"),
    "blackout": _("announced a blackout of"),
    "see record": _("looked at a record of"),
    "blackout ended": _("took back a blackout of"),
    "person created": _("created"),
    "person let in": _("let in"),
    "person kept out": _("kept out"),
    "role given": _("gave a role to"),
    "role taken": _("took a role from"),
    "token issued": _("issued"),
    "token revoked": _("revoked"),
    "stage done": _("completed a stage"),
    "stage failed": _("could not complete a stage"),
    "stage unknown": _("does not know whether a stage was completed"),
    "succeeded": _("succeeded"),
    "rolled_back": _("rolled back"),
    "needs_attention": _("needs attention"),
    "sign in": _("signed in"),
    "sign in failed": _("refused the sign-in of"),
    "sign in locked": _("locked, after failed sign-ins,"),
    "sign out": _("signed out"),
    "roles": _("changed the roles of"),
    "accept": _("accepted"),
    "acceptance withdrawn": _("no longer accepts"),
    "owner said": _("said who owns"),
    "owners imported": _("imported the owners of AppIDs of"),
    "mark critical": _("marked as critical:"),
    "mark not critical": _("no longer calls critical:"),
    "schedule": _("changed the schedule of"),
    "run job": _("let run now"),
    "stage interrupted": _("was interrupted in a stage"),
    "read back": _("found in ZooKeeper what a stage had written:"),
    "give strays back": _("gave back the clients that waited for"),
    "rebuild refused": _("did not rebuild the lost side after"),
    "rebuild standby": _("began to rebuild the standby of"),
    "standby rebuilt": _("rebuilt the standby of"),
    "report schedule made": _("made"),
    "report schedule changed": _("changed"),
    "report schedule paused": _("paused"),
    "report schedule resumed": _("resumed"),
    "report schedule deleted": _("deleted"),
    "report sent": _("had a report sent at once of"),
    "mail sent again": _("sent again"),
    "mail set aside": _("set aside the mail that waited, after a"),
    "address of mail changed": _("changed the address of"),
    "address of an owner changed": _("changed the address of"),
    "channel made": _("made"),
    "channel changed": _("changed"),
    "channel deleted": _("deleted"),
    "channel tried": _("tried"),
    "password changed": _("changed the password of"),
    "person registered": _("registered"),
    "user password set": _("set the password of"),
    "pair registered": _("registered"),
    "cluster registered": _("registered"),
    "mirror registered": _("registered"),
    "secrets encrypted again": _("encrypted again the secrets of"),
    "chroot adopted": _("took over"),
    "chroot secured": _("secured"),
    "zookeeper restored": _("restored"),
}

SEVERITY_WORDS: dict[Severity, Any] = {
    Severity.HIGH: pgettext_lazy("severity", "high"),
    Severity.MEDIUM: pgettext_lazy("severity", "medium"),
    Severity.LOW: pgettext_lazy("severity", "low"),
}

#: The kinds of things that findings are about.
ABOUT_WORDS: dict[About, Any] = {
    About.PAIR: _("Pair"),
    About.CLUSTER: _("Cluster"),
    About.MIRROR: _("Mirror"),
    About.TOPIC: _("Topic"),
    About.GROUP: _("group"),
    About.APPID: _("AppID"),
    About.CLIENT: _("InstanceID"),
}

#: The uses of an InstanceID that has several (``kinds`` in that finding's evidence); a library is shown by its name.
CLIENT_KIND_WORDS: dict[str, Any] = {
    "produce": pgettext_lazy("kind of client", "produce"),
    "consume": pgettext_lazy("kind of client", "consume"),
}

#: The states of a consumer group, by Kafka's names for them. (Both protocols have them: the classic one prepares and
#: completes a rebalance, the one of KIP-848 assigns and reconciles.)
GROUP_STATE_WORDS: dict[str, Any] = {
    "Stable": pgettext_lazy("group", "stable"),
    "PreparingRebalance": pgettext_lazy("group", "preparing a rebalance"),
    "CompletingRebalance": pgettext_lazy("group", "completing a rebalance"),
    "Assigning": pgettext_lazy("group", "assigning"),
    "Reconciling": pgettext_lazy("group", "reconciling"),
    "Empty": pgettext_lazy("group", "without members"),
    "Dead": pgettext_lazy("group", "gone"),
}

#: The reasons for which a Gateway turns clients away, as it counts them (``turned_away`` of
#: :mod:`hadash.gateway.clients.connections`).
TURNED_AWAY_WORDS: dict[str, Any] = {
    "connections": _("too many connections"),
    "unauthenticated connections": _("too many that have not signed in"),
    "unauthenticated connections of a host": _("too many of one host that have not signed in"),
    "unauthenticated bytes": _("too much before signing in"),
    "requests before sign-in": _("too many requests before signing in"),
    "authentication time": _("did not sign in in time"),
    "password": _("wrong password"),
    "token": _("token refused"),
    "identity": _("identity refused"),
    "mechanism": _("SASL mechanism not offered"),
    "protocol": _("does not speak Kafka's protocol"),
    "proxy header": _("wrong PROXY header"),
    "partial frame": _("kept memory that others needed"),
    "cluster": _("its cluster did not answer"),
    "acks=0": _("wrote with acks=0 in a block"),
}

#: The reasons for which reports are put aside (:mod:`spark.transform.validity`).
MALFORMED_WORDS: dict[str, Any] = {
    "no AppID": _("no AppID"),
    "no Topic or group": _("no Topic or group"),
    "no cluster": _("no cluster"),
    "unknown kind": _("unknown kind"),
    "name too long": _("name too long"),
    "negative number": _("negative number"),
    "impossible number": _("impossible number"),
    "no time": _("no time"),
    "ends before it begins": _("ends before it begins"),
    "from the future": _("from the future"),
}

#: The steps of runs and the things that they count, by the names that the jobs write.
RUN_WORDS: dict[str, Any] = {
    "starting": _("starting"),
    "comparing": _("comparing both sides"),
    "reading": _("reading the lake"),
    "compacting": _("compacting reports"),
    "facts": _("working off reports"),
    "reports": _("reports"),
    "records": _("records"),
    "snapshots": _("snapshots"),
    "days": _("days"),
    "compacted files": _("compacted files"),
    "edges": _("uses"),
    "nodes": _("things that move"),
    "marks": _("things on the map"),
    "islands": _("islands"),
    "sharing": _("AppIDs and who uses them"),
    "shared_by": _("applications that share an AppID"),
    "coverage": _("AppIDs and their coverage"),
    "coverage_cells": _("cells of the map of coverage"),
    "advice": _("steps of the work list"),
    "findings": _("findings"),
    "lag_days": _("days of mirrors"),
    "published": _("publishing"),
    "hadash": _("what hadash knows"),
    "snapshot": _("snapshot"),
    "cleaning": _("cleaning up"),
    "clusters": _("clusters"),
    "brokers": _("brokers"),
    "topics": _("Topics"),
    "partitions": _("partitions"),
    "acls": _("ACLs"),
    "users": _("users"),
    "groups": _("groups"),
    "members": _("members of groups"),
    "own_users": _("hadash's own users"),
    "pairs": _("pairs"),
    "appids": _("AppIDs"),
    "instances": _("InstanceIDs"),
    "declarations": _("declared relations"),
    "documents": _("documents of bindings"),
    "mirrors": _("mirrors"),
    "lag": _("samples of lag"),
}


ROLE_WORDS: dict[str, Any] = {
    "viewer": pgettext_lazy("role", "viewer"),
    "requester": pgettext_lazy("role", "requester"),
    "approver": pgettext_lazy("role", "approver"),
    "operator": pgettext_lazy("role", "operator"),
    "rescuer": pgettext_lazy("role", "rescuer"),
    "administrator": pgettext_lazy("role", "administrator"),
}

#: scope of a token → (its word, what a program can do with it).
SCOPE_WORDS: dict[str, tuple[Any, Any]] = {
    "read": (pgettext_lazy("scope", "read"), _("see what its owner sees")),
    "request": (
        pgettext_lazy("scope", "request"),
        _("ask for switches, take them back, register InstanceIDs"),
    ),
    "decide": (pgettext_lazy("scope", "decide"), _("approve and decline the switches of others")),
    "operate": (pgettext_lazy("scope", "operate"), _("run stages again, close switches, exclude Gateways")),
    "force": (
        pgettext_lazy("scope", "force"),
        _("ask for switches without the source, rebuild what was lost"),
    ),
    "administer": (pgettext_lazy("scope", "administer"), _("change rules, people and roles")),
}


#: code of a finding → its title.
FINDING_WORDS: dict[Code, Any] = {
    Code.TWO_PAIRS: _("AppIDs that are used in another pair, too"),
    Code.ACKS: _("Producers with acks other than all"),
    Code.SELF_ASSIGNED: _("Consumers without a group"),
    Code.TRANSACTIONS: _("Transactional producers"),
    Code.KAFKA_10793: _("Consumers that can hang when their coordinator moves"),
    Code.LONG_SESSION: _("Session timeouts longer than quiescing may take"),
}


def phase_word(phase: str) -> str:
    return str(PHASES[Phase(phase)])


def stage_word(stage: Stage) -> str:
    return str(STAGE_WORDS[stage])


def stage_purpose(stage: Stage, kind: Kind = Kind.PLANNED) -> str:
    """Return the purpose of a stage in a switch of this kind."""
    own = kind.spec.purposes.get(stage)
    return str(STAGE_PURPOSES[stage]) if own is None else gettext(own.text)


def group_state_word(state: str) -> str:
    """Return the word for a state that Kafka has told of a group; a state that is not known here is told as it is."""
    return str(GROUP_STATE_WORDS.get(state, state))


def verb_word(verb: str) -> str:
    """Return the word for an audit verb; an unknown one is returned as it was recorded."""
    return str(VERBS.get(verb, verb))


#: The services' messages of PermissionDenied, for translation. The services raise them as English text.
DENIALS = (
    _("You may not accept findings."),
    _("You may not have Topics compared."),
    _("You may not say which AppIDs are critical."),
    _("You may not say whose AppIDs are."),
    _("You may not change when jobs run."),
    _("You may not have jobs run."),
    _("You may not request switches."),
    _("You may not decide on switches."),
    _("You requested this switch: somebody else has to decide on it."),
    _("You may not cancel switches."),
    _("You may not request changes of bindings."),
    _("You may not decide on changes of bindings."),
    _("You requested this change: somebody else has to decide on it."),
    _("You may not change pools of consumers."),
    _("You may not decide on changes of pools."),
    _("You may not cancel changes of pools."),
    _("You may not cancel changes of bindings."),
    _("You may not abort switches."),
    _("You may not run switches."),
    _("You may not pause switches."),
    _("You may not resume switches."),
    _("You may not close switches."),
    _("You may not force switches."),
    _("You may not decide about a lost cluster."),
    _("You may not decide on old Topics."),
    _("You requested this batch: somebody else has to decide on it."),
    _("You may not stop batches."),
    _("You may not resume batches."),
    _("You may not end batches."),
    _("You may not register InstanceIDs."),
    _("You may not declare relations."),
    _("You may not comment on switches."),
    _("You may not exclude Gateways."),
    _("You may not change the rules of a pair."),
    _("You may not read the audit log."),
    _("You may not change channels."),
    _("You may not change reports."),
    _("You may not see who gets which mail."),
    _("You may not manage people."),
    _("Nobody changes their own roles: ask another administrator."),
    _("Tokens are issued to people at a browser, not to other tokens."),
    _("A token revokes only itself: revoke others at a browser."),
)


def denial_word(text: str) -> str:
    return gettext(text) if text else ""


def run_word(name: str) -> str:
    """Return the word for a step of a run, or for a thing that it counts. ("publishing edges" names a table.)"""
    table = name.removeprefix("publishing ")
    word = str(RUN_WORDS.get(table, table))
    return gettext("publishing: %(what)s") % {"what": word} if table != name else word

"""All states and moves of a switch, as tables. Nothing else may set a status or choose a stage. Pure.

``docs/states.md`` is drawn from these tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from hadash.machines import Machine, decisions
from hadash.sentences import NOTHING, Sentence, say


class Kind(StrEnum):
    """What a switch is for. :data:`KINDS` holds what differs between the kinds."""

    PLANNED = "planned"
    REHEARSAL = "rehearsal"
    EMERGENCY = "emergency"
    FORCED = "forced"
    RESTORE = "restore"
    MIGRATION = "migration"
    READ_SPLIT = "read-split"

    @property
    def spec(self) -> KindSpec:
        """What is particular about this kind."""
        return KINDS[self]


class Status(StrEnum):
    """The states of a switch."""

    AWAITING_APPROVAL = "awaiting_approval"
    APPROVED = "approved"
    RUNNING = "running"
    #: All checks hold, and it is paused before clients notice anything, until somebody resumes it.
    PAUSED = "paused"
    SUCCEEDED = "succeeded"
    ROLLED_BACK = "rolled_back"
    NEEDS_ATTENTION = "needs_attention"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    CLOSED = "closed"


class Event(StrEnum):
    """What can happen to a switch."""

    APPROVE = "approve"
    DECLINE = "decline"
    CANCEL = "cancel"
    EXPIRE = "expire"
    RUN = "run"
    PAUSE = "pause"
    RESUME = "resume"
    SUCCEED = "succeed"
    ROLL_BACK = "roll back"
    NEED_A_PERSON = "need a person"
    RETRY = "retry"
    CLOSE = "close"


#: status × event → status. An event that is not named here is refused, and the status stays.
MOVES: dict[Status, dict[Event, Status]] = {
    Status.AWAITING_APPROVAL: decisions(Status, Event),
    Status.APPROVED: {
        Event.RUN: Status.RUNNING,
        Event.CANCEL: Status.CANCELLED,
        Event.EXPIRE: Status.EXPIRED,
    },
    Status.RUNNING: {
        Event.SUCCEED: Status.SUCCEEDED,
        Event.ROLL_BACK: Status.ROLLED_BACK,
        Event.NEED_A_PERSON: Status.NEEDS_ATTENTION,
        Event.PAUSE: Status.PAUSED,
    },
    Status.PAUSED: {
        Event.RESUME: Status.RUNNING,
        Event.CANCEL: Status.CANCELLED,
        Event.EXPIRE: Status.EXPIRED,
    },
    Status.NEEDS_ATTENTION: {Event.RETRY: Status.RUNNING, Event.CLOSE: Status.CLOSED},
    Status.SUCCEEDED: {},
    Status.ROLLED_BACK: {},
    Status.DECLINED: {},
    Status.CANCELLED: {},
    Status.EXPIRED: {},
    Status.CLOSED: {},
}

#: (A switch that runs at once, and one of a batch that is approved, need no approval of their own.)
MACHINE = Machine("A switch", MOVES, {Status.AWAITING_APPROVAL, Status.APPROVED})
#: Open switches hold their radius: no second one may touch it.
OPEN, ENDED = MACHINE.open, MACHINE.ended


class Phase(StrEnum):
    """The phases that a person sees."""

    BLOCK = "block"
    FORWARD = "forward"
    VERIFY = "verify"


class Stage(StrEnum):
    """The stages of a running switch."""

    PRECHECK = "precheck"
    QUIESCE = "quiesce"
    BLOCK = "block"
    DRAIN = "drain"
    TRANSLATE = "translate"
    CATCH_UP = "catch_up"
    FORWARD = "forward"
    REVERSE = "reverse"
    VERIFY = "verify"
    RETURN = "return"
    REHEARSE = "rehearse"
    ASSESS = "assess"


@dataclass(frozen=True, slots=True)
class StageRule:
    """The rule of one stage.

    ``expected_seconds`` is what a healthy stack takes: the page compares with it. ``on_failure`` is the stage, or the
    event, that a failure leads to. ``writes_blocked`` says whether the clients that move wait during the stage.
    (Those of a read split only read: their fetches and commits wait, and no writes do.)
    """

    phase: Phase
    expected_seconds: float
    on_failure: Stage | Event
    writes_blocked: bool = False


#: The rule of each stage. A precheck that fails has moved nobody (what it copied to the target may stay). Until forward
#: every other failure leads to RETURN; after it a person decides, because going back is a switch of its own.
STAGES: dict[Stage, StageRule] = {
    Stage.PRECHECK: StageRule(Phase.BLOCK, 1.0, Event.ROLL_BACK),
    Stage.QUIESCE: StageRule(Phase.BLOCK, 3.5, Stage.RETURN),
    Stage.BLOCK: StageRule(Phase.BLOCK, 0.05, Stage.RETURN, writes_blocked=True),
    Stage.DRAIN: StageRule(Phase.BLOCK, 0.1, Stage.RETURN, writes_blocked=True),
    Stage.TRANSLATE: StageRule(Phase.BLOCK, 0.1, Stage.RETURN, writes_blocked=True),
    Stage.CATCH_UP: StageRule(Phase.BLOCK, 0.3, Stage.RETURN, writes_blocked=True),
    Stage.FORWARD: StageRule(Phase.FORWARD, 0.05, Event.NEED_A_PERSON, writes_blocked=True),
    Stage.REVERSE: StageRule(Phase.FORWARD, 2.5, Event.NEED_A_PERSON),
    Stage.VERIFY: StageRule(Phase.VERIFY, 5.0, Event.NEED_A_PERSON),
    Stage.RETURN: StageRule(Phase.BLOCK, 0.5, Event.NEED_A_PERSON),
    Stage.REHEARSE: StageRule(Phase.BLOCK, 0.5, Event.ROLL_BACK),
    Stage.ASSESS: StageRule(Phase.BLOCK, 1.5, Stage.RETURN, writes_blocked=True),
}

FIRST = Stage.PRECHECK
#: The stages of a successful switch, in order.
WAY: tuple[Stage, ...] = (
    Stage.PRECHECK,
    Stage.QUIESCE,
    Stage.BLOCK,
    Stage.DRAIN,
    Stage.TRANSLATE,
    Stage.FORWARD,
    Stage.REVERSE,
    Stage.VERIFY,
)


_REQUEST = say("Request the switch")


@dataclass(frozen=True, slots=True)
class KindSpec:
    """One kind of switch, for the stages, the rules of requests, the pages and the command line.

    ``permission`` is the codename of the right to ask for it. ``confirm`` is the cluster whose name has to be typed
    again, ``confirm_hint`` what the form says in that field, and ``unconfirmed`` what is said of another name.
    """

    label: Sentence
    #: What the form says of it.
    choice: Sentence
    #: What the page says after the request.
    requested: Sentence
    #: What the button of the form says.
    button: Sentence = _REQUEST
    #: The stages of a successful one, in order.
    way: tuple[Stage, ...] = WAY
    permission: str = "request_switch"
    #: What is said to somebody without it.
    denial: str = "You may not request switches."
    #: Whether pages name the kind beside a switch. (Most are planned: of these nothing is said.)
    is_named: bool = True
    #: The purposes of stages where they differ from :data:`hadash.presentation.labels.STAGE_PURPOSES`.
    purposes: Mapping[Stage, Sentence] = field(default_factory=dict)
    #: Whether it runs as soon as it is requested; other kinds wait for approvals.
    at_once: bool = False
    #: Approvals that it needs beyond those of the pair's policy.
    more_approvals: int = 0
    #: Whether it waits for the end of a blackout. (Kinds that change nothing, or that cannot wait, do not.)
    waits_for_blackouts: bool = True
    #: Whether it may pause when all checks hold, until somebody resumes it. (A forced switch, once approved, waits
    #: for nobody.)
    may_pause: bool = True
    #: Whether findings of the rules stop it; otherwise they are only shown.
    findings_stop: bool = True
    #: Whether the requester has to see the plan: it runs before anybody else sees it, or loses records.
    seen_first: bool = False
    confirm: Literal["", "source", "target"] = ""
    confirm_hint: Sentence = NOTHING
    unconfirmed: Sentence = NOTHING
    #: Whether another person reviews it afterwards.
    reviewed: bool = False
    #: Whether it leaves everything as it was, unnoticed by clients.
    changes_nothing: bool = False
    #: Whether the source is lost: records that the mirror has not copied are lost and counted. Only the target is
    #: asked.
    source_lost: bool = False
    #: Whether only consumers move, to the mirror or back; producers stay, and so does the mirror's direction.
    readers_only: bool = False
    #: Whether it moves back what an earlier switch has moved.
    goes_back: bool = False
    #: Whether, a term after its success, the mirror is retired and the old Topics are removed (``retirement/``).
    removes_old_topics: bool = False
    #: Whether consumers that assign partitions themselves do not block it: a person has decided that it cannot wait.
    takes_self_assigned: bool = False


_REQUESTED = say("The switch is requested. Somebody else has to approve it.")

#: All kinds, in the order in which the form offers them.
KINDS: dict[Kind, KindSpec] = {
    Kind.PLANNED: KindSpec(
        say("planned"), say("Planned: runs when somebody else has approved it"), _REQUESTED, is_named=False
    ),
    Kind.MIGRATION: KindSpec(
        say("migration"),
        say("Migration: as planned; after a term the mirror and the old Topics are deleted"),
        say("The migration is requested. Somebody else has to approve it."),
        removes_old_topics=True,
    ),
    Kind.RESTORE: KindSpec(
        say("restore"),
        say(
            "Restore: goes back with exactly what an earlier switch moved; runs when somebody else has approved it"
        ),
        say("Going back is requested. Somebody else has to approve it."),
        goes_back=True,
    ),
    Kind.READ_SPLIT: KindSpec(
        say("read split"),
        say("Read split: only consumers move, to read from the mirror or home again; writers notice nothing"),
        _REQUESTED,
        way=(Stage.PRECHECK, Stage.QUIESCE, Stage.BLOCK, Stage.CATCH_UP, Stage.FORWARD, Stage.VERIFY),
        readers_only=True,
        purposes={
            Stage.QUIESCE: say("Readers commit and park their rejoin; writes go on."),
            Stage.BLOCK: say("The readers' fetches and commits wait; writes go on."),
            Stage.FORWARD: say("The readers belong to the target from here on."),
            Stage.VERIFY: say("Every reader is seen on the target and reads on there."),
            Stage.RETURN: say("Everything as it was before the read split."),
        },
    ),
    # All checks and the mirror, without touching a client.
    Kind.REHEARSAL: KindSpec(
        say("rehearsal"),
        say("Rehearsal: all checks and the mirror, at once; no client notices anything"),
        say("The rehearsal is running. No client notices anything."),
        button=say("Rehearse now"),
        way=(Stage.PRECHECK, Stage.REHEARSE),
        at_once=True,
        may_pause=False,
        waits_for_blackouts=False,
        findings_stop=False,
        changes_nothing=True,
    ),
    # No consumer to quiesce, nothing to drain, and no other side to mirror to until a person has rebuilt it.
    Kind.FORCED: KindSpec(
        say("forced"),
        say(
            "Forced: the source is lost. What the mirror has not copied is lost with it; needs one approval more"
        ),
        say("The forced switch is requested. It needs one approval more than others."),
        way=(Stage.PRECHECK, Stage.BLOCK, Stage.ASSESS, Stage.TRANSLATE, Stage.FORWARD, Stage.VERIFY),
        permission="force_switch",
        denial="You may not force switches.",
        more_approvals=1,
        may_pause=False,
        waits_for_blackouts=False,
        findings_stop=False,
        seen_first=True,
        confirm="source",
        confirm_hint=say("For a forced switch: type the name of the cluster that is lost"),
        unconfirmed=say(
            "Type %(cluster)s to confirm that it is lost, and with it what the mirror has not copied."
        ),
        source_lost=True,
    ),
    # Like a planned one, but it runs at once, and another person reviews it afterwards.
    Kind.EMERGENCY: KindSpec(
        say("emergency"),
        say("Emergency: runs at once; somebody else reviews it afterwards"),
        say("The switch is running. Somebody else has to review it afterwards."),
        button=say("Run the emergency switch now"),
        permission="operate_switch",
        denial="You may not run switches.",
        at_once=True,
        may_pause=False,
        waits_for_blackouts=False,
        findings_stop=False,
        seen_first=True,
        confirm="target",
        confirm_hint=say("For an emergency: type the name of the target cluster"),
        unconfirmed=say("Type %(cluster)s to confirm that this switch cannot wait for an approval."),
        reviewed=True,
        takes_self_assigned=True,
    ),
}
#: The stages that can be aborted.
ABORTABLE = frozenset(
    stage for stage, rule in STAGES.items() if rule.on_failure in (Stage.RETURN, Event.ROLL_BACK)
)
#: Those of them in which clients wait.
HOLDING = frozenset(stage for stage in ABORTABLE if STAGES[stage].writes_blocked)


def after_success(stage: Stage, kind: Kind = Kind.PLANNED) -> Stage | Event:
    """The next stage, or the event that ends the switch."""
    if stage is Stage.RETURN:
        return Event.ROLL_BACK
    way = kind.spec.way
    following = way.index(stage) + 1
    return way[following] if following < len(way) else Event.SUCCEED


def after_failure(stage: Stage) -> Stage | Event:
    """The stage or event after a failed stage: the return to the start, or a person's decision."""
    return STAGES[stage].on_failure

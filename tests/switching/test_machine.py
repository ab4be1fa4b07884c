"""The tables: which moves there are, which there are not, and where each stage leads."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from hadash.machines import IllegalMove
from hadash.switching.approvals.four_eyes import APPROVED, AWAITING
from hadash.switching.machines.switches import (
    ABORTABLE,
    ENDED,
    FIRST,
    HOLDING,
    KINDS,
    MACHINE,
    MOVES,
    OPEN,
    STAGES,
    WAY,
    Event,
    Kind,
    Stage,
    Status,
    after_failure,
    after_success,
)
from hadash.switching.models.approvable import Approvable
from hadash.switching.stages.ways import RUNS

#: Every move that there is. Written out: a change of the table is a decision, not an accident.
ALLOWED = {
    (Status.AWAITING_APPROVAL, Event.APPROVE): Status.APPROVED,
    (Status.AWAITING_APPROVAL, Event.DECLINE): Status.DECLINED,
    (Status.AWAITING_APPROVAL, Event.CANCEL): Status.CANCELLED,
    (Status.AWAITING_APPROVAL, Event.EXPIRE): Status.EXPIRED,
    (Status.APPROVED, Event.RUN): Status.RUNNING,
    (Status.APPROVED, Event.CANCEL): Status.CANCELLED,
    (Status.APPROVED, Event.EXPIRE): Status.EXPIRED,
    (Status.RUNNING, Event.SUCCEED): Status.SUCCEEDED,
    (Status.RUNNING, Event.ROLL_BACK): Status.ROLLED_BACK,
    (Status.RUNNING, Event.NEED_A_PERSON): Status.NEEDS_ATTENTION,
    (Status.RUNNING, Event.PAUSE): Status.PAUSED,
    (Status.PAUSED, Event.RESUME): Status.RUNNING,
    (Status.PAUSED, Event.CANCEL): Status.CANCELLED,
    (Status.PAUSED, Event.EXPIRE): Status.EXPIRED,
    (Status.NEEDS_ATTENTION, Event.RETRY): Status.RUNNING,
    (Status.NEEDS_ATTENTION, Event.CLOSE): Status.CLOSED,
}
PAIRS = list(itertools.product(Status, Event))


@pytest.mark.parametrize(("status", "event"), PAIRS, ids=lambda value: value.name.lower())
def test_every_status_and_event(status: Status, event: Event) -> None:
    """An allowed event leads where the table says; any other is refused with a sentence that names both."""
    if (status, event) in ALLOWED:
        assert MACHINE.after(status, event) is ALLOWED[status, event]
        return
    with pytest.raises(IllegalMove) as refused:
        MACHINE.after(status, event)
    assert str(refused.value) == f"A switch that is {status.value.replace('_', ' ')} cannot {event.value}."


def test_the_sentence_of_a_refusal() -> None:
    with pytest.raises(IllegalMove, match=r"^A switch that is needs attention cannot roll back\.$"):
        MACHINE.after(Status.NEEDS_ATTENTION, Event.ROLL_BACK)


def test_clients_wait_before_forward_only_where_a_failure_returns() -> None:
    """Else one that has waited for too long could be sent back after forward has begun."""
    assert {stage for stage in HOLDING if after_failure(stage) is not Stage.RETURN} == set()
    assert {Stage.BLOCK, Stage.DRAIN, Stage.TRANSLATE, Stage.CATCH_UP, Stage.ASSESS} == HOLDING


def test_every_status_has_a_row_and_is_open_or_ended() -> None:
    assert set(MOVES) == set(Status)
    assert set(Status) == OPEN | ENDED
    assert not OPEN & ENDED


def test_what_has_ended_stays_so_and_what_is_open_can_move() -> None:
    assert all(not MOVES[status] for status in ENDED)
    assert all(MOVES[status] for status in OPEN)


def test_every_status_is_reached_from_a_request() -> None:
    reached = {Status.AWAITING_APPROVAL}
    while new := {after for status in reached for after in MOVES[status].values()} - reached:
        reached |= new
    assert reached == set(Status)


def test_an_end_can_be_reached_from_every_status() -> None:
    ending = set(ENDED)
    while new := {s for s in Status if set(MOVES[s].values()) & ending} - ending:
        ending |= new
    assert ending == set(Status)


def test_a_person_can_end_a_switch_that_needs_attention() -> None:
    """Else it would hold its radius until the world lets it succeed: a record that somebody wrote past the
    Gateways stays on the source, so verify can never hold, and no other switch could take the radius back.
    """
    assert MOVES[Status.NEEDS_ATTENTION][Event.CLOSE] is Status.CLOSED
    assert Status.CLOSED in ENDED


# -- stages --------------------------------------------------------------------------------------------------------


def test_the_way() -> None:
    assert [stage.value for stage in WAY] == [
        "precheck",
        "quiesce",
        "block",
        "drain",
        "translate",
        "forward",
        "reverse",
        "verify",
    ]
    assert WAY[0] is FIRST


def test_success_leads_along_the_way_and_then_ends_the_switch() -> None:
    for stage, following in itertools.pairwise(WAY):
        assert after_success(stage) is following
    assert after_success(WAY[-1]) is Event.SUCCEED
    assert after_success(Stage.RETURN) is Event.ROLL_BACK


@pytest.mark.parametrize(
    ("stage", "following"),
    [
        (Stage.PRECHECK, Event.ROLL_BACK),  # it has changed nothing
        (Stage.QUIESCE, Stage.RETURN),
        (Stage.BLOCK, Stage.RETURN),
        (Stage.DRAIN, Stage.RETURN),
        (Stage.TRANSLATE, Stage.RETURN),
        (Stage.CATCH_UP, Stage.RETURN),
        (Stage.FORWARD, Event.NEED_A_PERSON),  # going back is a switch of its own
        (Stage.REVERSE, Event.NEED_A_PERSON),
        (Stage.VERIFY, Event.NEED_A_PERSON),
        (Stage.RETURN, Event.NEED_A_PERSON),
        (Stage.REHEARSE, Event.ROLL_BACK),
    ],
)
def test_where_a_failure_leads(stage: Stage, following: Stage | Event) -> None:
    assert after_failure(stage) is following


def test_every_stage_has_a_rule_and_something_to_run() -> None:
    assert set(STAGES) == set(Stage)
    assert set(RUNS) == set(Stage)


def reached(kind: Kind) -> set[Stage]:
    """Every stage that a switch of this kind can come to."""
    found = {FIRST}
    while (
        new := {
            following
            for stage in found
            for following in (after_success(stage, kind), after_failure(stage))
            if isinstance(following, Stage)
        }
        - found
    ):
        found |= new
    return found


def test_every_stage_is_reached_by_some_kind() -> None:
    assert set().union(*(reached(kind) for kind in Kind)) == set(Stage)
    assert reached(Kind.PLANNED) == {*WAY, Stage.RETURN}


def test_a_rehearsal_comes_to_no_stage_that_a_client_could_notice() -> None:
    assert reached(Kind.REHEARSAL) == {Stage.PRECHECK, Stage.REHEARSE}
    assert after_success(Stage.REHEARSE, Kind.REHEARSAL) is Event.SUCCEED


def test_an_emergency_goes_the_whole_way() -> None:
    assert Kind.EMERGENCY.spec.way == WAY


def test_a_read_split_never_drains_nor_turns_a_mirror() -> None:
    """Writes go on, so neither could come to an end; its readers wait as the clients of every other switch do."""
    assert reached(Kind.READ_SPLIT).isdisjoint({Stage.DRAIN, Stage.TRANSLATE, Stage.REVERSE})
    waiting = [stage for stage in Kind.READ_SPLIT.spec.way if STAGES[stage].writes_blocked]
    assert waiting == [Stage.BLOCK, Stage.CATCH_UP, Stage.FORWARD]
    assert not Kind.READ_SPLIT.spec.at_once, (
        "it has to be approved like every other switch that moves clients"
    )


@pytest.mark.parametrize("kind", Kind)
def test_no_stage_leads_back_to_an_earlier_one(kind: Kind) -> None:
    """However stages succeed and fail, a switch ends after at most every stage once."""
    order = [*kind.spec.way, Stage.RETURN]
    for stage in reached(kind):
        for following in (after_success(stage, kind), after_failure(stage)):
            if isinstance(following, Stage):
                assert order.index(following) > order.index(stage)


@pytest.mark.parametrize("kind", Kind)
def test_the_events_that_end_stages_are_allowed_while_running(kind: Kind) -> None:
    for stage in reached(kind):
        for following in (after_success(stage, kind), after_failure(stage)):
            if isinstance(following, Event):
                MACHINE.after(Status.RUNNING, following)


def test_an_abort_is_possible_exactly_before_forward() -> None:
    before = {
        stage
        for way in (spec.way for spec in KINDS.values())
        if Stage.FORWARD in way
        for stage in way[: way.index(Stage.FORWARD)]
    }
    assert before | {Stage.REHEARSE} == ABORTABLE


def test_writes_are_blocked_from_block_to_forward() -> None:
    blocked = [stage for stage in WAY if STAGES[stage].writes_blocked]
    assert blocked == [Stage.BLOCK, Stage.DRAIN, Stage.TRANSLATE, Stage.FORWARD]


@pytest.mark.parametrize("kind", Approvable.__subclasses__(), ids=lambda kind: kind.__name__)
def test_whatever_is_asked_for_waits_and_is_approved_under_the_same_names(kind: Any) -> None:
    """Approvals are counted, expire and are shown alike for all of them (``approvals/four_eyes.py``)."""
    status = kind._meta.get_field("status")
    assert status.default == AWAITING
    assert {AWAITING, APPROVED} <= {value for value, _ in status.choices}

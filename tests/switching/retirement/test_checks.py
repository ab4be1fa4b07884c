"""What blocks the removal of old Topics, and the moves of a retirement. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.model import Binding, BindingDocument, BindingState
from hadash.identity.identity import Identity
from hadash.kafka.values import Partition
from hadash.machines import IllegalMove
from hadash.mirroring.offsets import OffsetSync, written_up_to
from hadash.radius.fleet import Fleet, bound_on, used_on
from hadash.radius.nodes import AccessEdge
from hadash.switching.machines.retirements import MACHINE, MOVES, OPEN, Event, Status
from hadash.switching.machines.switches import WAY, Kind
from hadash.switching.retirement.checks import LISTED, MirrorState, OldClusterFacts, blockers

from ..world import WHOLE

MIRROR = MirrorState("shop", "running", "", "west", frozenset(WHOLE.topics))

#: Nothing blocks it.
GONE_OVER = OldClusterFacts({identity: Binding("west") for identity in WHOLE.identities}, mirrors=(MIRROR,))


def said(facts: OldClusterFacts) -> list[str]:
    return [str(reason) for reason in blockers(WHOLE, facts)]


class TestMoves:
    def test_a_migration_goes_the_whole_way_and_others_approve_it(self) -> None:
        assert Kind.MIGRATION.spec.way == WAY
        assert not Kind.MIGRATION.spec.at_once

    @pytest.mark.parametrize("status", Status)
    @pytest.mark.parametrize("event", Event)
    def test_what_the_table_does_not_name_is_refused(self, status: Status, event: Event) -> None:
        if event in MOVES[status]:
            assert MACHINE.after(status, event) is MOVES[status][event]
        else:
            with pytest.raises(IllegalMove, match=f"{status} cannot {event}"):
                MACHINE.after(status, event)

    def test_what_is_being_removed_or_was_cannot_be_kept(self) -> None:
        for status in (Status.RUNNING, Status.DONE):
            assert Event.KEEP not in MOVES[status]

    def test_nothing_is_removed_but_while_it_runs(self) -> None:
        assert [status for status, moves in MOVES.items() if Event.FINISH in moves] == [Status.RUNNING]

    @given(st.lists(st.sampled_from(Event)))
    def test_whatever_happens_its_end_is_its_end(self, events: list[Event]) -> None:
        status, ended = Status.WAITING, None
        for event in events:
            status = MOVES[status].get(event, status)
            ended = ended or (None if status in OPEN else status)
            assert ended in (None, status)


class TestObjections:
    def test_none_when_all_is_over_and_nobody_is_left(self) -> None:
        assert said(GONE_OVER) == []

    @pytest.mark.parametrize(
        ("binding", "now"),
        [
            (Binding("east"), "(now: east, forward)"),
            (Binding("west", BindingState.BLOCK), "(now: west, block)"),
        ],
    )
    def test_somebody_of_the_migration_is_elsewhere(self, binding: Binding, now: str) -> None:
        facts = replace(GONE_OVER, bindings={**GONE_OVER.bindings, WHOLE.identities[1]: binding})
        assert said(facts) == [
            f"{WHOLE.identities[1]} does not work on west {now}. Keep the old Topics, or move it there first."
        ]

    @pytest.mark.parametrize(
        ("known", "starts"),
        [
            ({"open_switch": "3f9c"}, "Switch 3f9c holds part of this radius."),
            ({"bound": ("crm#carts",)}, "crm#carts is bound to east."),
            ({"users": ("crm produce carts",)}, "crm produce carts is on east and uses what would be removed"),
            ({"seen": ("shop › web-1 produce carts",)}, "On east somebody has used it since the switch: shop › web-1"),
            (
                {"members": {"billing": ("bill-1",)}},
                "Group billing has members on east: bill-1. Stop them or move them, or wait until their sessions end.",
            ),
            ({"elsewhere": {"billing": ("people",)}}, "Group billing has offsets of other Topics on east: people."),
            ({"grown": {Partition("carts", 1): (12, 10)}}, "carts-1 on east ends at 12, and its mirror has "
                                                           "written up to 10"),
            ({"mirrors": (replace(MIRROR, state="failed", fault="It is full."),)}, "Mirror shop is not "
                                                                                   "running (failed)"),
            ({"missing": ("carts",)}, "Mirror carts does not exist any more, so it is not known who wrote "
                                      "to its Topics"),
            ({"mirrors": (replace(MIRROR, source="east"),)}, "Mirror shop copies from east, not from west"),
            (
                {"mirrors": (replace(MIRROR, topics=MIRROR.topics | {"people"}),)},
                "Mirror shop also carries people, which was not migrated.",
            ),
        ],
    )  # fmt: skip
    def test_each_of_these_alone(self, known: dict[str, Any], starts: str) -> None:
        [reason] = said(replace(GONE_OVER, **known))
        assert reason.startswith(starts)

    def test_all_reasons_are_said_at_once(self) -> None:
        facts = replace(
            GONE_OVER, open_switch="3f9c", users=("crm produce carts",), members={"billing": ("b",)}
        )
        assert len(said(facts)) == 3

    def test_a_mirror_that_was_stopped_for_the_removal_need_not_run(self) -> None:
        assert said(replace(GONE_OVER, mirrors=(replace(MIRROR, state=""),))) == []

    def test_what_has_no_members_and_no_other_offsets_does_not_matter(self) -> None:
        assert said(replace(GONE_OVER, members={"billing": ()}, elsewhere={"billing": ()})) == []

    def test_of_many_some_are_named_and_the_others_counted(self) -> None:
        users = tuple(f"app-{n} produce carts" for n in range(LISTED + 3))
        [reason] = said(replace(GONE_OVER, users=users))
        assert "app-4" in reason
        assert "app-5" not in reason
        assert "… (+3)" in reason


class TestWhoIsThere:
    """From the fleet: who belongs to a cluster and uses a Topic, and what is bound there by itself."""

    FLEET = Fleet(
        pair="main",
        clusters=("east", "west"),
        default="east",
        uses=(
            AccessEdge("shop", "web-1", "produce", "carts"),
            AccessEdge("crm", "reader", "consume", "carts"),
            AccessEdge("crm", "reader", "group", "crm.readers"),
            AccessEdge("audit", "", "consume", "carts", declared=True),
            AccessEdge("shop", "old", "consume", "people"),
        ),
        documents={"shop": BindingDocument("shop", Binding("west"), topics={"people": Binding("east")})},
        instances={},
        mirrors=(),
    )

    def test_who_moved_is_not_there_any_more_and_others_are(self) -> None:
        assert used_on(self.FLEET, "east", ["carts"], ["crm.readers"]) == [
            "audit declared carts",
            "crm › reader consume carts",
            "crm › reader group crm.readers",
        ]
        assert used_on(self.FLEET, "west", ["carts"], []) == ["shop › web-1 produce carts"]

    def test_other_topics_do_not_matter(self) -> None:
        assert used_on(self.FLEET, "east", ["orders"], []) == []

    def test_a_topic_with_a_binding_of_its_own(self) -> None:
        own = str(Identity("shop", topics=("people",)))
        assert bound_on(self.FLEET, "east", ["people"], []) == [own]
        assert (
            bound_on(self.FLEET, "west", ["people"], []) == bound_on(self.FLEET, "east", ["carts"], []) == []
        )


@given(st.integers(0, 1000), st.integers(0, 1000), st.integers(0, 50))
def test_a_mirror_has_written_one_record_for_each_that_it_copied(
    source: int, target: int, copied: int
) -> None:
    sync = OffsetSync(source, target)
    last = source + copied - 1 if copied else None
    assert written_up_to(sync, last) == target + copied
    assert written_up_to(sync, source - 1) == target, "what was copied before the offset sync is not counted"

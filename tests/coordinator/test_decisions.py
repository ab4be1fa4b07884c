"""The seed's numbered lists, state by state, and its abnormal cases: what follows from what is known of a Topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from hadash.coordinator.decisions import Report, Step, View, Waiting, filled, next_step
from hadash.coordinator.documents import AssignmentDocument, StateDocument
from hadash.coordinator.holding import Hold
from hadash.coordinator.states import Event, State
from hadash.coordinator.strategies import as_in_kafka

CONSUMER = {"bootstrap.servers": "kafka:9092", "group.id": "audit"}
RANGE = as_in_kafka("range")

#: The transaction of ZooKeeper that has written the assignments, and an earlier one.
NOW, BEFORE = 7, 6


def view(
    assigned: str,
    standing: StateDocument | None = None,
    members: str | None = "ab",
    **reports: tuple[int, set[int]],
) -> View:
    """A Topic whose partitions belong to these members, in their order ("-": to nobody); members have names of one
    letter. ``reports``: by member what it has put into effect, and what it reads.
    """
    document = AssignmentDocument(CONSUMER, {n: "" if who == "-" else who for n, who in enumerate(assigned)})
    told = {member: Report(token, frozenset(running)) for member, (token, running) in reports.items()}
    return View(
        document, NOW, standing or StateDocument(), None if members is None else frozenset(members), told
    )


def parts(**own: set[int]) -> dict[str, frozenset[int]]:
    return {member: frozenset(partitions) for member, partitions in own.items()}


def done(
    found: Step | Waiting,
) -> tuple[str, str, Mapping[str, frozenset[int]], Mapping[str, frozenset[int]]]:
    """A step's event, the assignments after it ("=": they stay), what is to be started and what is to be stopped."""
    assert isinstance(found, Step), found
    assigned = (
        "=" if found.document is None else "".join(who or "-" for who in found.document.members.values())
    )
    return found.event, assigned, found.standing.to_start, found.standing.to_close


def waits(found: Step | Waiting) -> tuple[str, Mapping[str, frozenset[int]]]:
    assert isinstance(found, Waiting), found
    return str(found.why), found.partitions


class TestInitial:
    def test_the_partitions_are_assigned_and_are_to_be_started(self) -> None:
        found = next_step(view("----", a=(NOW, set()), b=(NOW, set())), RANGE)
        assert done(found) == (Event.ASSIGN, "aabb", parts(a={0, 1}, b={2, 3}), {})
        assert isinstance(found, Step) and found.standing.state is State.STARTING

    def test_what_members_have_stays_theirs_as_the_state_may_have_been_lost_while_they_read(self) -> None:
        found = next_step(view("b---", a=(NOW, set()), b=(NOW, {0})), RANGE)
        assert done(found) == (Event.ASSIGN, "baab", parts(a={1, 2}, b={3}), {})

    @pytest.mark.parametrize(
        "reports",
        [
            pytest.param({"a": (NOW, set())}, id="one does not answer"),
            pytest.param(
                {"a": (NOW, set()), "b": (BEFORE, set())}, id="one may yet start what it had before"
            ),
            pytest.param({"a": (NOW, set()), "b": (NOW, {1})}, id="one reads what is not its own"),
        ],
    )
    def test_nothing_is_assigned_until_it_is_known_who_reads_what(
        self, reports: dict[str, tuple[int, set[int]]]
    ) -> None:
        why, whom = waits(next_step(view("a---", **reports), RANGE))
        assert "say that they read nothing but what is theirs: b" in why and set(whom) == {"b"}


class TestStarting:
    STARTING = StateDocument(State.STARTING, parts(a={0, 1}, b={2, 3}))

    def test_it_is_stable_when_all_are_started(self) -> None:
        found = next_step(view("aabb", self.STARTING, a=(NOW, {0, 1}), b=(NOW, {2, 3})), RANGE)
        assert done(found) == (Event.CONFIRM_START, "=", {}, {})

    def test_what_a_person_gave_to_another_need_not_be_started(self) -> None:
        found = next_step(view("abbb", self.STARTING, a=(NOW, {0}), b=(NOW, {1, 2, 3})), RANGE)
        assert done(found) == (Event.CONFIRM_START, "=", {}, {})

    def test_one_that_has_not_started_them_or_cannot_be_reached_is_asked_again(self) -> None:
        why, whom = waits(next_step(view("aabb", self.STARTING, a=(NOW, {0})), RANGE))
        assert why == "Waiting for members to start partitions: a (2), b (2)."
        assert whom == parts(a={0, 1}, b={2, 3})

    def test_the_partitions_of_one_that_was_isolated_go_to_others(self) -> None:
        reports = {"a": (NOW, {0, 1}), "c": (NOW, set[int]())}
        found = next_step(view("aabb", self.STARTING, members="ac", **reports), RANGE)
        assert done(found) == (Event.REASSIGN, "aacc", parts(a={0, 1}, c={2, 3}), {})

    def test_so_do_those_that_it_read_already(self) -> None:
        standing = StateDocument(State.STARTING, parts(a={0}))
        found = next_step(view("abbb", standing, members="a", a=(NOW, {0})), RANGE)
        assert done(found) == (Event.REASSIGN, "aaaa", parts(a={0, 1, 2, 3}), {})


class TestStable:
    STABLE = StateDocument(State.STABLE)

    def test_nothing_happens_while_nobody_comes_or_goes(self) -> None:
        assert waits(next_step(view("aabb", self.STABLE), RANGE)) == ("", {})

    def test_what_moves_is_stopped_first(self) -> None:
        found = next_step(view("aaabbb", self.STABLE, members="abc"), RANGE)
        assert done(found) == (Event.MOVE, "aa-b--", parts(b={2}, c={4, 5}), parts(a={2}, b={4, 5}))
        assert isinstance(found, Step) and found.standing.state is State.CLOSING

    def test_where_nobody_has_to_stop_anything_it_is_started_at_once(self) -> None:
        reports = {"a": (NOW, {0, 1}), "c": (NOW, set[int]())}
        found = next_step(view("aabb", self.STABLE, members="ac", **reports), RANGE)
        assert done(found) == (Event.ADD, "aacc", parts(c={2, 3}), {})

    def test_a_new_partition_is_assigned(self) -> None:
        found = next_step(view("aab-", self.STABLE, a=(NOW, {0, 1}), b=(NOW, {2})), as_in_kafka("sticky"))
        assert done(found) == (Event.ADD, "aabb", parts(b={3}), {})

    @pytest.mark.parametrize(
        "of_a",
        [
            pytest.param((BEFORE, {0, 1}), id="a person took it away, and it is still read"),
            pytest.param((BEFORE, set()), id="it may yet be started"),
        ],
    )
    def test_nothing_is_given_away_that_somebody_may_read(self, of_a: tuple[int, set[int]]) -> None:
        found = next_step(view("a-bb", self.STABLE, a=of_a, b=(NOW, {2, 3})), RANGE)
        why, whom = waits(found)
        assert (why, whom) == (
            "Before partitions are given to others, every member has to say that it does not read them: a.",
            parts(a={1}),
        )


class TestClosing:
    CLOSING = StateDocument(State.CLOSING, to_start=parts(c={4, 5}, b={2}), to_close=parts(a={2}, b={4, 5}))

    def test_they_are_started_when_all_are_stopped(self) -> None:
        reports = {"a": (NOW, {0, 1}), "b": (NOW, {3}), "c": (NOW, set[int]())}
        found = next_step(view("aa-b--", self.CLOSING, "abc", **reports), RANGE)
        assert done(found) == (Event.CONFIRM_CLOSE, "aabbcc", parts(b={2}, c={4, 5}), {})

    @pytest.mark.parametrize(
        "of_b",
        [
            pytest.param({"b": (NOW, {3, 4})}, id="it still reads one"),
            pytest.param({}, id="it cannot be reached"),
            pytest.param({"b": (BEFORE, set())}, id="it reads none, and may yet start what it had before"),
        ],
    )
    def test_a_member_that_has_not_confirmed_is_asked_again(
        self, of_b: dict[str, tuple[int, set[int]]]
    ) -> None:
        why, whom = waits(next_step(view("aa-b--", self.CLOSING, "abc", a=(NOW, {0, 1}), **of_b), RANGE))
        assert (why, whom) == ("Waiting for members to stop partitions: b (2).", parts(b={4, 5}))

    def test_one_that_was_isolated_counts_as_stopped_and_what_it_had_goes_elsewhere(self) -> None:
        found = next_step(view("aa-b--", self.CLOSING, "ac", a=(NOW, {0, 1}), c=(NOW, set())), RANGE)
        assert done(found) == (Event.CONFIRM_CLOSE, "aaaccc", parts(a={2}, c={3, 4, 5}), {})

    def test_nothing_is_taken_from_one_to_whom_a_person_gave_it_meanwhile(self) -> None:
        reports = {"a": (NOW, {0, 1, 4}), "b": (NOW, {3}), "c": (NOW, set[int]())}
        found = next_step(view("aa-ba-", self.CLOSING, "abc", **reports), RANGE)
        assert done(found)[1] == "aabbac"

    def test_what_a_person_gave_back_meanwhile_need_not_be_stopped(self) -> None:
        reports = {"a": (NOW, {0, 1}), "b": (NOW, {3, 4, 5}), "c": (NOW, set[int]())}
        found = next_step(view("aa-bbb", self.CLOSING, "abc", **reports), RANGE)
        assert done(found)[1] == "aabbbb"

    def test_who_comes_back_with_what_it_had_is_asked_first(self) -> None:
        standing = StateDocument(State.CLOSING, to_start=parts(b={2}, c={4, 5}), to_close=parts(a={2}))
        reports = {"a": (NOW, {0, 1}), "b": (BEFORE, {3, 4, 5}), "c": (NOW, set[int]())}
        why, whom = waits(next_step(view("aa-b--", standing, "abc", **reports), RANGE))
        assert why.startswith("Before partitions are given to others") and set(whom) == {"b"}


@pytest.mark.parametrize("state", State)
def test_without_the_discovery_everything_stays_as_it_is(state: State) -> None:
    why, _ = waits(next_step(view("aabb", StateDocument(state), members=None), RANGE))
    assert why == "The service discovery does not answer: everything stays as it is."


@pytest.mark.parametrize("state", State)
def test_without_members_nothing_is_assigned(state: State) -> None:
    assert waits(next_step(view("aabb", StateDocument(state), members=""), RANGE))[0] == "No member is there."


def test_what_nobody_has_goes_to_who_has_the_fewest() -> None:
    assert filled("ab", {0: "a", 1: "a", 2: "", 3: "", 4: ""}) == {0: "a", 1: "a", 2: "b", 3: "b", 4: "a"}


class TestHeldByASwitch:
    """A switch has a Topic closed, waits, and says with which settings its members go on."""

    HELD = Hold("k7")
    MOVED = Hold("k7", {"bootstrap.servers": "west:9092"})
    ALL = parts(a={0, 1}, b={2, 3})

    def held(self, hold: Hold | None, assigned: str, standing: StateDocument, **reports: Any) -> View:
        return replace(view(assigned, standing, **reports), hold=hold)

    def test_what_is_read_is_stopped_and_is_to_be_started_again_by_who_had_it(self) -> None:
        found = next_step(self.held(self.HELD, "aabb", StateDocument(State.STABLE)), RANGE)
        assert done(found) == (Event.MOVE, "----", self.ALL, self.ALL)

    def test_it_waits_until_every_member_has_stopped(self) -> None:
        closing = StateDocument(State.CLOSING, self.ALL, self.ALL)
        found = next_step(self.held(self.HELD, "----", closing, a=(NOW, set()), b=(NOW, {3})), RANGE)
        assert waits(found)[1] == parts(b={2, 3})

    def test_then_it_says_that_all_have_and_starts_nothing(self) -> None:
        stopped = {"a": (NOW, set[int]()), "b": (NOW, set[int]())}
        closing = StateDocument(State.CLOSING, self.ALL, self.ALL)
        found = next_step(self.held(self.HELD, "----", closing, **stopped), RANGE)
        assert done(found) == (Event.HOLD, "=", self.ALL, {})
        closed = StateDocument(State.CLOSING, self.ALL)
        found = next_step(self.held(self.HELD, "----", closed, **stopped), RANGE)
        assert waits(found) == ("Nothing is read until switch k7 goes on.", {})

    def test_when_the_switch_goes_on_the_settings_change_and_everybody_starts_what_it_had(self) -> None:
        stopped = {"a": (NOW, set[int]()), "b": (NOW, set[int]())}
        found = next_step(
            self.held(self.MOVED, "----", StateDocument(State.CLOSING, self.ALL), **stopped), RANGE
        )
        assert done(found) == (Event.CONFIRM_CLOSE, "aabb", self.ALL, {})
        assert isinstance(found, Step) and found.releases and found.document is not None
        assert found.document.consumer == {"bootstrap.servers": "west:9092", "group.id": "audit"}

    def test_a_member_that_is_gone_meanwhile_leaves_its_partitions_to_others(self) -> None:
        closed = StateDocument(State.CLOSING, self.ALL)
        found = next_step(replace(view("----", closed, members="a", a=(NOW, set())), hold=self.MOVED), RANGE)
        assert done(found)[:2] == (Event.CONFIRM_CLOSE, "aaaa")

    def test_nothing_is_given_to_a_member_that_may_still_read_the_old_cluster(self) -> None:
        """One that was gone has come back with what it had."""
        closed = StateDocument(State.CLOSING, self.ALL)
        reports = {"a": (NOW, set[int]()), "b": (BEFORE, {2, 3})}
        found = next_step(self.held(self.MOVED, "----", closed, **reports), RANGE)
        assert waits(found)[1] == parts(b={0, 1, 2, 3})

    def test_a_hold_that_came_while_partitions_moved_waits_until_these_are_started(self) -> None:
        moving = StateDocument(State.CLOSING, parts(b={1}), parts(a={1}))
        found = next_step(self.held(self.HELD, "a-bb", moving, a=(NOW, {0}), b=(NOW, {2, 3})), RANGE)
        assert done(found)[:2] == (Event.CONFIRM_CLOSE, "abbb")
        assert isinstance(found, Step) and not found.releases

    def test_a_switch_that_returns_before_anything_was_stopped_stops_nothing(self) -> None:
        back = Hold("k7", {"bootstrap.servers": "kafka:9092"})
        found = next_step(self.held(back, "aabb", StateDocument(State.STABLE)), RANGE)
        assert isinstance(found, Step)
        assert (found.event, found.document, found.releases) == (Event.RELEASE, None, True)
        assert found.standing.state is State.STABLE

    def test_one_that_goes_on_elsewhere_although_nothing_was_stopped_has_it_stopped_first(self) -> None:
        found = next_step(self.held(self.MOVED, "aabb", StateDocument(State.STABLE)), RANGE)
        assert done(found) == (Event.MOVE, "----", self.ALL, self.ALL)

    def test_members_that_come_meanwhile_get_nothing(self) -> None:
        closed = StateDocument(State.CLOSING, self.ALL)
        reports = {name: (NOW, set[int]()) for name in "abc"}
        found = next_step(replace(view("----", closed, members="abc", **reports), hold=self.HELD), RANGE)
        assert waits(found) == ("Nothing is read until switch k7 goes on.", {})

    def test_a_state_that_was_lost_meanwhile_starts_nothing(self) -> None:
        stopped = {"a": (NOW, set[int]()), "b": (NOW, set[int]())}
        found = next_step(self.held(self.HELD, "----", StateDocument(), **stopped), RANGE)
        assert waits(found) == ("Nothing is read until switch k7 goes on.", {})
        found = next_step(self.held(self.MOVED, "----", StateDocument(), **stopped), RANGE)
        assert done(found)[:2] == (Event.ASSIGN, "aabb")
        assert isinstance(found, Step) and found.releases and found.document is not None
        assert found.document.consumer["bootstrap.servers"] == "west:9092"

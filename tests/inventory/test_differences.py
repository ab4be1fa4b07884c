"""What is declared beside what is seen, and what a file would change."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from hadash.inventory.differences import Changes, Difference, State, changes, differences, never_seen
from hadash.inventory.relations import KINDS, Relation

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LATER = NOON + timedelta(hours=1)

WRITES = Relation("shop", "web-1", "produce", "orders")
OTHER = Relation("shop", "web-2", "produce", "orders")
WHOLE = Relation("shop", "", "produce", "orders")
READS = Relation("shop", "web-1", "consume", "orders")


class TestDeclaredAndSeen:
    def test_the_three_states(self) -> None:
        assert differences([WRITES, READS], {WRITES: NOON, OTHER: NOON}) == [
            Difference(READS, State.UNSEEN),
            Difference(WRITES, State.AGREED, NOON),
            Difference(OTHER, State.UNDECLARED, NOON),
        ]

    def test_the_appid_as_a_whole_covers_all_its_clients(self) -> None:
        assert differences([WHOLE], {WRITES: NOON, OTHER: LATER}) == [Difference(WHOLE, State.AGREED, LATER)]

    def test_and_is_seen_by_none_that_does_something_else(self) -> None:
        assert differences([WHOLE], {READS: NOON}) == [
            Difference(WHOLE, State.UNSEEN),
            Difference(READS, State.UNDECLARED, NOON),
        ]

    def test_an_instance_id_is_not_seen_in_another_client(self) -> None:
        states = {d.relation: d.state for d in differences([WRITES], {OTHER: NOON, WHOLE: NOON})}
        assert states == {WRITES: State.UNSEEN, OTHER: State.UNDECLARED, WHOLE: State.UNDECLARED}


relations = st.builds(
    Relation,
    st.sampled_from(["shop", "crm"]),
    st.sampled_from(["", "web-1", "web-2"]),
    st.sampled_from(KINDS),
    st.sampled_from(["orders", "carts"]),
)
declared = st.sets(relations)
seen = st.dictionaries(relations, st.sampled_from([NOON, LATER]))


@given(declared, seen)
def test_nothing_is_left_out_and_nothing_is_said_twice(
    said: set[Relation], known: dict[Relation, datetime]
) -> None:
    found = differences(said, known)
    assert [d.relation for d in found] == sorted({d.relation for d in found})
    assert {d.relation for d in found if d.state is not State.UNDECLARED} == said
    for relation in known:
        assert relation in {d.relation for d in found} or relation.whole in said


@given(declared, seen)
def test_when_all_that_was_seen_is_declared_nothing_is_left_to_declare(
    said: set[Relation], known: dict[Relation, datetime]
) -> None:
    found = differences(said, known)
    more = {d.relation for d in found if d.state is State.UNDECLARED}
    for adopted in (more, {relation.whole for relation in more}):
        again = differences(said | adopted, known)
        assert {d.state for d in again} <= {State.AGREED, State.UNSEEN}
        assert {d.relation for d in again if d.state is State.UNSEEN} <= said


@given(declared, seen)
def test_a_plan_adds_exactly_what_is_unseen(said: set[Relation], known: dict[Relation, datetime]) -> None:
    unseen = [d.relation for d in differences(said, known) if d.state is State.UNSEEN]
    assert never_seen(said, known) == unseen


class TestWhatAFileChanges:
    def test_added_noted_and_the_same(self) -> None:
        found = changes({WRITES: "", READS: "new", OTHER: ""}, {READS: "old", OTHER: ""}, whole=False)
        assert found == Changes((WRITES,), (READS,), (), 1)

    def test_what_it_leaves_out_stays(self) -> None:
        assert changes({WRITES: ""}, {WRITES: "", OTHER: ""}, whole=False) == Changes(same=1)

    def test_or_is_withdrawn_of_the_appids_that_it_names(self) -> None:
        people = Relation("crm", "", "consume", "people")
        assert changes({WRITES: ""}, {OTHER: "", people: ""}, whole=True) == Changes((WRITES,), (), (OTHER,))


@given(
    st.dictionaries(relations, st.sampled_from(["", "n"])),
    st.dictionaries(relations, st.sampled_from(["", "n"])),
)
def test_done_it_changes_nothing_more(wanted: dict[Relation, str], held: dict[Relation, str]) -> None:
    for whole in (False, True):
        found = changes(wanted, held, whole=whole)
        after = {**held, **{relation: wanted[relation] for relation in found.added + found.noted}}
        for relation in found.withdrawn:
            del after[relation]
        assert not changes(wanted, after, whole=whole)
        assert wanted.items() <= after.items()

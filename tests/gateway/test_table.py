"""The bindings in effect, and from which epoch on they are."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.epochs import Report
from hadash.bindings.model import Binding, BindingDocument, BindingState, Placement
from hadash.bindings.watch import Update
from hadash.gateway.rules.table import AppliedEpoch, BindingTable

WEST = Binding("west")


def document(appid: str, default: Binding | None = WEST, **instances: Binding) -> BindingDocument:
    return BindingDocument(appid, default, instances)


@pytest.fixture
def table() -> BindingTable:
    made = BindingTable("east")
    made.apply(Update(1, {"shop": document("shop"), "billing": document("billing")}, {}, complete=True))
    return made


class TestApply:
    def test_who_has_no_binding_belongs_to_the_pairs_default(self) -> None:
        assert BindingTable("east").binding("shop", "web-1") == Binding("east")

    def test_a_document_replaces_the_one_before(self, table: BindingTable) -> None:
        changed = table.apply(Update(2, {"shop": document("shop", None, web=WEST)}, {}))
        assert changed == {"shop"}
        assert table.binding("shop", "web").cluster == "west"
        assert table.binding("shop", "other").cluster == "east"
        assert table.binding("billing", "").cluster == "west"

    def test_a_document_that_was_removed_is_forgotten(self, table: BindingTable) -> None:
        assert table.apply(Update(2, {"shop": None}, {})) == {"shop"}
        assert table.binding("shop", "").cluster == "east"

    def test_a_complete_view_forgets_whom_it_does_not_name(self, table: BindingTable) -> None:
        changed = table.apply(Update(2, {"shop": document("shop")}, {}, complete=True))
        assert changed == {"shop", "billing"}
        assert set(table.documents()) == {"shop"}

    @pytest.mark.parametrize("complete", [True, False])
    def test_a_document_that_could_not_be_read_is_kept_as_it_was(
        self, table: BindingTable, complete: bool
    ) -> None:
        """Forgetting it would send its clients to the pair's default, where their writes do not belong."""
        changed = table.apply(
            Update(2, {"shop": document("shop", None)}, {}, complete, unreadable=frozenset({"billing"}))
        )
        assert changed == {"shop"}
        assert table.binding("billing", "").cluster == "west"

    def test_one_that_was_never_readable_leaves_the_default(self, table: BindingTable) -> None:
        """Which is what it had before that change; its epoch is not in effect."""
        table.apply(Update(2, {}, {}, unreadable=frozenset({"audit"})))
        assert table.binding("audit", "").cluster == "east"
        assert not table.is_unknown("audit")

    def test_whose_document_cannot_be_read_at_the_start_is_bound_nobody_knows_where(self) -> None:
        """The pair's default would be a guess: the other cluster may accept its writes through other Gateways."""
        table = BindingTable("east")
        table.apply(Update(9, {"shop": document("shop")}, {}, complete=True, unreadable=frozenset({"audit"})))
        assert table.is_unknown("audit")
        assert not table.is_unknown("shop")
        table.apply(Update(10, {}, {}, unreadable=frozenset({"audit"})))
        assert table.is_unknown("audit")

    @pytest.mark.parametrize("found", [document("audit"), None], ids=["repaired", "deleted"])
    def test_it_is_known_when_it_can_be_read(self, found: BindingDocument | None) -> None:
        table = BindingTable("east")
        table.apply(Update(9, {}, {}, complete=True, unreadable=frozenset({"audit"})))
        assert table.apply(Update(9, {"audit": found}, {})) == {"audit"}
        assert not table.is_unknown("audit")
        assert table.binding("audit", "").cluster == ("west" if found else "east")

    def test_a_document_that_is_held_is_not_unknown(self, table: BindingTable) -> None:
        table.apply(Update(9, {}, {}, complete=True, unreadable=frozenset({"shop"})))
        assert not table.is_unknown("shop")
        assert table.binding("shop", "").cluster == "west"

    def test_the_documents_given_out_are_a_copy(self, table: BindingTable) -> None:
        table.documents().clear()
        assert set(table.documents()) == {"shop", "billing"}


class TestPlacements:
    MOVED = Binding("west", switch="s1")
    PLACEMENT = Placement("west", {"orders": (0,)})

    def test_a_binding_finds_the_placement_of_the_switch_that_wrote_it(self, table: BindingTable) -> None:
        table.apply(Update(2, {"shop": document("shop", self.MOVED)}, {"s1": self.PLACEMENT}))
        assert table.placement(table.binding("shop", "")) == self.PLACEMENT
        assert table.placement(table.binding("billing", "")) is None

    def test_a_placement_on_another_cluster_is_not_the_bindings(self, table: BindingTable) -> None:
        """During the block the binding still leads to the source."""
        blocked = Binding("east", switch="s1")
        table.apply(Update(2, {"shop": document("shop", blocked)}, {"s1": self.PLACEMENT}))
        assert table.placement(blocked) is None

    def test_it_stays_while_a_binding_names_its_switch(self, table: BindingTable) -> None:
        table.apply(Update(2, {"shop": document("shop", None, web=self.MOVED)}, {"s1": self.PLACEMENT}))
        table.apply(Update(3, {"billing": document("billing")}, {}))
        assert table.placement(self.MOVED) == self.PLACEMENT

    def test_it_is_forgotten_with_the_last_binding_that_names_its_switch(self, table: BindingTable) -> None:
        table.apply(Update(2, {"shop": document("shop", self.MOVED)}, {"s1": self.PLACEMENT}))
        table.apply(Update(3, {"shop": document("shop", WEST)}, {}))
        assert table.placement(self.MOVED) is None


#: A document's bindings: the switch that wrote each, and whether it holds clients.
BINDINGS = st.lists(st.tuples(st.sampled_from(["", "S1", "S2"]), st.sampled_from(BindingState)), max_size=3)
#: Changes: of which AppIDs, to which bindings (``None``: removed), and whether all others are gone.
CHANGES = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["a", "b", "c"]), st.none() | BINDINGS, max_size=3), st.booleans()
    ),
    max_size=8,
)


def bound(appid: str, number: int, bindings: list[tuple[str, BindingState]]) -> BindingDocument:
    """An AppID's document with an InstanceID for each binding, each with an epoch of its own."""
    instances = {
        f"i{each}": Binding("west", state, epoch=10 * number + each, switch=switch)
        for each, (switch, state) in enumerate(bindings)
    }
    return document(appid, None, **instances)


class TestWhatIsKeptWithTheDocuments:
    @given(CHANGES)
    def test_it_is_what_all_documents_together_say(
        self, changes: list[tuple[dict[str, list[tuple[str, BindingState]] | None], bool]]
    ) -> None:
        table = BindingTable("east")
        placements = {switch: Placement("west") for switch in ("S1", "S2")}
        for number, (named, complete) in enumerate(changes, 1):
            documents = {
                appid: None if found is None else bound(appid, number, found)
                for appid, found in named.items()
            }
            table.apply(Update(number, documents, placements, complete=complete))
            bindings = [each for one in table.documents().values() for each in one.bindings()]
            assert table.held_epochs() == {each.epoch for each in bindings if each.is_held}
            for switch in placements:
                is_placed = table.placement(Binding("west", switch=switch)) is not None
                assert is_placed == (switch in {each.switch for each in bindings})


class TestAppliedEpoch:
    def test_nothing_yet(self) -> None:
        assert AppliedEpoch().report == Report(0)

    def test_an_epoch_counts_when_it_is_finished(self) -> None:
        applied = AppliedEpoch()
        applied.begin(4)
        span = applied.begin(5)
        assert not applied.report.has(5)
        applied.finish(span)
        assert applied.report.has(5)

    def test_each_counts_by_itself(self) -> None:
        """A block that waits for a broker that hangs holds up nobody else's."""
        applied = AppliedEpoch()
        five, six, seven = (applied.begin(epoch) for epoch in (5, 6, 7))
        applied.finish(seven)
        applied.finish(five)
        assert applied.report == Report(7, ((6, 6),))
        assert applied.value == 5
        applied.finish(six)
        assert applied.report == Report(7)

    def test_changes_that_were_read_at_once_are_all_in_effect_or_none(self) -> None:
        """What the first of them stops may be what is waited for."""
        applied = AppliedEpoch()
        applied.finish(applied.begin(6))
        span = applied.begin(8)
        assert [applied.report.has(epoch) for epoch in (6, 7, 8)] == [True, False, False]
        assert applied.is_pending(7) and applied.is_pending(8)
        applied.finish(span)
        assert applied.report == Report(8)

    def test_the_same_epoch_read_twice(self) -> None:
        """After a reconnection everything is read again."""
        applied = AppliedEpoch()
        first, again = applied.begin(5), applied.begin(5)
        applied.finish(again)
        assert not applied.report.has(5)
        applied.finish(first)
        assert applied.report.has(5)

    def test_bindings_that_cannot_be_read_are_not_in_effect(self) -> None:
        """A newer control plane may write a state that this Gateway does not know: the switch has to wait for it."""
        applied = AppliedEpoch()
        applied.finish(applied.begin(5))
        span = applied.begin(6)
        applied.not_read(["shop"], span)
        applied.finish(span)
        assert applied.report == Report(6, ((6, 6),), ((6, 6),))
        applied.finish(applied.begin(7))
        applied.read(["billing"])
        assert applied.report == Report(7, ((6, 6),), ((6, 6),)), "others are served as they are bound"
        applied.read(["shop"])
        assert applied.report == Report(7)

    @given(st.lists(st.integers(1, 3), min_size=1, max_size=8), st.randoms())
    def test_it_never_claims_what_is_not_finished(self, steps: list[int], random: Random) -> None:
        """:param steps: by how much each change that is read is later than the one before."""
        applied, epoch, open_spans = AppliedEpoch(), 0, []
        for step in steps:
            epoch += step
            open_spans.append(applied.begin(epoch))
        random.shuffle(open_spans)
        while open_spans:
            applied.finish(open_spans.pop())
            missing = {e for first, last in open_spans for e in range(first, last + 1)}
            assert {e for e in range(1, epoch + 1) if not applied.report.has(e)} == missing
            assert applied.value == (min(missing) - 1 if missing else epoch)
            assert all(applied.is_pending(e) == (e in missing) for e in range(1, epoch + 1))


class TestHeld:
    """Blocks that a process which was killed had not put into effect."""

    def test_they_are_not_in_effect_as_long_as_they_stand(self) -> None:
        applied = AppliedEpoch()
        applied.hold([7])
        applied.finish(applied.begin(7))
        assert not applied.report.has(7)
        eight = applied.begin(8)
        applied.release_but({7})
        applied.finish(eight)
        assert applied.report == Report(8, ((7, 7),))

    def test_they_count_when_their_bindings_are_others(self) -> None:
        applied = AppliedEpoch()
        applied.hold([7])
        eight = applied.begin(8)
        applied.release_but(set())
        applied.finish(eight)
        assert applied.report == Report(8)

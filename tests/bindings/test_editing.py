"""Editing a document in place comes to the same as one new document an edit, and leaves the first one as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.editing import Editing, refuse_wrong_turn
from hadash.bindings.errors import AlreadyForwarded, NotBlocked, TopicInTwoLists
from hadash.bindings.model import Binding, BindingDocument, BindingState, Journal
from hadash.bindings.since import stamped, unbound
from hadash.identity.identity import Identity

IDENTITIES = [
    Identity("shop"),
    Identity("shop", "web-1"),
    Identity("shop", "HA#shop#orders"),
    Identity("shop", topics=("orders",)),
    Identity("shop", topics=("orders", "returns")),
    Identity("shop", group="readers"),
]
BINDINGS = st.none() | st.builds(
    Binding, cluster=st.sampled_from(["east", "west"]), state=st.sampled_from(BindingState)
)
EDITS = st.lists(st.tuples(st.sampled_from(IDENTITIES), BINDINGS), max_size=10)


def one_by_one(
    document: BindingDocument, edits: list[tuple[Identity, Binding | None]], epoch: int
) -> BindingDocument:
    for identity, binding in edits:
        if binding is None:
            document = unbound(document, identity, epoch)
        else:
            document = document.with_binding(identity, stamped(document, identity, binding, epoch))
    return document


@given(EDITS, EDITS)
def test_it_is_the_same_as_one_document_an_edit(
    before: list[tuple[Identity, Binding | None]], edits: list[tuple[Identity, Binding | None]]
) -> None:
    document = one_by_one(BindingDocument("shop"), before, 7)
    held = document.to_bytes()
    editing = Editing(document)
    for identity, binding in edits:
        if binding is None:
            editing.unbind(identity, 9)
        else:
            editing.bind(identity, binding, 9)
    assert editing.document == one_by_one(document, edits, 9)
    assert editing.document.to_bytes() == one_by_one(document, edits, 9).to_bytes()
    assert document.to_bytes() == held


def test_a_topic_is_in_one_list_only() -> None:
    editing = Editing(BindingDocument("shop"))
    editing.bind(Identity("shop", topics=("orders", "returns")), Binding("east"), 1)
    with pytest.raises(TopicInTwoLists, match=r"Topic orders of shop is in the bound list orders, returns"):
        editing.bind(Identity("shop", topics=("orders", "stock")), Binding("west"), 1)
    assert len(editing.document.topic_lists) == 1


class TestWrongTurns:
    """What a change of a switch may make of a binding. ``s1`` makes it; each case: what is bound, and at
    which stage.
    """

    SHOP = Identity("shop")

    def turn(self, held: Binding | None, cluster: str, stage: str) -> None:
        refuse_wrong_turn(held, self.SHOP, Binding(cluster), Journal("s1", stage, 3))

    def bound(self, state: BindingState, stage: str, cluster: str = "east", switch: str = "s1") -> Binding:
        return Binding(cluster, state, switch=switch, stage=stage)

    @pytest.mark.parametrize("stage", ["quiesce", "block", "return", "forward", "by hand"])
    def test_nobody_goes_back_behind_a_forward_of_the_same_switch(self, stage: str) -> None:
        sent = self.bound(BindingState.FORWARD, "forward", "west")
        with pytest.raises(AlreadyForwarded, match=r"s1 has sent shop to west already"):
            self.turn(sent, "east", stage)
        with pytest.raises(AlreadyForwarded):
            refuse_wrong_turn(sent, self.SHOP, None, Journal("s1", stage, 3))
        self.turn(sent, "west", "forward")

    def test_another_switch_takes_them_back(self) -> None:
        self.turn(self.bound(BindingState.BLOCK, "block", "west", "s1"), "east", "forward")
        self.turn(self.bound(BindingState.FORWARD, "forward", "west", "s0"), "west", "quiesce")

    @pytest.mark.parametrize(
        "held",
        [
            None,
            Binding("east"),
            Binding("east", BindingState.QUIESCE, switch="s1", stage="quiesce"),
            Binding("east", BindingState.FORWARD, switch="s1", stage="return"),
            Binding("east", BindingState.FORWARD, switch="s0", stage="forward"),
            Binding("east", BindingState.BLOCK, switch="s0", stage="block"),
        ],
        ids=str,
    )
    def test_nobody_is_sent_over_but_out_of_its_own_block(self, held: Binding | None) -> None:
        """A client that is not blocked may have written since the mirror was drained."""
        with pytest.raises(NotBlocked, match=r"s1 does not block shop"):
            self.turn(held, "west", "forward")
        self.turn(self.bound(BindingState.BLOCK, "block"), "west", "forward")

    @pytest.mark.parametrize("stage", ["quiesce", "block", "return"])
    @pytest.mark.parametrize(
        "held",
        [
            Binding("west", BindingState.FORWARD, switch="s2", stage="forward"),
            Binding("west", BindingState.FORWARD, switch="s2", stage="return"),
            Binding("west", BindingState.QUIESCE, switch="s2", stage="quiesce"),
            Binding("west", BindingState.BLOCK, switch="s2", stage="block"),
            Binding("west", switch="c1", stage="by hand"),
        ],
        ids=str,
    )
    def test_no_stage_takes_who_another_one_has_bound_elsewhere(self, held: Binding, stage: str) -> None:
        """s1 goes by a PostgreSQL that has forgotten s2: its return must not undo what s2 has sent over."""
        with pytest.raises(NotBlocked, match=r"s1 has not bound shop to west: it cannot take it to east"):
            self.turn(held, "east", stage)

    def test_a_change_by_hand_moves_nobody_and_is_free(self) -> None:
        self.turn(None, "west", "by hand")
        self.turn(Binding("east"), "west", "by hand")

"""Editing a document in place comes to the same as one new document an edit, and leaves the first one as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.editing import Editing
from hadash.bindings.errors import TopicInTwoLists
from hadash.bindings.model import Binding, BindingDocument, BindingState
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

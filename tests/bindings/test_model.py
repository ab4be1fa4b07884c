"""The documents in ZooKeeper: what was written reads back, and garbage is never obeyed, nor fatal."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hadash.bindings.errors import TopicInTwoLists
from hadash.bindings.model import (
    Binding,
    BindingDocument,
    BindingState,
    Broker,
    ClusterDescription,
    Journal,
    PairDescription,
    Placement,
)
from hadash.identity.identity import Identity

names = st.text(st.characters(exclude_categories=["Cs"]))
numbers = st.integers(0, 2**31 - 1)
bindings = st.builds(Binding, names, st.sampled_from(BindingState), numbers, names, names)
by_name = st.dictionaries(names, bindings, max_size=4)


@st.composite
def topic_lists(draw: st.DrawFn) -> dict[tuple[str, ...], Binding]:
    """Lists of at least two Topics, none of which is in two."""
    free = draw(st.lists(names, unique=True, max_size=8))
    found = {}
    while len(free) >= 2:
        size = draw(st.integers(2, len(free)))
        found[tuple(sorted(free[:size]))] = draw(bindings)
        free = free[size:]
    return found


documents = st.builds(
    BindingDocument, st.just("shop"), st.none() | bindings, by_name, by_name, topic_lists(), by_name
)
brokers = st.builds(Broker, numbers, names, st.integers(1, 65535), st.none() | names)
clusters = st.builds(
    ClusterDescription, names, numbers, names, st.just("SASL_PLAINTEXT"), st.lists(brokers).map(tuple)
)
pairs = st.builds(PairDescription, names, st.tuples(names, names), names)
placements = st.builds(
    Placement,
    names,
    st.dictionaries(names, st.lists(numbers).map(tuple), max_size=4),
    st.dictionaries(names, numbers, max_size=4),
)
journals = st.builds(Journal, names, names, numbers, numbers)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)

#: Keys that the documents have, so that a random document gets past the first look.
KEYS = (
    *("appid", "default", "instances", "cluster", "state", "epoch", "switch", "stage", "token", "name"),
    *("number", "bootstrap_servers", "brokers", "clusters", "leaders", "coordinators"),
)
almost_documents = st.dictionaries(st.sampled_from(KEYS), json_values)

PARSERS: dict[str, Callable[[bytes], Any]] = {
    "binding document": lambda data: BindingDocument.from_bytes("shop", data),
    "cluster": ClusterDescription.from_bytes,
    "pair": PairDescription.from_bytes,
    "placement": Placement.from_bytes,
    "journal": Journal.from_bytes,
}


@given(documents)
def test_a_binding_document_reads_back(document: BindingDocument) -> None:
    assert BindingDocument.from_bytes("shop", document.to_bytes()) == document


@given(clusters)
def test_a_cluster_reads_back(cluster: ClusterDescription) -> None:
    assert ClusterDescription.from_bytes(cluster.to_bytes()) == cluster


@given(pairs)
def test_a_pair_reads_back(pair: PairDescription) -> None:
    assert PairDescription.from_bytes(pair.to_bytes()) == pair


@given(placements)
def test_a_placement_reads_back(placement: Placement) -> None:
    assert Placement.from_bytes(placement.to_bytes()) == placement


@given(journals)
def test_a_journal_reads_back(journal: Journal) -> None:
    assert Journal.from_bytes(journal.to_bytes()) == journal


@pytest.mark.parametrize("what", PARSERS)
@given(data=st.binary())
@example(data=b"")
@example(data=b"\xff\xfe")
def test_bytes_that_are_no_document_are_none(what: str, data: bytes) -> None:
    # An object without any key that is looked for, such as {}, is a document that binds nothing.
    assert PARSERS[what](data) in (None, BindingDocument("shop"))


@pytest.mark.parametrize("what", PARSERS)
@given(value=st.one_of(json_values, almost_documents))
@example(value={"instances": None})
@example(value={"name": "main", "clusters": ["east"], "default": "east"})
@example(value={"name": "main", "clusters": ["east", "west", "north"], "default": "east"})
@example(value={"cluster": "west", "leaders": {"orders": 5}, "coordinators": {}})
@example(value={"cluster": "west", "leaders": [], "coordinators": {}})
def test_json_that_is_no_document_never_raises(what: str, value: Any) -> None:
    PARSERS[what](json.dumps(value).encode())


@pytest.mark.parametrize("what", PARSERS)
def test_json_that_is_nested_too_deep_is_none(what: str) -> None:
    assert PARSERS[what](b"[" * 5000) is None


@pytest.mark.parametrize(
    ("what", "data"),
    [
        ("binding document", b'{"default": {"cluster": "east", "epoch": 1e400}}'),
        ("cluster", b'{"name": "east", "number": Infinity, "bootstrap_servers": ""}'),
        ("placement", b'{"cluster": "west", "leaders": {"orders": [1e400]}, "coordinators": {}}'),
        ("journal", b'{"switch": "s1", "stage": "block", "token": 1e400}'),
    ],
)
def test_a_number_without_end_is_none(what: str, data: bytes) -> None:
    assert PARSERS[what](data) is None


@given(documents, st.data())
def test_a_document_with_one_unreadable_binding_is_unreadable_as_a_whole(
    document: BindingDocument, data: st.DataObject
) -> None:
    """Half a document would send the clients of the lost half to the pair's default."""
    value = json.loads(document.with_binding(Identity("shop", "web-1"), Binding("east")).to_bytes())
    place = data.draw(st.sampled_from(sorted(value["instances"])))
    value["instances"][place] = data.draw(st.none() | st.just({"cluster": "east", "state": "dance"}))
    assert BindingDocument.from_bytes("shop", json.dumps(value).encode()) is None


def test_an_unreadable_default_is_not_no_default() -> None:
    assert BindingDocument.from_bytes("shop", b'{"default": {"state": "forward"}}') is None
    assert BindingDocument.from_bytes("shop", b'{"default": null}') == BindingDocument("shop")


def test_unknown_keys_of_a_newer_version_are_ignored() -> None:
    data = b'{"default": {"cluster": "east", "colour": "red"}, "streams": {"orders": 1}}'
    assert BindingDocument.from_bytes("shop", data) == BindingDocument("shop", Binding("east"))


def test_binding_an_instance_leaves_the_others_and_the_original_alone() -> None:
    before = BindingDocument("shop").with_binding(Identity("shop", "web-1"), Binding("east"))
    after = before.with_binding(Identity("shop", "web-2"), Binding("west"))
    assert before.instances == {"web-1": Binding("east")}
    assert after.instances == {"web-1": Binding("east"), "web-2": Binding("west")}
    assert after.with_binding(Identity("shop", "web-1"), None).instances == {"web-2": Binding("west")}


def test_the_binding_of_an_identity_does_not_fall_back() -> None:
    document = BindingDocument("shop", Binding("east")).with_binding(
        Identity("shop", "web-1"), Binding("west")
    )
    assert document.binding_of(Identity("shop")) == Binding("east")
    assert document.binding_of(Identity("shop", "web-1")) == Binding("west")
    assert document.binding_of(Identity("shop", "web-2")) is None


ORDERS, LIST, READERS = (
    Identity("shop", topics=("orders",)),
    Identity("shop", topics=("returns", "orders")),
    Identity("shop", group="readers"),
)


@pytest.mark.parametrize(
    "identity", [Identity("shop"), Identity("shop", "web-1"), ORDERS, LIST, READERS], ids=str
)
def test_each_kind_of_identity_is_bound_and_unbound_by_itself(identity: Identity) -> None:
    others = [i for i in (Identity("shop"), Identity("shop", "web-1"), ORDERS, READERS) if i != identity]
    document = BindingDocument("shop")
    for other in others:
        document = document.with_binding(other, Binding("east"))
    bound = document.with_binding(identity, Binding("west"))
    assert bound.binding_of(identity) == Binding("west")
    assert [bound.binding_of(other) for other in others] == [Binding("east")] * len(others)
    assert BindingDocument.from_bytes("shop", bound.to_bytes()) == bound
    assert bound.with_binding(identity, None) == document


def test_a_topic_is_in_one_list_only() -> None:
    document = BindingDocument("shop").with_binding(LIST, Binding("west"))
    with pytest.raises(TopicInTwoLists, match=r"Topic orders of shop is in the bound list orders, returns"):
        document.with_binding(Identity("shop", topics=("orders", "stock")), Binding("west"))
    assert document.with_binding(LIST, Binding("east")).binding_of(LIST) == Binding("east")


def test_a_document_from_before_topic_bindings_is_read() -> None:
    old = b'{"appid":"shop","default":{"cluster":"east"},"instances":{}}'
    assert BindingDocument.from_bytes("shop", old) == BindingDocument("shop", Binding("east"))


@pytest.mark.parametrize(
    "part",
    [
        '"topics": {"orders": {"cluster": 1, "state": "dance"}}',
        '"topic_lists": [{"cluster": "east"}]',
        '"topic_lists": {"orders": {"cluster": "east"}}',
        '"groups": ["readers"]',
    ],
)
def test_a_document_is_obeyed_as_a_whole_or_not_at_all(part: str) -> None:
    assert BindingDocument.from_bytes("shop", f'{{"default": null, {part}}}'.encode()) is None

"""What can be declared, and what new InstanceIDs are called."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from hadash.identity.names import MAX_NAME_LENGTH
from hadash.inventory.relations import (
    KINDS,
    Relation,
    fault_of,
    fault_of_note,
    generated_ids,
    new_instance_ids,
)


@pytest.mark.parametrize("instance_id", ["", "web-1", "购物车", "HA#shop#orders", "<script>", "x" * 200])
@pytest.mark.parametrize("kind", KINDS)
def test_any_client_id_can_be_declared(instance_id: str, kind: str) -> None:
    assert fault_of(Relation("shop", instance_id, kind, "orders")) is None


@pytest.mark.parametrize(
    ("relation", "why"),
    [
        (Relation("shop", "web", "reads", "orders"), "“reads” is no kind of use. Write produce, consume or group."),
        (Relation("shop", "web", "produce", ""), "Nothing is said to be used. Name a Topic"),
        (Relation("shop", "web", "produce", "订单"), "Kafka has no Topic of the name “订单”."),
        (Relation("shop", "web", "consume", ".."), "Kafka has no Topic of the name “..”."),
        (Relation("shop", "web", "consume", "x" * 250), "at most 249 of them."),
        (Relation("shop", "x" * 201, "consume", "orders"), "has 201 characters. Shorten it to 200."),
        (Relation("shop", "a\tb", "consume", "orders"), "“'a\\tb'” holds a control character. Remove it."),
        (Relation("shop", " web", "consume", "orders"), "begins or ends with a blank. Remove it."),
        (Relation("shop", "web", "group", "x" * 256), "has 256 characters. Shorten it to 255."),
    ],
)  # fmt: skip
def test_what_cannot_be_declared_is_told_what_to_do(relation: Relation, why: str) -> None:
    assert why in str(fault_of(relation))


def test_a_group_may_have_any_name() -> None:
    assert fault_of(Relation("shop", "web", "group", "读者 #1")) is None


def test_a_note_has_a_length() -> None:
    assert fault_of_note("x" * 500) is None
    assert "Shorten it to 500." in str(fault_of_note("x" * 501))


appids = st.text(min_size=1, max_size=MAX_NAME_LENGTH)
topics = st.lists(st.from_regex(r"[a-z._-]{1,249}", fullmatch=True), unique=True, max_size=6)


@given(appids, topics, st.data())
def test_new_instance_ids_are_new_and_can_be_declared(
    appid: str, names: list[str], data: st.DataObject
) -> None:
    first = new_instance_ids(appid, names, ())
    taken = set(data.draw(st.lists(st.sampled_from(sorted(first.values()) or [""]))))
    found = new_instance_ids(appid, names, taken)
    assert list(found) == names
    assert len(set(found.values())) == len(names)
    assert not taken & set(found.values())
    for name in found.values():
        assert fault_of(Relation(appid, name, "produce", "orders")) is None
        assert "#" not in name


@given(appids, topics, st.booleans(), st.data())
def test_generated_ids_are_new_each_time_and_say_what_they_are_for(
    appid: str, names: list[str], one: bool, data: st.DataObject
) -> None:
    """Whatever ends a name: one that is taken is not given out again."""
    assume(names)
    endings = (f"{number:06}" for number in itertools.count())
    before = generated_ids(appid, names, (), one=one, ending=lambda: "000000")
    taken = set(data.draw(st.lists(st.sampled_from(sorted(before)))))
    found = generated_ids(appid, names, taken, one=one, ending=lambda: next(endings))
    assert list(found.values()) == ([tuple(names)] if one else [(name,) for name in names])
    assert not taken & set(found)
    for name in found:
        assert fault_of(Relation(appid, name, "produce", "orders")) is None
        assert "#" not in name

"""Sentences: a template and its values, stored, shown and translated wherever somebody looks."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from hadash.bindings.errors import StoreUnavailable
from hadash.identity.identity import Identity
from hadash.kafka.errors import ConnectError, KafkaError
from hadash.kafka.values import Partition
from hadash.presentation.localized import explained, sentence
from hadash.sentences import Sentence, fill, say

places = st.text(st.characters(codec="utf-8", categories=("L", "N")), min_size=1, max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


class Colour(StrEnum):
    GREEN = "green"


def test_a_sentence_shows_its_values() -> None:
    sentence = say("%(who)s is on %(cluster)s (epoch %(epoch)s).", who="shop", cluster="west", epoch=7)
    assert str(sentence) == "shop is on west (epoch 7)."


def test_lists_are_shown_with_commas() -> None:
    assert str(say("Waiting for %(gateways)s.", gateways=["gw-1", "gw-2"])) == "Waiting for gw-1, gw-2."
    assert str(say("Waiting for %(gateways)s.", gateways=())) == "Waiting for ."


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Partition("orders", 3), "orders-3"),
        (Identity("shop", "web-1"), "shop › web-1"),
        (ValueError("no broker"), "no broker"),
        (Path("/tmp"), "/tmp"),
        ({"only"}, ["only"]),
        ((Partition("a", 0), 2), ["a-0", 2]),
        (Colour.GREEN, "green"),
        (True, True),
        (1.5, 1.5),
        (None, None),
    ],
)
def test_values_become_plain(value: Any, plain: Any) -> None:
    assert say("%(value)s", value=value).values["value"] == plain
    json.dumps(say("%(value)s", value=value).to_json())


@given(st.dictionaries(places, st.text() | st.integers() | st.lists(st.text())))
def test_a_sentence_survives_json(values: dict[str, Any]) -> None:
    sentence = Sentence(" ".join(f"%({name})s" for name in values), values)
    stored = json.loads(json.dumps(sentence.to_json()))
    assert Sentence.from_json(stored) == sentence
    assert str(Sentence.from_json(stored)) == str(sentence)


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        (None, ""),
        ({}, ""),
        ("", ""),
        (7, "7"),
        ("an old log line, 100% plain", "an old log line, 100% plain"),
        ("%(not)s a template", "%(not)s a template"),
        ({"text": "Done."}, "Done."),
        ({"text": "Done.", "values": None}, "Done."),
        ({"text": "%(who)s is done.", "values": {}}, "%(who)s is done."),
    ],
)
def test_what_was_stored_otherwise_is_shown_as_it_is(stored: Any, shown: str) -> None:
    assert str(Sentence.from_json(stored)) == shown


@given(
    st.text(),
    st.dictionaries(st.text(max_size=5), st.text() | st.none() | st.lists(st.integers(), max_size=2)),
)
def test_fill_always_comes_to_a_text(text: str, values: dict[str, Any]) -> None:
    assert isinstance(fill(text, values), str)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("%(who)s is away.", {}),
        ("%(count)d records", {"count": "many"}),
        ("100% of %(who)s", {"who": "shop"}),
        ("an open %(place", {"place": 1}),
        ("%d records", {"count": 1}),
        ("%", {}),
    ],
)
def test_a_template_that_does_not_fit_is_shown_as_it_is(text: str, values: dict[str, Any]) -> None:
    assert fill(text, values) == text


def test_values_are_never_templates() -> None:
    assert str(say("%(error)s", error="50%(x)s off %s %")) == "50%(x)s off %s %"


@given(json_values)
def test_garbage_is_survived(values: Any) -> None:
    assert isinstance(str(Sentence.from_json({"text": "Done.", "values": values})), str)


@pytest.mark.parametrize(("text", "value"), [("%(n)c", 2**40), ("%(n)d", float("inf"))])
def test_a_value_out_of_range_is_shown_as_it_is(text: str, value: Any) -> None:
    assert fill(text, {"n": value}) == text


def test_a_place_may_be_called_text() -> None:
    assert str(say("%(text)s", **{"text": "anything"})) == "anything"


class TestWithin:
    """A sentence within another one, as the reason that a server has given."""

    away = StoreUnavailable(say("ZooKeeper cannot be reached (%(reason)s).", reason="ConnectionLoss"))

    def test_it_is_shown_where_its_place_is(self) -> None:
        said = say("%(error)s Ask again when it answers.", error=self.away)
        shown = "ZooKeeper cannot be reached (ConnectionLoss). Ask again when it answers."
        assert str(said) == shown
        assert str(Sentence.from_json(json.loads(json.dumps(said.to_json())))) == shown
        assert str(say("%(all)s", all=[self.away, "x"])) == "ZooKeeper cannot be reached (ConnectionLoss)., x"

    def test_its_reader_has_it_in_their_language(self) -> None:
        said = say("%(error)s Ask again when it answers.", error=self.away).to_json()
        with translation.override("zh-hans"):
            assert sentence(said) == "无法连接 ZooKeeper（ConnectionLoss）。请在其恢复应答后重新申请。"
            assert explained(self.away) == "无法连接 ZooKeeper（ConnectionLoss）。"
            assert explained(KafkaError("broker said no")) == "broker said no"
            assert explained(ValueError()) == "ValueError"

    def test_an_error_is_its_own_text_in_logs(self) -> None:
        assert str(self.away) == "ZooKeeper cannot be reached (ConnectionLoss)."
        assert str(KafkaError("broker said no")) == "broker said no"
        assert ConnectError(say("Kafka Connect refused it"), 409).status == 409

"""Every text that people see has a Chinese one, and the compiled catalogue is up to date."""

from __future__ import annotations

import ast
from pathlib import Path

from django.utils.translation import override

import hadash
from hadash.dashboard import translations as t
from hadash.presentation.labels import DENIALS


def places(text: str) -> set[str]:
    return {found.group(0) for found in t.PLACE.finditer(text)}


def test_every_message_is_translated_with_the_same_places() -> None:
    catalogue = t.catalogue()
    for message, where in t.messages().items():
        entry = catalogue.get(message.text, message.context)
        assert entry is not None, (
            f"{where}: {message.text!r} is not in {t.PO}: python -m hadash.dashboard.translations"
        )
        string = entry.string[0] if isinstance(entry.string, tuple) else entry.string
        assert string, f"{where}: {message.text!r} has no Chinese"
        assert not entry.fuzzy, f"{where}: {message.text!r} is fuzzy"
        assert places(string) == places(message.plural or message.text), f"{where}: {message.text!r}"


def test_nothing_is_translated_that_nobody_says() -> None:
    known = {(m.text, m.context) for m in t.messages()}
    for entry in t.catalogue():
        if entry.id:
            text = entry.id[0] if isinstance(entry.id, tuple) else entry.id
            assert (text, entry.context) in known, f"{text!r} is not used any more"


def test_the_compiled_catalogue_is_up_to_date() -> None:
    assert t.MO.read_bytes() == t.compiled(), "python -m hadash.dashboard.translations"


def test_the_engines_sentences_are_found() -> None:
    texts = {message.text for message in t.in_python()}
    assert "All checks hold." in texts
    assert "%(who)s reads Topic %(what)s, has no InstanceID, and would stay." in texts  # through a variable


def test_every_denial_can_be_translated() -> None:
    said = set()
    for path in Path(hadash.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            name = getattr(getattr(node, "func", None), "id", "")
            if (
                isinstance(node, ast.keyword)
                and node.arg == "denial"
                and isinstance(node.value, ast.Constant)
            ):
                said.add(node.value.value)  # (of a kind of switch)
            is_of_a_kind = (
                isinstance(node, ast.Call) and getattr(next(iter(node.args), None), "attr", "") == "denial"
            )
            if isinstance(node, ast.Call) and name == "PermissionDenied" and node.args and not is_of_a_kind:
                assert isinstance(node.args[0], ast.Constant), f"{path}:{node.lineno}"
                said.add(node.args[0].value)
    with override("en"):
        assert said == {str(text) for text in DENIALS}

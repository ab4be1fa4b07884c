"""A status is set by its machine alone: nothing else in the program assigns one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps

from hadash.dashboard.templatetags.hadash import is_now
from hadash.machines import IllegalMove
from hadash.stateful import Stateful
from hadash.switching.machines.switches import Status
from hadash.switching.models.switches import Switch

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = ("hadash", "tasks")
#: Where a status is set as a machine says.
DOOR = Path("hadash/stateful.py")


def assignments(text: str) -> Iterator[int]:
    """The lines that assign an attribute ``status``, or update it in the database."""
    for node in ast.walk(ast.parse(text)):
        targets = (
            node.targets
            if isinstance(node, ast.Assign)
            else [node.target]
            if isinstance(node, ast.AnnAssign | ast.AugAssign)
            else []
        )
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Attribute) and part.attr == "status" and not _is_own(part):
                    yield node.lineno
        is_new = (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).rpartition(".")[2] not in READS
            and any(word.arg == "status" and is_status(word.value) for word in node.keywords)
        )
        is_set = (
            isinstance(node, ast.Call)
            and ast.unparse(node.func) == "setattr"
            and ast.unparse(node.args[1]) == "'status'"
        )
        if is_new or is_set:
            yield node.lineno
        is_update = (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "update"
        )
        if is_update and any(
            word.arg == "status" and "MACHINE.after(" not in ast.unparse(word.value) for word in node.keywords
        ):
            yield node.lineno


#: Calls that look for rows with a status, and those that answer over HTTP with one.
READS = ("filter", "exclude", "get", "Q", "count", "aggregate", "values")


def is_status(value: ast.expr) -> bool:
    """Whether a new row gets a status that no machine was asked about."""
    text = ast.unparse(value)
    return (
        bool(re.search(r"\b\w*Status\.[A-Z_]+\b", text)) and ".begin(" not in text and ".after(" not in text
    )


def _is_own(part: ast.Attribute) -> bool:
    """``self.status`` is no row's: an error of Kafka's has one, too."""
    return isinstance(part.value, ast.Name) and part.value.id == "self"


def test_what_counts_as_setting_a_status() -> None:
    assert [*assignments("held.status = 'x'\nheld.status, held.outcome = 'x', {}\nheld.other = 1")] == [1, 2]
    assert [*assignments("rows.update(status='x')\nrows.update(status=MACHINE.after(a, b).value)")] == [1]


def test_a_new_row_begins_as_its_machine_says() -> None:
    assert [
        *assignments("Row.objects.create(status=Status.APPROVED.value)\nsetattr(row, 'status', 'x')")
    ] == [1, 2]
    assert [
        *assignments("Row(status=Row.MACHINE.begin(Status.APPROVED))\nrows.filter(status=Status.A)")
    ] == []
    for model in (model for model in apps.get_models() if issubclass(model, Stateful)):
        assert model._meta.get_field("status").default in model.MACHINE.starts, model
    with pytest.raises(IllegalMove, match="A switch cannot begin as running"):
        Switch.MACHINE.begin(Status.RUNNING)


def test_nothing_else_sets_a_status() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in PROGRAM
        for path in sorted((ROOT / folder).rglob("*.py"))
        if "migrations" not in path.parts and path.relative_to(ROOT) != DOOR
        for line in assignments(path.read_text())
    ]
    assert found == []


def test_every_status_of_a_table_has_its_place_in_the_machine() -> None:
    models = [model for model in apps.get_models() if issubclass(model, Stateful)]
    assert len(models) >= 5
    for model in models:
        known = {status.value for status in model.MACHINE.moves}
        assert {value for value, _label in model._meta.get_field("status").choices or ()} == known, model


def test_every_status_is_shown() -> None:
    for model in (model for model in apps.get_models() if issubclass(model, Stateful)):
        assert set(model.SHOWN) == set(model.MACHINE.moves), model


def test_no_template_compares_a_state_with_a_text() -> None:
    """A wrong name would show nothing, and nobody would notice: ``is_now`` refuses one."""
    compares = re.compile(r"\.(?:status|state|result|stage) [=!]= [\"']")
    found = [
        f"{path.relative_to(ROOT)}: {hit.group()}"
        for path in sorted((ROOT / "templates").rglob("*.html"))
        for hit in compares.finditer(path.read_text())
    ]
    assert found == []


def test_a_state_that_there_is_not_is_an_error() -> None:
    switch = Switch(status="declined")
    assert is_now(switch, "declined") and is_now(switch, "expired declined") and not is_now(switch, "running")
    with pytest.raises(ValueError, match="declned"):
        is_now(switch, "declned")


def _templates() -> list[Path]:
    return sorted((ROOT / "templates").rglob("*.html"))


def test_templates_ask_only_for_statuses_that_there_are() -> None:
    """(Django shows nothing for a word that is none: a misspelt one would be a part that never appears.)"""
    known = {
        value
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if field.name in ("status", "state", "result")
        for value, _label in field.choices or ()
    }
    asked = {
        (path.name, word)
        for path in _templates()
        for words in re.findall(r'is_now:"([^"]*)"', path.read_text())
        for word in words.split()
    }
    assert asked
    assert [each for each in sorted(asked) if each[1] not in known] == []

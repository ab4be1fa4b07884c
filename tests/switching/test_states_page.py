"""``docs/states.md`` is drawn from the tables and cannot differ from them."""

from __future__ import annotations

import itertools
from types import ModuleType

import pytest

from hadash.switching.machines import batches
from hadash.switching.machines import binding_changes as by_hand
from hadash.switching.machines.switches import MOVES, Kind, Stage, Status
from tests.docs_scripts import load


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    return load("draw_states")


def test_the_page_is_up_to_date(drawing: ModuleType) -> None:
    found = drawing.PAGE.read_text(encoding="utf-8")
    assert found == drawing.page(), "run: .venv/bin/python docs/draw_states.py"


def test_every_move_is_drawn(drawing: ModuleType) -> None:
    lines = [line.strip() for line in drawing.page().splitlines()]
    for table in (MOVES, by_hand.MACHINE.moves, batches.MOVES, batches.ITEM_MOVES):
        for status, moves in table.items():
            for event, after in moves.items():
                assert f"{status} --> {after}: {event}" in lines


@pytest.mark.parametrize("kind", Kind)
def test_the_way_of_every_kind_is_drawn(drawing: ModuleType, kind: Kind) -> None:
    lines = [line.strip().partition(":")[0] for line in drawing.page().splitlines()]
    for stage, following in itertools.pairwise(kind.spec.way):
        assert f"stage_{stage} --> stage_{following}" in lines


def test_every_stage_has_a_row_that_says_what_it_does(drawing: ModuleType) -> None:
    rows = [line.split("|")[1:-1] for line in drawing.page().splitlines() if line.startswith("| ")][1:]
    assert [row[0].strip() for row in rows] == [stage.value for stage in Stage]
    assert all(row[4].strip() for row in rows)


def test_every_status_has_a_name_without_underscores(drawing: ModuleType) -> None:
    for status in Status:
        assert f'state "{status.replace("_", " ")}" as {status}' in drawing.page()

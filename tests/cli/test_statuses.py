"""The command line and pages say of a status alike whether it is well."""

from __future__ import annotations

from enum import StrEnum

import pytest

from hadash.cli.statuses import COLOURS, GOING_ON, colour
from hadash.shown import Look, Shown
from hadash.switching.machines import switches
from hadash.switching.models.batches import Batch, BatchItem
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.switches import Switch

COLOUR_OF = {Look.WAITING: "yellow", Look.FINE: "green", Look.BAD: "red"}

SHOWN: dict[StrEnum, Shown] = {
    status: each
    for model in (Switch, Batch, BatchItem, BindingChange)
    for status, each in model.SHOWN.items()
}


@pytest.mark.parametrize("status", SHOWN)
def test_a_status_has_the_colour_of_its_look_on_pages(status: StrEnum) -> None:
    assert colour(status.value) == COLOUR_OF.get(SHOWN[status].look, "")


def test_there_is_a_colour_for_nothing_else() -> None:
    assert set(COLOURS) <= {status.value for status in SHOWN}


def test_a_switch_goes_on_until_it_ends_or_needs_a_person() -> None:
    needs_somebody = {switches.Status.PAUSED, switches.Status.NEEDS_ATTENTION}
    assert set(GOING_ON) == {status.value for status in switches.OPEN - needs_somebody}

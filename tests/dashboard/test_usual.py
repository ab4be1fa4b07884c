"""How long stages usually take: what the rail of a switch expects."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from hadash.presentation import live
from hadash.switching.execution.usual import LEAST, took_before, usual_seconds
from hadash.switching.models.switches import StageRecord, Switch

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

NOW = timezone.now()


@pytest.fixture
def done(make_switch: Callable[..., Switch]) -> Callable[..., Switch]:
    """A switch that ended a while ago, whose drain took so many seconds, in one attempt or several."""

    def make(*seconds: float, status: str = "succeeded", age: int = 60, **more: Any) -> Switch:
        began = NOW - timedelta(minutes=age)
        switch = make_switch(status, started_at=began, **more)
        for token, took in enumerate(seconds, 1):
            StageRecord.objects.create(
                switch=switch,
                stage="drain",
                token=token,
                result="done",
                started_at=began,
                ended_at=began + timedelta(seconds=took),
            )
        return switch

    return make


def expected(switch: Switch) -> float:
    return next(
        step.expected for step in live.steps([], usual=usual_seconds(switch)) if step.stage == "drain"
    )


def test_the_median_of_those_before_it(
    done: Callable[..., Switch], make_switch: Callable[..., Switch]
) -> None:
    for seconds in (4.0, 9.0, 5.0):
        done(seconds)
    assert expected(make_switch("running", started_at=NOW)) == 5.0
    assert expected(make_switch("awaiting_approval", appid="other")) == 5.0, "also before it begins"


def test_attempts_of_one_switch_count_together(
    done: Callable[..., Switch], make_switch: Callable[..., Switch]
) -> None:
    done(1.0, 2.0)
    assert took_before(make_switch("running", started_at=NOW)) == {"drain": [3.0]}


def test_of_too_few_and_of_those_that_say_nothing_about_it_the_design_tells(
    done: Callable[..., Switch], make_switch: Callable[..., Switch]
) -> None:
    by_design = expected(make_switch("running", started_at=NOW))
    for _ in range(LEAST - 1):
        done(77.0)
    done(77.0, status="rolled_back")
    done(77.0, kind="forced")
    later = done(77.0, age=-10)
    another = make_switch("running", appid="other", started_at=NOW + timedelta(seconds=1))
    assert expected(another) == by_design
    assert later.started_at is not None and later.started_at > NOW


def test_the_rail_says_so(
    as_vera: Client, engines: Any, done: Callable[..., Switch], make_switch: Callable[..., Switch]
) -> None:
    switch = make_switch("running", started_at=NOW, stage="drain")
    assert "as it usually takes" not in as_vera.get(f"/switches/{switch.key}/").content.decode()
    for _ in range(LEAST):
        done(4.0)
    switch = make_switch("running", appid="other", started_at=NOW + timedelta(seconds=2), stage="drain")
    assert "as it usually takes in this pair" in as_vera.get(f"/switches/{switch.key}/").content.decode()

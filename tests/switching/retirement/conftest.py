"""Migrations, and the removals that are handed to a worker."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from hadash.inventory.models import Pair
from hadash.switching import requests
from hadash.switching.machines.switches import Event, Kind
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.retirement import services

from ..test_approval import approve, ask, pair, people, planned, started
from ..test_restoring import bound, go_back
from ..waiting import nobody_starts
from ..world import WHOLE
from .parts import DAYS, end


@pytest.fixture
def migrate(pair: Pair, people: dict[str, User]) -> Callable[..., Switch]:
    """Ask for a migration of everything of ``shop`` to ``west``."""

    def action(days: int | None = DAYS) -> Switch:
        return requests.submit(
            requests.SwitchRequest(
                people["olga"],
                pair,
                WHOLE.scope,
                pair.second,
                "West is newer",
                kind=Kind.MIGRATION,
                retire_after_days=days,
            ),
            nobody_starts,
        )

    return action


@pytest.fixture
def migrated(migrate: Any, approve: Any) -> Switch:
    """One that has succeeded."""
    switch: Switch = approve("arne", migrate())
    return end(switch, Event.SUCCEED)


@pytest.fixture
def removals() -> list[int]:
    """The tokens with which removals were handed to a worker."""
    return []


@pytest.fixture
def retire(
    people: dict[str, User], removals: list[int], django_capture_on_commit_callbacks: Any
) -> Callable[..., Retirement]:
    def action(switch: Switch, user: str = "olga", typed: str = "east") -> Retirement:
        with django_capture_on_commit_callbacks(execute=True):
            return services.retire_now(people[user], switch, typed, lambda held: removals.append(held.token))

    return action


@pytest.fixture
def begin_due(removals: list[int], django_capture_on_commit_callbacks: Any) -> Callable[[], int]:
    def action() -> int:
        with django_capture_on_commit_callbacks(execute=True):
            return services.begin_due(lambda held: removals.append(held.token))

    return action

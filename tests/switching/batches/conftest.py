"""A pair, people, and batches in PostgreSQL, without ZooKeeper, Kafka and workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import User

from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.inventory.models import Cluster, Pair
from hadash.switching.batches import carrying, decisions, requests
from hadash.switching.batches.plans import Wanted
from hadash.switching.models.batches import Batch
from hadash.switching.models.switches import Switch

from .parts import World


@pytest.fixture
def pair(db: None) -> Pair:
    east, west = (
        Cluster.objects.create(name=name, number=number) for number, name in enumerate(("east", "west"), 1)
    )
    return Pair.objects.create(name="main", first=east, second=west, default=east)


@pytest.fixture
def people(db: None) -> dict[str, User]:
    ensure_roles()
    roles = {
        "olga": "operator",
        "arne": "approver",
        "bea": "approver",
        "rita": "rescuer",
        "ada": "administrator",
        "vera": "viewer",
    }
    return {name: ensure_user(name, "secret-123", role) for name, role in roles.items()}


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    made.take_over(monkeypatch)
    return made


@pytest.fixture
def started() -> list[Switch]:
    """The switches that were handed to a worker, the first one first."""
    return []


@pytest.fixture
def ask(world: World, pair: Pair, people: dict[str, User]) -> Callable[..., Batch]:
    """A batch of everything on east that olga asks for: two radii a wave, two at once."""

    def make(
        user: str = "olga", window: Any = None, digest: str = "", browser: str = "", **values: Any
    ) -> Batch:
        wanted = Wanted(**{"pair": pair, "target": pair.second, "wave_size": 2, "parallelism": 2, **values})
        return requests.request(
            requests.BatchRequest(people[user], wanted, "Leaving the old cluster", browser=browser),
            window,
            digest,
        )

    return make


@pytest.fixture
def advance(started: list[Switch], django_capture_on_commit_callbacks: Any) -> Callable[[Batch], Batch]:
    """What a worker does when it is told about a batch."""

    def action(batch: Batch) -> Batch:
        with django_capture_on_commit_callbacks(execute=True):
            carrying.advance(batch.key, started.append)
        batch.refresh_from_db()
        return batch

    return action


@pytest.fixture
def approve(
    people: dict[str, User], advance: Callable[[Batch], Batch], django_capture_on_commit_callbacks: Any
) -> Callable[..., Batch]:
    """Approve a batch as it was shown; when it runs, a worker is told."""

    def action(batch: Batch, user: str = "arne", **values: Any) -> Batch:
        woken: list[str] = []
        with django_capture_on_commit_callbacks(execute=True):
            held = decisions.approve(people[user], batch, batch.digest, woken.append, **values)
        return advance(held) if woken else held

    return action


@pytest.fixture
def end() -> Callable[..., None]:
    """A switch ends: by itself, without anybody being told."""

    def action(switch: Switch, status: str = "succeeded") -> None:
        outcome = {"text": "It came to its end.", "values": {}}
        Switch.objects.filter(pk=switch.pk).update(status=status, outcome=outcome)

    return action

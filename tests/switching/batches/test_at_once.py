"""Several workers that are told about the same batch at the same moment, each with a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection

from hadash.inventory.models import Pair
from hadash.switching.batches import carrying, decisions, requests
from hadash.switching.batches.plans import Wanted
from hadash.switching.models.batches import Batch
from hadash.switching.models.switches import Switch

from .parts import World, shown

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True)]

WORKERS, ROUNDS = 4, 3


@pytest.fixture
def running(world: World, pair: Pair, people: dict[str, User]) -> Batch:
    wanted = Wanted(pair, pair.second, wave_size=5, parallelism=2)
    batch = requests.request(requests.BatchRequest(people["olga"], wanted, "Relocation"))
    return decisions.approve(people["arne"], batch, batch.digest, lambda key: None)


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(WORKERS) as pool:
        yield pool


def test_nothing_is_started_twice_and_never_more_than_the_limit(
    running: Batch, workers: ThreadPoolExecutor
) -> None:
    started: list[str] = []
    together = threading.Barrier(WORKERS)

    def work(_: Any) -> None:
        try:
            together.wait()
            carrying.advance(running.key, lambda switch: started.append(str(switch.scope)))
        finally:
            connection.close()

    for _ in range(ROUNDS):
        list(workers.map(work, range(WORKERS)))
        assert Switch.objects.filter(status="running").count() <= 2
        Switch.objects.filter(status="running").update(status="succeeded")
    list(workers.map(work, range(WORKERS)))
    assert sorted(started) == ["ant", "bee", "cat", "dog", "eel"]
    assert [status for _, _, status in shown(running)] == ["done"] * 5
    running.refresh_from_db()
    assert running.status == "finished"

"""What the API tells of a mirror beside its lag: programs alert on facts, not on sentences."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from hadash.api.serializers.inventory import MirrorSerializer
from hadash.mirroring.models import Mirror

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

DIFFERENCE = {"topic": "orders", "partition": 2, "kind": "headers", "first": 4, "last": 9, "count": 6}
GAP = {
    "topic": "orders",
    "partition": 0,
    "without_record": 3,
    "lost": 0,
    "lost_before": None,
    "resumes_at": None,
}


def only_mirror(answer: Any) -> dict[str, Any]:
    [pair] = answer.json()
    [mirror] = pair["mirrors"]
    return dict(mirror)


def test_nothing_is_known_to_be_wrong(program: Callable[..., Any], fleet: SimpleNamespace) -> None:
    told = only_mirror(program("vera").get("pairs/"))
    assert (told["drift"], told["compared_at"], told["differences"], told["gaps"]) == (None, None, [], [])
    assert told["copied_twice"] == []


def test_what_a_side_holds_twice_is_told(program: Callable[..., Any], fleet: SimpleNamespace) -> None:
    """Also on the side that the mirror copied to before it was turned round."""
    mirror = Mirror.objects.get()
    point = {"topic": "orders", "source_offset": 90, "target_offset": 95}
    mirror.syncs.create(**point, partition=0)
    mirror.syncs.create(**point, partition=1, target_repeated=5)
    mirror.syncs.create(**point, partition=2, source_repeated=7)
    told = only_mirror(program("vera").get("pairs/"))
    assert told["copied_twice"] == [
        {"cluster": mirror.target.name, "topic": "orders", "partition": 1, "records": 5},
        {"cluster": mirror.source.name, "topic": "orders", "partition": 2, "records": 7},
    ]
    shape = MirrorSerializer(data=told)
    assert shape.is_valid(), shape.errors


def test_differences_gaps_and_settings_that_were_changed_are_told(
    program: Callable[..., Any], fleet: SimpleNamespace
) -> None:
    now = timezone.now()
    at = now.isoformat()
    drift = {"keys": ["header.converter"], "since": at, "mended": None}
    different, gap = {**DIFFERENCE, "since": at}, {**GAP, "at": at}
    Mirror.objects.update(
        drift=drift, comparison={"walked": {}, "differences": [different]}, gaps=[gap], compared_at=now
    )
    told = only_mirror(program("vera").get("pairs/"))
    assert (told["drift"], told["differences"], told["gaps"]) == (drift, [different], [gap])
    shape = MirrorSerializer(data=told)
    assert shape.is_valid(), shape.errors


def test_more_mirrors_are_no_more_questions(program: Callable[..., Any], fleet: SimpleNamespace) -> None:
    vera, address = program("vera"), "pairs/main/mirrors/"
    assert vera.get(address).status_code == 200
    with CaptureQueriesContext(connection) as of_one:
        vera.get(address)
    mirror = Mirror.objects.get()
    for number in range(5):
        made = Mirror.objects.create(
            pair=mirror.pair, source=mirror.source, name=f"mirror-{number}", topics=[f"topic-{number}"]
        )
        made.syncs.create(
            topic=f"topic-{number}", partition=0, source_offset=1, target_offset=2, target_repeated=1
        )
    with CaptureQueriesContext(connection) as of_six:
        assert len(vera.get(address).json()["results"]) == 6
    assert len(of_six) == len(of_one)

"""The figures of several pairs together."""

from __future__ import annotations

import csv
from datetime import UTC, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pools.parts import requested

from hadash.dashboard import tiles
from hadash.governance.models.posture import Posture
from hadash.inventory.models import DailyFigure, Pair
from hadash.mirroring.models import Mirror
from hadash.presentation.engines import Engines
from hadash.presentation.pair_verdicts import pair_views
from hadash.presentation.posture import standing, total
from hadash.switching.models.policies import Policy

pytestmark = [pytest.mark.django_db, pytest.mark.stack]


def put(pair: str, **figures: Any) -> None:
    Posture.objects.create(pair=pair, day=timezone.now().date(), **figures)


def test_a_pair_of_which_a_figure_is_not_known_is_named_beside_the_sum() -> None:
    put("main", shared_appids=3, appids=10, mirrored_appids=8)
    put("other", appids=5, mirrored_appids=5)
    stands = standing(["main", "other", "new"])
    assert stands.trend(total("shared_appids")).now == 3
    assert stands.without("shared_appids") == ["other", "new"]
    assert stands.without("appids", "mirrored_appids") == ["new"]
    shared = next(tile for tile in tiles.of_posture(stands) if tile.word == "Shared AppIDs")
    assert (shared.value, list(shared.without)) == ("3", ["other", "new"])


def test_what_is_known_of_every_pair_names_none() -> None:
    put("main", shared_appids=0)
    assert standing(["main"]).without("shared_appids") == []


def tile_of(word: str) -> Any:
    return next(tile for tile in tiles.of_posture(standing(["main"])) if tile.word == word)


def test_open_findings_are_told_by_severity_each_with_its_own_page_and_trend() -> None:
    put("main", high=2, medium=5, low=0)
    tile = tile_of("Open findings")
    assert tile.value == "7"
    assert [(str(part.word), part.value, part.href.rpartition("?")[2]) for part in tile.parts] == [
        ("high", "2", "severity=high"), ("medium", "5", "severity=medium"), ("low", "0", "severity=low"),
    ]  # fmt: skip
    assert [part.trend.now for part in tile.parts] == [2, 5, 0]


def test_all_trends_are_a_csv_with_a_row_for_each_day(
    as_arne: Client, fleet: SimpleNamespace, engines: Any
) -> None:
    today = timezone.now().astimezone(UTC).date()
    DailyFigure.objects.create(day=today - timedelta(days=2), pair="main", name="clusters", value=1)
    answer = as_arne.get(reverse("overview"), {"format": "csv"})
    lines = b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()  # type: ignore[attr-defined]
    rows = list(csv.DictReader(lines))
    assert len(rows) == 30 and rows[-1]["day"] == today.isoformat()
    assert [row["Clusters that answered, the fewest of each day"] for row in rows[-4:]] == ["", "1", "", ""]


def test_a_figure_leads_to_what_it_counts() -> None:
    put("main", appids=10, mirrored_appids=8, shared_appids=3)
    assert tile_of("AppIDs under HA").href.endswith("/coverage/?show=under-ha")
    assert tile_of("Shared AppIDs").href.endswith("/sharing/?show=shared")


def test_what_waits_for_somebody_has_the_trend_of_all_that_can_wait(
    people: SimpleNamespace, fleet: SimpleNamespace, make_switch: Any, make_batch: Any, make_change: Any
) -> None:
    make_switch()
    make_batch()
    make_change()
    requested(people.olga, fleet.pair)
    assert tiles.of_inbox(people.arne, 4).trend.values == [*[0] * 29, 4]


class TestWorstLag:
    @pytest.fixture
    def mirrors(self, fleet: SimpleNamespace) -> SimpleNamespace:
        other = Pair.objects.create(name="other", first=fleet.east, second=fleet.west, default=fleet.east)
        Policy.objects.create(pair=other, rpo_seconds=5)
        Mirror.objects.all().delete()
        for pair, name, seconds in (
            (fleet.pair, "far", 20.0),
            (other, "near", 4.0),
            (fleet.pair, "new", None),
        ):
            Mirror.objects.create(
                pair=pair, name=name, topics=[], source=fleet.east, state="running", looked_at=timezone.now(),
                lag_seconds=seconds,
            )  # fmt: skip
        return SimpleNamespace(pairs=[fleet.pair, other])

    def tile(self, pairs: list[Pair]) -> Any:
        names = [pair.name for pair in pairs]
        return tiles.of_lag(pair_views(pairs, Engines(), (), standing(names), 1))

    def test_it_is_the_one_that_has_used_up_most_of_its_own_rpo(self, mirrors: SimpleNamespace) -> None:
        tile = self.tile(mirrors.pairs)
        assert (tile.value, tile.of, tile.alarming) == ("4.0", "5", False)
        assert tile.says == "mirror near of pair other, and its RPO · of 1 mirror not known"
        assert tile.href == reverse("mirror", args=["other", "near"])

    def test_beyond_the_rpo_it_is_alarming(self, mirrors: SimpleNamespace) -> None:
        Mirror.objects.filter(name="far").update(lag_seconds=31.0)
        tile = self.tile(mirrors.pairs[:1])
        assert (tile.value, tile.of, tile.alarming) == ("31.0", "30", True)

    def test_of_none_that_is_known_nothing_is_said(self, mirrors: SimpleNamespace) -> None:
        Mirror.objects.update(looked_at=None)
        tile = self.tile(mirrors.pairs)
        assert (tile.value, tile.alarming) == ("", False)

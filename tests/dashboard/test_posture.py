"""The figures of several pairs together."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone

from hadash.dashboard import tiles
from hadash.governance.models import Posture
from hadash.presentation.posture import standing, total

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
    shared = next(
        tile
        for tile in tiles.of_posture(stands, ["main", "other", "new"], None)
        if tile.word == "Shared AppIDs"
    )
    assert (shared.value, list(shared.without)) == ("3", ["other", "new"])


def test_what_is_known_of_every_pair_names_none() -> None:
    put("main", shared_appids=0)
    assert standing(["main"]).without("shared_appids") == []

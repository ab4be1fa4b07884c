"""Each client's own pause, drawn with the stages behind it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from hadash.dashboard.charts.pauses import LEVELS, MOST_DRAWN, Band, pauses
from hadash.switching.execution.pauses import Pause
from hadash.switching.models.switches import StageRecord, Switch

BEGAN = datetime(2026, 11, 25, 12, tzinfo=UTC)


def at(seconds: float) -> float:
    return BEGAN.timestamp() + seconds


def band(word: str, begin: float, end: float, *, blocked: bool = False) -> Band:
    return Band(word, BEGAN + timedelta(seconds=begin), BEGAN + timedelta(seconds=end), blocked)


STAGES = [band("Precheck", 0, 2), band("Block", 2, 2.2, blocked=True), band("Verify", 2.4, 9)]


def drawn(*found: Pause, several: bool = False) -> Any:
    return pauses(list(found), STAGES, several)


class TestTheChart:
    def test_a_bar_from_the_last_record_to_the_first(self) -> None:
        chart = drawn(Pause("shop", "web", "produce", at(1.5), at(3.0)))
        (bars,) = chart.traces
        assert bars["y"] == ["web"] and bars["x"] == [1500] and bars["text"] == ["1.50 s"]
        assert bars["base"] == [round(1000 * at(1.5))]

    def test_writers_and_readers_are_told_apart_without_a_colour(self) -> None:
        chart = drawn(
            Pause("shop", "web", "produce", at(1), at(3)), Pause("shop", "web", "consume", at(1), at(2))
        )
        assert [trace["marker"]["pattern"]["shape"] for trace in chart.traces] == ["", "/"]

    def test_stages_lie_behind_each_with_its_name_and_how_long_it_took(self) -> None:
        chart = drawn(Pause("shop", "web", "produce", at(1.5), at(3.0)))
        notes = chart.layout["annotations"]
        assert len(chart.layout["shapes"]) == 3
        assert [note["text"] for note in notes] == ["Precheck", "Block", "Verify"]
        assert all(note["hovertext"].endswith(" s") for note in notes)

    def test_names_of_short_stages_do_not_lie_on_each_other(self) -> None:
        bands = [band(f"stage {n}", 1 + n / 100, 1.01 + n / 100, blocked=True) for n in range(9)]
        chart = pauses([Pause("shop", "web", "produce", at(0), at(9))], bands, False)
        levels = [note["yshift"] for note in chart.layout["annotations"]]
        assert levels == sorted(set(levels)) and len(levels) == LEVELS, "what has no room is not written"

    def test_what_has_not_moved_again_says_so(self) -> None:
        chart = drawn(Pause("shop", "web", "produce", at(1.5), None))
        assert chart.traces[0]["text"] == ["no record since"] and chart.rows[0][4:] == (None, None)

    def test_of_very_many_the_longest_are_drawn_and_all_are_in_the_table(self) -> None:
        found = [Pause("shop", f"web-{n}", "produce", at(0), at(100 - n)) for n in range(MOST_DRAWN + 5)]
        chart = drawn(*found)
        assert len(chart.traces[0]["y"]) == MOST_DRAWN and len(chart.rows) == MOST_DRAWN + 5
        assert f"Drawn are the {MOST_DRAWN} longest." in chart.says

    def test_nothing_told_is_not_no_pause(self) -> None:
        chart = drawn()
        assert chart.traces == [] and "No Gateway has told" in chart.empty


@pytest.mark.stack
@pytest.mark.django_db
class TestThePages:
    @pytest.fixture
    def moved(self, finished: Switch) -> Switch:
        began = StageRecord.objects.filter(switch=finished, stage="block").get().started_at.timestamp()
        told = [
            ["shop", "购物车", "produce", began - 0.25, began + 0.5],
            ["shop", "late", "consume", began, None],
        ]
        Switch.objects.filter(pk=finished.pk).update(pauses=told)
        return finished

    def test_the_page_of_the_switch_draws_them(
        self, as_vera: Client, moved: Switch, engines: SimpleNamespace
    ) -> None:
        page = as_vera.get(reverse("switch", args=[moved.key])).content.decode()
        assert "client-pauses" in page and "购物车" in page

    def test_as_csv(self, as_vera: Client, moved: Switch, engines: SimpleNamespace) -> None:
        answer = as_vera.get(reverse("switch", args=[moved.key]), {"csv": "client-pauses"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert len(lines) == 3 and lines[1].startswith("shop,购物车,writes,")

    def test_the_record_lists_them(self, as_vera: Client, moved: Switch) -> None:
        page = as_vera.get(reverse("switch-record", args=[moved.key])).content.decode()
        assert "0.75" in page and "not by the end of the switch" in page

"""The picture of what a switch has moved, and the marks of clusters."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from dashboard.parts import NASTY

from hadash.dashboard.templatetags.mail import hued
from hadash.presentation.record import record_of
from hadash.reports import drawing, moves
from hadash.reports.kinds import moved
from hadash.reports.marks import marked, unmarked
from hadash.reports.report import Section
from hadash.switching.execution.pauses import Pause, kept_pauses
from hadash.switching.models.switches import StageRecord, Switch

FIRST, SECOND = drawing.HUES["first"], drawing.HUES["second"]


def drawn(switch: Switch) -> moves.Moved:
    return moved.moved_by(switch, record_of(switch), kept_pauses(switch))


def sections(switch: Switch) -> list[Section]:
    return moved.section_of(switch, record_of(switch), kept_pauses(switch))


def pause(client: str, kind: str, seconds: float | None) -> list[Any]:
    return Pause("shop", client, kind, 100.0, None if seconds is None else 100.0 + seconds).to_json()


@pytest.mark.stack
@pytest.mark.django_db
class TestOfASwitch:
    def test_that_succeeded(self, finished: Switch) -> None:
        finished.pauses = [
            pause("购物车", "consume", 1.4),
            pause("购物车", "produce", 0.7),
            pause(NASTY, "produce", None),
        ]
        found = drawn(finished)
        assert [client.said for client in found.clients] == ["waited ↑ 0.70 s  ↓ 1.40 s", "waited ↑ –"]
        assert [client.went_on for client in found.clients] == [True, False]
        assert (found.source, found.target, found.ended_on) == ("first", "second", "second")
        assert found.copies_to == "first", "the mirror was turned round"
        assert found.gateways == ["writes refused", "0.30 s"]

    def test_the_other_way_the_pairs_first_cluster_stays_on_top(self, finished: Switch) -> None:
        finished.source, finished.target = finished.target, finished.source
        found = drawn(finished)
        assert (found.first.name, found.second.name) == ("east", "west")
        assert (found.source, found.target, found.ended_on, found.copies_to) == (
            "second",
            "first",
            "first",
            "second",
        )

    def test_that_came_back(self, finished: Switch) -> None:
        finished.status = "rolled_back"
        found = drawn(finished)
        assert found.ended_on == found.source == "first"
        assert SECOND.line not in moves.draw(found), "no way leads to where nobody went"

    def test_of_which_only_a_person_knows(self, finished: Switch) -> None:
        finished.status = "closed"
        found = drawn(finished)
        assert found.ended_on is None and found.copies_to is None
        (section,) = sections(finished)
        assert "not known" in section.says

    def test_whose_mirror_was_not_turned_round(self, finished: Switch) -> None:
        StageRecord.objects.filter(switch=finished, stage="reverse").delete()
        assert drawn(finished).copies_to is None

    def test_without_a_single_pause_has_its_bindings(self, finished: Switch) -> None:
        assert [client.name for client in drawn(finished).clients] == ["shop", "shop › shop-carts"]
        assert {client.went_on for client in drawn(finished).clients} == {None}

    def test_of_many_clients_some_are_named(self, finished: Switch) -> None:
        finished.pauses = [pause(f"web-{n}", "produce", 0.5) for n in range(13)]
        found = drawn(finished)
        assert len(found.clients) == moves.MOST_CLIENTS and found.more == "and 3 more"

    @pytest.mark.parametrize("status", ["running", "declined", "cancelled"])
    def test_that_has_not_moved_anything_has_none(self, make_switch: Any, status: str) -> None:
        assert sections(make_switch(status)) == []

    def test_nor_has_a_rehearsal(self, finished: Switch) -> None:
        finished.kind = "rehearsal"
        assert sections(finished) == []

    def test_the_records_per_second_before(self, finished: Switch) -> None:
        began = finished.started_at.timestamp()  # type: ignore[union-attr]
        finished.traffic = [
            {"at": began - 4 + n / 2, "parked": 0, "clusters": {"east": [6, 3]}} for n in range(8)
        ]
        found = drawn(finished)
        assert found.first.says == ["before", "↑ 9.6/s  ↓ 4.8/s"]
        assert found.second.says == [], "nobody has seen the end"


def test_rates_of_several_gateways_are_added() -> None:
    samples = [{"at": 100.0 + n % 5, "clusters": {"east": [10, 0]}} for n in range(10)]
    assert moved.rate(samples, "east", 98.0, 108.0) == (10.0, 0.0)
    assert moved.rate(samples, "west", 98.0, 108.0) == (0.0, 0.0)
    assert moved.rate(samples, "east", 200.0, 205.0) is None


class TestThePicture:
    SIDES = moves.Side("east", "first", ["before", "↑ 10/s  ↓ 9/s"]), moves.Side("west", "second")

    def picture(self, clients: int, **more: Any) -> moves.Moved:
        values: dict[str, Any] = {"source": "first", "target": "second", "ended_on": "second", **more}
        made = [moves.Client(f"{NASTY}-{n}", "waited ↑ 0.1 s", True) for n in range(clients)]
        return moves.Moved(("Clients", "Gateways", "Clusters"), made, *self.SIDES, **values)

    @pytest.mark.parametrize("clients", [0, 1, moves.MOST_CLIENTS])
    @pytest.mark.parametrize("ended_on", ["first", "second", None])
    def test_is_drawn_whatever_happened(self, clients: int, ended_on: str | None) -> None:
        found = self.picture(clients, ended_on=ended_on, more="and 7 more")
        svg = moves.draw(found)
        root = ElementTree.fromstring(svg)
        assert int(root.attrib["height"]) == moves.height_of(found)
        bottom = [
            float(e.attrib["y"]) + float(e.attrib["height"])
            for e in root.iter()
            if e.tag.endswith("rect") and "y" in e.attrib
        ]
        assert max(bottom) <= moves.height_of(found)

    def test_says_where_clients_are_by_more_than_colour(self) -> None:
        svg = moves.draw(self.picture(2))
        assert svg.count("stroke-dasharray") == 2, "one way before for each client"
        assert (
            f'stroke="{SECOND.ink}" stroke-width="2"' in svg
            and f'stroke="{FIRST.ink}" stroke-width="1"' in svg
        )

    def test_is_said_in_words(self) -> None:
        said = moves.in_words(self.picture(1, gateways=["writes refused", "0.3 s"], more="and 7 more"))
        assert said.startswith("east → west; ") and "waited ↑ 0.1 s; and 7 more; east: before" in said

    def test_takes_the_colours_of_its_page(self) -> None:
        assert not re.search("#[0-9a-f]{6}", drawing.for_page(moves.draw(self.picture(2))))

    def test_chinese_is_drawn_in_a_chinese_font(self) -> None:
        assert "Noto Sans CJK SC" in drawing.words(0, 0, "购物车", drawing.INK).split(">")[0]
        assert "font-family" not in drawing.words(0, 0, "shop", drawing.INK)


@pytest.mark.stack
def test_a_cluster_has_its_mark_in_a_text_and_none_in_a_file(fleet: SimpleNamespace) -> None:
    said = f"{marked(fleet.east, fleet.pair)} → {marked(fleet.west, fleet.pair)}"
    assert said == "● east → ◆ west" and unmarked(said) == "east → west"


def test_on_a_page_the_mark_has_the_hue() -> None:
    assert hued("● east <b>") == '<span class="hue-first">●</span> east &lt;b&gt;'

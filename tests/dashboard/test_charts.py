"""Charts: what is drawn, and the table that says the same."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest
from django.test import RequestFactory

from hadash.dashboard.charts import blast_radius, coverage_map, over_time, sharing, stages, work_list
from hadash.dashboard.charts.chart import TWIN_ROWS, Chart, Linked
from hadash.dashboard.charts.coverage_map import Cell, Known
from hadash.dashboard.charts.map_marks import Turn
from hadash.dashboard.sorting import order_of
from hadash.presentation.tables import Column

DAY = date(2026, 11, 20)


def shared(appid: str = "shop", **more: Any) -> sharing.Shared:
    return sharing.Shared(
        **{"pair": "main", "appid": appid, "clients": 3, "applications": 1, "hosts": 2, "radius": 4, **more}
    )


def cell(**more: Any) -> Cell:
    counts = {"clients": 2, "registered": 2, "changing": 0, "twice": 0, "bypassing": 0}
    return Cell(**{"pair": "main", "appid": "shop", "topic": "orders", **counts, **more})


def mirror_day(
    day: int, seconds: float | None, mirror: str = "carts", pair: str = "main"
) -> over_time.MirrorDay:
    return over_time.MirrorDay(date(2026, 11, day), pair, mirror, 100, 0, 0, seconds, seconds, seconds)


EXAMPLES: list[Chart] = [
    sharing.distribution({1: 5, 9: 2}),
    sharing.ranking([shared(), shared("audit", pair="other")]),
    sharing.against_radius([shared()], [sharing.Crowd(2, 3, 312)]),
    sharing.before_and_after([sharing.Change("main", "shop", 3, 40, 7)]),
    over_time.coverage([over_time.CoverageDay(DAY, "main", 4, 3)], DAY),
    over_time.lag([mirror_day(20, 1.5)], {"main": 30.0}, DAY),
    coverage_map.coverage_map([cell()]),
    work_list.falling_apart([work_list.Step("main", 1, "shop", 3, 40, 7, 1)]),
    stages.compared([stages.StageTime("drain", 1.0, [0.5, 0.6, 0.7]), stages.StageTime("verify", 1.0)]),
]


@pytest.mark.parametrize("chart", EXAMPLES, ids=[chart.name for chart in EXAMPLES])
def test_each_can_be_sent_and_has_a_twin_with_all_of_its_columns(chart: Chart) -> None:
    json.dumps(chart.drawn, allow_nan=False)
    assert chart.rows and all(len(row) == len(chart.columns) for row in chart.rows)
    assert chart.title and chart.empty and chart.traces


@pytest.mark.parametrize(
    "empty",
    [
        sharing.distribution({}),
        sharing.ranking([]),
        sharing.against_radius([], []),
        sharing.before_and_after([]),
        over_time.coverage([], DAY),
        over_time.lag([], {}, DAY),
        coverage_map.coverage_map([]),
        work_list.falling_apart([]),
        stages.compared([]),
    ],
    ids=lambda chart: chart.name,
)
def test_without_rows_there_is_a_sentence_instead(empty: Chart) -> None:
    assert not empty.rows and empty.empty


def test_what_a_mark_leads_to_its_row_leads_to_as_well() -> None:
    """Marks are clicked with a mouse; rows are reached by keys."""
    chart = sharing.ranking([shared()])
    [row] = chart.rows
    assert isinstance(row[1], Linked) and row[1] == "shop"
    assert row[1].href == chart.traces[0]["customdata"][0][0]


def test_only_what_measures_something_can_be_looked_at_more_closely() -> None:
    drawn = {chart.name: chart.zooms for chart in EXAMPLES}
    assert drawn["lag-by-day"] and not drawn["coverage-map"]


def test_a_twin_shows_the_first_rows_and_says_how_many_more_there_are() -> None:
    chart = sharing.against_radius([shared(f"app-{n}") for n in range(TWIN_ROWS + 5)], [])
    assert (len(chart.twin()), chart.more) == (TWIN_ROWS, 5)


class TestOrderOfTwins:
    """A twin is ordered by any of its columns before its first rows are taken."""

    CHART = Chart(
        "made",
        "Made",
        (
            Column("appid", "AppID", "name"),
            Column("clients", "Clients", "number"),
            Column("names", "Names", "names"),
        ),
        [(f"App-{n:03}", n if n % 2 else None, [f"c{n}"]) for n in range(TWIN_ROWS + 5)],
        [],
    )

    def first(self, column: str, name: str) -> Any:
        order = order_of(
            RequestFactory().get(f"/?made-sort={column}"), ["appid", "clients", "names"], "made-sort"
        )
        return {column.name: value for column, value in self.CHART.twin(order)[0]}[name]

    def test_the_largest_of_all_come_first_and_not_only_of_those_that_were_shown(self) -> None:
        assert self.first("-clients", "clients") == TWIN_ROWS + 3

    def test_texts_and_lists(self) -> None:
        assert self.first("appid", "appid") == "App-000"
        assert self.first("-appid", "appid") == f"App-{TWIN_ROWS + 4:03}"
        assert self.first("-names", "names") == ["c9"]

    def test_as_it_is_given(self) -> None:
        assert self.first("nothing", "appid") == "App-000"


class TestSharing:
    def test_it_says_how_many_are_shared(self) -> None:
        assert sharing.distribution({1: 5, 2: 1, 9: 2}).says.startswith(
            "3 of 8 AppIDs are used by several clients."
        )

    def test_a_point_leads_to_its_appid(self) -> None:
        chart = sharing.against_radius([shared(href="/appids/7/")], [])
        assert chart.traces[1]["customdata"] == [["/appids/7/"]]

    def test_two_of_one_name_are_told_apart(self) -> None:
        (bars,) = sharing.ranking([shared(), shared(pair="other"), shared("audit")]).traces
        assert bars["y"] == ["audit", "shop (other)", "shop (main)"]

    def test_what_gains_most_by_registering_stands_on_top(self) -> None:
        changes = [
            sharing.Change("main", "audit", 1, before=12, after=5),
            sharing.Change("main", "shop", 3, before=40, after=7),
            sharing.Change("main", "alone", 1, before=1, after=0),
        ]
        chart = sharing.before_and_after(changes)
        between, before, after = chart.traces
        assert before["y"] == ["alone", "audit", "shop"], "Plotly draws from below"
        assert (before["x"], after["x"]) == ([1, 12, 40], [1, 5, 7]), "a logarithmic axis has no nothing"
        assert between["x"][-3:] == [7, 40, None]
        assert [row[1] for row in chart.rows] == ["audit", "shop", "alone"], "as the work list has it"

    def test_before_the_first_work_list_nobody_knows_whether_anything_is_left(self) -> None:
        assert (
            sharing.before_and_after(None).empty
            == "No work list has been made yet: the job Advice has not run."
        )
        assert "Nothing is left to do" in sharing.before_and_after([]).empty


class TestCoverageMap:
    @pytest.mark.parametrize(
        ("counts", "known"),
        [
            ({}, Known.REGISTERED),
            ({"registered": 1}, Known.UNREGISTERED),
            ({"registered": 1, "changing": 1}, Known.CHANGING),
            ({"changing": 1, "twice": 1}, Known.TWICE),
            ({"twice": 1, "bypassing": 1}, Known.BYPASSING),
        ],
    )
    def test_a_cell_shows_the_gravest(self, counts: dict[str, int], known: Known) -> None:
        assert cell(**counts).known is known

    def test_those_with_most_to_do_are_on_top(self) -> None:
        chart = coverage_map.coverage_map([cell(), cell(appid="audit", registered=0, topic="people")])
        (drawn,) = chart.traces
        assert drawn["y"] == ["shop", "audit"], "Plotly draws from below"
        assert drawn["x"] == ["orders", "people"]
        assert drawn["z"] == [[0.5, None], [None, 1.5]], "what does not use a Topic has no cell"
        assert drawn["text"] == [["✓", ""], ["", "○"]], "colour is not the only signal"

    def test_it_says_how_much_of_it_is_drawn(self) -> None:
        assert "are drawn" not in str(coverage_map.coverage_map([cell()]).says)
        many = [cell(topic=f"topic-{number}") for number in range(coverage_map.TOPICS + 5)]
        says = str(coverage_map.coverage_map(many, rest=coverage_map.Rest(1200, 0, list)).says)
        assert "1 of 1,200 AppIDs and 30 of their 35 Topics are drawn" in says


class TestOverTime:
    def test_days_that_nobody_has_told_of_are_gaps(self) -> None:
        days = [over_time.CoverageDay(date(2026, 11, day), "main", 4, 2) for day in (18, 20)]
        (line,) = over_time.coverage(days, DAY).traces
        assert line["y"] == [0.5, None, 0.5]
        (line,) = over_time.lag([mirror_day(18, 1.0), mirror_day(20, 2.0)], {}, DAY).traces
        assert line["y"] == [1.0, None, 2.0]

    def test_of_many_pairs_those_with_the_lowest_coverage_are_drawn(self) -> None:
        days = [over_time.CoverageDay(DAY, f"pair-{number}", 10, number) for number in range(7)]
        chart = over_time.coverage(days, DAY)
        assert [line["name"] for line in chart.traces] == ["pair-0", "pair-1", "pair-2", "pair-3"]
        assert str(chart.says).endswith(
            "Of 7 pairs the 4 with the lowest coverage are drawn; the table has all."
        )

    def test_the_rpo_is_a_line_with_its_name(self) -> None:
        layout = over_time.lag([mirror_day(20, 1.0)], {"main": 30.0, "other": 30.0, "third": 5.0}, DAY).layout
        assert [shape["y0"] for shape in layout["shapes"]] == [5.0, 30.0]
        names = [note["text"] for note in layout["annotations"]]
        assert "RPO of main, other: 30 s" in names and "RPO of third: 5 s" in names

    def test_of_many_mirrors_the_worst_have_a_name(self) -> None:
        days = [mirror_day(20, float(number), f"mirror-{number}") for number in range(9)]
        chart = over_time.lag(days, {}, DAY)
        named = [note["text"] for note in chart.layout["annotations"]]
        assert named == ["mirror-8", "mirror-7", "mirror-6", "mirror-5"]
        assert len(chart.traces) == 9


def test_as_the_work_list_is_done_the_largest_island_gets_smaller() -> None:
    """Steps may be about other islands than the largest: what is left is the largest of all."""
    steps = [
        work_list.Step("main", 1, "shop", 3, before=40, after=7, island=1),
        work_list.Step("main", 2, "audit", 1, before=12, after=5, island=2),
    ]
    islands, largest = work_list.falling_apart(steps).traces
    assert largest["y"] == [40, 12, 7], "in the end the first island is the largest again"
    assert islands["y"] == [40, 7, 7, None, 12, 12, 5, None], "each island by itself"


def test_islands_of_the_same_size_are_not_taken_for_each_other() -> None:
    steps = [
        work_list.Step("main", 1, "shop", 3, before=40, after=20, island=1),
        work_list.Step("main", 2, "audit", 1, before=40, after=20, island=2),
        work_list.Step("main", 3, "stock", 1, before=20, after=5, island=1),
    ]
    assert work_list.each_island(steps) == [[40, 20, 20, 5], [40, 40, 20, 20]]


class TestStages:
    """A switch beside the last ones of its kind."""

    def test_it_names_what_was_slower_than_usual_the_slowest_first(self) -> None:
        found = [
            stages.StageTime("quiesce", 9.0, [3.0, 3.1, 3.2]),
            stages.StageTime("drain", 6.0, [1.0, 1.0, 1.1]),
            stages.StageTime("block", 0.09, [0.02, 0.02, 0.03]),
        ]
        assert stages.verdict(found) == "Slower than usual: drain 6×, quiesce 3×."

    def test_hundredths_of_a_second_are_not_worth_a_word(self) -> None:
        assert (
            stages.verdict([stages.StageTime("block", 0.3, [0.02, 0.02, 0.03])])
            == "No stage was slower than usual."
        )

    def test_of_too_few_nothing_is_said(self) -> None:
        found = stages.StageTime("drain", 60.0, [1.0, 1.0])
        assert (found.usual, found.times) == (None, None)
        assert stages.verdict([found]).startswith("There are too few earlier switches")

    def test_the_attempts_of_a_stage_count_together(self) -> None:
        own = [("precheck", 1.0), ("drain", 2.0), ("precheck", 3.0)]
        words = {"precheck": "Precheck", "drain": "Drain"}
        found = stages.times_of(own, {"drain": [1.0]}, words)
        assert found == [stages.StageTime("Precheck", 4.0), stages.StageTime("Drain", 2.0, [1.0])]


def link(key: str, because: str = "", chain: tuple[str, ...] = (), **more: Any) -> blast_radius.Link:
    return blast_radius.Link(key, because, "AppID", "circle", key, "reads it", chain or (key,), **more)


class TestBlastRadius:
    def test_each_stands_a_step_after_what_pulls_it_in(self) -> None:
        members = [
            link("shop"),
            link("orders", "shop", ("shop", "orders")),
            link("audit", "orders", ("shop", "orders", "audit")),
        ]
        chart = blast_radius.blast_radius(members, {})
        assert chart.traces[1]["x"] == [0, 1, 2]
        assert chart.says == "1 of 3 was asked for; the others come along (longest chain: 2)."

    def test_lines_do_not_cross(self) -> None:
        """Those whom one pulls in stand beside each other, and it in their midst."""
        members = [
            link("shop"),
            *(link(name, "shop", ("shop", name)) for name in ("a", "b")),
            *(link(f"{of}{n}", of, ("shop", of, f"{of}{n}")) for of in ("a", "b") for n in range(3)),
        ]
        marks = blast_radius.blast_radius(members, {}).traces[1]
        at = dict(zip([link.key for link in members], marks["y"], strict=True))
        assert max(at["b0"], at["b1"], at["b2"]) < min(at["a0"], at["a1"], at["a2"])
        assert at["a"] == at["a1"] and at["b"] == at["b1"]

    def test_what_is_on_the_target_already_is_told_by_more_than_its_colour(self) -> None:
        chart = blast_radius.blast_radius([link("shop"), link("orders", "shop", already=True)], {})
        assert chart.traces[1]["marker"]["symbol"] == ["circle", "circle-open"]
        assert [row[-2] for row in chart.rows] == ["", "there already"]
        assert chart.says.endswith("Open marks are on the target already.")

    def test_what_is_not_drawn_is_counted_at_its_step(self) -> None:
        chart = blast_radius.blast_radius([link("shop")], {1: 300, 2: 4})
        assert chart.traces[2]["text"] == ["300 more", "4 more"]
        assert chart.says.startswith("1 of 305")

    def test_where_names_would_cover_each_other_they_are_shown_on_hover_and_it_says_so(self) -> None:
        members = [link("shop"), *(link(f"t{n}", "shop") for n in range(blast_radius.NAMED))]
        named, crowded = (blast_radius.blast_radius(some, {}) for some in (members[:-1], members))
        assert all(named.traces[1]["text"]) and not any(crowded.traces[1]["text"])
        assert not named.says.endswith("Point at a mark for its name.")
        assert crowded.says.endswith("Point at a mark for its name.")

    def test_what_comes_alone_says_so(self) -> None:
        assert blast_radius.blast_radius([link("shop")], {}).says == (
            "Nothing comes along: what was asked for moves by itself."
        )

    def test_new_and_gone_are_told_by_more_than_their_colour(self) -> None:
        chart = blast_radius.blast_radius([link("shop", turn=Turn.NEW), link("audit", turn=Turn.GONE)], {})
        assert chart.traces[1]["marker"]["symbol"] == ["cross", "x"]
        assert [row[-1] for row in chart.rows] == ["new", "gone"]

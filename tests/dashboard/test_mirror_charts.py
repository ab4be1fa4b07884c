"""The charts of a mirror and its incidents: what is late, what is a gap, and what nobody knows. Pure."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from dashboard.parts import words_of
from hadash.dashboard.charts import mirror_lag, mirror_partitions
from hadash.dashboard.mirrors.history import Moment, named
from hadash.dashboard.mirrors.incidents import Bucket, Incident, Kind, incidents

AT = datetime(2026, 11, 25, 10, 0, tzinfo=UTC)
STEP = timedelta(seconds=10)
EVERY = timedelta(seconds=2)


def bucket(place: int, seconds: float | None = 0.5, **more: Any) -> Bucket:
    values = {"records": 3, "samples": 5, "unknown": 0 if seconds is not None else 5, "states": ("running",)}
    return Bucket(AT + place * STEP, **{**values, "seconds": seconds, **more})


def found(*buckets: Bucket, end: int | None = None) -> list[Incident]:
    last = AT + (len(buckets) if end is None else end) * STEP
    return incidents(buckets, STEP, 30.0, last, EVERY)


class TestIncidents:
    def test_one_that_ran_within_the_rpo_has_none(self) -> None:
        assert found(bucket(0), bucket(1, 30.0), bucket(2)) == []

    def test_late_for_some_steps_is_one_incident_with_the_worst(self) -> None:
        [late] = found(bucket(0), bucket(1, 31.0), bucket(2, 45.0), bucket(3), bucket(4))
        assert late == Incident(Kind.LATE, AT + STEP, AT + 3 * STEP, 45.0)

    def test_what_goes_on_has_no_end(self) -> None:
        [late] = found(bucket(0), bucket(1, 31.0))
        assert late.until is None

    def test_not_known_is_not_fine(self) -> None:
        [unknown, _later] = found(bucket(0), bucket(1, 40.0), bucket(2), bucket(3, None), bucket(4))
        assert (unknown.kind, unknown.worst) == (Kind.UNKNOWN, None)
        [one_of_five] = found(bucket(0), bucket(1, unknown=1), bucket(2))
        assert one_of_five.kind is Kind.UNKNOWN

    def test_failed_outweighs_late(self) -> None:
        [down] = found(bucket(0, 99.0, states=("failed", "running")), bucket(1), bucket(2))
        assert down.kind is Kind.DOWN

    def test_a_time_without_samples_is_a_time_in_which_nobody_has_looked(self) -> None:
        [silent] = found(bucket(0), bucket(9), bucket(10), end=11)
        assert silent == Incident(Kind.SILENT, AT + STEP, AT + 9 * STEP, None)

    def test_nobody_looks_any_more(self) -> None:
        [silent] = found(bucket(0), end=30)
        assert (silent.kind, silent.until) == (Kind.SILENT, None)

    def test_samples_further_apart_than_steps_are_no_silence(self) -> None:
        looks = [bucket(0), bucket(3), bucket(6)]
        assert incidents(looks, STEP, 30.0, AT + 7 * STEP, timedelta(seconds=30)) == []

    def test_where_a_round_of_looks_takes_long_to_wait_for_the_next_is_no_silence(self) -> None:
        rounds = [bucket(6 * place) for place in range(12)]
        assert found(*rounds, end=67) == []
        [silent] = found(*rounds, bucket(110), end=111)
        assert (silent.kind, silent.since) == (Kind.SILENT, AT + 67 * STEP)
        assert None not in mirror_lag.points_of(rounds, STEP)["seconds"], "it is one line"


class TestTheChart:
    def chart(self, *buckets: Bucket, switched: Any = ()) -> Any:
        span = (AT - timedelta(minutes=5), AT + timedelta(minutes=5))
        return mirror_lag.lag(buckets, STEP, span, 30.0, found(*buckets), switched)

    def test_a_gap_is_a_gap(self) -> None:
        chart = self.chart(bucket(0), bucket(20), bucket(21))
        assert chart.traces[0]["y"] == [0.5, None, 0.5, 0.5]

    def test_it_says_how_it_stands_against_the_rpo(self) -> None:
        whole = [bucket(place) for place in range(-30, 1)]
        assert self.chart(*whole).says.startswith(
            "It was never more than 0.5 s behind (RPO 30 s). 1 incident"
        )
        assert self.chart(*whole, bucket(1, 41.0)).says.startswith(
            "It was up to 41.0 s behind: more than the RPO of 30 s. 2 incidents"
        )
        assert self.chart(bucket(0, None)).says.startswith("How far it was behind is not known.")

    def test_it_does_not_speak_for_a_time_before_it_was_looked_at(self) -> None:
        assert self.chart(bucket(0)).says == (
            "It was never more than 0.5 s behind (RPO 30 s). Nothing is known of the time before the first point."
        )

    def test_the_rpo_is_a_line_and_a_switch_a_band(self) -> None:
        switch = mirror_lag.Switched(AT, None, "west", "/switches/x/")
        chart = self.chart(bucket(0), switched=[switch])
        assert [shape["type"] for shape in chart.layout["shapes"]] == ["rect", "line"]
        assert words_of(chart) == {"RPO: 30 s", "switch to west"}

    def test_kinds_of_incidents_are_told_by_more_than_their_colour(self) -> None:
        chart = self.chart(bucket(0, 41.0), bucket(1), bucket(2, None), bucket(3))
        assert {"▲", "?"} < words_of(chart)
        assert "▲ further behind than the RPO" in chart.says


def moment(at: datetime, records: dict[str, int], seconds: dict[str, float | None] | None = None) -> Moment:
    """A moment; by default partitions are a second behind for every record."""
    late = named(seconds) if seconds is not None else {p: float(n) for p, n in named(records).items()}
    return Moment(at, named(records), late)


class TestPartitionsOverTime:
    SPAN = (AT, AT + timedelta(minutes=10))

    def chart(self, *records: dict[str, int] | None, topic: str = "") -> Any:
        """A step each; ``None``: nobody has looked."""
        moments = [
            moment(AT + place * STEP, known) for place, known in enumerate(records) if known is not None
        ]
        return mirror_partitions.over_time(moments, STEP, self.SPAN, topic)

    def test_those_furthest_behind_are_on_top_and_gaps_are_gaps(self) -> None:
        chart = self.chart({"orders-0": 5, "orders-1": 900}, None, {"orders-0": 9})
        [drawn] = chart.traces
        assert drawn["y"] == ["orders-0", "orders-1"], "Plotly draws from below"
        assert drawn["customdata"] == [
            [["5 records", "5.0 s"], None, ["9 records", "9.0 s"]],
            [["900 records", "900.0 s"], None, None],
        ]
        assert drawn["z"][1] == [pytest.approx(2.95, abs=0.01), None, None], (
            "ten times as many is one step darker"
        )
        assert "2 of 2 partitions were behind" in chart.says

    def test_its_table_has_what_was_behind_the_newest_first(self) -> None:
        chart = self.chart({"orders-0": 5, "orders-1": 0}, {"orders-0": 9})
        assert [(at, partition, records, late) for at, _topic, partition, records, late in chart.rows] == [
            (AT + STEP, 0, 9, 9.0), (AT, 0, 5, 5.0),
        ]  # fmt: skip

    def test_a_topic_lacks_what_all_its_partitions_lack(self) -> None:
        moments = [moment(AT, {"a-0": 5, "a-1": 2, "b-0": 1}), moment(AT + STEP, {"a-0": 4})]
        chart = mirror_partitions.topics_over_time(moments, STEP, self.SPAN)
        assert {trace["name"]: trace["y"] for trace in chart.traces} == {"a": [7, 4], "b": [1, None]}
        [alone] = mirror_partitions.topics_over_time(moments, STEP, self.SPAN, "b").traces
        assert alone["name"] == "b"

    def test_a_topic_is_as_late_as_its_furthest_partition(self) -> None:
        """And nobody knows how late while one of its partitions is not known."""
        moments = [
            moment(AT, {"a-0": 5, "a-1": 2, "b-0": 0}, {"a-0": 1.5, "a-1": 4.0, "b-0": 0.0}),
            moment(AT + STEP, {"a-0": 4, "a-1": 9, "b-0": 3}, {"a-0": 0.5, "a-1": None, "b-0": 9.0}),
        ]
        chart = mirror_partitions.topics_seconds_over_time(moments, STEP, self.SPAN, 30.0)
        assert {trace["name"]: trace["y"] for trace in chart.traces} == {"a": [4.0, None], "b": [0.0, 9.0]}
        assert "RPO: 30 s" in words_of(chart), "a named line"
        assert "Where nothing is drawn it is not known." in str(chart.says)

    def test_of_one_topic_alone(self) -> None:
        chart = self.chart({"orders-0": 5, "people-0": 7}, topic="people")
        assert chart.traces[0]["y"] == ["people-0"]
        assert chart.says.startswith("people: 1 of 1 partition was behind")

    def test_of_thousands_the_worst_are_drawn(self) -> None:
        chart = self.chart({f"orders-{number}": number for number in range(5000)})
        assert (
            chart.traces[0]["y"][-1] == "orders-4999" and len(chart.traces[0]["y"]) == mirror_partitions.DRAWN
        )
        assert "4,999 of 5,000" in chart.says and "24 that were furthest behind" in chart.says

    def test_none_behind_and_nobody_knows_are_not_the_same(self) -> None:
        assert self.chart({"orders-0": 0}).empty == "None of its partitions was behind within this time."
        assert self.chart().empty == "Nobody has looked at it within this time."

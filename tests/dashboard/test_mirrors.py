"""The pages of mirrors: how far each is behind now and before, what went wrong, and who watches."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import PASSWORD, signed_in
from dashboard.test_live import parse
from hadash.accounts.roles import ensure_user
from hadash.dashboard.charts import mirror_lag, mirror_partitions
from hadash.dashboard.mirrors.history import WINDOWS, Moment, buckets_of, moments_of, named
from hadash.dashboard.mirrors.incidents import Bucket, Incident, Kind, incidents
from hadash.dashboard.mirrors.looking import partitions_of, rows_of, shown_of
from hadash.dashboard.views import mirror_list, streaming
from hadash.dashboard.views import mirrors as views
from hadash.governance.models.published import LagDay
from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.mirroring import samples
from hadash.mirroring.models import LagHour, LagSample, Mirror, PairLag
from hadash.switching.models.switches import Switch

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


def words_of(chart: Any) -> set[str]:
    return {shape["label"]["text"] for shape in chart.layout["shapes"]}


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


@pytest.mark.stack
@pytest.mark.django_db
class TestHistory:
    def test_of_each_step_the_worst_sample_is_shown(self, fleet: SimpleNamespace) -> None:
        LagSample.objects.all().delete()
        for second, records, partitions in [
            (0, 5, {"a-b-0": 5}), (4, 9, {"a-b-0": 2, "a-b-1": 7}), (8, None, {}), (12, None, {}),
        ]:  # fmt: skip
            at = AT + timedelta(seconds=second)
            LagSample.objects.create(mirror=fleet.mirror, at=at, records=records, partitions=partitions)
        first, unknown = moments_of(fleet.mirror, AT, AT + timedelta(minutes=1), STEP)
        assert (first.at, first.records) == (AT, named({"a-b-0": 2, "a-b-1": 7}))
        assert (unknown.at, unknown.records) == (AT + STEP, {})

    def test_how_late_a_partition_was_is_told_only_where_it_is_known(self, fleet: SimpleNamespace) -> None:
        """A sample notes the partitions that are behind: of others it says so by saying nothing. One that is behind
        and notes none was taken before partitions were noted.
        """
        LagSample.objects.all().delete()
        for place, (seconds, noted) in enumerate(
            [(4.5, {"a-0": 4.5}), (None, {"a-0": None}), (4.5, {}), (0.0, {})]
        ):
            LagSample.objects.create(
                mirror=fleet.mirror, at=AT + place * STEP, records=5, seconds=seconds,
                partitions={"a-0": 5, "a-1": 0}, partition_seconds=noted,
            )  # fmt: skip
        moments = moments_of(fleet.mirror, AT, AT + timedelta(minutes=1), STEP)
        assert [{p.partition: late for p, late in each.seconds.items()} for each in moments] == [
            {0: 4.5, 1: 0.0}, {0: None, 1: 0.0}, {0: None, 1: None}, {0: 0.0, 1: 0.0},
        ]  # fmt: skip

    def test_the_worst_sample_of_each_hour_is_kept_for_a_month(
        self, as_arne: Client, fleet: SimpleNamespace, settings: Any
    ) -> None:
        LagSample.objects.all().delete()
        hour = timezone.now().replace(minute=0, second=0, microsecond=0)
        for minutes, records in ((-190, 900), (-170, None), (-130, 7), (-125, 40), (-70, 0), (5, 3)):
            LagSample.objects.create(
                mirror=fleet.mirror, at=hour + timedelta(minutes=minutes), records=records,
                partitions={} if records is None else {"carts-0": records},
            )  # fmt: skip
        settings.LAG_KEPT_HOURS = 3
        samples.trim(hour + timedelta(minutes=6))
        assert list(LagHour.objects.order_by("at").values_list("at", "records")) == [
            (hour - timedelta(hours=3), 40), (hour - timedelta(hours=2), 0),
        ], "not the hour that still goes on, nor one before all that is kept"  # fmt: skip
        assert samples.keep_hours(hour + timedelta(minutes=7)) == 0, "each once"
        page = as_arne.get(reverse("mirror", args=["main", "shop"]), {"window": "month"}).content.decode()
        assert "1 of 1 partition was behind" in page
        samples.trim(hour + timedelta(days=32))
        assert not LagHour.objects.exists()

    def test_each_topic_leads_to_its_partitions(self, as_arne: Client, fleet: Any) -> None:
        LagSample.objects.all().delete()
        now = timezone.now()
        for age, name in ((30, "carts-0"), (20, "stock-0")):
            LagSample.objects.create(
                mirror=fleet.mirror, at=now - timedelta(seconds=age), records=7, partitions={name: 7}
            )
        address = reverse("mirror", args=["main", "shop"])
        page = as_arne.get(address).content.decode()
        assert f'href="{address}?topic=stock#partitions-over-time"' in page
        answer = as_arne.get(address, {"topic": "stock", "csv": "partitions-over-time"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert [line.split(",")[1] for line in lines[1:]] == ["stock"]

    def test_samples_are_added_up_by_steps(self, fleet: SimpleNamespace) -> None:
        LagSample.objects.all().delete()
        for second, records, seconds in [(0, 5, 1.0), (4, 9, 0.5), (8, None, None), (12, 1, 0.1)]:
            at = AT + timedelta(seconds=second)
            LagSample.objects.create(
                mirror=fleet.mirror, at=at, records=records, seconds=seconds, state="running"
            )
        first, second = buckets_of(fleet.mirror, AT, AT + timedelta(minutes=1), STEP)
        assert first == Bucket(AT, 9, 1.0, 3, 1, ("running",))
        assert (second.at, second.records, second.unknown) == (AT + STEP, 1, 0)

    def test_a_month_is_what_the_job_has_counted(self, fleet: SimpleNamespace) -> None:
        now = timezone.now()
        run = Run.objects.create(job=Run.Job.LAG, state=Run.State.PUBLISHED, began_at=now, ended_at=now)
        for age, worst in ((3, 12.0), (2, 44.0)):
            day = (now - timedelta(days=age)).date()
            LagDay.objects.create(
                run=run, pair="main", mirror="shop", date=day, samples=9, unknown=0, over_rpo=0,
                seconds_p95=worst, seconds_most=60.0, records_most=7,
            )  # fmt: skip
        shown = shown_of(fleet.mirror, WINDOWS["month"], now)
        assert [b.seconds for b in shown.buckets] == [60.0, 60.0], (
            "as far as it was at its worst, not in 19 of 20 samples"
        )
        assert Kind.LATE in {each.kind for each in shown.incidents}
        assert "It was up to 60.0 s behind" in str(shown.chart.says)

    def test_a_day_that_has_just_begun_is_no_silence(self, fleet: SimpleNamespace) -> None:
        """The job counts at five past each hour: shortly after midnight there is nothing of today."""
        midnight = timezone.now().replace(hour=0, minute=30, second=0, microsecond=0)
        run = Run.objects.create(
            job=Run.Job.LAG, state=Run.State.PUBLISHED, began_at=midnight, ended_at=midnight
        )
        for age in (2, 1):
            LagDay.objects.create(
                run=run, pair="main", mirror="shop", date=(midnight - timedelta(days=age)).date(), samples=9, unknown=0,
                over_rpo=0, seconds_p95=1.0, seconds_most=2.0, records_most=7,
            )  # fmt: skip
        assert shown_of(fleet.mirror, WINDOWS["month"], midnight).incidents == []
        (silent,) = shown_of(fleet.mirror, WINDOWS["month"], midnight + timedelta(hours=6)).incidents
        assert (silent.kind, silent.until) == (Kind.SILENT, None)

    def test_partitions_that_nobody_knows_come_first_then_those_furthest_behind(
        self, fleet: SimpleNamespace
    ) -> None:
        fleet.mirror.known_ends = [["a-b", 0, 90], ["a-b", 1, 95], ["a-b", 2, 80]]
        LagSample.objects.create(
            mirror=fleet.mirror, at=timezone.now(), records=12, partitions={"a-b-0": 2, "a-b-2": 10}
        )
        rows = partitions_of(fleet.mirror)
        assert [(row.partition, row.records, row.source_end) for row in rows] == [
            (1, None, 95),
            (2, 10, 80),
            (0, 2, 90),
        ]

    def test_how_late_each_partition_is(self, fleet: SimpleNamespace) -> None:
        mirror = fleet.mirror
        mirror.known_ends = [["a-b", 0, 90], ["a-b", 1, 95], ["a-b", 2, 80]]
        mirror.lag_seconds, mirror.partition_seconds = 4.5, {"a-b-0": 4.5, "a-b-1": None}
        partitions = {"a-b-0": 2, "a-b-1": 7, "a-b-2": 0}
        LagSample.objects.create(mirror=mirror, at=timezone.now(), records=9, partitions=partitions)
        assert {row.partition: row.seconds for row in partitions_of(mirror)} == {0: 4.5, 1: None, 2: 0.0}
        mirror.lag_seconds, mirror.partition_seconds = None, {}
        assert {row.seconds for row in partitions_of(mirror)} == {None}, "nobody knows it of any"

    def test_a_switch_that_used_it_is_marked(self, fleet: SimpleNamespace, finished: Switch) -> None:
        now = timezone.now()
        Switch.objects.filter(pk=finished.pk).update(plan={**finished.plan, "mirrors": ["shop"]})
        chart = shown_of(fleet.mirror, WINDOWS["day"], now).chart
        assert "switch to west" in words_of(chart)
        Switch.objects.filter(pk=finished.pk).update(plan={**finished.plan, "mirrors": ["other"]})
        chart = shown_of(fleet.mirror, WINDOWS["day"], now).chart
        assert "switch to west" not in words_of(chart)


@pytest.mark.stack
@pytest.mark.django_db
class TestPages:
    def text(self, client: Client, **asked: str) -> str:
        return client.get(reverse("mirrors"), asked).content.decode()

    def test_the_list_is_searched_by_names_and_topics(self, as_arne: Client, fleet: Any) -> None:
        assert "carts" in self.text(as_arne, q="CART")
        assert "Nothing fits." in self.text(as_arne, q="nobody")
        assert "Nothing fits." in self.text(as_arne, state="failed")

    @pytest.mark.parametrize("window", ["hour", "day", "month"])
    def test_the_worst_mirror_of_each_pair_over_time(
        self, as_arne: Client, fleet: SimpleNamespace, window: str
    ) -> None:
        now = timezone.now()
        for minutes, seconds in ((40, 2.0), (30, 41.0), (20, None)):
            at = now - timedelta(minutes=minutes)
            PairLag.objects.create(pair=fleet.pair, at=at, seconds=seconds, unknown=seconds is None)
        run = Run.objects.create(job=Run.Job.LAG, state=Run.State.PUBLISHED)
        LagDay.objects.create(
            run=run, pair="main", mirror="shop", date=now.date(), samples=9, unknown=0, over_rpo=1,
            seconds_p95=1.0, seconds_most=41.0, records_most=7,
        )  # fmt: skip
        answer = as_arne.get(reverse("mirrors"), {"window": window, "csv": "pair-lag"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        values = [line.rpartition(",")[2] for line in lines[1:]]
        assert values == (["41.0"] if window == "month" else ["", "41.0", "2.0"])
        text = self.text(as_arne, window=window)
        assert "Beyond its RPO within this time: main." in text and "RPO: 30 s" in text
        assert ("not known for some of it: main." in text) == (window != "month")

    def test_nobody_says_that_all_were_within_their_rpo_when_one_was_not_known(
        self, as_arne: Client, fleet: SimpleNamespace
    ) -> None:
        PairLag.objects.create(pair=fleet.pair, at=timezone.now(), seconds=2.0, unknown=1)
        text = self.text(as_arne)
        assert "No mirror was beyond its pair&#x27;s RPO within this time, as far as is known." in text
        assert "The lag of some mirrors was not known for some of it: main." in text

    def test_one_that_is_late_says_so_and_not_by_colour_alone(
        self, as_arne: Client, fleet: SimpleNamespace
    ) -> None:
        Mirror.objects.update(lag_seconds=99.0, looked_at=timezone.now())
        assert "more than the RPO of 30 s" in self.text(as_arne)

    def test_what_was_looked_at_long_ago_is_not_known(self, as_arne: Client, fleet: Any) -> None:
        Mirror.objects.update(looked_at=timezone.now() - timedelta(hours=1), lag_seconds=0.5)
        assert "not looked at lately" in self.text(as_arne)
        assert not rows_of(Mirror.objects.all())[0].is_known

    def test_queries_do_not_grow_with_mirrors(
        self, as_arne: Client, fleet: SimpleNamespace, django_assert_max_num_queries: Any
    ) -> None:
        for number in range(20):
            Mirror.objects.create(pair=fleet.pair, name=f"m-{number}", topics=[], source=fleet.east)
        with django_assert_max_num_queries(17):
            as_arne.get(reverse("mirrors"))

    @pytest.mark.parametrize("window", [*WINDOWS, "nonsense"])
    def test_one_mirror(self, as_arne: Client, fleet: SimpleNamespace, window: str) -> None:
        Mirror.objects.update(
            tasks=[
                {
                    "connector": "c",
                    "id": 0,
                    "state": "FAILED",
                    "worker": "w1:8083",
                    "since": AT.isoformat(),
                    "error": "No space left on device",
                    "error_at": AT.isoformat(),
                    "restarts": 7,
                    "counted_since": AT.isoformat(),
                }
            ]
        )
        page = as_arne.get(reverse("mirror", args=["main", "shop"]), {"window": window}).content.decode()
        assert "No space left on device" in page and "w1:8083" in page and ">7<" in page

    def test_what_it_shows_can_be_taken_along(self, as_arne: Client, fleet: SimpleNamespace) -> None:
        address = reverse("mirror", args=["main", "shop"])
        for name, head in [
            ("lag", "at,seconds,records,samples,unknown"),
            ("partitions", "topic,partition,records,seconds,source_end"),
            ("topics-over-time", "at,topic,records"),
            ("topics-seconds-over-time", "at,topic,seconds"),
            ("partitions-over-time", "at,topic,partition,records,seconds"),
            ("incidents", "what,since,until,seconds"),
        ]:
            answer = as_arne.get(address, {"csv": name})
            lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
            assert lines[0] == head

    def test_another_pairs_mirrors_are_not_there(
        self, people: SimpleNamespace, fleet: SimpleNamespace
    ) -> None:
        other = Pair.objects.create(name="other", first=fleet.east, second=fleet.west, default=fleet.east)
        Mirror.objects.create(pair=other, name="hidden", topics=[], source=fleet.east)
        client = signed_in(ensure_user("pia", PASSWORD, "viewer", pair=other))
        assert "hidden" in self.text(client) and "carts" not in self.text(client)
        assert client.get(reverse("mirror", args=["main", "shop"])).status_code == 404


def look(feed: streaming.Feed) -> dict[str, Any]:
    """What a viewer is told next, by event."""
    events = parse(b"".join(streaming.pool.submit(feed.look).result()))
    return {name: data for name, _id, data in events}


@pytest.mark.stack
@pytest.mark.django_db(transaction=True)
class TestTheStream:
    def feed(self, user: Any) -> views.Feed:
        request = RequestFactory().get("/")
        request.user = user
        feed = views.Feed(request, "main", "shop")
        feed._looked_at_rights = math.inf  # (there is no session)
        return feed

    def test_new_points_are_told_once(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any
    ) -> None:
        feed = self.feed(people.vera)
        first = look(feed)
        assert set(first) == {"lag", "state", "tasks", "topics", "incidents", "over-time"}
        assert first["lag"]["at"] == sorted(first["lag"]["at"])
        LagSample.objects.create(
            mirror=fleet.mirror, at=timezone.now() - timedelta(seconds=4), records=77, seconds=1.5
        )
        again = look(feed)
        assert again["lag"]["records"][-1] == 77
        assert not set(again["lag"]["at"]) & set(first["lag"]["at"])

    def test_partitions_over_time_are_told_once_a_step(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any, monkeypatch: Any
    ) -> None:
        now = timezone.now()
        LagSample.objects.create(
            mirror=fleet.mirror, at=now - timedelta(seconds=30), records=7, partitions={"carts-0": 7}
        )
        monkeypatch.setattr(views.timezone, "now", lambda: now)
        feed = self.feed(people.vera)
        assert "carts-0" in look(feed)["over-time"]["over-time"]
        assert "over-time" not in look(feed)
        monkeypatch.setattr(views.timezone, "now", lambda: now + timedelta(seconds=10))
        assert "carts-0" in look(feed)["over-time"]["over-time"]

    def test_whoever_may_not_see_the_pair_is_told_nothing(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any
    ) -> None:
        people.vera.groups.clear()
        assert look(self.feed(type(people.vera).objects.get(pk=people.vera.pk))) == {}


@pytest.mark.stack
@pytest.mark.django_db(transaction=True)
class TestTheStreamOfTheList:
    def feed(self, user: Any, **asked: str) -> mirror_list.Feed:
        request = RequestFactory().get("/", asked)
        request.user = user
        feed = mirror_list.Feed(request)
        feed._looked_at_rights = math.inf  # (there is no session)
        return feed

    def test_rows_and_chart_are_told_when_they_change(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any, monkeypatch: Any
    ) -> None:
        now = timezone.now().replace(second=20, microsecond=0)
        monkeypatch.setattr(mirror_list.timezone, "now", lambda: now)
        PairLag.objects.create(pair=fleet.pair, at=now - timedelta(seconds=60), seconds=41.0, unknown=0)
        feed = self.feed(people.vera)
        first = look(feed)
        assert set(first) == {"rows", "chart"} and "carts" in first["rows"]["rows"]
        assert first["chart"]["chart"]["traces"][0]["y"] == [41.0]
        assert "Beyond its RPO within this time: main." in first["chart"]["chart"]["says"]
        assert look(feed) == {}, "nothing has changed"
        Mirror.objects.filter(name="shop").update(lag_records=4711, state="running", looked_at=now)
        assert set(look(feed)) == {"rows"}
        monkeypatch.setattr(mirror_list.timezone, "now", lambda: now + WINDOWS["live"].step)
        assert set(look(feed)) >= {"chart"}

    def test_it_follows_what_the_address_asks_for(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any
    ) -> None:
        told = look(self.feed(people.vera, q="nobody"))
        assert "Nothing fits." in told["rows"]["rows"]
        told = look(self.feed(people.vera, sort="-lag"))
        assert 'href="?sort=lag"' in told["rows"]["rows"], "links lead to the page"

    def test_it_shows_the_mirrors_of_the_viewers_pairs_alone(
        self, people: SimpleNamespace, fleet: SimpleNamespace, one_thread: Any
    ) -> None:
        other = Pair.objects.create(name="other", first=fleet.east, second=fleet.west, default=fleet.east)
        Mirror.objects.create(pair=other, name="hidden", topics=[], source=fleet.east)
        told = look(self.feed(ensure_user("pia", PASSWORD, "viewer", pair=other)))
        assert "hidden" in told["rows"]["rows"] and "carts" not in told["rows"]["rows"]

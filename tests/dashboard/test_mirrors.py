"""The pages of mirrors: how far each is behind now and before, and who may see it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import PASSWORD, signed_in, words_of
from hadash.accounts.roles import ensure_user
from hadash.dashboard.mirrors.history import WINDOWS, buckets_of, days_of, moments_of, named, pairs_days
from hadash.dashboard.mirrors.incidents import Bucket, Kind
from hadash.dashboard.mirrors.selectors import history_of, partitions_of, rows_of
from hadash.governance.models.published import LagDay
from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.mirroring import samples
from hadash.mirroring.models import LagHour, LagSample, Mirror, PairLag
from hadash.switching.models.switches import Switch

AT = datetime(2026, 11, 25, 10, 0, tzinfo=UTC)
STEP = timedelta(seconds=10)
EVERY = timedelta(seconds=2)


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
                state="failed" if minutes == -130 else "running",
            )  # fmt: skip
        settings.LAG_KEPT_HOURS = 3
        samples.trim(hour + timedelta(minutes=6))
        assert list(LagHour.objects.order_by("at").values_list("at", "records", "down")) == [
            (hour - timedelta(hours=3), 40, 1), (hour - timedelta(hours=2), 0, 0),
        ], "not the hour that still goes on, nor one before all that is kept"  # fmt: skip
        assert samples.keep_hours(hour + timedelta(minutes=7)) == 0, "each once"
        address = reverse("mirror-over-time", args=["main", "shop"])
        assert "1 of 1 partition was behind" in as_arne.get(address, {"window": "month"}).content.decode()
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
        later = as_arne.get(reverse("mirror-over-time", args=["main", "shop"]), {"topic": "stock"})
        part = later.content.decode()
        assert "carts" not in part and f'href="{address}?topic=stock&amp;csv=partitions-over-time"' in part
        answer = as_arne.get(address, {"topic": "stock", "csv": "partitions-over-time"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert [line.split(",")[1] for line in lines[1:]] == ["stock"]

    def test_many_topics_have_pages_and_are_taken_along_as_a_whole(
        self, as_arne: Client, fleet: SimpleNamespace
    ) -> None:
        LagSample.objects.all().delete()
        behind = {f"topic-{number:03d}-0": number for number in range(120)}
        LagSample.objects.create(mirror=fleet.mirror, at=timezone.now(), records=9, partitions=behind)
        address = reverse("mirror", args=["main", "shop"])
        order = {"topics-sort": "-records"}
        first = as_arne.get(address, order).context["topics"].page
        assert [row.topic for row in first.object_list][:2] == ["topic-119", "topic-118"]
        last = as_arne.get(address, {**order, "topics": "3"}).context["topics"].page
        assert len(last.object_list) == 20 and last.object_list[-1].topic == "topic-000"
        answer = as_arne.get(address, {**order, "csv": "topics"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert len(lines) == 121 and lines[1].startswith("topic-119,1,1,119,")

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
        shown = history_of(fleet.mirror, WINDOWS["month"], now)
        assert [b.seconds for b in shown.buckets] == [60.0, 60.0], (
            "as far as it was at its worst, not in 19 of 20 samples"
        )
        assert Kind.LATE in {each.kind for each in shown.incidents}
        assert "It was up to 60.0 s behind" in str(shown.chart.says)

    def test_a_day_of_the_month_on_which_it_did_not_run_is_an_incident(
        self, as_arne: Client, fleet: SimpleNamespace
    ) -> None:
        """Also when nothing was written meanwhile, so that it was never behind; and of its pair."""
        now = timezone.now()
        run = Run.objects.create(job=Run.Job.LAG, state=Run.State.PUBLISHED, began_at=now, ended_at=now)
        stopped = (now - timedelta(days=3)).replace(hour=14, minute=0, second=0, microsecond=0)
        for age in (4, 3, 2, 1):
            LagDay.objects.create(
                run=run, pair="main", mirror="shop", date=(now - timedelta(days=age)).date(), samples=9, unknown=0,
                over_rpo=0, seconds_p95=0.0, seconds_most=0.0, records_most=0,
            )  # fmt: skip
        LagHour.objects.create(
            mirror=fleet.mirror, at=stopped, records=0, seconds=0.0, state="stopped", down=8
        )
        found = history_of(fleet.mirror, WINDOWS["month"], now).incidents
        assert [each.since.date() for each in found if each.kind is Kind.DOWN] == [stopped.date()]
        days = pairs_days([fleet.pair], now - timedelta(days=30))["main"]
        assert [bool(Mirror.DOWN & set(each.states)) for each in days] == [False, True, False, False]
        address = reverse("mirror", args=["main", "shop"])
        page = as_arne.get(address, {"window": "month"}).content.decode()
        assert "did not run" in page and "None within this time" not in page

    def test_so_is_today_while_only_samples_tell_of_it(self, fleet: SimpleNamespace) -> None:
        now = timezone.now()
        run = Run.objects.create(job=Run.Job.LAG, state=Run.State.PUBLISHED, began_at=now, ended_at=now)
        LagDay.objects.create(
            run=run, pair="main", mirror="shop", date=now.date(), samples=9, unknown=0, over_rpo=0, seconds_p95=0.0,
            seconds_most=0.0, records_most=0,
        )  # fmt: skip
        LagSample.objects.create(mirror=fleet.mirror, at=now, records=0, seconds=0.0, state="failed")
        PairLag.objects.create(pair=fleet.pair, at=now, seconds=0.0, records=0, unknown=0, down=1)
        (today,) = days_of(fleet.mirror, now - timedelta(days=30))
        (of_pair,) = pairs_days([fleet.pair], now - timedelta(days=30))["main"]
        assert Mirror.DOWN & set(today.states) and Mirror.DOWN & set(of_pair.states)

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
        assert history_of(fleet.mirror, WINDOWS["month"], midnight).incidents == []
        (silent,) = history_of(fleet.mirror, WINDOWS["month"], midnight + timedelta(hours=6)).incidents
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
        chart = history_of(fleet.mirror, WINDOWS["day"], now).chart
        assert "switch to west" in words_of(chart)
        Switch.objects.filter(pk=finished.pk).update(plan={**finished.plan, "mirrors": ["other"]})
        chart = history_of(fleet.mirror, WINDOWS["day"], now).chart
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
            PairLag.objects.create(
                pair=fleet.pair,
                at=at,
                seconds=seconds,
                records=seconds and 900,
                unknown=seconds is None,
                down=seconds == 2.0,
            )
        run = Run.objects.create(job=Run.Job.LAG, state=Run.State.PUBLISHED)
        LagDay.objects.create(
            run=run, pair="main", mirror="shop", date=(now - timedelta(minutes=40)).date(), samples=9, unknown=0,
            over_rpo=1, seconds_p95=1.0, seconds_most=41.0, records_most=7,
        )  # fmt: skip
        answer = as_arne.get(reverse("mirrors"), {"window": window, "csv": "pair-lag"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        values = [line.split(",")[2:] for line in lines[1:]]
        if window == "month":
            assert values == [["41.0", "7", "0", "did not run"]], "the gravest of the day"
        else:
            assert values == [
                ["", "", "1", "the lag was not known"],
                ["41.0", "900", "0", "further behind than the RPO"],
                ["2.0", "900", "0", "did not run"],
            ]
        text = self.text(as_arne, window=window)
        assert "Beyond its RPO within this time: main." in text and "RPO: 30 s" in text
        assert ("not known for some of it: main." in text) == (window != "month")
        assert "✕ did not run" in text
        assert ("▲ further behind than the RPO" in text) == (window != "month")

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

    def test_the_file_says_of_a_lag_what_the_page_says(self, as_arne: Client, fleet: Any) -> None:
        def row() -> dict[str, str]:
            answer = as_arne.get(reverse("mirrors"), {"format": "csv"})
            head, line = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
            return dict(zip(head.split(","), line.split(","), strict=True))

        Mirror.objects.update(
            state="running",
            looked_at=timezone.now(),
            lag_seconds=0.5,
            lag_records=7,
            tasks=[{"state": "RUNNING", "restarts": 2}, {"state": "FAILED", "restarts": 1}],
        )
        found = row()
        assert (found["state"], found["lag_seconds"], found["lag_records"]) == ("running", "0.5", "7")
        assert (found["tasks_running"], found["tasks"], found["restarts"]) == ("1", "2", "3")
        Mirror.objects.update(looked_at=timezone.now() - timedelta(hours=1))
        found = row()
        assert (found["state"], found["lag_seconds"], found["lag_records"]) == ("unknown", "", "")

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
            ("topics", "topic,partitions,behind,records,seconds"),
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
        for name in ("mirror", "mirror-over-time"):
            assert client.get(reverse(name, args=["main", "shop"])).status_code == 404

"""What stood still, came late, or is spelt oddly: a report is neither left out nor wrong because of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from hadash.accounts.people import grant
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.outbox.models import Delivery, Unsubscription
from hadash.reports import charts, drawing, issues, reading, schedules
from hadash.reports.kinds import parts
from hadash.reports.models import Kind, ReportEdition, ReportIssue
from hadash.reports.png import png_of
from hadash.reports.report import Picture, report_from_json
from hadash.reports.schedules import ScheduleRefused, WantedRecipient, Way

from .test_schedules import made, published, said, wanted

__all__ = ["published"]
pytestmark = [pytest.mark.stack, pytest.mark.django_db]


class TestAfterAnOutage:
    def test_the_last_time_is_made_and_not_the_oldest(self, people: SimpleNamespace) -> None:
        """Down from Friday evening until Monday 8 o'clock: Monday's is an hour late, Saturday's is told to nobody."""
        schedule = schedules.save(people.ada, wanted())
        saturday = schedule.next_at
        assert saturday is not None
        issues.announce_due(saturday + timedelta(days=2, hours=1))
        oldest, last = ReportIssue.objects.order_by("due_at")
        assert (oldest.due_at, oldest.state) == (saturday, "skipped")
        assert said(oldest) == ["Nothing ran at its time, and it was too late afterwards."]
        assert (last.due_at, last.state) == (saturday + timedelta(days=2), "waiting")
        schedule.refresh_from_db()
        assert schedule.next_at == saturday + timedelta(days=3)

    def test_one_of_each_minute_is_looked_through_quickly(self, people: SimpleNamespace) -> None:
        schedule = schedules.save(people.ada, wanted(cron="* * * * *"))
        assert schedule.next_at is not None
        now = schedule.next_at + timedelta(days=300)
        issues.announce_due(now)
        assert ReportIssue.objects.order_by("due_at").last().due_at == now  # type: ignore[union-attr]
        assert ReportIssue.objects.count() == 2


class TestFiguresThatStandStill:
    """Jobs publish hour by hour, also when what they read has not come for a week."""

    @pytest.mark.parametrize(
        "watermark", [{"snapshot": "2026-01-02T03:00:00+00:00"}, {"day": "2026-01-02"}, {"day": ""}]
    )
    def test_they_are_as_old_as_what_they_were_made_of(
        self, people: SimpleNamespace, published: None, engines: Any, watermark: dict[str, str]
    ) -> None:
        Run.objects.filter(job="topology").update(watermark=watermark)
        report = report_from_json(made(Kind.POSTURE, people)[0].report)
        assert report.subject.startswith("[old figures]") is any(watermark.values())

    def test_those_of_yesterday_evening_are_todays_and_those_of_yesterday_morning_are_not(
        self, people: SimpleNamespace, published: None, engines: Any
    ) -> None:
        morning = datetime.now(UTC).replace(hour=7, minute=0, second=0, microsecond=0)

        def stale_at_seven(ended_at: datetime) -> bool:
            return bool(parts.stale(ended_at, morning))

        assert not stale_at_seven(morning - timedelta(hours=9))
        assert stale_at_seven(morning - timedelta(hours=24, minutes=55)), "the job of an hour ago is missing"
        assert not stale_at_seven(morning - timedelta(minutes=5))


def test_a_high_risk_that_came_up_again_is_in_the_verdict(people: SimpleNamespace, published: None) -> None:
    Finding.objects.all().delete()
    now = timezone.now()
    Finding.objects.create(
        pair="main", code="acks-not-all", appid="shop", name="web", weight=10, first_at=now - timedelta(days=40),
        opened_at=now, last_run=1,
    )  # fmt: skip
    report = report_from_json(made(Kind.RISKS, people)[0].report)
    assert report.verdict.text == "1 new risk is high."
    assert report.sections[2].table.csv_name == "risks-again"  # type: ignore[union-attr]


class TestTheRecordThatIsSentNow:
    @pytest.mark.parametrize("status", ["declined", "cancelled", "expired", "needs_attention"])
    def test_what_was_not_carried_out_has_none(
        self, people: SimpleNamespace, make_switch: Any, status: str
    ) -> None:
        schedule = schedules.save(people.ada, wanted(Kind.SWITCH))
        make_switch(status, ended_at=timezone.now())
        with pytest.raises(ScheduleRefused, match="No switch has ended"):
            schedules.send_now(people.ada, schedule)

    def test_it_is_of_the_last_that_was(
        self, people: SimpleNamespace, make_switch: Any, finished: Any
    ) -> None:
        schedule = schedules.save(people.ada, wanted(Kind.SWITCH))
        make_switch("declined", ended_at=timezone.now())
        assert schedules.send_now(people.ada, schedule).about == finished.key


def test_a_large_batch_is_no_storm_of_records(
    people: SimpleNamespace, make_switch: Any, settings: Any
) -> None:
    settings.REPORT_RECORDS_AN_HOUR = 3
    schedules.save(people.ada, wanted(Kind.SWITCH, name="Records"))
    now = timezone.now()
    switch = make_switch("running", started_at=now - timedelta(minutes=5))
    for number in range(6):
        switch.key, switch.ended_at = f"batch-{number}", now + timedelta(seconds=number)
        issues.announce_switch(switch)
    states = list(ReportIssue.objects.order_by("due_at").values_list("state", flat=True))
    assert states == ["waiting"] * 3 + ["skipped"] * 3
    assert "More than 3 switches" in said(ReportIssue.objects.latest("due_at"))[0]
    switch.key, switch.ended_at = "later", now + timedelta(hours=2)
    issues.announce_switch(switch)
    assert ReportIssue.objects.get(about="later").state == "waiting"


class TestAddressesThatDifferInCapitals:
    def test_a_mailbox_gets_it_once(self, people: SimpleNamespace, published: None, engines: Any) -> None:
        User.objects.filter(pk=people.arne.pk).update(email="Arne@example.org")
        each = [WantedRecipient(Way.PERSON, "arne"), WantedRecipient(Way.ADDRESS, "arne@Example.org")]
        made(Kind.POSTURE, people, recipients=each)
        assert list(Delivery.objects.values_list("address", flat=True)) == ["Arne@example.org"]

    def test_who_has_unsubscribed_has_under_every_spelling(
        self, people: SimpleNamespace, published: None, engines: Any
    ) -> None:
        schedule = schedules.save(
            people.ada, wanted(recipients=[WantedRecipient(Way.ADDRESS, "ARNE@example.org")])
        )
        Unsubscription.objects.create(address="arne@example.org", topic=schedule.topic)
        ReportIssue.objects.create(schedule=schedule, due_at=timezone.now(), asked_by=people.ada)
        issues.make_waiting(timezone.now())
        assert not Delivery.objects.exists()


def test_reports_to_many_owners_hide_no_other_from_a_viewer(people: SimpleNamespace, fleet: Any) -> None:
    schedule = schedules.save(people.ada, wanted())
    issue = ReportIssue.objects.create(schedule=schedule, due_at=timezone.now())
    mine = ReportEdition.objects.create(issue=issue, pairs=["main"], report={})
    ReportEdition.objects.create(issue=issue, pairs=["main", "other"], report={})
    ReportEdition.objects.create(issue=issue, pairs=[], report={})
    ReportEdition.objects.bulk_create(
        ReportEdition(issue=issue, pairs=["main"], owner=f"team {n}", report={}) for n in range(400)
    )
    assert list(reading.editions_for(people.vera)) == [mine]
    pair = Pair.objects.get()
    Pair.objects.create(name="other", first=pair.first, second=pair.second, default=pair.default)
    people.vera.groups.clear()
    grant(people.ada, people.vera, "viewer", pair)
    again = User.objects.get(pk=people.vera.pk)
    assert list(reading.editions_for(again)) == [mine]


def test_a_client_id_that_is_no_xml_fails_no_chart() -> None:
    odd = "web\x01\x1b\ufffe <b>"
    svg = charts.bars([(odd, 3.0, "")])
    picture = Picture("pauses", svg, drawing.WIDTH, charts.bars_height(1), "")
    assert "\x01" not in svg and png_of(picture).startswith(b"\x89PNG")

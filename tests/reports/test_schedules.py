"""A schedule makes its report at its time, once, for those who may see it, in their language; and says what
it could not do.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.utils import timezone

from hadash.accounts.people import grant
from hadash.audit.models import Entry
from hadash.governance.models.findings import Acceptance, Finding
from hadash.governance.models.posture import Posture
from hadash.governance.models.published import Coverage, LagDay
from hadash.governance.models.runs import Run
from hadash.inventory.models import AppID, Declaration, Pair
from hadash.outbox import services as outbox
from hadash.outbox.models import Delivery
from hadash.reports import editions, issues, reading, schedules
from hadash.reports.models import (
    Kind,
    MailPreference,
    OwnerAddress,
    ReportEdition,
    ReportIssue,
    ReportSchedule,
)
from hadash.reports.report import report_from_json
from hadash.reports.schedules import ScheduleRefused, Wanted, WantedRecipient, Way
from hadash.sentences import Sentence
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def wanted(kind: Kind = Kind.POSTURE, **more: Any) -> Wanted:
    values: dict[str, Any] = {
        "name": "Every morning",
        "kind": kind,
        "cron": "" if kind is Kind.SWITCH else "0 7 * * *",
        "zone": "UTC",
        "recipients": [WantedRecipient(Way.ROLE, "approver")],
    }
    return Wanted(**{**values, **more})


@pytest.fixture
def published(fleet: SimpleNamespace) -> None:
    """What jobs have said of a day ago and of today."""
    now = timezone.now()
    runs = {
        job: Run.objects.create(job=job, state="published", began_at=now, ended_at=now)
        for job in ("topology", "coverage", "risk", "lag", "advice")
    }
    for days, registered in ((1, 70), (0, 81)):
        Posture.objects.create(
            pair="main", day=(now - timedelta(days=days)).date(), appids=3, mirrored_appids=2, clients=100,
            registered=registered, shared_appids=1, largest_radius=5, high=1, medium=2, low=3,
        )  # fmt: skip
    Coverage.objects.create(
        run=runs["coverage"], pair="main", appid="shop", clients=4, registered=2, nameless=1, new_clients=0, days=3,
        duplicates=0, bypassing=0,
    )  # fmt: skip
    Coverage.objects.create(
        run=runs["coverage"],
        pair="main",
        appid="somebody-elses",
        clients=2,
        registered=0,
        nameless=0,
        new_clients=0,
        days=3,
        duplicates=0,
        bypassing=0,
    )
    LagDay.objects.create(
        run=runs["lag"], pair="main", mirror="shop", date=now.date(), samples=1000, unknown=10, over_rpo=40,
        seconds_p50=1.0, seconds_p95=9.0, seconds_most=75.0, records_most=900,
    )  # fmt: skip
    Finding.objects.create(
        pair="main",
        code="acks-not-all",
        appid="shop",
        name="web",
        weight=10,
        first_at=now,
        opened_at=now,
        last_run=runs["risk"].pk,
    )


def said(issue: ReportIssue) -> list[str]:
    """Why somebody got nothing."""
    return [str(Sentence.from_json(sentence)) for sentence in issue.left_out or []]


def made(kind: Kind, people: SimpleNamespace, about: str = "", **more: Any) -> list[ReportEdition]:
    """The editions of a schedule of this kind at its time."""
    schedule = schedules.save(people.ada, wanted(kind, **more))
    now = timezone.now()
    # (One that a person asks for waits for no figures.)
    ReportIssue.objects.create(schedule=schedule, due_at=now, about=about, asked_by=people.ada)
    assert issues.make_waiting(now) == 1, ReportIssue.objects.get(schedule=schedule).fault
    return list(ReportEdition.objects.filter(issue__schedule=schedule))


class TestSaving:
    def test_only_who_may(self, people: SimpleNamespace) -> None:
        with pytest.raises(PermissionDenied):
            schedules.save(people.olga, wanted())

    @pytest.mark.parametrize(
        ("wrong", "said"),
        [
            ({"name": ""}, "name"),
            ({"cron": "every day"}, "five parts"),
            ({"cron": "0 0 31 2 *"}, "no time that ever comes"),
            ({"zone": "Mars/Olympus"}, "time zone"),
            ({"recipients": []}, "who gets it"),
            ({"recipients": [WantedRecipient(Way.PERSON, "nobody")]}, "nobody called"),
            ({"recipients": [WantedRecipient(Way.ROLE, "king")]}, "no role"),
            ({"recipients": [WantedRecipient(Way.ADDRESS, "here")]}, "no address"),
            ({"recipients": [WantedRecipient(Way.OWNER, "")]}, "Coverage by owner"),
        ],
    )
    def test_all_that_is_wrong_is_said_and_nothing_is_kept(
        self, people: SimpleNamespace, wrong: dict[str, Any], said: str
    ) -> None:
        with pytest.raises(ScheduleRefused, match=said):
            schedules.save(people.ada, wanted(**wrong))
        assert not ReportSchedule.objects.exists()

    def test_it_stands_in_the_audit_log(self, people: SimpleNamespace) -> None:
        schedule = schedules.save(people.ada, wanted())
        schedules.pause(people.ada, schedule, enabled=False)
        schedules.delete(people.ada, schedule)
        verbs = list(Entry.objects.order_by("number").values_list("verb", flat=True))
        assert verbs[-3:] == ["report schedule made", "report schedule paused", "report schedule deleted"]


class TestItsTime:
    def test_it_is_announced_once_however_many_look(self, people: SimpleNamespace) -> None:
        schedule = schedules.save(people.ada, wanted())
        due = schedule.next_at
        assert due is not None
        assert issues.announce_due(due - timedelta(seconds=1)) == []
        assert len(issues.announce_due(due)) == 1
        assert issues.announce_due(due) == []
        schedule.refresh_from_db()
        assert schedule.next_at == due + timedelta(days=1)

    def test_one_that_was_missed_for_long_is_left_out_and_says_so(self, people: SimpleNamespace) -> None:
        schedule = schedules.save(people.ada, wanted())
        assert schedule.next_at is not None
        issues.announce_due(schedule.next_at + timedelta(hours=21))
        issue = ReportIssue.objects.get()
        assert (issue.state, said(issue)) == (
            "skipped",
            ["Nothing ran at its time, and it was too late afterwards."],
        )

    def test_paused_it_is_not_due(self, people: SimpleNamespace) -> None:
        schedule = schedules.save(people.ada, wanted())
        schedules.pause(people.ada, schedule, enabled=False)
        assert issues.announce_due(datetime(2100, 1, 1, tzinfo=UTC)) == []

    def test_send_now_waits_no_longer_for_figures(self, people: SimpleNamespace, fleet: Any) -> None:
        schedule = schedules.save(people.ada, wanted())
        minute = timezone.now().replace(second=0, microsecond=0)
        for due_at in (minute, minute + timedelta(minutes=1)):  # (whichever minute it is by then)
            ReportIssue.objects.create(schedule=schedule, due_at=due_at)
        issue = schedules.send_now(people.ada, schedule)
        assert ReportIssue.objects.get(pk=issue.pk).asked_by == people.ada
        assert ReportIssue.objects.count() == 2

    def test_a_second_click_on_send_now_finds_the_first(self, people: SimpleNamespace) -> None:
        schedule = schedules.save(people.ada, wanted())
        assert schedules.send_now(people.ada, schedule) == schedules.send_now(people.ada, schedule)


class TestReaders:
    def test_each_view_is_made_once_and_each_address_gets_one_mail(
        self, people: SimpleNamespace, published: None, engines: Any
    ) -> None:
        MailPreference.objects.create(user=people.bea, language="zh-hans", zone="Asia/Shanghai")
        recipients = [
            WantedRecipient(Way.ROLE, "approver"),
            WantedRecipient(Way.PERSON, "arne"),
            WantedRecipient(Way.ADDRESS, "list@Example.org", "en"),
        ]
        found = made(Kind.POSTURE, people, recipients=recipients)
        assert sorted((e.language, e.zone) for e in found) == [("en", "UTC"), ("zh-hans", "Asia/Shanghai")]
        assert Counter(Delivery.objects.values_list("address", flat=True)) == {
            "arne@example.org": 1, "bea@example.org": 1, "list@example.org": 1,
        }  # fmt: skip

    def test_who_has_no_address_is_named(
        self, people: SimpleNamespace, published: None, engines: Any
    ) -> None:
        recipients = [WantedRecipient(Way.PERSON, "vera"), WantedRecipient(Way.PERSON, "arne")]
        made(Kind.POSTURE, people, recipients=recipients)
        assert said(ReportIssue.objects.get()) == ["Vera Viewer has no address of mail."]

    def test_who_may_see_nothing_of_it_gets_nothing(
        self, people: SimpleNamespace, published: None, engines: Any
    ) -> None:
        people.arne.groups.clear()
        schedule = schedules.save(people.ada, wanted(recipients=[WantedRecipient(Way.PERSON, "arne")]))
        now = timezone.now()
        ReportIssue.objects.create(schedule=schedule, due_at=now)
        issues.make_waiting(now)
        issue = ReportIssue.objects.get()
        assert (issue.state, said(issue)) == ("skipped", ["Arne Approver may not see what it tells of."])
        assert not Delivery.objects.exists()

    def test_who_is_named_twice_gets_it_once(
        self, people: SimpleNamespace, published: None, engines: Any
    ) -> None:
        twice = [WantedRecipient(Way.PERSON, "arne"), WantedRecipient(Way.PERSON, "arne")]
        schedule = schedules.save(people.ada, wanted(recipients=twice))
        assert schedule.recipients.count() == 1

    def test_an_owner_whom_nothing_belongs_to_is_said(self, people: SimpleNamespace, published: None) -> None:
        schedule = schedules.save(
            people.ada, wanted(Kind.COVERAGE, recipients=[WantedRecipient(Way.OWNER, "Chekout")])
        )
        ReportIssue.objects.create(schedule=schedule, due_at=timezone.now())
        issues.make_waiting(timezone.now())
        assert said(ReportIssue.objects.get()) == ["No AppID that it tells of belongs to Chekout."]

    def test_what_waits_when_it_is_paused_is_left_out(self, people: SimpleNamespace, fleet: Any) -> None:
        schedule = schedules.save(people.ada, wanted(Kind.RISKS))
        now = timezone.now()
        ReportIssue.objects.create(schedule=schedule, due_at=now)
        asked = ReportIssue.objects.create(
            schedule=schedule, due_at=now - timedelta(minutes=1), asked_by=people.ada
        )
        schedules.pause(people.ada, schedule, enabled=False)
        assert issues.make_waiting(now + timedelta(hours=1)) == 1
        left_out, made_now = ReportIssue.objects.order_by("-due_at")
        assert (left_out.state, said(left_out)) == (
            "skipped",
            ["The schedule was paused before it was made."],
        )
        assert (made_now, made_now.state) == (asked, "queued")

    def test_without_a_pipeline_nothing_is_waited_for(
        self, people: SimpleNamespace, fleet: Any, settings: Any
    ) -> None:
        settings.LAKE = ""
        issue = ReportIssue.objects.create(
            schedule=schedules.save(people.ada, wanted(Kind.RISKS)), due_at=timezone.now()
        )
        assert not issues.awaits_figures(issue, timezone.now())

    def test_it_waits_for_figures_of_today_and_not_for_ever(
        self, people: SimpleNamespace, fleet: Any, engines: Any, settings: Any
    ) -> None:
        settings.LAKE = "/srv/lake"
        schedule = schedules.save(people.ada, wanted(Kind.RISKS))
        now = timezone.now()
        old = Run.objects.create(
            job="risk", state="published", began_at=now, ended_at=now - timedelta(hours=27)
        )
        issue = ReportIssue.objects.create(schedule=schedule, due_at=now)
        assert issues.make_waiting(now + timedelta(minutes=29)) == 0
        assert issues.awaits_figures(issue, now)
        new = Run.objects.create(job="risk", state="published", began_at=now, ended_at=now)
        assert issues.make_waiting(now + timedelta(minutes=29)) == 1
        assert not ReportEdition.objects.get().report["stale"]

        Run.objects.filter(pk__in=(old.pk, new.pk)).update(ended_at=now - timedelta(hours=27))
        ReportIssue.objects.create(schedule=schedule, due_at=now + timedelta(minutes=1))
        assert issues.make_waiting(now + timedelta(minutes=32)) == 1, "the figures are still old"
        assert ReportEdition.objects.latest("pk").report["subject"].startswith("[old figures]")

    def test_everybody_of_a_pair(self, people: SimpleNamespace, published: None, engines: Any) -> None:
        """Also who has a role on that pair alone; what there is of other pairs is not for them."""
        people.vera.groups.clear()
        people.vera.email = "vera@example.org"
        people.vera.save()
        grant(people.ada, people.vera, "viewer", Pair.objects.get())
        made(Kind.POSTURE, people, recipients=[WantedRecipient(Way.PAIR, "main")])
        addresses = set(Delivery.objects.values_list("address", flat=True))
        assert {"vera@example.org", "arne@example.org"} <= addresses

    def test_an_address_has_a_language_and_a_zone_of_its_own(
        self, people: SimpleNamespace, published: None, engines: Any
    ) -> None:
        recipient = WantedRecipient(Way.ADDRESS, "list@example.org", "zh-hans", "Asia/Shanghai")
        (edition,) = made(Kind.POSTURE, people, recipients=[recipient])
        assert (edition.language, edition.zone) == ("zh-hans", "Asia/Shanghai")

    def test_who_has_unsubscribed_is_named(
        self, people: SimpleNamespace, published: None, engines: Any
    ) -> None:
        made(Kind.POSTURE, people)
        schedule = ReportSchedule.objects.get()
        outbox.unsubscribe(Delivery.objects.get(address="bea@example.org"))
        later = timezone.now() + timedelta(minutes=2)
        ReportIssue.objects.create(schedule=schedule, due_at=later)
        issues.make_waiting(later)
        assert said(ReportIssue.objects.latest("due_at")) == ["bea@example.org has unsubscribed."]

    def test_an_owner_gets_nothing_of_an_appid_of_the_same_name_in_another_pair(
        self, people: SimpleNamespace, published: None
    ) -> None:
        """“shop” is Checkout's in one pair, and somebody else's in another."""
        pair = Pair.objects.get()
        other = Pair.objects.create(name="other", first=pair.first, second=pair.second, default=pair.default)
        AppID.objects.create(name="shop", pair=other, owner="Somebody")
        Coverage.objects.create(
            run=Run.objects.get(job="coverage"),
            pair="other",
            appid="shop",
            clients=40,
            registered=0,
            nameless=0,
            new_clients=0,
            days=3,
            duplicates=0,
            bypassing=0,
        )
        OwnerAddress.objects.create(owner="Checkout", address="checkout@example.org")
        (edition,) = made(Kind.COVERAGE, people, recipients=[WantedRecipient(Way.OWNER, "Checkout")])
        assert edition.report["subject"] == "Checkout: 2 of 4 clients are not registered"

    def test_an_owner_gets_what_is_theirs_alone(self, people: SimpleNamespace, published: None) -> None:
        OwnerAddress.objects.create(owner="Checkout", address="checkout@example.org")
        (edition,) = made(Kind.COVERAGE, people, recipients=[WantedRecipient(Way.OWNER, "")])
        assert edition.owner == "Checkout"
        said = str(edition.report)
        assert "shop" in said and "somebody-elses" not in said
        assert not reading.may_read(people.arne, edition) and reading.may_read(people.ada, edition)


class TestKinds:
    def report(self, kind: Kind, people: SimpleNamespace, **more: Any) -> Any:
        (edition,) = made(kind, people, **more)
        return report_from_json(edition.report)

    def test_posture(self, people: SimpleNamespace, published: None, engines: Any) -> None:
        report = self.report(Kind.POSTURE, people)
        assert report.subject == "main: 1 new risk, coverage 81 % (+11)"
        assert report.stale == ""
        assert {figure.label: figure.value for figure in report.sections[1].figures}[
            "InstanceID coverage"
        ] == "81 %"

    def test_old_figures_are_never_todays(
        self, people: SimpleNamespace, published: None, engines: Any
    ) -> None:
        Run.objects.update(ended_at=timezone.now() - timedelta(hours=30))
        report = self.report(Kind.POSTURE, people)
        assert report.subject.startswith("[old figures] main:") and "30 hours ago" in report.stale

    def test_without_any_run_it_says_what_is_not_known(
        self, people: SimpleNamespace, fleet: Any, engines: Any
    ) -> None:
        report = self.report(Kind.POSTURE, people)
        assert report.subject == "[old figures] main: no new risk"
        assert report.as_of is None and "not known" in report.stale

    def test_risks(self, people: SimpleNamespace, published: None) -> None:
        now = timezone.now()
        values = {
            "pair": "main",
            "weight": 4,
            "first_at": now - timedelta(days=40),
            "last_run": 1,
            "appid": "shop",
        }
        Finding.objects.create(code="acks-not-all", name="again", opened_at=now, **values)
        Finding.objects.create(
            code="acks-not-all",
            name="gone",
            opened_at=now - timedelta(days=40),
            state="resolved",
            resolved_at=now,
            **values,
        )
        Finding.objects.create(code="acks-not-all", name="old", opened_at=now - timedelta(days=40), **values)
        old = now - timedelta(days=40)
        Finding.objects.create(code="appid-shared", name="worse", opened_at=old, worse_at=now, **values)
        report = self.report(Kind.RISKS, people)
        assert report.subject == "main: 2 new risks, 1 got worse, 1 resolved, 4 open"
        new, again, worse, gone = (section.table for section in report.sections[1:5])
        assert (new.total, again.total, worse.total, gone.total) == (1, 1, 1, 1)
        assert report.verdict.text == "1 new risk is high."

    def test_coverage(self, people: SimpleNamespace, published: None) -> None:
        report = self.report(Kind.COVERAGE, people)
        assert report.subject == "main: 4 of 6 clients are not registered"
        owners = [[cell.text for cell in row] for row in report.sections[1].table.rows]
        assert owners == [["Checkout", "1", "4", "2", "50 %"], ["nobody's", "1", "2", "2", "0 %"]]

    def test_lag(self, people: SimpleNamespace, published: None) -> None:
        report = self.report(Kind.LAG, people)
        assert report.subject == "main: within the RPO 95 % of the week, shop was 75.0 s late at most"
        assert report.verdict.text == "Further behind than the RPO at times: shop."

    def test_what_is_due(self, people: SimpleNamespace, published: None, make_switch: Any) -> None:
        make_switch(expires_at=timezone.now() + timedelta(hours=3))
        report = self.report(Kind.DUE, people)
        assert report.subject == "main: 1 is due within two weeks, 1 within two days"

    def test_a_switch_that_has_ended_is_told_by_itself(
        self, people: SimpleNamespace, make_switch: Any
    ) -> None:
        schedules.save(people.ada, wanted(Kind.SWITCH, name="Records"))
        now = timezone.now()
        switch = make_switch("running", started_at=now - timedelta(seconds=30))
        assert not ReportIssue.objects.exists()
        switch.status, switch.ended_at = "succeeded", now
        switch.save(update_fields=["status", "outcome", "ended_at"])
        switch.save(update_fields=["status", "ended_at"])
        (issue,) = ReportIssue.objects.all()
        assert issue.about == switch.key
        # Who asks Gateways that do not answer for the pauses of clients takes a while.
        assert issues.make_waiting(timezone.now()) == 0
        Switch.objects.update(recorded_at=timezone.now())
        assert issues.make_waiting(timezone.now()) == 1
        edition = ReportEdition.objects.get()
        assert edition.report["subject"] == "shop, east → west: succeeded"

    def test_its_record_goes_to_those_who_may_see_its_pair(
        self, people: SimpleNamespace, make_switch: Any
    ) -> None:
        """One that may see another pair only is named, and keeps nobody from getting it."""
        pair = Pair.objects.get()
        other = Pair.objects.create(name="other", first=pair.first, second=pair.second, default=pair.default)
        people.bea.groups.clear()
        grant(people.ada, people.bea, "approver", other)
        each = [WantedRecipient(Way.PERSON, "arne"), WantedRecipient(Way.PERSON, "bea")]
        schedules.save(people.ada, wanted(Kind.SWITCH, name="Records", recipients=each))
        now = timezone.now()
        switch = make_switch("running", started_at=now - timedelta(seconds=30))
        switch.status, switch.ended_at = "succeeded", now
        switch.save(update_fields=["status", "outcome", "ended_at"])
        # (Its worker died before it had asked the Gateways: that is not waited for for ever.)
        issues.make_waiting(now + timedelta(seconds=settings.REPORT_RECORD_SECONDS))
        issue = ReportIssue.objects.get()
        assert issue.state == "queued", issue.fault
        assert list(Delivery.objects.values_list("address", flat=True)) == ["arne@example.org"]
        assert said(issue) == ["Bea Approver may not see what it tells of."]

    def test_one_that_needs_somebody_has_not_ended(self, people: SimpleNamespace, make_switch: Any) -> None:
        schedules.save(people.ada, wanted(Kind.SWITCH, name="Records"))
        now = timezone.now()
        switch = make_switch("running", started_at=now - timedelta(seconds=30))
        switch.status, switch.ended_at = "needs_attention", now
        switch.save(update_fields=["status", "outcome", "ended_at"])
        assert not ReportIssue.objects.exists()
        switch.status = "closed"
        switch.save(update_fields=["status"])
        assert ReportIssue.objects.get().about == switch.key

    def test_every_kind_of_what_is_due(
        self, people: SimpleNamespace, published: None, make_switch: Any
    ) -> None:
        """Sixteen approvals: the mail has the first fifteen, leads to all, and has all of them as a file."""
        for number in range(16):
            make_switch(instance_id=f"shop-{number}", expires_at=timezone.now() + timedelta(days=1))
        moved = make_switch("succeeded", kind="migration", started_at=timezone.now(), ended_at=timezone.now())
        Retirement.objects.create(switch=moved, due_at=timezone.now() + timedelta(days=3))
        finding = Finding.objects.get()
        Acceptance.objects.create(
            finding=finding,
            accepted_by=people.ada,
            until=(timezone.now() + timedelta(days=5)).date(),
            reason="Until the release",
        )
        Declaration.objects.create(
            appid=AppID.objects.get(name="shop"),
            instance_id="",
            kind="consume",
            resource="never-seen",
            source="hand",
        )
        (edition,) = made(Kind.DUE, people)
        approvals, removals, acceptances, unseen = report_from_json(edition.report).sections
        assert approvals.table is not None and (len(approvals.table.rows), approvals.table.more) == (15, 1)
        assert approvals.table.url.endswith("/switches/?status=awaiting_approval")
        assert removals.table is not None and "old Topics" in removals.table.rows[0][1].text
        assert acceptances.table is not None and acceptances.table.total == 1
        assert unseen.says.startswith("1 declaration was not borne out")
        assert edition.content is not None
        files = {part.name: bytes(part.data).decode() for part in edition.content.parts.all()}
        assert len(files["approvals.csv"].splitlines()) == 17

    def test_a_database_that_was_away_fails_no_report(
        self, people: SimpleNamespace, published: None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        schedule = schedules.save(people.ada, wanted(Kind.DUE))
        now = timezone.now()
        ReportIssue.objects.create(schedule=schedule, due_at=now)
        with monkeypatch.context() as patched:
            patched.setattr(editions, "make", Mock(side_effect=OperationalError("deadlock detected")))
            assert issues.make_waiting(now) == 0
        assert issues.make_waiting(now) == 1

    @pytest.mark.parametrize("kind", [k for k in Kind if k is not Kind.SWITCH])
    def test_each_in_chinese(
        self, kind: Kind, people: SimpleNamespace, published: None, engines: Any
    ) -> None:
        MailPreference.objects.create(user=people.arne, language="zh-hans")
        (edition,) = made(kind, people, recipients=[WantedRecipient(Way.PERSON, "arne")])
        report = report_from_json(edition.report)
        assert any("\u4e00" <= letter <= "\u9fff" for letter in report.title + report.verdict.text)
        assert edition.content is not None and edition.content.html and edition.content.text


class TestWhatFails:
    def test_one_that_fails_keeps_no_other_waiting(
        self, people: SimpleNamespace, published: None, engines: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("first", "second"):
            schedule = schedules.save(people.ada, wanted(name=name))
            ReportIssue.objects.create(schedule=schedule, due_at=timezone.now())
        make = editions.make

        def breaks(issue: ReportIssue, now: datetime) -> Any:
            readers = make(issue, now)
            if issue.schedule.name == "first":
                raise RuntimeError("no fonts")
            return readers

        monkeypatch.setattr(editions, "make", breaks)
        assert issues.make_waiting(timezone.now()) == 1
        first = ReportIssue.objects.get(schedule__name="first")
        assert (first.state, first.fault) == ("failed", "RuntimeError: no fonts")
        assert set(Delivery.objects.values_list("topic", flat=True)) == {
            ReportSchedule.objects.get(name="second").topic
        }, "nothing of the one that failed is sent"


def test_what_is_long_ago_is_forgotten(people: SimpleNamespace, published: None, engines: Any) -> None:
    made(Kind.POSTURE, people)
    assert issues.trim(timezone.now()) == 0
    assert issues.trim(timezone.now() + timedelta(days=401)) == 1
    assert not ReportEdition.objects.exists() and Delivery.objects.exists()

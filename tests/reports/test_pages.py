"""The pages of reports: what somebody types is kept, what is wrong is said, and nothing that somebody must
not see is shown.
"""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.parts import signed_in
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hadash.inventory.models import Pair
from hadash.outbox import services as outbox
from hadash.outbox.models import Delivery
from hadash.outbox.services import Recipient
from hadash.outbox.states import State
from hadash.reports.models import Kind, MailPreference, OwnerAddress, ReportSchedule

from .parts import made_up, sent

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def as_ada(people: SimpleNamespace, fleet: Any, engines: Any) -> Client:
    return signed_in(people.ada)


@pytest.fixture
def as_vera(people: SimpleNamespace, fleet: Any, engines: Any) -> Client:
    return signed_in(people.vera)


def typed(**more: str) -> dict[str, str]:
    values = {
        "name": "每天早上", "kind": "posture", "pair": "", "cron": "0 7 * * *", "zone": "Asia/Shanghai",
        "way-0": "role", "value-0": "approver", "language-0": "", "way-1": "", "value-1": "",
    }  # fmt: skip
    return {**values, **more}


class TestSchedules:
    def test_one_is_made_changed_paused_and_deleted(self, as_ada: Client) -> None:
        answer = as_ada.post(reverse("new-report-schedule"), typed())
        schedule = ReportSchedule.objects.get()
        assert answer["Location"] == reverse("report-schedule", args=[schedule.pk])
        assert (schedule.name, schedule.zone, schedule.recipients.count()) == ("每天早上", "Asia/Shanghai", 1)
        page = as_ada.get(answer["Location"]).content.decode()
        assert "每天早上" in page and "07:00" in page
        as_ada.post(
            reverse("edit-report-schedule", args=[schedule.pk]),
            typed(cron="30 6 * * 1", **{"way-1": "address", "value-1": "a@example.org"}),
        )
        schedule.refresh_from_db()
        assert (schedule.cron, schedule.recipients.count()) == ("30 6 * * 1", 2)
        as_ada.post(reverse("pause-report-schedule", args=[schedule.pk]), {"enabled": "no"})
        schedule.refresh_from_db()
        assert (schedule.enabled, schedule.next_at) == (False, None)
        as_ada.post(reverse("edit-report-schedule", args=[schedule.pk]), typed())
        schedule.refresh_from_db()
        assert not schedule.enabled, "to change a schedule that is paused does not let it go on"
        as_ada.post(reverse("delete-report-schedule", args=[schedule.pk]))
        assert not ReportSchedule.objects.exists()

    def test_what_is_wrong_is_said_and_what_was_typed_stays(self, as_ada: Client) -> None:
        answer = as_ada.post(reverse("new-report-schedule"), typed(cron="daily", **{"value-0": "king"}))
        page = answer.content.decode()
        assert answer.status_code == 409
        assert "A time has five parts" in page and "There is no role king." in page
        assert 'value="daily"' in page and 'value="king"' in page and 'value="每天早上"' in page

    def test_the_next_times_are_shown_while_somebody_types(self, as_ada: Client) -> None:
        address = reverse("report-times")
        assert "07:00" in as_ada.get(address, {"cron": "0 7 * * *", "zone": "Europe/Berlin"}).content.decode()
        assert (
            "no time zone Mars" in as_ada.get(address, {"cron": "0 7 * * *", "zone": "Mars"}).content.decode()
        )

    def test_a_viewer_sees_reports_and_not_who_gets_them(self, as_vera: Client) -> None:
        edition, _delivery = sent()
        page = as_vera.get(reverse("reports")).content.decode()
        assert reverse("report", args=[edition.pk]) in page
        assert "New schedule" not in page and "olga@example.org" not in page


class TestOne:
    def test_it_says_what_its_mail_said(self, as_vera: Client) -> None:
        edition, _delivery = sent()
        page = as_vera.get(reverse("report", args=[edition.pk])).content.decode()
        for said in ("It can be switched.", "81 %", "购物车", "2 more", "var(--surface)", "risks.csv"):
            assert said in page

    def test_on_paper_and_its_files(self, as_vera: Client) -> None:
        edition, _delivery = sent()
        paper = as_vera.get(reverse("report-pdf", args=[edition.pk]))
        assert paper["Content-Type"] == "application/pdf" and paper.content.startswith(b"%PDF")
        assert as_vera.get(reverse("report-file", args=[edition.pk, "risks.csv"])).content == b"risk\n"
        assert as_vera.get(reverse("report-file", args=[edition.pk, "other.csv"])).status_code == 404

    def test_its_mail_runs_nothing(self, as_vera: Client) -> None:
        edition, _delivery = sent()
        mail = as_vera.get(reverse("report-mail", args=[edition.pk]))
        policy = mail["Content-Security-Policy"]
        assert "script-src 'none'" in policy and "sandbox" in policy
        assert mail["X-Frame-Options"] == "SAMEORIGIN"

    def test_of_a_pair_that_one_may_not_see_there_is_none(self, as_vera: Client) -> None:
        edition, _delivery = sent(pairs=("main", "secret"))
        for name in ("report", "report-pdf", "report-mail"):
            assert as_vera.get(reverse(name, args=[edition.pk])).status_code == 404

    def test_what_people_have_typed_is_text(self, as_vera: Client) -> None:
        edition, _delivery = sent(made_up(title="<script>alert(1)</script>"))
        assert "<script>alert" not in as_vera.get(reverse("report", args=[edition.pk])).content.decode()


@pytest.mark.parametrize("kind", Kind.values)
def test_each_kind_can_be_looked_at_before_it_is_sent(as_vera: Client, kind: str) -> None:
    answer = as_vera.get(reverse("report-preview"), {"kind": kind})
    assert answer.status_code == 200
    assert not Delivery.objects.exists()


def test_the_form_is_looked_at_as_it_is_typed(as_ada: Client) -> None:
    """Its button posts all fields: addresses of people belong in no address of a page. The pair is meant by
    its number.
    """
    pair = Pair.objects.get()
    other = Pair.objects.create(name="other", first=pair.first, second=pair.second, default=pair.default)
    typed = {"kind": "due", "pair": str(other.pk), "way-0": "address", "value-0": "list@example.org"}
    page = as_ada.post(reverse("report-preview"), typed).content.decode()
    assert "What is due in other" in page and "list@example.org" not in page
    chinese = as_ada.post(reverse("report-preview"), {**typed, "language": "zh-hans"}).content.decode()
    assert "What is due in other" not in chinese


def test_coverage_is_looked_at_as_an_owner_gets_it(as_ada: Client, as_vera: Client) -> None:
    asked = {"kind": "coverage", "owner": "Checkout"}
    assert "InstanceID coverage of Checkout" in as_ada.get(reverse("report-preview"), asked).content.decode()
    assert (
        "InstanceID coverage of Checkout"
        not in as_vera.get(reverse("report-preview"), asked).content.decode()
    )


def test_a_schedule_is_shown_as_a_calendar(as_ada: Client) -> None:
    page = as_ada.get(
        reverse("report-times"), {"cron": "0 7 * * *", "zone": "Asia/Shanghai"}
    ).content.decode()
    assert page.count('class="due"') >= 35, "each day of six weeks but those that are over"


class TestWhatWasSent:
    """Mail of reports and of notices, and what is posted, on one page."""

    def test_what_has_not_arrived_with_the_words_of_the_server(self, as_ada: Client) -> None:
        sent()
        page = as_ada.get(reverse("deliveries")).content.decode()
        assert "olga@example.org" in page
        Delivery.objects.update(state=State.ACCEPTED)
        assert "Everything that was sent has arrived" in as_ada.get(reverse("deliveries")).content.decode()
        every = as_ada.get(reverse("deliveries"), {"state": "all", "q": "OLGA"}).content.decode()
        assert "olga@example.org" in every
        assert "Nothing fits" in as_ada.get(reverse("deliveries"), {"state": "bounced"}).content.decode()

    def test_a_notice_is_sent_again_too(self, as_ada: Client) -> None:
        content = outbox.keep_content("A mirror has failed", "Text")
        outbox.queue(content, [Recipient("arne@example.org", "notices 1 to user 1")], "notices")
        Delivery.objects.update(state=State.FAILED, said="550 no")
        again = reverse("send-again", args=[Delivery.objects.get().pk])
        answer = as_ada.post(again, {"next": reverse("deliveries")}, follow=True)
        assert answer.redirect_chain == [(reverse("deliveries"), 302)]
        assert Delivery.objects.get().state == State.QUEUED

    def test_who_may_not_change_reports_sees_no_addresses(self, as_vera: Client) -> None:
        sent()
        answer = as_vera.get(reverse("deliveries"))
        assert answer.status_code == 403 and "olga@example.org" not in answer.content.decode()


class TestDeliveries:
    def test_what_failed_is_told_in_the_servers_words_and_sent_again_by_a_person(
        self, as_ada: Client
    ) -> None:
        edition, delivery = sent()
        Delivery.objects.update(state=State.FAILED, said="550 5.1.1 no such user", settled_at=timezone.now())
        page = as_ada.get(reverse("report-issue", args=[edition.issue_id])).content.decode()
        assert "550 5.1.1 no such user" in page and "failed" in page
        as_ada.post(reverse("send-again", args=[delivery.pk]))
        delivery.refresh_from_db()
        assert delivery.state == State.QUEUED
        answer = as_ada.post(reverse("send-again", args=[delivery.pk]), follow=True)
        assert "Nothing to do" in answer.content.decode()

    def test_only_those_of_one_state(self, as_ada: Client) -> None:
        edition, _delivery = sent()
        address = reverse("report-issue", args=[edition.issue_id])
        assert "olga@example.org" in as_ada.get(address, {"state": "queued"}).content.decode()
        assert "olga@example.org" not in as_ada.get(address, {"state": "failed"}).content.decode()

    def test_queries_do_not_grow_with_recipients(
        self, as_ada: Client, django_assert_max_num_queries: Any
    ) -> None:
        edition, delivery = sent()
        recipients = [outbox.Recipient(f"n{n}@example.org", f"x{n}") for n in range(300)]
        outbox.queue(delivery.content, recipients, "topic")
        with django_assert_max_num_queries(22):
            as_ada.get(reverse("report-issue", args=[edition.issue_id]))
        with django_assert_max_num_queries(22):
            as_ada.get(reverse("report-schedule", args=[edition.issue.schedule_id]))

    def test_each_schedule_of_the_list_has_its_last_issue(
        self, as_ada: Client, django_assert_max_num_queries: Any
    ) -> None:
        last = {}
        for number in range(8):
            schedule = ReportSchedule.objects.create(
                name=f"No. {number}", kind="posture", cron="0 7 * * *", zone="UTC"
            )
            for day in (1, 3, 2):
                issue = schedule.issues.create(due_at=timezone.now() + timedelta(days=day))
                if day == 3:
                    last[schedule.pk] = issue
        with django_assert_max_num_queries(30):
            found = as_ada.get(reverse("reports")).context["schedules"]
        assert {schedule.pk: issue for schedule, issue in found} == last


class TestAddresses:
    def test_somebody_sets_how_they_want_their_mail(self, as_vera: Client, people: SimpleNamespace) -> None:
        as_vera.post(
            reverse("reports"),
            {"address": "vera@Example.org", "language": "zh-hans", "zone": "Asia/Shanghai"},
        )
        people.vera.refresh_from_db()
        assert people.vera.email == "vera@example.org"
        assert MailPreference.objects.get().zone == "Asia/Shanghai"

    def test_what_is_no_address_or_zone_is_said(self, as_vera: Client) -> None:
        answer = as_vera.post(reverse("reports"), {"address": "vera", "language": "", "zone": "Mars"})
        page = answer.content.decode()
        assert answer.status_code == 409 and "is no address" in page and "no time zone Mars" in page

    def test_an_owner(self, as_ada: Client) -> None:
        as_ada.post(reverse("report-owners"), {"owner": "Checkout", "address": "checkout@example.org"})
        assert OwnerAddress.objects.get().address == "checkout@example.org"
        assert "checkout@example.org" in as_ada.get(reverse("report-owners")).content.decode()
        table = as_ada.get(reverse("report-owners"), {"format": "csv"}).getvalue().decode()
        assert table.splitlines()[:1] == ["owner,address,language,zone"]
        assert "Checkout,checkout@example.org,," in table.splitlines()
        as_ada.post(reverse("report-owners"), {"owner": "Checkout", "address": ""})
        assert not OwnerAddress.objects.exists()

"""A database that is put back from a dump sends nothing a second time."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from hadash.audit.models import Entry
from hadash.inventory import workers
from hadash.notices.announcing import announce
from hadash.notices.kinds import NoticeKind
from hadash.notices.models import Notice, Pending
from hadash.outbox import services as outbox
from hadash.outbox.models import Delivery
from hadash.outbox.services import Recipient
from hadash.outbox.states import State
from hadash.reports import issues, schedules
from hadash.reports.models import ReportIssue
from hadash.sentences import say

from .test_schedules import said, wanted

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_what_may_have_been_sent_is_not_sent_by_itself(
    people: SimpleNamespace,
    fleet: Any,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(workers, "known", lambda: [])
    now = timezone.now()
    content = outbox.keep_content("main: 3 new risks", "Text")
    names = ("queued", "deferred", "handed-over", "accepted")
    outbox.queue(content, [Recipient(f"{name}@example.org", name) for name in names], due_at=now)
    for name, state in (("deferred", "deferred"), ("handed-over", "handed_over"), ("accepted", "accepted")):
        Delivery.objects.filter(address=f"{name}@example.org").update(state=state)
    schedule = schedules.save(people.ada, wanted())
    schedule.next_at = now - timedelta(hours=3)  # the dump is of then
    schedule.save()
    ReportIssue.objects.create(schedule=schedule, due_at=now - timedelta(hours=5))
    announce(NoticeKind.JOB_FAILED, "1", say("It failed."), "/")
    Pending.objects.create(notice=Notice.objects.get(), user=people.ada)

    call_command("set_aside_mail")

    states = dict(Delivery.objects.values_list("address", "state"))
    assert states.pop("accepted@example.org") == State.ACCEPTED
    assert set(states.values()) == {State.UNCERTAIN}
    assert outbox.claim_due(now + timedelta(days=1), 10) == []
    (issue,) = ReportIssue.objects.all()
    assert issue.state == "skipped" and "put back from a dump" in said(issue)[0]
    assert issues.announce_due(now) == []
    assert not Pending.objects.exists() and Notice.objects.get().routed_at is not None
    assert "3 messages" in capsys.readouterr().out
    assert Entry.objects.latest("number").verb == "mail set aside"

    delivery = Delivery.objects.get(address="queued@example.org")
    assert outbox.send_again(people.ada, delivery, now), "a person sends again what is missing"


def test_not_while_workers_send(fleet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "known", lambda: [SimpleNamespace(name="outbox@a")])
    monkeypatch.setattr(workers, "is_there", lambda worker, now: True)
    with pytest.raises(CommandError, match="outbox@a"):
        call_command("set_aside_mail")

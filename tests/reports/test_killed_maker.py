"""A worker is killed while it makes a report: the next one makes it whole, and each reader gets one mail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.utils import timezone
from support.environment import database_url
from support.waiting import eventually

from hadash.outbox.models import Delivery
from hadash.reports import issues, schedules
from hadash.reports.models import Kind, MailPreference, ReportEdition, ReportIssue
from hadash.reports.schedules import Wanted, WantedRecipient, Way

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True)]

#: A worker that makes what waits, and dies when it has queued the mail of the first of two editions.
DIES_HALFWAY = """
import os, signal
import django
django.setup()
from django.utils import timezone
from hadash.outbox import services
from hadash.reports import issues, schedules
queue = services.queue
def queue_and_die(*arguments, **named):
    queue(*arguments, **named)
    os.kill(os.getpid(), signal.SIGKILL)
services.queue = queue_and_die
issues.make_waiting(timezone.now())
"""


def test_none_is_left_out_and_none_comes_twice(people: SimpleNamespace, fleet: SimpleNamespace) -> None:
    MailPreference.objects.create(user=people.bea, language="zh-hans", zone="Asia/Shanghai")
    schedule = schedules.save(
        people.ada,
        Wanted("Mondays", Kind.DUE, "0 7 * * 1", "UTC", recipients=[WantedRecipient(Way.ROLE, "approver")]),
    )
    issue = ReportIssue.objects.create(schedule=schedule, due_at=timezone.now())

    killed = subprocess.run(
        [sys.executable, "-c", DIES_HALFWAY],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": "hadash.settings"},
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    issue.refresh_from_db()
    assert (issue.state, ReportEdition.objects.count(), Delivery.objects.count()) == ("waiting", 0, 0)

    # (What the killed one has locked is free when the database has noticed its end.)
    eventually(lambda: issues.make_waiting(timezone.now()) == 1, "the second try")
    assert sorted(edition.language for edition in ReportEdition.objects.all()) == ["en", "zh-hans"]
    assert Counter(Delivery.objects.values_list("address", flat=True)) == {
        "arne@example.org": 1,
        "bea@example.org": 1,
    }

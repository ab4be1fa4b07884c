"""Makes one issue of a schedule: a report for each view, and a mail for each reader, in one transaction."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime, timedelta
from urllib.parse import urljoin
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from hadash.inventory.models import Pair
from hadash.outbox import services as outbox
from hadash.outbox.messages import UNSUBSCRIBE_MARK
from hadash.outbox.models import Content
from hadash.outbox.services import Part, Recipient
from hadash.reports.files import csv_of
from hadash.reports.html import html_of
from hadash.reports.kinds import BUILDERS
from hadash.reports.kinds.switch import NoSuchSwitch
from hadash.reports.models import Kind, ReportEdition, ReportIssue
from hadash.reports.png import png_of
from hadash.reports.recipients import Reader, Readers, View, readers_of
from hadash.reports.report import Report
from hadash.reports.text import text_of


def make(issue: ReportIssue, now: datetime) -> Readers:
    """Make the editions of an issue, and queue their mail; return the readers. If anything fails, nothing is kept."""
    schedule = issue.schedule
    readers = readers_of(schedule, _pair_of(issue))
    by_view: dict[View, list[Reader]] = defaultdict(list)
    for reader in readers.found:
        by_view[reader.view].append(reader)
    with transaction.atomic():
        for view, wanted in by_view.items():
            outbox.queue(
                _edition(issue, view, now),
                [
                    Recipient(
                        reader.address,
                        f"report issue {issue.pk} to {reader.address} of {view.owner}",
                        reader.user_id,
                    )
                    for reader in wanted
                ],
                topic=schedule.topic,
                due_at=now,
                expires_at=now + timedelta(hours=settings.REPORT_EXPIRY_HOURS),
            )
    return readers


def _pair_of(issue: ReportIssue) -> Pair | None:
    """Return the pair of the switch that an issue is about; ``None`` for a scheduled one."""
    return Pair.objects.filter(switches__key=issue.about).first() if issue.about else None


def _edition(issue: ReportIssue, view: View, now: datetime) -> Content:
    """Store the edition for a view; return the content of its mails."""
    edition = ReportEdition(
        issue=issue,
        language=view.language,
        zone=view.zone,
        pairs=list(view.pairs),
        owner=view.owner,
        report={},
    )
    edition.save()
    with translation.override(view.language), timezone.override(ZoneInfo(view.zone)):
        # (The page of an owner's edition is for managers of reports: the owner may have no account.)
        page = reverse("report", args=[edition.pk])
        address = "" if view.owner else urljoin(settings.PUBLIC_URL, page)
        report = built(Kind(issue.schedule.kind), view, now, address, issue.about)
        why = _("You get this because of the schedule “%(name)s”.") % {"name": issue.schedule.name}
        edition.report = report.to_json()
        content = outbox.keep_content(
            report.subject,
            text_of(report, [why, UNSUBSCRIBE_MARK]),
            html_of(report, why, can_unsubscribe=True),
            _parts(report),
            list_id=f"hadash-{issue.schedule.kind}",
            language=view.language,
        )
    edition.content = content
    edition.save()
    return content


def built(kind: Kind, view: View, now: datetime, url: str, about: str = "") -> Report:
    """Return a report in the active language and zone, for a mail or a preview.

    :param about: the key of the switch that it is about; empty for scheduled kinds.
    """
    return BUILDERS[kind](view, now, url, about)


def preview(kind: Kind, view: View, about: str = "") -> Report | None:
    """Return the report as it would be now, in the active language and zone; ``None``: its switch does not exist."""
    try:
        return built(kind, view, timezone.now(), "", about)
    except NoSuchSwitch:
        return None


def _parts(report: Report) -> list[Part]:
    pictures = [Part(f"{p.name}.png", "image/png", png_of(p), cid=p.name) for p in report.pictures]
    files = [Part(f"{table.csv_name}.csv", "text/csv", csv_of(table)) for table in report.tables]
    return [*pictures, *files]

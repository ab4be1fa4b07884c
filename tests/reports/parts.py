"""Reports for tests: one of made-up figures, and rows as a worker would have made them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.utils import timezone

from hadash.outbox import services as outbox
from hadash.outbox.models import Delivery
from hadash.outbox.services import Part, Recipient
from hadash.reports import charts, drawing
from hadash.reports.charts import Series
from hadash.reports.models import Kind, ReportEdition, ReportIssue, ReportSchedule
from hadash.reports.report import Cell, Figure, Heading, Line, Picture, Report, Section, Table, Tone

AT = datetime(2026, 11, 26, 7, 0, tzinfo=UTC)


def made_up(**more: Any) -> Report:
    """A report with everything that a report may have."""
    svg = charts.lines([Series("", [70.0, None, 80.0, 81.5])], ("11-23", "11-26"), unit=" %", top=100)
    table = Table(
        [Heading("Risk"), Heading("AppID"), Heading("Clients", is_number=True)],
        [
            (
                Cell("Writes with acks=1", "http://127.0.0.1:8000/governance/1/", Tone.BAD),
                Cell("购物车"),
                Cell("1,204"),
            )
        ],
        total=3,
        url="http://127.0.0.1:8000/governance/",
        csv_name="risks",
        csv_columns=("risk", "appid", "clients"),
        all_rows=[("acks-not-all", "购物车", 1204), ("=1+1", "shop", 2), ("x", "y", 3)],
    )
    values: dict[str, Any] = {
        "kind": "posture",
        "title": "Posture of main",
        "subject": "main: 3 new risks, coverage 81 % (+2)",
        "verdict": Line("It can be switched.", Tone.FINE, "http://127.0.0.1:8000/"),
        "as_of": AT,
        "url": "http://127.0.0.1:8000/reports/1/",
        "sections": [
            Section("Can it be switched now?", lines=[Line("Mirror shop is late.", Tone.NOTICE)]),
            Section(
                "Figures",
                figures=[Figure("Coverage", "81 %", "+2"), Figure("Risks", "41", "+3", is_worse=True)],
            ),
            Section(
                "Coverage",
                picture=Picture("coverage", svg, drawing.WIDTH, charts.HEIGHT, "Coverage is 81 %."),
            ),
            Section("Risks", says="The newest first.", table=table),
            Section("Empty", empty="Nothing."),
        ],
    }
    return Report(**{**values, **more})


def sent(report: Report | None = None, pairs: tuple[str, ...] = ("main",)) -> tuple[ReportEdition, Delivery]:
    """A schedule with one issue, its edition and its mail to one reader."""
    report = report or made_up()
    schedule = ReportSchedule.objects.create(
        name="Every morning", kind=Kind.POSTURE, cron="0 7 * * *", zone="UTC"
    )
    issue = ReportIssue.objects.create(
        schedule=schedule, due_at=AT, state=ReportIssue.State.QUEUED, made_at=AT
    )
    content = outbox.keep_content(
        report.subject,
        "Text",
        "<p>Text</p>",
        [Part("risks.csv", "text/csv", b"risk\n")],
        list_id="hadash-posture",
    )
    edition = ReportEdition.objects.create(
        issue=issue, language="en", zone="UTC", pairs=list(pairs), report=report.to_json(), content=content
    )
    outbox.queue(
        content, [Recipient("olga@example.org", f"issue {issue.pk}")], schedule.topic, timezone.now()
    )
    return edition, Delivery.objects.get()

"""The report on the posture of the fleet: whether each pair can be switched, figures with their change, and new
findings.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.governance import selectors
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.inventory import workers
from hadash.inventory.models import Pair
from hadash.presentation import engines
from hadash.presentation.localized import sentence
from hadash.presentation.pair_verdicts import PairView, pair_views
from hadash.presentation.posture import Standing, Trend, lag_trend, share, standing, total
from hadash.presentation.readiness import Grade
from hadash.reports import charts, drawing
from hadash.reports.charts import Series
from hadash.reports.kinds import parts
from hadash.reports.links import link
from hadash.reports.recipients import View
from hadash.reports.report import Cell, Heading, Line, Picture, Report, Section, Table, Tone

#: The jobs that make its figures.
JOBS = (Run.Job.TOPOLOGY, Run.Job.COVERAGE, Run.Job.RISK, Run.Job.LAG)

#: Reasons of a pair, and findings, in the mail, at most; a link shows the others.
REASONS_SHOWN, FINDINGS_SHOWN = 3, 8
#: Findings opened within this time count as new.
NEW_WITHIN = timedelta(days=1)

_TONES = {
    Grade.READY: Tone.FINE,
    Grade.NOTICE: Tone.NOTICE,
    Grade.UNKNOWN: Tone.UNKNOWN,
    Grade.REFUSED: Tone.BAD,
}


def build(view: View, now: datetime, url: str, about: str = "") -> Report:
    pairs = parts.pairs_named(view.pairs)
    stands = standing(view.pairs)
    seen = _pairs(pairs, stands)
    findings = selectors.counting(view.pairs)
    new = findings.filter(opened_at__gte=now - NEW_WITHIN).count()
    coverage = stands.trend(share("registered", "clients"))
    worst = max(seen, key=lambda each: each.readiness.grade, default=None)
    as_of = parts.published_at(*JOBS)
    stale = parts.stale(as_of, now)
    return Report(
        kind="posture",
        title=_("Posture of %(pairs)s") % {"pairs": ", ".join(view.pairs)},
        subject=_subject(view.pairs, new, coverage, stale),
        verdict=_verdict(worst),
        as_of=as_of,
        stale=stale,
        url=url,
        generated=parts.generated(pairs),
        sections=[
            _readiness(seen),
            _figures(view.pairs, stands, coverage),
            _coverage(coverage, stands),
            _findings(view.pairs, now, new),
        ],
    )


def _pairs(pairs: Sequence[Pair], stands: Standing) -> list[PairView]:
    look, connected, now = engines.look_at_gateways(), engines.look_at_connected(), timezone.now()
    switching = sum(
        workers.SWITCHES in worker.queues for worker in workers.known() if workers.is_there(worker, now)
    )
    return pair_views(pairs, look, connected.silent, stands, switching)


def _subject(pairs: Sequence[str], new: int, coverage: Trend, stale: str) -> str:
    risks = (
        ngettext("%(n)s new risk", "%(n)s new risks", new) % {"n": f"{new:,}"} if new else _("no new risk")
    )
    said = [risks]
    if coverage.now is not None:
        change = f" ({coverage.change:+.0f})" if coverage.change and abs(coverage.change) >= 0.5 else ""
        said.append(_("coverage %(percent)s %%") % {"percent": f"{coverage.now:.0f}"} + change)
    return parts.subject(pairs, said, stale)


def _verdict(worst: PairView | None) -> Line:
    if worst is None:
        return Line(_("There is no pair to tell of."), Tone.UNKNOWN)
    return Line(sentence(worst.readiness.sentence), _TONES[worst.readiness.grade], link("overview"))


def _readiness(seen: Sequence[PairView]) -> Section:
    lines = []
    for each in seen:
        lines.append(Line(sentence(each.readiness.sentence), _TONES[each.readiness.grade], link("overview")))
        lines += [
            Line(sentence(reason.sentence), _TONES[reason.grade])
            for reason in each.readiness.reasons[:REASONS_SHOWN]
        ]
        more = len(each.readiness.reasons) - REASONS_SHOWN
        if more > 0:
            lines.append(
                Line(
                    ngettext("%(n)s more reason", "%(n)s more reasons", more) % {"n": more},
                    url=link("overview"),
                )
            )
    return Section(_("Can it be switched now?"), lines=lines, empty=_("There is no pair."))


def _figures(pairs: Sequence[str], stands: Standing, coverage: Trend) -> Section:
    mirrored = stands.trend(share("mirrored_appids", "appids"))
    shared = stands.trend(total("shared_appids"))
    risks = stands.trend(total("high", "medium", "low"))
    high = stands.trend(total("high"))
    lag = lag_trend(pairs)
    figures = [
        parts.figure(_("InstanceID coverage"), coverage, " %", link("table", "coverage"), better="up"),
        parts.figure(_("AppIDs under HA"), mirrored, " %", link("appids"), better="up"),
        parts.figure(_("Shared AppIDs"), shared, "", link("table", "sharing"), better="down"),
        parts.figure(_("Open risks"), risks, "", link("findings"), better="down"),
        parts.figure(_("High risks"), high, "", link("findings", severity="high"), better="down"),
        parts.figure(_("Worst mirror lag, 19 of 20 samples"), lag, " s", link("mirrors"), better="down"),
    ]
    return Section(_("Figures, with their change in 30 days"), figures=figures)


def _coverage(coverage: Trend, stands: Standing) -> Section:
    if coverage.now is None:
        return Section(
            _("Coverage over 30 days"), empty=_("No run of the job Coverage has been published yet.")
        )
    first = stands.today - timedelta(days=len(coverage.values) - 1)
    svg = charts.lines(
        [Series("", coverage.values)], (f"{first:%m-%d}", f"{stands.today:%m-%d}"), unit=" %", top=100
    )
    alt = _("InstanceID coverage is %(now)s %%.") % {"now": f"{coverage.now:.0f}"}
    return Section(
        _("Coverage over 30 days"), picture=Picture("coverage", svg, drawing.WIDTH, charts.HEIGHT, alt)
    )


def _findings(pairs: Sequence[str], now: datetime, new: int) -> Section:
    counting = selectors.counting(pairs)
    found = list(counting.order_by("-opened_at", "-weight", "code")[:FINDINGS_SHOWN])
    total_ = counting.aggregate(n=Count("pk"))["n"]
    rows = [_finding(each, now) for each in found]
    table = Table(
        [Heading(_("Risk")), Heading(_("AppID")), Heading(_("About")), Heading(_("Since"), is_short=True)],
        rows,
        total_,
        link("findings"),
        csv_name="risks",
        csv_columns=("pair", "code", "severity", "appid", "name", "opened_at"),
        all_rows=[
            (
                f.pair,
                f.code,
                f.entry.severity.value if f.entry else "",
                f.appid,
                f.name,
                f.opened_at.isoformat(),
            )
            for f in counting.order_by("-weight", "pair", "code", "appid", "name")[: settings.REPORT_CSV_ROWS]
        ],
    )
    says = ngettext("%(n)s new in a day", "%(n)s new in a day", new) % {"n": f"{new:,}"}
    return Section(_("Risks, the newest first"), says=says, table=table, empty=_("No open risk."))


def _finding(found: Finding, now: datetime) -> Sequence[Cell]:
    title = sentence(found.entry.title) if found.entry else found.code
    is_new = found.opened_at >= now - NEW_WITHIN
    return (
        Cell(title, link("finding", found.pk), parts.tone_of(found)),
        Cell(found.appid or "–"),
        Cell(found.name if found.name != found.appid else "–"),
        Cell(parts.day(found.opened_at), tone=Tone.NOTICE if is_new else Tone.PLAIN),
    )

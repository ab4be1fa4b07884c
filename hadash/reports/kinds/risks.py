"""The report on risk changes within a week: new risks, those that were opened again, that got worse, and that
were resolved.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from hadash.governance import selectors
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.presentation.localized import sentence
from hadash.presentation.posture import standing, total
from hadash.reports import charts, drawing
from hadash.reports.charts import Series
from hadash.reports.kinds import parts
from hadash.reports.links import link
from hadash.reports.recipients import View
from hadash.reports.report import Cell, Heading, Line, Picture, Report, Section, Table, Tone

#: The jobs that make its figures.
JOBS = (Run.Job.RISK,)

WEEK = timedelta(days=7)
#: Rows of each table, at most; a link shows the others.
SHOWN = 12


def build(view: View, now: datetime, url: str, about: str = "") -> Report:
    since = now - WEEK
    counting = selectors.counting(view.pairs)
    new = counting.filter(opened_at__gte=since, first_at__gte=since)
    again = counting.filter(opened_at__gte=since, first_at__lt=since)
    worse = counting.filter(opened_at__lt=since, worse_at__gte=since)
    gone = Finding.objects.filter(pair__in=view.pairs, state=Finding.State.RESOLVED, resolved_at__gte=since)
    score = selectors.score(counting)
    counts = (new.count() + again.count(), worse.count(), gone.count(), counting.count())
    as_of = parts.published_at(*JOBS)
    stale = parts.stale(as_of, now)
    return Report(
        kind="risks",
        title=_("Risk changes of %(pairs)s") % {"pairs": ", ".join(view.pairs)},
        subject=parts.subject(view.pairs, _said(*counts), stale),
        verdict=_verdict(*counts, high=(new | again).filter(weight__gte=parts.HIGH_WEIGHT).count()),
        as_of=as_of,
        stale=stale,
        url=url,
        generated=parts.generated(parts.pairs_named(view.pairs)),
        sections=[
            _over_time(view.pairs, score),
            _listed(
                view.pairs,
                _("New within seven days"),
                new,
                "-weight",
                "opened_at",
                "new-risks",
                _("No new risk."),
            ),
            _listed(
                view.pairs,
                _("Come up again"),
                again,
                "-weight",
                "opened_at",
                "risks-again",
                _("None has come up again."),
            ),
            _listed(
                view.pairs,
                _("Got worse within seven days"),
                worse,
                "-weight",
                "worse_at",
                "worse-risks",
                _("None that was there before got worse."),
                "worse",
            ),
            _listed(
                view.pairs,
                _("Resolved within seven days"),
                gone,
                "-resolved_at",
                "resolved_at",
                "resolved-risks",
                _("None was resolved."),
                "resolved",
            ),
            _worst(view.pairs),
        ],
    )


def _said(new: int, worse: int, gone: int, still_open: int) -> list[str]:
    return [
        ngettext("%(n)s new risk", "%(n)s new risks", new) % {"n": f"{new:,}"} if new else _("no new risk"),
        *([_("%(n)s got worse") % {"n": f"{worse:,}"}] if worse else []),
        _("%(n)s resolved") % {"n": f"{gone:,}"},
        _("%(n)s open") % {"n": f"{still_open:,}"},
    ]


def _verdict(new: int, worse: int, gone: int, still_open: int, high: int) -> Line:
    if high:
        said = ngettext("%(n)s new risk is high.", "%(n)s new risks are high.", high) % {"n": f"{high:,}"}
        return Line(said, Tone.BAD, link("findings", severity="high"))
    if new > gone:
        return Line(_("More risks have come up than were resolved."), Tone.NOTICE, link("findings"))
    if worse:
        said = ngettext(
            "%(n)s risk that was there before got worse.",
            "%(n)s risks that were there before got worse.",
            worse,
        ) % {"n": f"{worse:,}"}
        return Line(said, Tone.NOTICE, link("findings", show="worse"))
    if new or still_open:
        return Line(
            _("No new risk is high, and no more have come up than were resolved."),
            Tone.FINE,
            link("findings"),
        )
    return Line(_("There is no open risk."), Tone.FINE, link("findings"))


def _over_time(pairs: Sequence[str], score: selectors.Score) -> Section:
    stands = standing(pairs)
    trends = {name: stands.trend(total(name)) for name in ("high", "medium", "low")}
    words = {"high": _("high"), "medium": _("medium"), "low": _("low")}
    figures = [
        parts.figure(words[name].capitalize(), trend, "", link("findings", severity=name), "down")
        for name, trend in trends.items()
    ]
    picture = None
    if any(trend.now is not None for trend in trends.values()):
        first = stands.today - timedelta(days=len(trends["high"].values) - 1)
        colours = {"high": drawing.BAD, "medium": drawing.GREYS[0], "low": drawing.GREYS[1]}
        svg = charts.lines(
            [Series(words[name], trend.values, colours[name]) for name, trend in trends.items()],
            (f"{first:%m-%d}", f"{stands.today:%m-%d}"),
        )
        alt = _("Open risks: %(high)s high, %(medium)s medium, %(low)s low.") % {
            "high": score.high, "medium": score.medium, "low": score.low,
        }  # fmt: skip
        picture = Picture("risks", svg, drawing.WIDTH, charts.HEIGHT, alt)
    return Section(_("Open risks over 30 days"), figures=figures, picture=picture)


def _listed(
    pairs: Sequence[str],
    title: str,
    found: QuerySet[Finding],
    order: str,
    at: str,
    csv_name: str,
    empty: str,
    show: str = "open",
) -> Section:
    """Return the section of some findings.

    :param at: the column with the time.
    :param show: the filter of the page of all findings that shows the rest.
    """
    ordered = found.order_by(order, "pair", "code", "appid", "name")
    rows = [
        (
            Cell(
                sentence(each.entry.title) if each.entry else each.code,
                link("finding", each.pk),
                parts.tone_of(each),
            ),
            Cell(each.appid or "–"),
            Cell(each.name if each.name and each.name != each.appid else "–"),
            Cell(parts.day(getattr(each, at))),
        )
        for each in ordered[:SHOWN]
    ]
    table = Table(
        [Heading(_("Risk")), Heading(_("AppID")), Heading(_("About")), Heading(_("When"), is_short=True)],
        rows,
        found.count(),
        link("findings", show=show, **({"pair": pairs[0]} if len(pairs) == 1 else {})),
        csv_name=csv_name,
        csv_columns=("pair", "code", "severity", "appid", "name", at),
        all_rows=[
            (
                f.pair,
                f.code,
                f.entry.severity.value if f.entry else "",
                f.appid,
                f.name,
                getattr(f, at).isoformat(),
            )
            for f in (ordered[: settings.REPORT_CSV_ROWS] if csv_name else ())
        ],
    )
    return Section(title, table=table, empty=empty)


def _worst(pairs: Sequence[str]) -> Section:
    worst = selectors.worst_appids(pairs, 8)
    if not worst:
        return Section(_("AppIDs with the highest scores"), empty=_("No AppID has an open risk."))
    svg = charts.bars([(row["appid"], row["score"], "") for row in worst])
    alt = ", ".join(f"{row['appid']} {row['score']}" for row in worst)
    says = _("A risk that is high counts 10, medium 4, low 1.")
    height = charts.bars_height(len(worst))
    return Section(
        _("AppIDs with the highest scores"),
        says=says,
        picture=Picture("scores", svg, drawing.WIDTH, height, alt),
    )

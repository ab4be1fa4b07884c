"""The parts that several kinds of reports share: the age of figures, subjects, and figures with their change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from hadash.governance import selectors
from hadash.governance.catalogue import WEIGHTS, Severity
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.presentation.posture import Trend
from hadash.reports.report import Figure, Tone

#: Findings of at least this weight are marked.
HIGH_WEIGHT = WEIGHTS[Severity.HIGH]


def pairs_named(names: Iterable[str]) -> list[Pair]:
    """Return the pairs with these names and their clusters, by name."""
    return list(
        Pair.objects.filter(name__in=names).select_related("first", "second", "default").order_by("name")
    )


def published_at(*jobs: Run.Job) -> datetime | None:
    """Return the time of figures: that of the oldest of the jobs' last runs; ``None`` when one was never
    published.
    """
    moments = [_as_of(selectors.published(job)) for job in jobs]
    known = [moment for moment in moments if moment is not None]
    return min(known) if len(known) == len(moments) else None


def _as_of(run: Run | None) -> datetime | None:
    """Return the time of a run's input: jobs publish every hour even when no new input has come for a week."""
    if run is None or run.ended_at is None:
        return None
    moments = [run.ended_at]
    if snapshot := run.watermark.get("snapshot"):
        moments.append(datetime.fromisoformat(snapshot))
    if newest := run.watermark.get("day"):
        moments.append(datetime.combine(date.fromisoformat(newest), time.max, UTC))
    return min(moments)


def stale(as_of: datetime | None, now: datetime) -> str:
    """Return a sentence that says why figures are not current; empty when they are."""
    if as_of is None:
        return _("Not all jobs have published yet: what is missing here is not known.")
    hours = (now - as_of).total_seconds() / 3600
    is_of_today = timezone.localtime(as_of).date() == timezone.localtime(now).date()
    if is_of_today or hours <= settings.REPORT_STALE_HOURS:
        return ""
    return _("These are old figures, of %(hours)s hours ago. Look at the pipeline.") % {"hours": round(hours)}


def subject(whose: Iterable[str], parts: Sequence[str], told_stale: str = "") -> str:
    """Return the verdict in one line: "main: 3 new risks, coverage 81 % (+2)"."""
    said = f"{', '.join(whose)}: {', '.join(parts)}"
    return _("[old figures] %(subject)s") % {"subject": said} if told_stale else said


def generated(pairs: Iterable[Pair]) -> str:
    """Return a sentence that names the generated ones among some pairs; empty if there are none."""
    names = [pair.name for pair in pairs if pair.generated]
    return (
        _("Pair %(names)s is generated: its figures are made up.") % {"names": ", ".join(names)}
        if names
        else ""
    )


def day(at: datetime | None) -> str:
    """Return the date in the reader's zone."""
    return timezone.localtime(at).strftime("%Y-%m-%d") if at is not None else "–"


def moment(at: datetime | None) -> str:
    """Return the time in the reader's zone, to the minute."""
    return timezone.localtime(at).strftime("%Y-%m-%d %H:%M") if at is not None else "–"


def figure(label: str, trend: Trend, unit: str, url: str, better: str) -> Figure:
    """Return a figure with its change.

    :param better: ``"up"`` if a larger value is better, ``"down"`` if a smaller one is.
    """
    if trend.now is None:
        return Figure(label, "?", says=_("not known"), url=url)
    change = trend.change or 0
    shown = f"{change:+.0f}" if abs(change) >= 0.5 else ""
    worse = change < 0 if better == "up" else change > 0
    return Figure(label, f"{trend.now:,.0f}{unit}", shown, is_worse=bool(shown) and worse, url=url)


def tone_of(finding: Finding) -> Tone:
    return Tone.BAD if finding.weight >= HIGH_WEIGHT else Tone.PLAIN

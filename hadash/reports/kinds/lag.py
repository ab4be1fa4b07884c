"""The report on mirror lag: the lag of the mirrors within a week, and the share of time within the RPO."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from django.utils.translation import gettext as _

from hadash.governance import selectors
from hadash.governance.models.published import LagDay
from hadash.governance.models.runs import Run
from hadash.inventory.models import Pair
from hadash.mirroring.models import Mirror
from hadash.presentation import badges
from hadash.reports import charts, drawing
from hadash.reports.charts import Series
from hadash.reports.kinds import parts
from hadash.reports.links import link
from hadash.reports.recipients import View
from hadash.reports.report import Cell, Figure, Heading, Line, Picture, Report, Section, Table, Tone
from hadash.switching.policy import rpos

#: The jobs that make its figures.
JOBS = (Run.Job.LAG,)

DAYS = 7
#: Mirrors in the mail, at most, the worst first.
SHOWN = 15
#: Mirrors that the verdict names, at most.
NAMED = 3


@dataclass(frozen=True, slots=True)
class Week:
    """A mirror's week: the numbers of samples within the RPO, over it, and with an unknown lag, and the lag in
    seconds.
    """

    pair: str
    mirror: str
    within: int
    over: int
    unknown: int
    p95_worst: float | None
    worst: float | None

    @property
    def attained(self) -> float | None:
        """The percentage of samples within the RPO. Unknown samples count as not within it; ``None`` when all
        are unknown.
        """
        return _attained([self])


def build(view: View, now: datetime, url: str, about: str = "") -> Report:
    pairs = parts.pairs_named(view.pairs)
    as_of = parts.published_at(*JOBS)
    stale = parts.stale(as_of, now)
    today = now.astimezone(UTC).date()
    rows = list(
        selectors.rows(LagDay, selectors.published(Run.Job.LAG), view.pairs).filter(
            date__gt=today - timedelta(days=DAYS)
        )
    )
    weeks = weeks_of(rows)
    all_of_it = _attained(weeks)
    return Report(
        kind="lag",
        title=_("Mirror lag of %(pairs)s") % {"pairs": ", ".join(view.pairs)},
        subject=parts.subject(view.pairs, _said(weeks, all_of_it), stale),
        verdict=_verdict(weeks),
        as_of=as_of,
        stale=stale,
        url=url,
        generated=parts.generated(pairs),
        sections=[
            _figures(weeks, all_of_it),
            *[_over_days(pair, [row for row in rows if row.pair == pair.name], today) for pair in pairs],
            _mirrors(view.pairs, weeks),
        ],
    )


def weeks_of(rows: Sequence[LagDay]) -> list[Week]:
    """Return the weeks of the mirrors, the worst first; a mirror without known samples comes before all others."""
    by_mirror: dict[tuple[str, str], list[LagDay]] = defaultdict(list)
    for row in rows:
        by_mirror[row.pair, row.mirror].append(row)
    found = [
        Week(
            pair,
            mirror,
            within=sum(day.samples - day.unknown - day.over_rpo for day in days),
            over=sum(day.over_rpo for day in days),
            unknown=sum(day.unknown for day in days),
            p95_worst=max((day.seconds_p95 for day in days if day.seconds_p95 is not None), default=None),
            worst=max((day.seconds_most for day in days if day.seconds_most is not None), default=None),
        )
        for (pair, mirror), days in by_mirror.items()
    ]
    return sorted(
        found, key=lambda week: (week.attained if week.attained is not None else -1, week.pair, week.mirror)
    )


def _attained(weeks: Sequence[Week]) -> float | None:
    """Return the percentage of all samples within the RPO; ``None`` when all are unknown.

    >>> weeks = [Week("main", "a", 3, 0, 1, 1.0, 2.0), Week("main", "b", 0, 0, 9, None, None)]
    >>> _attained(weeks[:1]), _attained(weeks[1:]), round(_attained(weeks) or 0, 1)
    (75.0, None, 23.1)
    """
    within, over = (sum(getattr(week, name) for week in weeks) for name in ("within", "over"))
    samples = within + over + sum(week.unknown for week in weeks)
    return 100 * within / samples if within + over else None


def _said(weeks: Sequence[Week], all_of_it: float | None) -> list[str]:
    if all_of_it is None:
        return [_("mirror lag is not known")]
    said = [_("within the RPO %(percent)s %% of the week") % {"percent": _share(all_of_it)}]
    latest = max((w for w in weeks if w.worst is not None), key=lambda w: w.worst or 0, default=None)
    if latest is not None:
        said.append(
            _("%(mirror)s was %(seconds)s s late at most")
            % {"mirror": latest.mirror, "seconds": _seconds(latest.worst)}
        )
    return said


def _share(percent: float) -> str:
    """Return a percentage as text; "100" only for exactly 100.

    >>> _share(100.0), _share(99.996), _share(81.25)
    ('100', '99.99', '81.25')
    """
    shown = f"{percent:.2f}"
    return "99.99" if shown == "100.00" and percent < 100 else shown.rstrip("0").rstrip(".")


def _seconds(value: float | None) -> str:
    return "?" if value is None else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def _verdict(weeks: Sequence[Week]) -> Line:
    if not weeks:
        return Line(_("No lag has been counted yet."), Tone.UNKNOWN, link("mirrors"))
    late = [week for week in weeks if week.over]
    if late:
        names = ", ".join(week.mirror for week in late[:NAMED])
        said = (
            _("Further behind than the RPO at times: %(mirrors)s and %(count)s more.")
            % {"mirrors": names, "count": f"{len(late) - NAMED:,}"}
            if len(late) > NAMED
            else _("Further behind than the RPO at times: %(mirrors)s.") % {"mirrors": names}
        )
        return Line(said, Tone.BAD, link("mirrors"))
    if any(week.unknown for week in weeks):
        return Line(
            _("No mirror was seen further behind than the RPO, but not all of the time is known."),
            Tone.UNKNOWN,
            link("mirrors"),
        )
    return Line(_("Every mirror was within the RPO all the time."), Tone.FINE, link("mirrors"))


def _figures(weeks: Sequence[Week], all_of_it: float | None) -> Section:
    samples = sum(week.within + week.over + week.unknown for week in weeks)
    unknown = 100 * sum(week.unknown for week in weeks) / samples if samples else None
    worst = max((week.worst for week in weeks if week.worst is not None), default=None)
    return Section(
        _("Seven days"),
        figures=[
            Figure(
                _("Within the RPO"),
                "?" if all_of_it is None else f"{_share(all_of_it)} %",
                url=link("mirrors"),
            ),
            Figure(_("Not known"), "?" if unknown is None else f"{unknown:.1f} %", url=link("mirrors")),
            Figure(_("Lag at most"), f"{_seconds(worst)} s", url=link("mirrors")),
        ],
    )


def _over_days(pair: Pair, rows: Sequence[LagDay], today: date) -> Section:
    title = _("Pair %(pair)s: lag in 19 of 20 samples, the worst mirror of each day") % {"pair": pair.name}
    worst: dict[date, float] = {}
    for row in rows:
        if row.seconds_p95 is not None:
            worst[row.date] = max(worst.get(row.date, 0.0), row.seconds_p95)
    if not worst:
        return Section(title, empty=_("No lag has been counted yet."))
    days = [today - timedelta(days=DAYS - 1 - number) for number in range(DAYS)]
    rpo = rpos([pair])[pair.pk]
    svg = charts.lines(
        [Series("", [worst.get(each) for each in days])],
        (f"{days[0]:%m-%d}", f"{days[-1]:%m-%d}"),
        unit=" s",
        limit=(rpo, f"RPO {rpo:g} s"),
    )
    alt = ", ".join(
        f"{each:%m-%d} {worst[each]:.1f} s" if each in worst else f"{each:%m-%d} ?" for each in days
    )
    return Section(title, picture=Picture(f"lag-{pair.pk}", svg, drawing.WIDTH, charts.HEIGHT, alt))


def _mirrors(pairs: Sequence[str], weeks: Sequence[Week]) -> Section:
    now = {
        (m.pair.name, m.name): m for m in Mirror.objects.filter(pair__name__in=pairs).select_related("pair")
    }
    rows = [(*_row(week), _state(now.get((week.pair, week.mirror)))) for week in weeks[:SHOWN]]
    columns = [
        Heading(_("Mirror")), Heading(_("Within the RPO"), is_number=True), Heading(_("Not known"), is_number=True),
        Heading(_("19 of 20"), is_number=True), Heading(_("At most"), is_number=True), Heading(_("Now")),
    ]  # fmt: skip
    table = Table(
        columns,
        rows,
        len(weeks),
        link("mirrors"),
        csv_name="mirror-lag",
        csv_columns=(
            "pair",
            "mirror",
            "samples_within_rpo",
            "samples_over_rpo",
            "samples_unknown",
            "seconds_p95_worst_day",
            "seconds_most",
        ),
        all_rows=[(w.pair, w.mirror, w.within, w.over, w.unknown, w.p95_worst, w.worst) for w in weeks],
    )
    return Section(
        _("Mirrors, the worst first"),
        table=table,
        empty=_("No lag has been counted yet.") if now else _("There is no mirror."),
    )


def _row(week: Week) -> Sequence[Cell]:
    samples = week.within + week.over + week.unknown
    attained = week.attained
    tone = Tone.BAD if week.over else Tone.UNKNOWN if week.unknown else Tone.FINE
    return (
        Cell(week.mirror, link("mirror", week.pair, week.mirror)),
        Cell("?" if attained is None else f"{_share(attained)} %", tone=tone),
        Cell(f"{100 * week.unknown / samples:.1f} %" if samples else "?"),
        Cell(f"{_seconds(week.p95_worst)} s"),
        Cell(f"{_seconds(week.worst)} s"),
    )


def _state(mirror: Mirror | None) -> Cell:
    if mirror is None:
        return Cell(_("gone"))
    state = badges.of_mirror(mirror)
    tones = {"fine": Tone.FINE, "bad": Tone.BAD, "unknown": Tone.UNKNOWN, "waiting": Tone.NOTICE}
    return Cell(str(state.word), tone=tones.get(state.look, Tone.PLAIN))

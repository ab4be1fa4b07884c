"""How the fleet stands, in figures with their last days: what the overview shows of what runs have published."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, timedelta
from functools import lru_cache
from typing import Any

from django.db.models import Max, Sum
from django.utils import timezone

from hadash.governance import selectors
from hadash.governance.models import LagDay, Posture, Run
from hadash.inventory.models import DailyFigure

#: Days of a trend.
TREND_DAYS = 30
#: Lags of published runs that a process remembers, each for the pairs that some user may see.
REMEMBERED = 64

#: Figures of :class:`Posture` that add up over pairs, and those of which the largest counts.
_SUMS = (
    "appids", "mirrored_appids", "clients", "registered", "shared_appids", "high", "medium", "low",
)  # fmt: skip
_LARGEST = ("largest_radius", "largest_radius_by_appid")

#: A day's figures: ``None`` where nobody has said any.
Day = dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Trend:
    """One figure over :data:`TREND_DAYS`: a value a day, the last one today's; ``None`` is a gap."""

    values: Sequence[float | None]

    @property
    def now(self) -> float | None:
        """The last known one."""
        return next((value for value in reversed(self.values) if value is not None), None)

    @property
    def today(self) -> float | None:
        """The value of the last day; ``None`` when nobody has said any yet."""
        return self.values[-1] if self.values else None

    @property
    def change(self) -> float | None:
        """By how much it differs from the first known one; ``None`` when there are no two."""
        known = [value for value in self.values if value is not None]
        return known[-1] - known[0] if len(known) > 1 else None


@dataclass(frozen=True, slots=True)
class Standing:
    """The figures of the pairs ``names`` together. ``newest``: each pair's last ones."""

    names: tuple[str, ...]
    days: dict[date, Day]
    newest: dict[str, Posture]
    today: date

    def without(self, *figures: str) -> list[str]:
        """The pairs of which nobody has said these: what is added up is without them."""
        return [
            name
            for name in self.names
            if name not in self.newest or any(getattr(self.newest[name], each) is None for each in figures)
        ]

    def trend(self, figure: Callable[[Day], float | None]) -> Trend:
        """What ``figure`` makes of each day's figures."""
        first = self.today - timedelta(days=TREND_DAYS - 1)
        every = (first + timedelta(days=number) for number in range(TREND_DAYS))
        return Trend([figure(self.days[day]) if day in self.days else None for day in every])


def share(part: str, whole: str) -> Callable[[Day], float | None]:
    """Percent. Of nothing there is no share.

    >>> share("registered", "clients")({"registered": 3, "clients": 4}), share("registered", "clients")({"registered": 0, "clients": 0})
    (75.0, None)
    """

    def figure(day: Day) -> float | None:
        of, all_ = day.get(part), day.get(whole)
        return 100 * of / all_ if of is not None and all_ else None

    return figure


def total(*names: str) -> Callable[[Day], float | None]:
    """
    >>> total("high", "medium")({"high": 1, "medium": 2}), total("high")({"high": None})
    (3, None)
    """

    def figure(day: Day) -> float | None:
        known = [value for name in names if (value := day.get(name)) is not None]
        return sum(known) if len(known) == len(names) else None

    return figure


def standing(pairs: Iterable[str]) -> Standing:
    """One query."""
    names = tuple(pairs)
    today = timezone.now().astimezone(UTC).date()
    since = today - timedelta(days=TREND_DAYS - 1)
    rows = list(Posture.objects.filter(pair__in=names, day__gte=since).order_by("day"))
    return Standing(names, _by_day(rows), {row.pair: row for row in rows}, today)


def _by_day(rows: Iterable[Posture]) -> dict[date, Day]:
    """All pairs together. A pair of which nobody has said anything on a day counts with what was said of it last."""
    found: dict[date, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    last: dict[str, Posture] = {}
    for row in rows:
        last[row.pair] = row
        found[row.day] = defaultdict(list)
        for each in last.values():
            for name in (*_SUMS, *_LARGEST):
                value = getattr(each, name)
                if value is not None:
                    found[row.day][name].append(value)
    return {
        day: {
            name: (sum(values) if name in _SUMS else max(values)) if (values := figures.get(name)) else None
            for name in (*_SUMS, *_LARGEST)
        }
        for day, figures in found.items()
    }


def daily(pairs: Iterable[str]) -> dict[str, Trend]:
    """What was counted day by day (:mod:`hadash.inventory.daily`), by name: of these pairs together, or of
    the installation. One query.
    """
    today = timezone.now().astimezone(UTC).date()
    first = today - timedelta(days=TREND_DAYS - 1)
    rows = DailyFigure.objects.filter(pair__in=["", *pairs], day__gte=first).order_by()
    sums = {(name, day): value for name, day, value in rows.values_list("name", "day").annotate(Sum("value"))}
    every = [first + timedelta(days=number) for number in range(TREND_DAYS)]
    return {name: Trend([sums.get((name, day)) for day in every]) for name in DailyFigure.Name.values}


def lag_trend(pairs: Iterable[str]) -> Trend:
    """The most seconds that any mirror was late in 19 of 20 samples, by day. Two queries."""
    today = timezone.now().astimezone(UTC).date()
    since = today - timedelta(days=TREND_DAYS - 1)
    run = selectors.published(Run.Job.LAG)
    worst = _worst_of_days(run, tuple(pairs)) if run is not None else {}
    return Trend([worst.get(since + timedelta(days=number)) for number in range(TREND_DAYS)])


@lru_cache(maxsize=REMEMBERED)
def _worst_of_days(run: Run, pairs: tuple[str, ...]) -> dict[date, Any]:
    """Remembered: a published run does not change, and has a row for each mirror and day."""
    rows = selectors.rows(LagDay, run, pairs).order_by()
    return dict(rows.values_list("date").annotate(Max("seconds_p95")))


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure. ``value``: as it stands there; empty when it is not known. ``of``: what it is a part of.
    ``says``: what it counts, in a few words; ``without``: pairs of which it is not known, while it is of
    others. ``better``: whether a larger figure is ``"up"``, a smaller one ``"down"``, or neither.
    """

    word: Any
    value: str
    says: Any
    href: str
    trend: Trend | None = None
    of: str = ""
    unit: str = ""
    better: str = ""
    #: Of the trend, where it is another than that of the figure.
    trend_unit: str = ""
    without: Sequence[str] = ()

    @property
    def change(self) -> str:
        """With its sign; empty when it has not changed."""
        change = self.trend.change if self.trend is not None else None
        return f"{change:+.0f}{self.trend_unit}" if change is not None and abs(change) >= 0.5 else ""

    @property
    def is_worse(self) -> bool:
        change = (self.trend.change if self.trend is not None else None) or 0
        return change > 0 if self.better == "down" else change < 0 if self.better == "up" else False

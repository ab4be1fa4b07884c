"""The posture of the fleet: the published figures that the overview shows, with their trends."""

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
from hadash.governance.models.posture import Posture
from hadash.governance.models.published import LagDay
from hadash.governance.models.runs import Run
from hadash.inventory.models import DailyFigure

#: Days of a trend.
TREND_DAYS = 30
#: Most results of :func:`_worst_of_days` that a process caches, one per run and set of visible pairs.
REMEMBERED = 64

#: Figures of :class:`Posture` that are summed over pairs, and those of which the largest counts.
_SUMS = (
    "appids", "mirrored_appids", "clients", "registered", "shared_appids", "high", "medium", "low",
)  # fmt: skip
_LARGEST = ("largest_radius", "largest_radius_by_appid")

#: A day's figures; ``None`` for those that no run has published.
Day = dict[str, int | None]


@dataclass(frozen=True, slots=True)
class Trend:
    """One figure over :data:`TREND_DAYS`: a value per day, the last one today's; ``None`` is a gap."""

    values: Sequence[float | None]

    @property
    def now(self) -> float | None:
        """The last known value."""
        return next((value for value in reversed(self.values) if value is not None), None)

    @property
    def days_old(self) -> int:
        """The days since the last known value: 0 for today's, and for no value at all."""
        known = [number for number, value in enumerate(self.values) if value is not None]
        return len(self.values) - 1 - known[-1] if known else 0

    @property
    def today(self) -> float | None:
        """Today's value; ``None`` when there is none yet."""
        return self.values[-1] if self.values else None

    @property
    def change(self) -> float | None:
        """The last known value minus the first; ``None`` when fewer than two are known."""
        known = [value for value in self.values if value is not None]
        return known[-1] - known[0] if len(known) > 1 else None


@dataclass(frozen=True, slots=True)
class Standing:
    """The figures of the pairs ``names`` together. ``newest``: the last figures of each pair."""

    names: tuple[str, ...]
    days: dict[date, Day]
    newest: dict[str, Posture]
    today: date

    def without(self, *figures: str) -> list[str]:
        """Return the pairs for which any of these figures is unknown: sums are without them."""
        return [
            name
            for name in self.names
            if name not in self.newest or any(getattr(self.newest[name], each) is None for each in figures)
        ]

    def trend(self, figure: Callable[[Day], float | None]) -> Trend:
        """Return the trend of a value that ``figure`` computes from each day's figures."""
        first = self.today - timedelta(days=TREND_DAYS - 1)
        every = (first + timedelta(days=number) for number in range(TREND_DAYS))
        return Trend([figure(self.days[day]) if day in self.days else None for day in every])


def share(part: str, whole: str) -> Callable[[Day], float | None]:
    """Return a function for the percentage of ``part`` in ``whole``; ``None`` when ``whole`` is zero or unknown.

    >>> figure = share("registered", "clients")
    >>> figure({"registered": 3, "clients": 4}), figure({"registered": 0, "clients": 0})
    (75.0, None)
    """

    def figure(day: Day) -> float | None:
        of, all_ = day.get(part), day.get(whole)
        return 100 * of / all_ if of is not None and all_ else None

    return figure


def total(*names: str) -> Callable[[Day], float | None]:
    """Return a function for the sum of these figures; ``None`` when any of them is unknown.
    >>> total("high", "medium")({"high": 1, "medium": 2}), total("high")({"high": None})
    (3, None)
    """

    def figure(day: Day) -> float | None:
        known = [value for name in names if (value := day.get(name)) is not None]
        return sum(known) if len(known) == len(names) else None

    return figure


def standing(pairs: Iterable[str]) -> Standing:
    """Return the figures of some pairs. One query."""
    names = tuple(pairs)
    today = timezone.now().astimezone(UTC).date()
    since = today - timedelta(days=TREND_DAYS - 1)
    rows = list(Posture.objects.filter(pair__in=names, day__gte=since).order_by("day"))
    return Standing(names, _by_day(rows), {row.pair: row for row in rows}, today)


def _by_day(rows: Iterable[Posture]) -> dict[date, Day]:
    """Return the figures of all pairs together. A pair without figures on a day counts with its last ones."""
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
    """Return the trends of the daily figures (:mod:`hadash.inventory.daily`) by name: the sums over these pairs,
    and figures of the whole installation. One query.
    """
    today = timezone.now().astimezone(UTC).date()
    first = today - timedelta(days=TREND_DAYS - 1)
    rows = DailyFigure.objects.filter(pair__in=["", *pairs], day__gte=first).order_by()
    sums = {(name, day): value for name, day, value in rows.values_list("name", "day").annotate(Sum("value"))}
    every = [first + timedelta(days=number) for number in range(TREND_DAYS)]
    return {name: Trend([sums.get((name, day)) for day in every]) for name in DailyFigure.Name.values}


def lag_trend(pairs: Iterable[str]) -> Trend:
    """Return the trend of the mirrors' lag: by day, the largest 95th percentile of any mirror, in seconds.

    Two queries.
    """
    today = timezone.now().astimezone(UTC).date()
    since = today - timedelta(days=TREND_DAYS - 1)
    run = selectors.published(Run.Job.LAG)
    worst = _worst_of_days(run, tuple(pairs)) if run is not None else {}
    return Trend([worst.get(since + timedelta(days=number)) for number in range(TREND_DAYS)])


@lru_cache(maxsize=REMEMBERED)
def _worst_of_days(run: Run, pairs: tuple[str, ...]) -> dict[date, Any]:
    """Return the largest lag of each day. Cached: a published run does not change, and has a row per mirror and day."""
    rows = selectors.rows(LagDay, run, pairs).order_by()
    return dict(rows.values_list("date").annotate(Max("seconds_p95")))


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a tile's figure that has a page of its own, such as the findings of one severity."""

    word: Any
    value: str
    href: str
    trend: Trend


@dataclass(frozen=True, slots=True)
class Tile:
    """One figure on the overview.

    :param value: the text that is shown; empty when it is not known.
    :param of: what the figure is a part of, or its limit.
    :param says: what it counts, in a few words.
    :param without: pairs for which it is not known, while it is for others.
    :param better: ``"up"`` if a larger figure is better, ``"down"`` if a smaller one is, or empty.
    :param alarming: the figure itself is beyond its limit.
    """

    word: Any
    value: str
    says: Any
    href: str
    trend: Trend | None = None
    of: str = ""
    unit: str = ""
    better: str = ""
    #: The unit of the change.
    trend_unit: str = ""
    #: What the line shows when that is not the figure itself; its change is not named then.
    trend_word: Any = ""
    without: Sequence[str] = ()
    parts: Sequence[Part] = ()
    alarming: bool = False

    @property
    def change(self) -> str:
        """The change over the trend with its sign and unit; empty when it is less than half a unit."""
        change = self.trend.change if self.trend is not None and not self.trend_word else None
        return f"{change:+.0f}{self.trend_unit}" if change is not None and abs(change) >= 0.5 else ""

    @property
    def is_worse(self) -> bool:
        """Whether the change is for the worse; never when neither direction is better."""
        change = (self.trend.change if self.trend is not None else None) or 0
        return change > 0 if self.better == "down" else change < 0 if self.better == "up" else False

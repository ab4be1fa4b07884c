"""When a schedule is due: cron in a time zone. Pure.

A time that a clock skips in spring comes at the moment to which it is put forward, and one that comes twice
in autumn comes once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hadash.pipeline.cron import following as following_in_utc
from hadash.sentences import Sentence, say


class NoSuchZone(ValueError):
    """``sentence`` says what is wrong."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


def zone_named(name: str) -> ZoneInfo:
    """:raises NoSuchZone: there is none of that name."""
    try:
        return ZoneInfo(name.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise NoSuchZone(
            say(
                "There is no time zone %(name)s. Names are such as %(example)s.",
                name=name,
                example="Asia/Shanghai",
            )
        ) from None


def following(cron: str, zone: ZoneInfo, after: datetime) -> datetime:
    """The first moment after ``after`` at which clocks in ``zone`` show a time of ``cron``; in UTC.

    >>> following("0 7 * * *", ZoneInfo("Europe/Berlin"), datetime(2026, 3, 28, 12, tzinfo=UTC)).isoformat()
    '2026-03-29T05:00:00+00:00'
    """
    # What clocks show is told without a zone: cron is asked as if it were UTC, and the answer is read on the
    # clocks of the zone.
    shown = after.astimezone(zone).replace(tzinfo=UTC, fold=0)
    while True:
        shown = following_in_utc(cron, shown)
        # (Of a time that comes twice the first; one that is skipped is as much later as clocks are put forward.)
        found = shown.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if found > after:
            return found


def last(cron: str, zone: ZoneInfo, due_at: datetime, now: datetime, grace: timedelta) -> datetime:
    """The last moment of ``cron`` until ``now``, from ``due_at`` on, which is one; ``due_at`` when none is
    within ``grace``.

    >>> friday, monday = datetime(2026, 11, 27, 7, tzinfo=UTC), datetime(2026, 11, 30, 8, tzinfo=UTC)
    >>> last("0 7 * * *", ZoneInfo("UTC"), friday, monday, timedelta(hours=20)).isoformat()
    '2026-11-30T07:00:00+00:00'
    """
    found = due_at
    # (From a moment before the oldest that would still be made: a schedule of each minute has thousands before that.)
    at = max(due_at, now - grace - timedelta(microseconds=1))
    while (at := following(cron, zone, at)) <= now:
        found = at
    return found


def next_times(cron: str, zone: ZoneInfo, after: datetime, count: int) -> list[datetime]:
    """The next moments, for whoever is about to save a schedule."""
    found: list[datetime] = []
    for _ in range(count):
        after = following(cron, zone, after)
        found.append(after)
    return found


@dataclass(frozen=True, slots=True)
class Day:
    """A day of a calendar. ``is_past``: before today."""

    date: date
    is_due: bool
    is_today: bool
    is_past: bool


def weeks(cron: str, zone: ZoneInfo, now: datetime, count: int) -> list[list[Day]]:
    """A calendar on clocks of ``zone``: so many weeks from Monday on, the first one this week.

    >>> first, = weeks("0 7 * * 1-5", ZoneInfo("UTC"), datetime(2026, 11, 26, 8, tzinfo=UTC), 1)
    >>> [day.date.day for day in first if day.is_due], [day.date.day for day in first if day.is_today]
    ([27], [26])
    """
    today = now.astimezone(zone).date()
    monday = today - timedelta(days=today.weekday())
    end = monday + timedelta(weeks=count)
    due: set[date] = set()
    at = now
    while (day := following(cron, zone, at).astimezone(zone).date()) < end:
        due.add(day)
        # (Once a day is enough, however often it is: the next one is looked for after its end.)
        at = datetime.combine(day, time.max, zone).astimezone(UTC)
    days = (monday + timedelta(days=number) for number in range(7 * count))
    every = [Day(day, day in due, day == today, day < today) for day in days]
    return [every[number : number + 7] for number in range(0, len(every), 7)]


def missed(due_at: datetime, now: datetime, grace: timedelta) -> bool:
    """Whether a report of ``due_at`` is not worth being made any more: yesterday's is not sent today because
    nothing ran in the night.
    """
    return now - due_at > grace

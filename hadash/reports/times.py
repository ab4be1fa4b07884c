"""Computes when a schedule is due: cron in a time zone. Pure.

A time that clocks skip in spring is shifted by as much as they are put forward, and a time that comes twice in
autumn counts once.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from hadash.pipeline.cron import following as following_in_utc
from hadash.sentences import Sentence, say


class NoSuchZone(ValueError):
    """A time zone does not exist. ``sentence`` says so."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


def zone_named(name: str) -> ZoneInfo:
    """Return the time zone of a name. :raises NoSuchZone: it does not exist."""
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
    """Return the first time after ``after`` at which clocks in ``zone`` show a time of ``cron``; in UTC.

    >>> following("0 7 * * *", ZoneInfo("Europe/Berlin"), datetime(2026, 3, 28, 12, tzinfo=UTC)).isoformat()
    '2026-03-29T05:00:00+00:00'
    """
    # cron is evaluated on the local clock time, treated as UTC; its result is converted back from the zone.
    shown = after.astimezone(zone).replace(tzinfo=UTC, fold=0)
    while True:
        shown = following_in_utc(cron, shown)
        # (fold=0: of a repeated time the first; a skipped time is later by as much as clocks are put forward.)
        found = shown.replace(tzinfo=zone, fold=0).astimezone(UTC)
        if found > after:
            return found


def last(cron: str, zone: ZoneInfo, due_at: datetime, now: datetime, grace: timedelta) -> datetime:
    """Return the last time of ``cron`` up to ``now``, from ``due_at`` (a time of ``cron``) on; ``due_at`` when
    there is none within ``grace``.

    >>> friday, monday = datetime(2026, 11, 27, 7, tzinfo=UTC), datetime(2026, 11, 30, 8, tzinfo=UTC)
    >>> last("0 7 * * *", ZoneInfo("UTC"), friday, monday, timedelta(hours=20)).isoformat()
    '2026-11-30T07:00:00+00:00'
    """
    found = due_at
    # (Begins just before the oldest that would still be made: a schedule of each minute has thousands before.)
    at = max(due_at, now - grace - timedelta(microseconds=1))
    while (at := following(cron, zone, at)) <= now:
        found = at
    return found


def next_times(cron: str, zone: ZoneInfo, after: datetime, count: int) -> list[datetime]:
    """Return the next ``count`` times of a schedule, for a preview."""
    found: list[datetime] = []
    for _ in range(count):
        after = following(cron, zone, after)
        found.append(after)
    return found


@dataclass(frozen=True, slots=True)
class Day:
    """A day of a calendar. ``is_past``: it is before today."""

    date: date
    is_due: bool
    is_today: bool
    is_past: bool


def weeks(cron: str, zone: ZoneInfo, now: datetime, count: int) -> list[list[Day]]:
    """Return a calendar in ``zone``: ``count`` weeks from Monday on, beginning with the current one.

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
        # (One time for each day is enough: the search continues after its end.)
        at = datetime.combine(day, time.max, zone).astimezone(UTC)
    days = (monday + timedelta(days=number) for number in range(7 * count))
    every = [Day(day, day in due, day == today, day < today) for day in days]
    return [every[number : number + 7] for number in range(0, len(every), 7)]


def missed(due_at: datetime, now: datetime, grace: timedelta) -> bool:
    """Return whether it is too late to make a report of ``due_at``: yesterday's is not sent today after a night
    without workers.
    """
    return now - due_at > grace

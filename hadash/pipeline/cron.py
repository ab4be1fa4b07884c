"""Schedules as in cron, in UTC: minute, hour, day of the month, month, day of the week, as Celery reads them.
Pure.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

from celery.schedules import ParseException, crontab

from hadash.sentences import Sentence, say

#: Characters of a schedule, at most: enough to list every minute.
MAX_LENGTH = 200

_FIELDS = 5


class NoSuchTime(ValueError):
    """A text is not a valid schedule. ``sentence`` says why."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


def validated(text: str) -> str:
    """Return a schedule with one space between its fields.

    :raises NoSuchTime: it is not valid, or never comes.

    >>> validated(" */10  * * * * ")
    '*/10 * * * *'
    """
    fields = text.split()
    if len(fields) != _FIELDS or len(text) > MAX_LENGTH:
        raise NoSuchTime(
            say(
                "A time has five parts: minute, hour, day of the month, month, day of the week. %(example)s is "
                "every day at 02:30.",
                example="30 2 * * *",
            )
        )
    cron = " ".join(fields)
    try:
        following(cron, datetime.now(UTC))
    except (ParseException, ValueError, KeyError, RuntimeError):
        raise NoSuchTime(
            say(
                "%(time)s is no time that ever comes. Each part is *, a number, a range (1-5), a list (0,30) or a "
                "step (*/10).",
                time=cron,
            )
        ) from None
    return cron


#: Results of :func:`following` that a process caches: every page checks whether a job is overdue, and parsing a
#: schedule costs more than a query.
REMEMBERED = 256


@lru_cache(maxsize=REMEMBERED)
def following(cron: str, after: datetime) -> datetime:
    """Return the first time of a schedule after ``after``.

    :param cron: the result of :func:`validated`.

    >>> following("30 2 * * *", datetime(2026, 11, 22, 2, 30, tzinfo=UTC)).isoformat()
    '2026-11-23T02:30:00+00:00'
    """
    minute, hour, day_of_month, month, day_of_week = cron.split()
    day_of_week = _sunday_as_zero(day_of_week)
    after = after.astimezone(UTC)
    schedule = crontab(minute, hour, day_of_week, day_of_month, month, nowfun=lambda: after)
    return after + schedule.remaining_estimate(after)


def _sunday_as_zero(days: str) -> str:
    """Replace 7 for Sunday by 0: cron(8) accepts both, Celery only 0.

    >>> _sunday_as_zero("7"), _sunday_as_zero("1,5-7"), _sunday_as_zero("0-7"), _sunday_as_zero("mon-fri")
    ('0', '1,5-6,0', '0-6,0', 'mon-fri')
    """
    parts = []
    for part in days.split(","):
        first, is_range, last = part.partition("-")
        if part == "7":
            parts.append("0")
        elif is_range and last == "7" and first.isdecimal():
            parts += ["0"] if first == "7" else [f"{first}-6", "0"]
        else:
            parts.append(part)
    return ",".join(parts)

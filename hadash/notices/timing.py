"""When somebody is told of what has gathered for them: quiet hours, digests, and no storms. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo


@dataclass(frozen=True, slots=True)
class Wish:
    """How somebody wants to be told.

    ``gap``: at least so long between two messages: what happens meanwhile comes as one. ``digest``: whatever
    is not urgent waits for so long to be told together. ``quiet``: from when to when, on clocks of ``zone``,
    only what is urgent is told; ``None`` for never. It may pass midnight.
    """

    gap: timedelta
    digest: timedelta = timedelta(0)
    quiet: tuple[time, time] | None = None
    zone: tzinfo = UTC


def told_at(wish: Wish, first_at: datetime, last_told_at: datetime | None, *, is_urgent: bool) -> datetime:
    """The moment at which what has gathered since ``first_at`` is told.

    :param is_urgent: whether any of it is.

    >>> at = datetime(2026, 11, 26, 23, 30, tzinfo=UTC)
    >>> wish = Wish(timedelta(minutes=1), quiet=(time(22), time(7)))
    >>> told_at(wish, at, None, is_urgent=False).isoformat(), told_at(wish, at, None, is_urgent=True) == at
    ('2026-11-27T07:00:00+00:00', True)
    """
    moment = first_at
    if last_told_at is not None:
        moment = max(moment, last_told_at + wish.gap)
    if is_urgent:
        return moment
    moment = max(moment, first_at + wish.digest)
    return after_quiet(moment, wish)


def after_quiet(moment: datetime, wish: Wish) -> datetime:
    """``moment``, or the end of the quiet hours that it is in."""
    if wish.quiet is None or wish.quiet[0] == wish.quiet[1]:
        return moment
    begins, ends = wish.quiet
    local = moment.astimezone(wish.zone)
    clock = local.time().replace(tzinfo=None)
    passes_midnight = begins > ends
    is_quiet = (clock >= begins or clock < ends) if passes_midnight else begins <= clock < ends
    if not is_quiet:
        return moment
    day = local.date()
    if passes_midnight and clock >= begins:
        day += timedelta(days=1)
    return datetime.combine(day, ends, wish.zone).astimezone(moment.tzinfo)

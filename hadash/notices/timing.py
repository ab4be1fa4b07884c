"""Computes when pending notices are sent: quiet hours, digests, and the smallest gap between messages. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo


@dataclass(frozen=True, slots=True)
class Wish:
    """When a person or channel wants messages.

    ``gap``: the least time between two messages: notices in between are combined. ``digest``: how long notices
    that are not urgent wait to be combined. ``quiet``: from when to when, on clocks of ``zone``, only urgent
    notices are sent;
    ``None``: never. It may pass midnight.
    """

    gap: timedelta
    digest: timedelta = timedelta(0)
    quiet: tuple[time, time] | None = None
    zone: tzinfo = UTC


def told_at(wish: Wish, first_at: datetime, last_told_at: datetime | None, *, is_urgent: bool) -> datetime:
    """Return when the notices that are pending since ``first_at`` are sent.

    :param is_urgent: whether any of them is urgent.

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
    """Return ``moment``, or the end of the quiet hours if it is in them."""
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

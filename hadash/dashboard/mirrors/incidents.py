"""The incidents of a mirror, or of all mirrors of a pair, from their history. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import pairwise
from typing import Any

from django.utils.translation import gettext_lazy as _

from hadash.mirroring.models import Mirror


@dataclass(frozen=True, slots=True)
class Bucket:
    """The samples within one step of time.

    :param records: the largest lag in records, and ``seconds`` in seconds; ``None`` when no sample knew it.
    :param unknown: how many of the ``samples`` did not know the lag.
    :param states: the mirror's states, as far as they were kept.
    """

    at: datetime
    records: int | None
    seconds: float | None
    samples: int
    unknown: int
    states: tuple[str, ...] = ()


class Kind(StrEnum):
    """The kinds of incidents, the gravest last."""

    SILENT = "silent"
    UNKNOWN = "unknown"
    LATE = "late"
    DOWN = "down"

    @property
    def is_known(self) -> bool:
        """Whether something was seen to be wrong; of the others it is not known."""
        return self in {Kind.LATE, Kind.DOWN}


KIND_WORDS: dict[Kind, Any] = {
    Kind.SILENT: _("nobody has looked"),
    Kind.UNKNOWN: _("the lag was not known"),
    Kind.LATE: _("further behind than the RPO"),
    Kind.DOWN: _("did not run"),
}


@dataclass(frozen=True, slots=True)
class Incident:
    """An incident. ``until``: its end; ``None`` while it lasts. ``worst``: the largest known lag in seconds."""

    kind: Kind
    since: datetime
    until: datetime | None
    worst: float | None


#: With fewer gaps between samples than this, nobody knows what is usual.
KNOWN_FROM = 10


def usually_apart(buckets: Sequence[Bucket], step: timedelta, every: timedelta) -> timedelta:
    """Return the usual time between two samples: a round of looks at very many mirrors takes longer than looks are
    apart, and to wait for the next one is no silence.

    :param step: the length of each bucket. :param every: the time that a setting says.
    """
    gaps = sorted(later.at - earlier.at for earlier, later in pairwise(buckets))
    usual = gaps[len(gaps) // 2] if len(gaps) >= KNOWN_FROM else every
    return usual if usual > max(step, every) else every


def incidents(
    buckets: Sequence[Bucket], step: timedelta, rpo: float, end: datetime, every: timedelta
) -> list[Incident]:
    """Return the incidents, the newest first.

    :param buckets: in order; steps without a sample are left out.
    :param step: the length of each bucket.
    :param rpo: seconds.
    :param end: the end of the history.
    :param every: the time between two samples that a setting says. A gap longer than three times what is usual and a
        step is an incident.
    """
    quiet = step + 3 * usually_apart(buckets, step, every)
    found: list[Incident] = []
    for place, bucket in enumerate(buckets):
        if place and bucket.at - buckets[place - 1].at > quiet:
            found.append(Incident(Kind.SILENT, buckets[place - 1].at + step, bucket.at, None))
        kind = kind_of(bucket, rpo)
        if kind is None:
            continue
        last = found[-1] if found else None
        if last is not None and last.kind is kind and last.until == bucket.at:
            found[-1] = Incident(kind, last.since, bucket.at + step, _worst((last.worst, bucket.seconds)))
        else:
            found.append(Incident(kind, bucket.at, bucket.at + step, bucket.seconds))
    if buckets and end - buckets[-1].at > quiet:
        found.append(Incident(Kind.SILENT, buckets[-1].at + step, None, None))
    elif found and found[-1].until is not None and found[-1].until >= end - step:
        found[-1] = Incident(found[-1].kind, found[-1].since, None, found[-1].worst)
    return found[::-1]


def kind_of(bucket: Bucket, rpo: float) -> Kind | None:
    """Return the gravest kind of incident of which a bucket tells; ``None``: of none. :param rpo: seconds."""
    if Mirror.DOWN & set(bucket.states):
        return Kind.DOWN
    if bucket.seconds is not None and bucket.seconds > rpo:
        return Kind.LATE
    return Kind.UNKNOWN if bucket.unknown else None


def _worst(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)

"""What ``/healthz`` and ``/readyz`` say. Pure but for the asking.

``/healthz``: whether the process should be started again. It asks no server: that PostgreSQL is away is no
reason to end every process, and a worker that is ended while it carries out a switch costs its clients
seconds.

``/readyz``: whether it can serve now. Only what it can do nothing without makes it *not ready*; what is away
besides makes it *degraded*, which is told and still counts as ready: people open hadash because a cluster is
away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hadash import VERSION
from hadash.monitoring.probes import Answer


@dataclass(frozen=True, slots=True)
class Health:
    """``status``: ``ok``, ``degraded``, ``not ready`` or ``stuck``."""

    process: str
    status: str
    answers: Sequence[Answer] = ()
    says: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def http_status(self) -> int:
        return 200 if self.status in ("ok", "degraded") else 503

    def to_json(self, *, whole: bool = True) -> dict[str, Any]:
        """:param whole: with what each server said, which is nothing for strangers."""
        found: dict[str, Any] = {"status": self.status}
        if whole:
            found |= {"process": self.process, "version": VERSION, **self.details}
            if self.says:
                found["says"] = self.says
            if self.answers:
                found["checks"] = [answer.to_json() for answer in self.answers]
        return found


def readiness(process: str, answers: Sequence[Answer], **details: Any) -> Health:
    """
    >>> away = Answer("kafka", False, "east does not answer", False, 0.1)
    >>> readiness("web", [away]).status, readiness("web", [Answer("postgresql", None, "", True, 1)]).status
    ('degraded', 'not ready')
    """
    wrong = [answer for answer in answers if answer.holds is not True]
    if any(answer.is_needed for answer in wrong):
        return Health(process, "not ready", answers, details=details)
    return Health(process, "degraded" if wrong else "ok", answers, details=details)


@dataclass
class Progress:
    """Whether a worker (or beat) still moves, by one observation every few seconds.

    Celery's consumer can hang after Redis was away, with its process alive and well otherwise
    (https://github.com/celery/celery/issues/7276): work waits, hands are free, and nothing is begun.

    :param patience: seconds for which that has to last.
    """

    patience: float
    since: float | None = None
    last: int | None = None

    def observe(self, now: float, *, could_move: bool | None, done: int) -> None:
        """
        :param now: by a clock that only goes forward.
        :param could_move: whether there is something to do and somebody free to do it; ``None`` when nobody can tell.
        :param done: how much was done since the start.

        >>> one = Progress(patience=60)
        >>> one.observe(0, could_move=True, done=4)
        >>> one.observe(50, could_move=True, done=4); one.is_stuck(59), one.is_stuck(61)
        (False, True)
        >>> one.observe(62, could_move=True, done=5); one.is_stuck(100)
        False
        """
        moved = done != self.last
        if not could_move:
            self.since = None
        elif moved or self.since is None:
            self.since = now
        self.last = done

    def is_stuck(self, now: float) -> bool:
        return self.since is not None and now - self.since > self.patience

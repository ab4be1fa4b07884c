"""What ``/healthz`` and ``/readyz`` answer. Pure.

``/healthz``: whether the process should be restarted. It asks no server: an unreachable PostgreSQL is no
reason to end every process, and a worker that is ended while it carries out a switch costs its clients
seconds.

``/readyz``: whether the process can serve now. Only a server that it cannot work without makes it *not ready*.
Any other server that is away makes it *degraded*, which is reported and still counts as ready: people open
hadash because a cluster is away.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hadash import VERSION
from hadash.monitoring.probes import Answer


@dataclass(frozen=True, slots=True)
class Health:
    """The health of a process. ``status``: ``ok``, ``degraded``, ``not ready`` or ``stuck``."""

    process: str
    status: str
    answers: Sequence[Answer] = ()
    says: str = ""
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def http_status(self) -> int:
        return 200 if self.status in ("ok", "degraded") else 503

    def to_json(self, *, whole: bool = True) -> dict[str, Any]:
        """Return the health as JSON.

        :param whole: include the details and each server's answer, which strangers must not see.
        """
        found: dict[str, Any] = {"status": self.status}
        if whole:
            found |= {"process": self.process, "version": VERSION, **self.details}
            if self.says:
                found["says"] = self.says
            if self.answers:
                found["checks"] = [answer.to_json() for answer in self.answers]
        return found


def readiness(process: str, answers: Sequence[Answer], **details: Any) -> Health:
    """Return the readiness of a process from its probes' answers.
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
    """Tells whether a worker (or beat) still makes progress, from one observation every few seconds.

    Celery's consumer can hang after Redis was away, while its process is otherwise alive and well
    (https://github.com/celery/celery/issues/7276): tasks wait, the worker is free, and no task begins.

    :param patience: seconds for which this has to last before the process counts as stuck.
    """

    patience: float
    since: float | None = None
    last: int | None = None

    def observe(self, now: float, *, could_move: bool | None, done: int) -> None:
        """Record one observation.

        :param now: seconds by a monotonic clock.
        :param could_move: whether there is work and the process is free to do it; ``None`` when that is unknown.
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
        """Whether the process could have moved and has not for longer than ``patience``."""
        return self.since is not None and now - self.since > self.patience

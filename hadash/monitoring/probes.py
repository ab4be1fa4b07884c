"""Asking servers whether they answer, within a time limit: a health page that hangs together with the server
it asks about is of no use.

A question that is not answered in time continues in its thread, and is not asked a second time meanwhile.
After ``GIVEN_UP_SECONDS`` it is asked again, because a connection may hang for longer than its server was away.
Each probe has at most ``UNANSWERED`` threads, however often the page is requested.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from dataclasses import dataclass

#: Seconds after which an unanswered question is asked again, and how many questions of one probe may be
#: unanswered at once.
GIVEN_UP_SECONDS, UNANSWERED = 15.0, 4


class NotFine(Exception):
    """A server is not fine. The message says in a sentence what is wrong."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a probe found. ``holds`` is ``None`` when there was no answer in time: unknown counts as not fine."""

    name: str
    holds: bool | None
    says: str
    #: Whether the process cannot work without this server.
    is_needed: bool
    seconds: float

    def to_json(self) -> dict[str, object]:
        return {
            "name": self.name,
            "ok": self.holds is True,
            "needed": self.is_needed,
            "says": self.says,
            "ms": round(self.seconds * 1000, 1),
        }


class Probe:
    """A question to one server.

    :param ask: returns what the server says when all is well, and raises when something is wrong.
    """

    def __init__(self, name: str, ask: Callable[[], str], *, is_needed: bool) -> None:
        self.name = name
        self.is_needed = is_needed
        self._ask = ask
        self._lock = threading.Lock()
        self._asked: list[tuple[Future[str], float]] = []

    def begin(self) -> tuple[Future[str], float]:
        """Return the question that is under way, or ask a new one: (its future answer, when it was asked)."""
        now = time.monotonic()
        with self._lock:
            self._asked = [each for each in self._asked if not each[0].done()]
            is_late = bool(self._asked) and now - self._asked[-1][1] > GIVEN_UP_SECONDS
            if not self._asked or (is_late and len(self._asked) < UNANSWERED):
                future: Future[str] = Future()
                self._asked.append((future, now))
                threading.Thread(
                    target=self._run, args=(future,), name=f"probe {self.name}", daemon=True
                ).start()
            return self._asked[-1]

    def _run(self, future: Future[str]) -> None:
        try:
            future.set_result(self._ask())
        except Exception as error:  # the page shows any error
            future.set_exception(error)

    def answer(self, future: Future[str], since: float) -> Answer:
        """Return what is known now of a question that was asked at ``since`` (``time.monotonic``)."""
        seconds = time.monotonic() - since
        if not future.done():
            return Answer(self.name, None, f"no answer for {seconds:.1f} s", self.is_needed, seconds)
        error = future.exception()
        if error is None:
            return Answer(self.name, True, future.result(), self.is_needed, seconds)
        first = (str(error).strip() or type(error).__name__).splitlines()[0]
        return Answer(self.name, False, first[:300], self.is_needed, seconds)


def ask_all(probes: Iterable[Probe], seconds: float) -> Sequence[Answer]:
    """Ask all probes at once, and wait at most ``seconds`` in all."""
    asked = [(probe, *probe.begin()) for probe in probes]
    wait_for([future for _, future, _ in asked], timeout=seconds)
    return [probe.answer(future, since) for probe, future, since in asked]

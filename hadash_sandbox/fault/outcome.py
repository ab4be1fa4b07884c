"""What came of one cell, and whether it is as the design wants it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    """How the switch of a cell ended."""

    SUCCEEDED = "succeeded"
    RETURNED = "returned to the start"
    PERSON = "asked for a person"
    NEVER = "never ended"
    NOT_REACHED = "ended before the stage"


_BY_STATUS = {
    "succeeded": Outcome.SUCCEEDED,
    "rolled_back": Outcome.RETURNED,
    "needs_attention": Outcome.PERSON,
}


def outcome_of(status: str, reached: bool = True) -> Outcome:
    """
    :param status: of the switch, as its page names it.
    :param reached: whether the worker came to the point where the fault was to hit.

    >>> outcome_of("rolled_back").value
    'returned to the start'
    >>> outcome_of("running").value
    'never ended'
    """
    if not reached:
        return Outcome.NOT_REACHED
    return _BY_STATUS.get(status, Outcome.NEVER)


@dataclass
class Row:
    """One cell of the table. Records as consumers saw them, times in seconds."""

    fault: str
    stage: str
    outcome: Outcome
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    #: Records of which the journals do not tell whether they came in order.
    ambiguous: int = 0
    #: How often the cell was begun until its switch came to the stage, and when (seconds since 1970): the records of
    #: every try count.
    tries: list[tuple[float, float]] = field(default_factory=list)
    #: What a worker with an old token has changed all the same.
    late_writes: list[str] = field(default_factory=list)
    #: Some of the records that are counted here.
    examples: list[str] = field(default_factory=list)
    #: From the fault until the switch had ended and no client stood still any more.
    recover: float = 0.0
    #: The longest time that one of the clients that move stood still.
    pause: float = 0.0
    #: What somebody had to do before the next switch was possible.
    manual: str = ""
    #: hadash's own processes that ended although nobody had hit them.
    ended: list[str] = field(default_factory=list)
    #: Why it returned or asked, and whatever else is to be known.
    notes: list[str] = field(default_factory=list)

    @property
    def person(self) -> bool:
        """Whether somebody was needed. Every server comes back within the limits of the stages here, so the
        design wants nobody in any cell.
        """
        return self.outcome is Outcome.PERSON or bool(self.manual)

    @property
    def clean(self) -> bool:
        ended = self.outcome in (Outcome.SUCCEEDED, Outcome.RETURNED)
        return ended and not self.person and not self.ended and not self.late_writes and not self.harmed

    @property
    def harmed(self) -> int:
        """Records that did not come once and in order, or perhaps not."""
        return self.lost + self.duplicated + self.out_of_order + self.ambiguous

    def values(self) -> dict[str, object]:
        """As the report has it."""
        return {
            "fault": self.fault,
            "stage": self.stage,
            "outcome": self.outcome.value,
            "lost": self.lost,
            "duplicated": self.duplicated,
            "out of order": self.out_of_order,
            "order not known": self.ambiguous,
            "tries": len(self.tries),
            "recover s": round(self.recover, 1),
            "pause s": round(self.pause, 1),
            "note": "; ".join([*self._faulty(), *self.notes, *self.examples]),
        }

    def _faulty(self) -> list[str]:
        faults = {
            "WRITTEN WITH AN OLD TOKEN": self.late_writes,
            "MANUAL": [self.manual] if self.manual else [],
            "ENDED TOO": self.ended,
        }
        return [f"{name}: {', '.join(found)}" for name, found in faults.items() if found]


#: An outcome in a cell of the table.
_SHORT = {
    Outcome.SUCCEEDED: "goes on",
    Outcome.RETURNED: "returns",
    Outcome.PERSON: "PERSON",
    Outcome.NEVER: "NEVER ENDS",
    Outcome.NOT_REACHED: "not reached",
}


def matrix(rows: Sequence[Row]) -> list[dict[str, str]]:
    """One line for each fault and one column for each stage: what the switch did, the seconds until all was
    well again, and what is not as it should be.

    >>> matrix([Row("redis", "block", Outcome.RETURNED, recover=4.2), Row("redis", "drain", Outcome.SUCCEEDED, lost=1)])
    [{'fault': 'redis', 'block': 'returns 4 s', 'drain': 'goes on 0 s, 1 lost'}]
    """
    lines: dict[str, dict[str, str]] = {}
    for row in rows:
        parts = [f"{_SHORT[row.outcome]} {row.recover:.0f} s"]
        parts += [f"{row.lost} lost"] if row.lost else []
        parts += [f"{row.duplicated} twice"] if row.duplicated else []
        parts += [f"{row.out_of_order} out of order"] if row.out_of_order else []
        parts += [f"{row.ambiguous} in unknown order"] if row.ambiguous else []
        parts += ["OLD TOKEN"] if row.late_writes else []
        parts += ["MANUAL"] if row.manual else []
        parts += [f"{name} ended too" for name in row.ended]
        lines.setdefault(row.fault, {"fault": row.fault})[row.stage] = ", ".join(parts)
    return list(lines.values())


def why(refusal: str) -> str:
    """The sentence of a refused request, of all that its page says.

    >>> why("The request was refused (409): Refused. Nothing was changed. Mirror carts is not running. What moves The whole")
    'Mirror carts is not running.'
    """
    return refusal.rpartition("Nothing was changed.")[2].partition("What moves")[0].strip()


def standstill(gaps: Sequence[tuple[float, float]], since: float, least: float) -> tuple[float, float]:
    """Of one client: when it last went on after a standstill, and how long its longest one was.

    :param gaps: times without progress (seconds since 1970).
    :param since: only what ends after this counts.
    :param least: seconds below which a gap is none.
    :return: (0.0, 0.0) when there was none.

    >>> standstill([(1.0, 1.2), (10.0, 13.0), (20.0, 22.0)], since=5.0, least=1.0)
    (22.0, 3.0)
    """
    long = [(began, ended) for began, ended in gaps if ended >= since and ended - began >= least]
    if not long:
        return 0.0, 0.0
    return max(ended for _, ended in long), max(ended - began for began, ended in long)

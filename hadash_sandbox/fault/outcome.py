"""The result of one cell, and whether it is the one that is promised. Pure."""

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
    """How a switch ended.

    :param status: of the switch, as its page names it.
    :param reached: whether the worker reached the point of the fault.

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
    """One cell of the table. Records are counted as consumers saw them; times are in seconds."""

    fault: str
    stage: str
    outcome: Outcome
    lost: int = 0
    duplicated: int = 0
    out_of_order: int = 0
    #: Records for which the journals do not tell whether they came in order.
    ambiguous: int = 0
    #: Begin and end (seconds since 1970) of each try; the last one's switch reached the stage. The records of all tries
    #: count.
    tries: list[tuple[float, float]] = field(default_factory=list)
    #: Changes that a worker made although its fencing token was old.
    late_writes: list[str] = field(default_factory=list)
    #: Examples of the records that are counted here.
    examples: list[str] = field(default_factory=list)
    #: From the fault until the switch had ended and no client stood still any longer.
    recover: float = 0.0
    #: The longest standstill of one of the clients that move.
    pause: float = 0.0
    #: What a person had to do before the next switch was possible, or the error that ended the cell.
    manual: str = ""
    #: hadash's own processes that ended although the fault was not in them.
    ended: list[str] = field(default_factory=list)
    #: Why the switch did not succeed.
    notes: list[str] = field(default_factory=list)

    @property
    def person(self) -> bool:
        """Whether a person was needed.

        Every server comes back within the limits of the stages here, so no cell should need one.
        """
        return self.outcome is Outcome.PERSON or bool(self.manual)

    @property
    def clean(self) -> bool:
        """Whether the switch ended well, without a person, late writes, wrong records, or processes that ended."""
        ended = self.outcome in (Outcome.SUCCEEDED, Outcome.RETURNED)
        return ended and not self.person and not self.ended and not self.late_writes and not self.harmed

    @property
    def harmed(self) -> int:
        """Records that did not arrive, or may not have arrived, exactly once and in order."""
        return self.lost + self.duplicated + self.out_of_order + self.ambiguous

    def values(self) -> dict[str, object]:
        """The row of the report's table of cells."""
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


#: Short texts for the cells of :func:`matrix`.
_SHORT = {
    Outcome.SUCCEEDED: "goes on",
    Outcome.RETURNED: "returns",
    Outcome.PERSON: "PERSON",
    Outcome.NEVER: "NEVER ENDS",
    Outcome.NOT_REACHED: "not reached",
}


def matrix(rows: Sequence[Row]) -> list[dict[str, str]]:
    """One line for each fault with one column for each stage.

    A cell has the outcome of the switch, the seconds to recover, and everything that is wrong.

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
    """The reason of a refused request, cut out of the text of its page.

    >>> why(
    ...     "The request was refused (409): Refused. Nothing was changed. Mirror carts is not running. What moves "
    ...     "The whole"
    ... )
    'Mirror carts is not running.'
    """
    return refusal.rpartition("Nothing was changed.")[2].partition("What moves")[0].strip()


def standstill(gaps: Sequence[tuple[float, float]], since: float, least: float) -> tuple[float, float]:
    """The end of a client's last standstill (seconds since 1970), and the length of its longest one in seconds.

    :param gaps: (begin, end) of times without progress, in seconds since 1970.
    :param since: gaps that ended before this time are ignored.
    :param least: gaps shorter than this many seconds are no standstills.
    :return: (0.0, 0.0) when there was none.

    >>> standstill([(1.0, 1.2), (10.0, 13.0), (20.0, 22.0)], since=5.0, least=1.0)
    (22.0, 3.0)
    """
    long = [(began, ended) for began, ended in gaps if ended >= since and ended - began >= least]
    if not long:
        return 0.0, 0.0
    return max(ended for _, ended in long), max(ended - began for began, ended in long)

"""The machine that a benchmark runs on: figures of two runs compare only as far as their machines do.

Rented machines differ by a factor of two from one day to the next, and share their processors with others.
"""

from __future__ import annotations

import os
import platform
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Additions that one core is timed with: half a second to two, by the machine.
ADDITIONS = 10_000_000

#: The kernel counts the times of processors in hundredths of a second (``USER_HZ``, proc(5)).
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine at the beginning of a run.

    :param additions_seconds: seconds that one core took for :data:`ADDITIONS` in Python.
    :param stolen_seconds: seconds of processors that went to other guests of the host since this machine started;
        ``None`` where the kernel does not tell.
    :param at: when that was read, in seconds of ``time.monotonic``.
    """

    additions_seconds: float
    stolen_seconds: float | None
    at: float

    @classmethod
    def measured(cls) -> Machine:
        """Time one core, and return the machine as it is now. Takes a second or two."""
        began, total = time.perf_counter(), 0
        for _ in range(ADDITIONS):
            total = total + 1
        return cls(time.perf_counter() - began, _stolen_seconds(), time.monotonic())

    def described(self) -> dict[str, Any]:
        """Return what a report says of it, when the run ends: ``stolen_percent`` is the share of all processors that
        went to other guests during the run.
        """
        cores = os.cpu_count() or 1
        now, seconds = _stolen_seconds(), time.monotonic() - self.at
        percent = None
        if now is not None and self.stolen_seconds is not None and seconds > 0:
            percent = round(100 * (now - self.stolen_seconds) / (seconds * cores), 1)
        return {
            "system": f"{platform.machine()}, {platform.system()} {platform.release()}",
            "cores": cores,
            "python": platform.python_version(),
            "ten_million_additions_seconds": round(self.additions_seconds, 2),
            "stolen_percent": percent,
        }


def _stolen_seconds(stat: Path = Path("/proc/stat")) -> float | None:
    try:
        columns = stat.read_text().splitlines()[0].split()
    except OSError:
        return None
    # cpu user nice system idle iowait irq softirq steal …
    return int(columns[8]) / _TICKS_A_SECOND if len(columns) > 8 else None

"""The processor time and memory that this process uses, as the system reports them."""

from __future__ import annotations

import os
from pathlib import Path

#: The file in which Linux reports the pages that a process has in memory (the second number).
_STATM = Path("/proc/self/statm")


def cpu_seconds() -> float:
    """Processor time since the process started, in user and system mode."""
    times = os.times()
    return round(times.user + times.system, 3)


def memory_bytes() -> int | None:
    """The memory that the process uses now; ``None`` where the system does not report it."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None

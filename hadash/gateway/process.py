"""What a process uses of its machine, as the system tells."""

from __future__ import annotations

import os
from pathlib import Path

#: Where Linux tells the pages that a process has in memory (the second number).
_STATM = Path("/proc/self/statm")


def cpu_seconds() -> float:
    """Processor time since it began, its own and the system's for it."""
    times = os.times()
    return round(times.user + times.system, 3)


def memory_bytes() -> int | None:
    """What it has in memory now; ``None`` where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None

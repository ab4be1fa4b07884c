"""Checks with the clusters themselves where the groups of clients are after each move."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hadash_sandbox.traffic.log_reader import LOOK_SECONDS, Position, Sides


def await_committed(
    sides: Sides, cluster: str, wanted: Mapping[str, Sequence[str]], seconds: float
) -> dict[str, str]:
    """Wait until each group has members on ``cluster`` only, and has committed the ends of its Topics.

    Producers continue to write, so the ends are those of the first look.

    :param wanted: by group, the Topics that it reads.
    :return: by group, a sentence for what is not the case after ``seconds``; empty when all is.
    """
    deadline = time.monotonic() + seconds
    ends: dict[str, dict[tuple[str, int], int]] = {}
    while True:
        faults = {}
        for group, topics in wanted.items():
            found = sides.position(group, topics)
            if isinstance(found, Position) and found.cluster == cluster:
                found = replace(found, ends=ends.setdefault(group, found.ends))
            if fault := _fault(group, cluster, found):
                faults[group] = fault
        if not faults or time.monotonic() > deadline:
            return faults
        time.sleep(LOOK_SECONDS)


def _fault(group: str, cluster: str, found: Position | str) -> str:
    if isinstance(found, str):
        return found
    if found.cluster != cluster:
        return f"group {group} has members on {found.cluster}, not on {cluster}"
    return "" if found.caught_up else f"group {group} on {cluster} has not read on: {found.behind()}"

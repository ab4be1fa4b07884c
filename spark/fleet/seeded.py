"""Generates a fleet with faults: a clean one, with every fault seeded into it."""

from __future__ import annotations

from spark.fleet.clean import Builder, Size
from spark.fleet.model import Fleet
from spark.fleet.seeded_faults import clients, clusters, identity, known, rights
from spark.fleet.seeded_faults.base import SEEDED_FAULTS

__all__ = ["SEEDED_FAULTS", "clients", "clusters", "generate", "identity", "known", "rights"]


def generate(size: Size, times: int = 2) -> Fleet:
    """Return a fleet with known answers.

    :param times: how often each fault is seeded.
    """
    made = Builder(size)
    # Sorted, so that the fleet does not depend on the order in which modules are loaded.
    for code in sorted(SEEDED_FAULTS):
        for _ in range(times):
            SEEDED_FAULTS[code](made)
    return made.fleet

"""A fleet in which something is wrong: a clean one, and every plant in it."""

from __future__ import annotations

from spark.fleet.clean import Builder, Size
from spark.fleet.model import Fleet
from spark.fleet.seeded_faults import clients, clusters, identity, known, rights
from spark.fleet.seeded_faults.base import SEEDED_FAULTS

__all__ = ["SEEDED_FAULTS", "clients", "clusters", "generate", "identity", "known", "rights"]


def generate(size: Size, times: int = 2) -> Fleet:
    """A fleet with known answers.

    :param times: how often each thing that is wrong is in it.
    """
    made = Builder(size)
    # By name: the same fleet for the same size, in whatever order modules are loaded.
    for code in sorted(SEEDED_FAULTS):
        for _ in range(times):
            SEEDED_FAULTS[code](made)
    return made.fleet

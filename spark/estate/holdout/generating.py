"""The whole held-out estate: every rule's faults and near misses, among applications with which nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable

from hadash.governance.catalogue import Code
from spark.estate.holdout import clients, clusters, identity, known, rights
from spark.estate.holdout.fleet import Fleet
from spark.estate.recorded.clients import Recording

#: What is seeded for each rule.
CASES: dict[Code, Callable[[Fleet], None]] = {
    **identity.CASES,
    **rights.CASES,
    **clients.CASES,
    **known.CASES,
    **clusters.CASES,
}

#: Applications with which nothing is wrong.
BACKGROUND = 40


def generate(recording: Recording, seed: int = 1) -> Fleet:
    """The estate, with what there is to find in it and what is not."""
    fleet = Fleet(recording, seed)
    for _ in range(3):
        fleet.pair()
    fleet.background(BACKGROUND)
    for seeded in CASES.values():
        seeded(fleet)
    return fleet

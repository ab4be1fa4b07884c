"""Generates the whole held-out fleet: every rule's faults and near misses, among applications without faults."""

from __future__ import annotations

from collections.abc import Callable

from hadash.governance.catalogue import Code
from spark.fleet.holdout import clients, clusters, identity, known, rights
from spark.fleet.holdout.builder import HoldoutBuilder
from spark.fleet.recorded.clients import Recording

#: The function that seeds the cases of each rule.
CASES: dict[Code, Callable[[HoldoutBuilder], None]] = {
    **identity.CASES,
    **rights.CASES,
    **clients.CASES,
    **known.CASES,
    **clusters.CASES,
}

#: The number of applications without faults.
BACKGROUND = 40


def generate(recording: Recording, seed: int = 1) -> HoldoutBuilder:
    """Return the builder with the fleet, its answers and its near misses."""
    builder = HoldoutBuilder(recording, seed)
    for _ in range(3):
        builder.pair()
    builder.background(BACKGROUND)
    for seeded in CASES.values():
        seeded(builder)
    return builder

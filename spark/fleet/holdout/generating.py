"""The whole held-out fleet: every rule's faults and near misses, among applications with which nothing is wrong."""

from __future__ import annotations

from collections.abc import Callable

from hadash.governance.catalogue import Code
from spark.fleet.holdout import clients, clusters, identity, known, rights
from spark.fleet.holdout.builder import HoldoutBuilder
from spark.fleet.recorded.clients import Recording

#: What is seeded for each rule.
CASES: dict[Code, Callable[[HoldoutBuilder], None]] = {
    **identity.CASES,
    **rights.CASES,
    **clients.CASES,
    **known.CASES,
    **clusters.CASES,
}

#: Applications with which nothing is wrong.
BACKGROUND = 40


def generate(recording: Recording, seed: int = 1) -> HoldoutBuilder:
    """The fleet, with what there is to find in it and what is not."""
    builder = HoldoutBuilder(recording, seed)
    for _ in range(3):
        builder.pair()
    builder.background(BACKGROUND)
    for seeded in CASES.values():
        seeded(builder)
    return builder

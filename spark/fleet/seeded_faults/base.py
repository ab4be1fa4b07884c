"""The type of seeded faults, and the registry of all by the rule that has to find them."""

from __future__ import annotations

from collections.abc import Callable

from hadash.governance.catalogue import Code
from spark.fleet.clean import Builder

SeededFault = Callable[[Builder], None]

SEEDED_FAULTS: dict[Code, SeededFault] = {}


def seeds(code: Code) -> Callable[[SeededFault], SeededFault]:
    """Register the decorated function as the one that seeds the fault which the rule ``code`` has to find."""

    def register(fault: SeededFault) -> SeededFault:
        SEEDED_FAULTS[code] = fault
        return fault

    return register

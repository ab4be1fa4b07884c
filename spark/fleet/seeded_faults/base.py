"""What a seeded fault is, and all of them by the rule that has to find them."""

from __future__ import annotations

from collections.abc import Callable

from hadash.governance.catalogue import Code
from spark.fleet.clean import Builder

SeededFault = Callable[[Builder], None]

SEEDED_FAULTS: dict[Code, SeededFault] = {}


def seeds(code: Code) -> Callable[[SeededFault], SeededFault]:
    """The decorated function puts into a fleet what the rule ``code`` has to find."""

    def register(fault: SeededFault) -> SeededFault:
        SEEDED_FAULTS[code] = fault
        return fault

    return register

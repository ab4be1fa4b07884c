"""What a plant is, and all of them by the rule that has to find what they plant."""

from __future__ import annotations

from collections.abc import Callable

from hadash.governance.catalogue import Code
from spark.estate.clean import Builder

Plant = Callable[[Builder], None]

PLANTS: dict[Code, Plant] = {}


def plants(code: Code) -> Callable[[Plant], Plant]:
    """The decorated function plants what the rule ``code`` has to find."""

    def register(plant: Plant) -> Plant:
        PLANTS[code] = plant
        return plant

    return register

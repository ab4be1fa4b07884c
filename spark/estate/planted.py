"""An estate in which something is wrong: a clean one, and every plant in it."""

from __future__ import annotations

from spark.estate.clean import Builder, Size
from spark.estate.model import Estate
from spark.estate.plants import clients, clusters, identity, known, rights
from spark.estate.plants.base import PLANTS

__all__ = ["PLANTS", "clients", "clusters", "generate", "identity", "known", "rights"]


def generate(size: Size, times: int = 2) -> Estate:
    """An estate with known answers.

    :param times: how often each thing that is wrong is in it.
    """
    made = Builder(size)
    # By name: the same estate for the same size, in whatever order modules are loaded.
    for code in sorted(PLANTS):
        for _ in range(times):
            PLANTS[code](made)
    return made.estate

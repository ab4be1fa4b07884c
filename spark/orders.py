"""What Spark is asked to compare, as a file that only its owner reads: it has the passwords of both clusters; and how
far it is.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Range:
    """What is compared of a partition.

    :param source: the offsets of the first record of the source and of the one after the last, and ``target`` those of
        the target. :param place: offsets of both sides that belong together, somewhere in between: records are put
        beside each other by how many there are between them and it.
    """

    partition: int
    source: tuple[int, int]
    target: tuple[int, int]
    place: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Order:
    """A Topic to compare.

    :param source: how the source is reached, by the names of Kafka's Java client; ``target``: the other cluster.
    :param noted: differences of a partition that are told one by one; more are only counted.
    """

    topic: str
    source: Mapping[str, str]
    target: Mapping[str, str]
    ranges: Sequence[Range]
    noted: int

    def write(self, path: Path) -> None:
        """Write it to a new file. :raises FileExistsError: there is one."""
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(self), file)

    @classmethod
    def read(cls, path: Path) -> Order:
        """:raises OSError, ValueError, KeyError, TypeError: the file is not there, or is no order."""
        told = json.loads(path.read_text())
        ranges = [
            Range(each["partition"], *(tuple(each[name]) for name in ("source", "target", "place")))
            for each in told["ranges"]
        ]
        return cls(told["topic"], told["source"], told["target"], ranges, told["noted"])


@dataclass(frozen=True, slots=True)
class Progress:
    """How far Spark is: a word for the step, and how many of its tasks are done."""

    step: str
    done: int
    total: int


class ProgressFile:
    """How far Spark is, as a file, which the worker that has asked reads while Spark works."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def tell(self, step: str, done: int = 0, total: int = 0) -> None:
        """Write it at once: a reader meanwhile reads what was there before."""
        new = self._path.with_suffix(".new")
        new.write_text(json.dumps(asdict(Progress(step, done, total))))
        new.replace(self._path)

    def read(self) -> Progress | None:
        """Return what was written last; ``None`` before anything was."""
        try:
            return Progress(**json.loads(self._path.read_text()))
        except FileNotFoundError:
            return None

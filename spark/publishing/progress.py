"""Reports the progress of Spark's tasks, such as to a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from pyspark import SparkContext
from pyspark.sql import SparkSession

#: Seconds between two reports: as often as a page requests them.
LOOK_SECONDS = 1.0


class Told(Protocol):
    """Somebody who is told how far Spark is."""

    def tell(self, step: str, done: int = 0, total: int = 0) -> None:
        """:param done: how many of its ``total`` tasks are done."""


@contextmanager
def followed(spark: SparkSession, run: Told, step: str) -> Iterator[None]:
    """While the block runs, report how many of Spark's tasks are done."""
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(LOOK_SECONDS):
            run.tell(step, *_tasks(spark.sparkContext))

    run.tell(step)
    follower = threading.Thread(target=look, daemon=True)
    follower.start()
    try:
        yield
    finally:
        ended.set()
        follower.join()


def _tasks(context: SparkContext) -> tuple[int, int]:
    """Return the numbers of done and of all tasks in the active stages."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)

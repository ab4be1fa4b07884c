"""How far Spark is, told to whoever watches a run."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from pyspark.sql import SparkSession

from spark.publishing.runs import Run

#: Seconds between two looks: as often as a page asks.
LOOK_SECONDS = 1.0


@contextmanager
def followed(spark: SparkSession, run: Run, step: str) -> Iterator[None]:
    """While the block runs, say how many of Spark's tasks are done."""
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
    """(done, all) of the tasks of the stages that run now."""
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    return sum(stage.numCompletedTasks for stage in known), sum(stage.numTasks for stage in known)

"""The job of facts as a run that pages show: compacts the reports first, then processes them."""

from __future__ import annotations

import time
from collections.abc import Mapping

from pyspark.sql import SparkSession

from hadash.lake import quarantine
from hadash.lake.store import Store
from spark import manifest
from spark.jobs import compacting, facts
from spark.publishing.progress import followed
from spark.publishing.runs import Kept, Made, Run

#: Reasons for unreadable parts of imports that a run reports, and files that are read for them, at most.
SHOWN_REASONS, LINES_READ = 5, 20


def publish_facts(
    run: Run, spark: SparkSession, store: Store, pairs: Mapping[str, str], kept: Kept
) -> dict[str, object]:
    """Run the job, and publish the run; return its number, and the numbers of rows.

    :param pairs: the pair of each cluster.
    :raises OSError, Overtaken: as in :func:`spark.jobs.facts.run`.
    """
    began = time.monotonic()
    with followed(spark, run, "compacting"):
        compacted = compacting.run(spark, store)
    between = time.monotonic()
    with followed(spark, run, "facts"):
        done = facts.run(spark, store, pairs)
    seconds = {"compacting": between - began, "facts": time.monotonic() - between}
    now = manifest.read(store)
    aside = quarantine.lines(store)
    made = Made(
        rows={"reports": done.rows, "days": len(done.days), "compacted files": compacted.files},
        watermark={"day": now.newest, "facts": now.version},
        quality={
            "reports": done.rows,
            "malformed": dict(done.malformed),
            "broken": dict(done.broken),
            "again": done.again,
            "ahead": list(done.ahead),
            "too_late": list(done.too_late),
            "put_aside": len(quarantine.files(store)),
            "lines_put_aside": len(aside),
            # (From the newest files, which are of the last days.)
            "lines_reasons": quarantine.reasons(store, aside[: -LINES_READ - 1 : -1], SHOWN_REASONS),
        },
        seconds=seconds,
    )
    return {"run": run.number, "rows": run.publish(store, made, kept)}

"""The job of facts as a run that people see: first the reports are compacted, then worked off."""

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

#: Reasons that a run tells why parts of imports could not be read, and files that are looked into for them.
SHOWN_REASONS, LINES_READ = 5, 20


def publish_facts(
    run: Run, spark: SparkSession, store: Store, pairs: Mapping[str, str], kept: Kept
) -> dict[str, object]:
    """Its number, and how many rows there were of what.

    :param pairs: the pair of each cluster. :raises OSError, Overtaken: as :func:`spark.jobs.facts.run`.
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
            # (Of the youngest, which are of the last days.)
            "lines_reasons": quarantine.reasons(store, aside[: -LINES_READ - 1 : -1], SHOWN_REASONS),
        },
        seconds=seconds,
    )
    return {"run": run.number, "rows": run.publish(store, made, kept)}

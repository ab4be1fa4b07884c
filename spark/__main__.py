"""``python -m spark JOB``: runs one job, and prints what it did as JSON on the last line."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from hadash.lake import compaction
from hadash.lake.store import LakeError, Store
from spark import session
from spark.jobs import facts


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0 when the job was done, 2 when what it was told cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m spark", description=__doc__)
    parser.add_argument("job", choices=sorted(JOBS))
    parser.add_argument("--lake", required=True, help="a folder, s3a://… or hdfs://…")
    parser.add_argument(
        "--pairs", type=_pairs, default={}, help="the pair of each cluster: east=main,west=main"
    )
    told = parser.parse_args(arguments)
    try:
        store, settings = Store(told.lake), session.SparkSettings.from_environment()
    except (LakeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    began = time.monotonic()
    spark = session.start(f"hadash {told.job}", settings)
    started = time.monotonic()
    try:
        done = JOBS[told.job](spark, store, told.pairs)
        seconds = {"start": started - began, "job": time.monotonic() - started}
    finally:
        spark.stop()
    print(json.dumps({"job": told.job, "seconds": seconds, **done}, ensure_ascii=False))
    return 0


def _pairs(text: str) -> dict[str, str]:
    """
    >>> _pairs("east=main,west=main")
    {'east': 'main', 'west': 'main'}
    """
    found = {}
    for part in text.split(","):
        cluster, equals, pair = part.partition("=")
        if not (cluster and equals and pair):
            raise argparse.ArgumentTypeError(f"{part!r} is not cluster=pair")
        found[cluster] = pair
    return found


def _facts(spark: SparkSession, store: Store, pairs: Mapping[str, str]) -> dict[str, Any]:
    return asdict(facts.run(spark, store, pairs))


def _compact(spark: SparkSession, store: Store, pairs: Mapping[str, str]) -> dict[str, Any]:
    """Each hour by itself, on whatever core is free."""
    settled = compaction.settled(store, datetime.now(UTC))
    address = store.address
    if not settled:
        return {"hours": 0, "files": 0, "rows": 0}
    done = (
        spark.sparkContext.parallelize(settled, len(settled))
        .map(lambda hour: compaction.compact(Store(address), hour))
        .collect()
    )
    compacted = [each for each in done if each is not None]
    return {
        "hours": len(compacted),
        "files": sum(each.files_before for each in compacted),
        "rows": sum(each.rows for each in compacted),
    }


JOBS: dict[str, Callable[[SparkSession, Store, Mapping[str, str]], dict[str, Any]]] = {
    "facts": _facts,
    "compact": _compact,
}

if __name__ == "__main__":
    sys.exit(main())

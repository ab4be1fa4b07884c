"""``python -m spark JOB``: runs one job, and prints what it did as JSON on the last line."""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from hadash.lake.store import LakeError, Store
from spark import session
from spark.jobs import compacting, facts, from_kafka, governance
from spark.jobs.facts_run import publish_facts
from spark.jobs.governance import NothingYet
from spark.manifest import Overtaken
from spark.publishing.runs import Busy, Kept, NotWaiting, begun

#: The exit code when somebody else does it: what the system's programs say when one is to come again later (EX_TEMPFAIL).
TAKEN = 75

CODES: dict[type[Exception], int] = {Overtaken: 1, Busy: TAKEN, NotWaiting: TAKEN, NothingYet: 2}


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 0 when the job was done, :data:`TAKEN` when another run of it goes on or has begun this one, 2 when what it was
    told cannot be used or there is nothing to work on yet; 1, as of every program, when it has failed, which may be tried again."""
    parser = argparse.ArgumentParser(prog="python -m spark", description=__doc__)
    parser.add_argument("job", choices=sorted(JOBS))
    parser.add_argument("--lake", required=True, help="a folder, s3a://… or hdfs://…")
    parser.add_argument(
        "--pairs", type=_pairs, default={}, help="the pair of each cluster: east=main,west=main"
    )
    parser.add_argument("--topic", default="", help="of from-kafka: the Topic of access reports")
    parser.add_argument(
        "--kafka",
        type=_properties,
        help="of from-kafka: how the cluster is reached, a file of properties as Kafka's own tools read it",
    )
    parser.add_argument(
        "--database",
        default=os.environ.get("DATABASE_URL", ""),
        help="of jobs that publish: postgresql://… (default: DATABASE_URL). With it facts and from-kafka are runs, too",
    )
    parser.add_argument("--window-days", type=int, default=7, help="what was seen within so many days is use")
    parser.add_argument("--keep", type=int, default=Kept().runs, help="published runs of a job that stay")
    parser.add_argument(
        "--keep-days",
        type=int,
        default=Kept().days,
        help="days of which the last run of the day stays besides",
    )
    parser.add_argument("--asked-by", default="", help="who wants this run")
    parser.add_argument("--run", type=int, help="the number of the run, if it has been announced")
    parser.add_argument(
        "--until-stdin-ends",
        action="store_true",
        help="end at once when standard input does: with who started it",
    )
    told = parser.parse_args(arguments)
    if told.job in governance.JOBS and not told.database:
        parser.error(f"{told.job} publishes: it needs --database, or DATABASE_URL")
    if told.until_stdin_ends:
        threading.Thread(target=_end_with_stdin, daemon=True).start()
    if told.job == "from-kafka" and not (told.topic and told.kafka):
        parser.error("from-kafka needs --topic and --kafka, a file with bootstrap.servers=… in it")
    try:
        store, settings = Store(told.lake), session.SparkSettings.from_environment()
    except (LakeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    began = time.monotonic()
    spark = session.start(
        f"hadash {told.job}",
        settings,
        store,
        with_kafka=told.job == "from-kafka",
        in_python=told.job in IN_PYTHON,
    )
    started = time.monotonic()
    try:
        done = JOBS[told.job](spark, store, told)
        seconds = {"start": started - began, "job": time.monotonic() - started}
    except (Overtaken, Busy, NotWaiting, NothingYet) as error:
        print(f"error: {error}", file=sys.stderr)
        return CODES[type(error)]
    finally:
        spark.stop()
    print(json.dumps({"job": told.job, "seconds": seconds, **done}, ensure_ascii=False))
    return 0


def _end_with_stdin() -> None:
    """Whoever started this has gone: what is not published yet never will be, and the next run makes it again."""
    while os.read(0, 4096):
        pass
    os._exit(3)


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


def _properties(path: str) -> dict[str, str]:
    """The file has passwords in it, which the command line would show to everybody."""
    found = {}
    try:
        lines = Path(path).read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise argparse.ArgumentTypeError(f"{path} cannot be read: {error}") from None
    for line in lines:
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise argparse.ArgumentTypeError(f"{path}: {name.strip()!r} is not name=value")
        found[f"kafka.{name.strip()}"] = value.strip()
    return found


def _facts(spark: SparkSession, store: Store, told: argparse.Namespace) -> dict[str, Any]:
    if not told.database:
        return asdict(facts.run(spark, store, told.pairs))
    with begun(told.database, "facts", told.asked_by, told.run) as run:
        return publish_facts(run, spark, store, told.pairs, _kept(told))


def _kept(told: argparse.Namespace) -> Kept:
    return Kept(told.keep, told.keep_days)


def _from_kafka(spark: SparkSession, store: Store, told: argparse.Namespace) -> dict[str, Any]:
    if not told.database:
        return asdict(from_kafka.run(spark, store, told.topic, told.kafka))
    with begun(told.database, "from-kafka", told.asked_by, told.run) as run:
        return from_kafka.publish(run, spark, store, told.topic, told.kafka, _kept(told))


def _compact(spark: SparkSession, store: Store, told: argparse.Namespace) -> dict[str, Any]:
    return asdict(compacting.run(spark, store))


def _publishing(job: str) -> Callable[[SparkSession, Store, argparse.Namespace], dict[str, Any]]:
    def run(spark: SparkSession, store: Store, told: argparse.Namespace) -> dict[str, Any]:
        settings = governance.Settings(window_days=told.window_days, kept=_kept(told))
        return governance.run(spark, store, job, told.database, settings, told.asked_by, told.run)

    return run


JOBS: dict[str, Callable[[SparkSession, Store, argparse.Namespace], dict[str, Any]]] = {
    "facts": _facts,
    "from-kafka": _from_kafka,
    "compact": _compact,
    **{job: _publishing(job) for job in governance.JOBS},
}

#: Jobs whose tasks are Python's.
IN_PYTHON = frozenset({"facts", "compact"})

if __name__ == "__main__":
    sys.exit(main())

"""A Spark application: runs jobs by name, one after the other, and keeps inputs that several jobs share in memory."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from hadash.lake.store import Store
from spark.codes import FAILED, TAKEN, UNUSABLE
from spark.jobs import compacting, facts, from_kafka, full_audit, governance
from spark.jobs.facts_run import publish_facts
from spark.jobs.given import NothingYet, Reader, Settings
from spark.manifest import Overtaken
from spark.publishing.runs import Busy, Kept, NotWaiting, begun

#: The exit codes for errors that end a job.
CODES: dict[type[Exception], int] = {
    Overtaken: FAILED,
    Busy: TAKEN,
    NotWaiting: TAKEN,
    NothingYet: UNUSABLE,
}

Done = dict[str, Any]


class Application:
    """Runs jobs in one Spark session.

    :param spark: the session.
    """

    def __init__(self, spark: SparkSession, store: Store) -> None:
        self.spark = spark
        self.store = store
        self.reader = Reader(spark, store)

    def carry_out(self, told: argparse.Namespace) -> Done:
        """Run a job, and return its result.

        :param told: the result of :func:`parser`.
        :raises Overtaken, Busy, NotWaiting, NothingYet: it was not done (:data:`CODES`). Other errors mean that
        it failed.
        """
        return JOBS[told.job](self, told)


def _facts(application: Application, told: argparse.Namespace) -> Done:
    if not told.database:
        return asdict(facts.run(application.spark, application.store, told.pairs))
    with begun(told.database, "facts", told.asked_by, told.run) as run:
        return publish_facts(run, application.spark, application.store, told.pairs, _kept(told))


def _kept(told: argparse.Namespace) -> Kept:
    return Kept(told.keep, told.keep_days)


def _from_kafka(application: Application, told: argparse.Namespace) -> Done:
    spark, store = application.spark, application.store
    if not told.database:
        return asdict(from_kafka.run(spark, store, told.topic, told.kafka))
    with begun(told.database, "from-kafka", told.asked_by, told.run) as run:
        return from_kafka.publish(run, spark, store, told.topic, told.kafka, _kept(told))


def _full_audit(application: Application, told: argparse.Namespace) -> Done:
    return full_audit.carry_out(application.spark, told.order, told.progress)


def _compact(application: Application, told: argparse.Namespace) -> Done:
    return asdict(compacting.run(application.spark, application.store))


def _publishing(job: str) -> Callable[[Application, argparse.Namespace], Done]:
    def run(application: Application, told: argparse.Namespace) -> Done:
        settings = Settings(window_days=told.window_days, kept=_kept(told))
        return governance.run(
            application.reader, application.store, job, told.database, settings, told.asked_by, told.run
        )

    return run


JOBS: dict[str, Callable[[Application, argparse.Namespace], Done]] = {
    "facts": _facts,
    "from-kafka": _from_kafka,
    "compact": _compact,
    "full-audit": _full_audit,
    **{job: _publishing(job) for job in governance.JOBS},
}

#: Jobs that read Topics, for which Spark needs its connector.
WITH_KAFKA = frozenset({"from-kafka", "full-audit"})

#: Jobs whose tasks run in Python.
IN_PYTHON = frozenset({"facts", "compact"})


# -- arguments ----------------------------------------------------------------------------------------------


class _Parser(argparse.ArgumentParser):
    """Also checks arguments that belong together."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        told = super().parse_args(args, namespace)
        if told.job in governance.JOBS and not told.database:
            self.error(f"{told.job} publishes: it needs --database, or DATABASE_URL")
        if told.job == "from-kafka" and not (told.topic and told.kafka):
            self.error("from-kafka needs --topic and --kafka, a file with bootstrap.servers=… in it")
        if told.job == "full-audit" and not (told.order and told.progress):
            self.error("full-audit needs --order and --progress, two files")
        return told


def parser(description: str = "") -> argparse.ArgumentParser:
    """Return the parser for a job and its arguments. It ends the program (:class:`SystemExit`, 2) when they are
    not valid.
    """
    found = _Parser(prog="python -m spark", description=description)
    found.add_argument("job", choices=sorted(JOBS))
    found.add_argument("--lake", required=True, help="a folder, s3a://… or hdfs://…")
    found.add_argument(
        "--pairs", type=_pairs, default={}, help="the pair of each cluster: east=main,west=main"
    )
    found.add_argument("--topic", default="", help="of from-kafka: the Topic of access reports")
    found.add_argument(
        "--kafka",
        type=_properties,
        help="of from-kafka: how the cluster is reached, a file of properties as Kafka's own tools read it",
    )
    found.add_argument("--order", type=Path, help="of full-audit: what is to be compared")
    found.add_argument("--progress", type=Path, help="of full-audit: where it says how far it is")
    found.add_argument(
        "--database",
        default=os.environ.get("DATABASE_URL", ""),
        help="of jobs that publish: postgresql://… (default: DATABASE_URL). With it facts and from-kafka are runs, too",
    )
    found.add_argument("--window-days", type=int, default=7, help="what was seen within so many days is use")
    found.add_argument("--keep", type=int, default=Kept().runs, help="published runs of a job that stay")
    found.add_argument(
        "--keep-days",
        type=int,
        default=Kept().days,
        help="days of which the last run of the day stays besides",
    )
    found.add_argument("--asked-by", default="", help="who wants this run")
    found.add_argument("--run", type=int, help="the number of the run, if it has been announced")
    return found


def _pairs(text: str) -> dict[str, str]:
    """Return the pair of each cluster.

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
    """Read Kafka properties from a file. (They contain passwords, which a command line would show to all users.)"""
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

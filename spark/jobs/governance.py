"""The jobs that publish: from facts and the newest snapshot to the tables that people decide from, as one run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType

from hadash.governance.catalogue import CATALOGUE
from hadash.identity.names import printable
from hadash.lake import snapshots
from hadash.lake.snapshots import Snapshot
from hadash.lake.store import Store
from spark import manifest
from spark.jobs import facts, lag
from spark.manifest import Manifest
from spark.publishing import runs
from spark.publishing.progress import followed
from spark.publishing.runs import Kept, Made
from spark.rules import inputs
from spark.rules.all import RULES
from spark.rules.base import Inputs, findings
from spark.rules.identity import changing
from spark.rules.sides import sides
from spark.session import fit
from spark.transform.coverage import coverage
from spark.transform.registry import registry
from spark.transform.topology import edges, nodes, sharing
from spark.transform.work_list import advice

log = logging.getLogger(__name__)


#: Clusters of no pair that a run names.
SHOWN_CLUSTERS = 10


#: The state of a mirror that nobody could look at (:class:`hadash.mirroring.models.Mirror`).
UNKNOWN = "unknown"


class NothingYet(Exception):
    """There is nothing in the lake to make tables of; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """``window_days``: what was seen within so many days counts as use. ``coverage_days``: in which new client.ids are counted.
    ``kept``: how many published runs stay."""

    window_days: int = 7
    coverage_days: int = 7
    kept: Kept = field(default_factory=Kept)


@dataclass(frozen=True)
class Given:
    """What a job is made from."""

    spark: SparkSession
    store: Store
    settings: Settings
    manifest: Manifest
    snapshot: Snapshot
    inputs: Inputs


Tables = Mapping[str, DataFrame]


def _topology(given: Given) -> Tables:
    found = edges(given.inputs.facts).cache()
    return {
        "edges": found,
        "nodes": nodes(found, registry(given.inputs)),
        "sharing": sharing(given.inputs.facts),
    }


def _coverage(given: Given) -> Tables:
    days = [
        given.manifest.days[day]
        for day in sorted(given.manifest.days)[-given.settings.coverage_days :]
        if given.manifest.days[day].is_there
    ]
    daily = facts.read_days(given.spark, given.store, days) if days else None
    return {
        "coverage": coverage(
            given.inputs.facts, given.inputs.instances, daily, days=given.settings.coverage_days
        )
    }


def _advice(given: Given) -> Tables:
    """(Names that do not last cannot be registered.)"""
    used = given.inputs.facts.select("pair", "appid").distinct()
    lasting = used.join(
        changing(given.inputs).select("pair", "appid").distinct(), ["pair", "appid"], "left_anti"
    )
    return {"advice": advice(given.inputs.facts, registry(given.inputs), lasting)}


def _risk(given: Given) -> Tables:
    return {"findings": findings(given.inputs)}


def _lag(given: Given) -> Tables:
    return {"lag_days": lag.bring_up(given.spark, given.store, given.inputs.pairs)}


JOBS: Mapping[str, Callable[[Given], Tables]] = {
    "topology": _topology,
    "coverage": _coverage,
    "advice": _advice,
    "risk": _risk,
    "lag": _lag,
}


def run(
    spark: SparkSession,
    store: Store,
    job: str,
    database: str,
    settings: Settings,
    asked_by: str = "",
    number: int | None = None,
) -> dict[str, object]:
    """Make the tables of a job, and publish them as one run; its number, and the rows of each table.

    :param number: of the run, if it has been announced.
    :raises Busy: the same job is running. :raises NotWaiting: run ``number`` does not wait. :raises NothingYet: there are no facts or no snapshot. Then, and whatever else goes
        wrong, the last published run stays.
    """
    with runs.begun(database, job, asked_by, number) as current:
        begun = time.monotonic()
        current.tell("reading")
        given = _given(spark, store, settings)
        places: dict[str, str] = {}
        seconds: dict[str, float] = {}
        for name, frame in JOBS[job](given).items():
            began = time.monotonic()
            places[name] = manifest.new_place(name)
            with followed(spark, current, name):
                _plain(frame).write.parquet(store.for_spark(places[name]))
            seconds[name] = time.monotonic() - began
        made = Made(places, _watermark(given), _quality(given), seconds, _undecided(given))
        rows = current.publish(store, made, settings.kept)
        _tidy_up(store, places.values())
        return {"run": current.number, "rows": rows, "seconds_in_all": time.monotonic() - begun}


def _tidy_up(store: Store, places: Iterable[str]) -> None:
    """Remove what the database has now. (What cannot be removed is when it is abandoned: :func:`spark.manifest.clean`.)"""
    for place in places:
        try:
            store.delete_folder(place)
        except OSError as error:
            log.warning("%s could not be removed: %s", place, error)


def _given(spark: SparkSession, store: Store, settings: Settings) -> Given:
    known = manifest.read(store)
    if not known.newest:
        raise NothingYet(
            "There are no facts in the lake yet: no Gateway has written there, or the job facts has not run."
        )
    snapshot = snapshots.newest(store)
    if snapshot is None:
        raise NothingYet("There is no snapshot in the lake yet: hadash takes one on its schedule.")
    fit(spark, sum(store.files(known.facts).values()))
    used = inputs.read(
        spark, store, facts.read_facts(spark, store, known), known.newest, snapshot, settings.window_days
    )
    return Given(spark, store, settings, known, snapshot, used)


def _plain(frame: DataFrame) -> DataFrame:
    """Lists and maps as JSON: so the database takes them."""
    columns = [
        F.to_json(field.name).alias(field.name)
        if isinstance(field.dataType, ArrayType | MapType)
        else F.col(field.name)
        for field in frame.schema
    ]
    return frame.select(*columns)


def _watermark(given: Given) -> dict[str, object]:
    return {
        "day": given.manifest.newest,
        "facts": given.manifest.version,
        "snapshot": given.snapshot.at.isoformat(),
    }


def _quality(given: Given) -> dict[str, object]:
    malformed: dict[str, int] = {}
    for day in given.manifest.days.values():
        for reason, rows in day.malformed.items():
            malformed[reason] = malformed.get(reason, 0) + rows
    reports = sum(day.rows for day in given.manifest.days.values())
    return {
        "reports": reports,
        "malformed": malformed,
        "away": sorted(_away(given)),
        "of_no_pair": _of_no_pair(given),
    }


def _of_no_pair(given: Given) -> list[str]:
    """The clusters of facts that count for nobody, because their pair does not have them; the first few."""
    found = facts.read_facts(given.spark, given.store, given.manifest)
    unknown = found.join(F.broadcast(sides(given.inputs.pairs)), ["pair", "cluster"], "left_anti")
    rows = unknown.select("cluster").distinct().orderBy("cluster").limit(SHOWN_CLUSTERS).collect()
    return [printable(row["cluster"]) for row in rows]


def _away(given: Given) -> set[str]:
    """The clusters that did not answer when the snapshot was taken."""
    table = snapshots.read(given.store, given.snapshot, "clusters").to_pylist()
    return {row["cluster"] for row in table if row["fault"]}


def _undecided(given: Given) -> frozenset[tuple[str, str]]:
    """What could not be looked at may be as it was: for the pairs of clusters that were away the rules that look at clusters, and for
    those of mirrors of which nobody knows how they are (their Connect does not answer) the rules about these."""
    away = _away(given)
    pairs = snapshots.read(given.store, given.snapshot, "pairs").to_pylist()
    hit = {row["pair"] for row in pairs if away & {row["first"], row["second"]}}
    mirrors = snapshots.read(given.store, given.snapshot, "mirrors").to_pylist()
    unknown = {row["pair"] for row in mirrors if row["state"] == UNKNOWN}
    at_clusters = {code for code in RULES if CATALOGUE[code].looks_at_clusters}
    at_mirrors = {code for code in RULES if CATALOGUE[code].looks_at_mirrors}
    return frozenset(
        (pair, code.value)
        for pairs, codes in ((hit, at_clusters), (unknown, at_mirrors))
        for pair in pairs
        for code in codes
    )

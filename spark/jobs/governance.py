"""The jobs that publish: make tables from facts and the newest snapshot, as one run."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, MapType

from hadash.governance.catalogue import CATALOGUE
from hadash.lake import snapshots
from hadash.lake.store import Store
from spark import manifest
from spark.jobs import facts, lag
from spark.jobs.given import Given, NothingYet, Reader, Settings
from spark.publishing import runs
from spark.publishing.progress import followed
from spark.publishing.runs import Made, Run
from spark.rules.all import RULES
from spark.rules.base import findings_of
from spark.rules.identity import changing
from spark.schemas import NODES
from spark.transform.coverage import cells, coverage, known_clients
from spark.transform.registry import registry
from spark.transform.topology import edges, islands, marks, nodes, shared_by, sharing
from spark.transform.work_list import advice

__all__ = ["JOBS", "NothingYet", "Settings", "run"]

log = logging.getLogger(__name__)

#: Parts of a table that are made in parallel: while one is planned on the driver, others run.
PARTS_AT_ONCE = 4

#: The state of a mirror that could not be looked at (:class:`hadash.mirroring.models.Mirror`).
UNKNOWN = "unknown"

#: A table in parts, by name, which are made separately: one plan for all of them would take longer to make than
#: to run.
Parts = Mapping[str, Callable[[], DataFrame]]

Tables = Mapping[str, DataFrame | Parts]


def _topology(given: Given, current: Run) -> Tables:
    before = current.last_map()
    used = given.held.hold(edges(given.inputs.facts))
    found = given.held.hold(nodes(used, registry(given.inputs), before))
    return {
        "edges": used,
        "nodes": found.select(*NODES.names),
        "marks": marks(found),
        "islands": islands(found, before),
        "sharing": sharing(given.inputs.facts, found, given.inputs.applications),
        "shared_by": shared_by(given.inputs.facts, given.inputs.applications),
    }


def _coverage(given: Given, current: Run) -> Tables:
    days = [
        given.manifest.days[day]
        for day in sorted(given.manifest.days)[-given.settings.coverage_days :]
        if given.manifest.days[day].is_there
    ]
    daily = facts.read_days(given.spark, given.store, days) if days else None
    used, window = given.inputs.facts, given.settings.coverage_days
    clients = given.held.hold(known_clients(used, given.inputs.instances, daily, days=window))
    return {
        "coverage": coverage(clients, used, given.inputs.mirrors, days=window),
        "coverage_cells": cells(clients, used, changing(given.inputs)),
    }


def _advice(given: Given, current: Run) -> Tables:
    """Return the table of advice, without AppIDs whose client.ids change: those cannot be registered."""
    used = given.inputs.facts.select("pair", "appid").distinct()
    lasting = used.join(
        changing(given.inputs).select("pair", "appid").distinct(), ["pair", "appid"], "left_anti"
    )
    return {"advice": advice(given.inputs.facts, registry(given.inputs), lasting)}


def _risk(given: Given, current: Run) -> Tables:
    return {"findings": {code.value: partial(findings_of, code, given.inputs) for code in RULES}}


def _lag(given: Given, current: Run) -> Tables:
    return {"lag_days": lag.bring_up(given.spark, given.store, given.inputs.pairs)}


JOBS: Mapping[str, Callable[[Given, Run], Tables]] = {
    "topology": _topology,
    "coverage": _coverage,
    "advice": _advice,
    "risk": _risk,
    "lag": _lag,
}


def run(
    reader: Reader,
    store: Store,
    job: str,
    database: str,
    settings: Settings,
    asked_by: str = "",
    number: int | None = None,
) -> dict[str, object]:
    """Make the tables of a job, and publish them as one run; return its number, and the number of rows of each
    table.

    After any failure the last published run stays.

    :param number: the number of the waiting run; ``None`` for a new one.
    :raises Busy: the same job is running.
    :raises NotWaiting: run ``number`` does not wait.
    :raises NothingYet: there are no facts or no snapshot.
    """
    with runs.begun(database, job, asked_by, number) as current:
        begun = time.monotonic()
        current.tell("reading")
        given = reader.read(settings)
        places: dict[str, str] = {}
        seconds: dict[str, float] = {"reading": time.monotonic() - begun}
        with given.held.for_one_job():
            for name, table in JOBS[job](given, current).items():
                began = time.monotonic()
                places[name] = manifest.new_place(name)
                _write(given, current, name, table, places[name])
                seconds[name] = time.monotonic() - began
        made = Made(places, _watermark(given), _quality(given), seconds, _undecided(given))
        rows = current.publish(store, made, settings.kept)
        _tidy_up(store, places.values())
        return {"run": current.number, "rows": rows, "seconds_in_all": time.monotonic() - begun}


def _write(given: Given, current: Run, name: str, table: DataFrame | Parts, place: str) -> None:
    if isinstance(table, DataFrame):
        with followed(given.spark, current, name):
            _write_frame(given, table, place)
        return
    current.tell(name, 0, len(table))
    with ThreadPoolExecutor(PARTS_AT_ONCE) as makers:
        write = [makers.submit(_write_part, given, make, f"{place}/{part}") for part, make in table.items()]
        try:
            for done, each in enumerate(write, 1):
                each.result()
                current.tell(name, done, len(table))
        except BaseException:
            makers.shutdown(cancel_futures=True)
            raise


def _write_part(given: Given, make: Callable[[], DataFrame], place: str) -> None:
    _write_frame(given, make(), place)


def _write_frame(given: Given, frame: DataFrame, place: str) -> None:
    """Write a table as Parquet. (For a few rows Spark's commit protocol for files takes longer than making the
    rows, so these are written directly.)
    """
    if given.held.small:
        given.store.write_table(f"{place}/part-0.parquet", _plain(frame).toArrow())
    else:
        _plain(frame).write.parquet(given.store.for_spark(place))


def _tidy_up(store: Store, places: Iterable[str]) -> None:
    """Remove the files of tables that are in the database now. (Files that cannot be removed are later removed
    as abandoned:
    :func:`spark.manifest.clean`.)
    """
    for place in places:
        try:
            store.delete_folder(place)
        except OSError as error:
            log.warning("%s could not be removed: %s", place, error)


def _plain(frame: DataFrame) -> DataFrame:
    """Return a table with lists and maps as JSON, for the database."""
    return frame.selectExpr(
        *(
            f"to_json(`{field.name}`) AS `{field.name}`"
            if isinstance(field.dataType, ArrayType | MapType)
            else f"`{field.name}`"
            for field in frame.schema
        )
    )


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
        "away": sorted(given.away),
        "of_no_pair": given.of_no_pair,
    }


def _undecided(given: Given) -> frozenset[tuple[str, str]]:
    """Return the (pair, code) whose findings must stay as they were, because the rule could not judge: rules
    that look at clusters for pairs with a cluster that did not answer, and rules about mirrors for pairs with a
    mirror of unknown state (its Connect does not answer).
    """
    pairs = snapshots.read(given.store, given.snapshot, "pairs").to_pylist()
    hit = {row["pair"] for row in pairs if given.away & {row["first"], row["second"]}}
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

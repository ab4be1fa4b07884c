"""``make bench-pipeline``: measures the job from access reports to facts, and DuckDB on the same files.

The reports are generated (see :mod:`spark.fleet.bulk`): thirty days of a fleet in which one AppID has half of
everything. First all days but the last are processed, then the last one, as it would arrive. DuckDB processes the same
files: one row for each day and fact, then one row for each fact, both written as Parquet. Each runs in a process of its
own, so that its memory can be measured.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil

from hadash.lake.store import Store
from hadash_sandbox.bench.report import Report, begin
from hadash_sandbox.errors import SandboxError
from spark import manifest
from spark.fleet import bulk

SIZES = (10_000_000, 100_000_000)
CORES = os.cpu_count() or 1

#: Goals: wall time of the full build as a multiple of DuckDB's, time of one more day as a share of the full build, and
#: GiB of any process tree. (Wall time may grow no faster than the number of reports.)
TIMES_DUCKDB = 3.0
ONE_MORE_DAY = 0.05
GIB = 4.0

#: How often one more day is processed.
TIMES = 3

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "var" / "bench" / "pipeline"
#: Seconds between two looks at the memory in use. (Each look makes the kernel walk through all of it, which takes a
#: noticeable part of two cores.)
LOOK_SECONDS = 0.5

DUCKDB = r"""
import sys, time, duckdb
lake, out = sys.argv[1:]
key = ("pair,appid,client_id,kind,resource,cluster,host,library,version,acks,idempotent,transactional,assignors,"
       "session_timeout_ms,source")
sums = ("sum(requests) requests, sum(records) records, sum(bytes) bytes, "
        "min(first_seen) first_seen, max(last_seen) last_seen")
db = duckdb.connect()
db.execute("SET memory_limit='3GB'")
db.execute("SET enable_progress_bar=false")
db.execute(f"SET temp_directory='{out}/tmp'")
began = time.monotonic()
db.execute(f'''COPY (SELECT date, {key}, count(*) reports, {sums}
  FROM read_parquet('{lake}/access/**/*.parquet', hive_partitioning=true)
  GROUP BY date, {key}) TO '{out}/daily' (FORMAT parquet, PARTITION_BY (date), COMPRESSION zstd)''')
db.execute(f'''COPY (SELECT {key}, sum(reports) reports, {sums}, count(*) seen_days
  FROM read_parquet('{out}/daily/**/*.parquet')
  GROUP BY {key}) TO '{out}/facts.parquet' (FORMAT parquet, COMPRESSION zstd)''')
print(time.monotonic() - began)
"""


def bench_pipeline(sizes: Sequence[int] = (), keep: bool = False) -> int:
    """Measure, print, and write ``var/bench/pipeline.json``; return the exit code, 1 when a goal is missed.

    :param sizes: numbers of access reports; the default is :data:`SIZES`.
    :param keep: keep the generated reports for the next run.
    :raises SandboxError: a size is too small, or a process failed.
    """
    least = bulk.Size(0).files
    if any(size < least for size in sizes):
        raise SandboxError(f"Say how many access reports to work off: at least {least:,}, one in each file.")
    path = ROOT / "var" / "bench" / "pipeline.json"
    report = begin(path)
    measured = {size: _measure(size, report, keep) for size in (sizes or SIZES)}
    largest = max(measured)
    last = measured[largest]
    for size, found in measured.items():
        report.at_least(
            f"reports that the jobs counted, of {size:,}", found["made"], found["counted"], "reports"
        )
    millions = f"{largest // 1_000_000} M"
    report.at_most(f"full build of {millions}", TIMES_DUCKDB, last["build"] / last["duckdb"], "× DuckDB")
    report.at_most(f"one more day of {millions}", ONE_MORE_DAY, last["day"] / last["build"], "of build")
    most = max(m["gib"] for m in measured.values())
    report.at_most("memory, at any size", GIB, most or None, "GiB")
    if len(measured) > 1:
        smallest = min(measured)
        growth = last["build"] / measured[smallest]["build"]
        report.at_most(
            f"wall time, {millions} over {smallest // 1_000_000} M", largest / smallest, growth, "times"
        )
    return report.conclude(path)


def _measure(reports: int, report: Report, keep: bool) -> dict[str, float]:
    folder = FOLDER / f"{reports}"
    size = bulk.Size(reports)
    *before, last = bulk.dates(size)
    _make(folder, size)
    store = Store(str(folder / "lake"))
    store.delete_folder("tables")
    aside = folder / "last-day"
    day = folder / "lake" / "access" / f"date={last}"
    if day.exists():
        shutil.rmtree(aside, ignore_errors=True)
        day.rename(aside)
    out = folder / "duckdb"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    duckdb, duckdb_gib = _run([sys.executable, "-c", DUCKDB, str(folder / "lake"), str(out)])
    build, build_gib = _facts(folder)
    aside.rename(day)
    # One more day takes only seconds, so it is measured several times, and the median counts. (Restoring the manifest
    # is enough: the earlier tables are still there.)
    before_it = store.read_json(manifest.NAME)
    days = []
    for _ in range(TIMES):
        store.write_json(manifest.NAME, before_it)
        days.append(_facts(folder))
    more, more_gib = sorted(days, key=lambda each: each[0]["seconds"]["job"])[TIMES // 2]
    seconds, rows = build["seconds"]["job"], build["rows"]
    report.row(
        "from reports to facts",
        reports=rows,
        days=len(before),
        facts=size.facts,
        duckdb_s=round(float(duckdb), 1),
        build_s=round(seconds, 1),
        spark_start_s=round(build["seconds"]["start"], 1),
        one_more_day_s=round(more["seconds"]["job"], 2),
        fastest_s=round(min(each["seconds"]["job"] for each, _ in days), 2),
        slowest_s=round(max(each["seconds"]["job"] for each, _ in days), 2),
        rows_of_it=more["rows"],
        per_second_and_core=round(rows / seconds / CORES),
        gib=round(max(build_gib, more_gib), 2),
        duckdb_gib=round(duckdb_gib, 2),
    )
    if not keep:
        shutil.rmtree(folder)
    return {
        "duckdb": float(duckdb),
        "build": seconds,
        "day": more["seconds"]["job"],
        "gib": max(build_gib, more_gib),
        "made": reports // size.files * size.files,
        "counted": rows + more["rows"],
    }


def _make(folder: Path, size: bulk.Size) -> None:
    """Generate the lake, unless an earlier run has left a whole one."""
    whole = folder / "whole"
    if whole.exists():
        aside = folder / "last-day"
        if aside.exists():
            *_, last = bulk.dates(size)
            aside.rename(folder / "lake" / "access" / f"date={last}")
        return
    shutil.rmtree(folder, ignore_errors=True)
    print(f"Making {size.reports:,} access reports in {folder} ...", flush=True)
    days = [(str(folder / "lake"), size, day) for day in range(size.days)]
    with get_context("spawn").Pool(CORES) as pool:
        pool.starmap(_make_day, days, chunksize=1)
    whole.touch()


def _make_day(lake: str, size: bulk.Size, day: int) -> None:
    bulk.write_day(Store(lake), size, day)


def _facts(folder: Path) -> tuple[dict[str, Any], float]:
    """Run the job of facts; return (its own figures, its memory in GiB)."""
    command = [sys.executable, "-m", "spark", "facts", "--lake", str(folder / "lake")]
    said, gib = _run([*command, "--pairs", "east=main,west=main"])
    return json.loads(said.splitlines()[-1]), gib


def _run(command: Sequence[str]) -> tuple[str, float]:
    """Run a process; return (its output, the most memory of it and its children in GiB).

    :raises SandboxError: it failed.
    """
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        most, ended = [0.0], threading.Event()
        watch = threading.Thread(target=_watch, args=(process.pid, most, ended), daemon=True)
        watch.start()
        said, wrong = process.communicate()
        ended.set()
        watch.join()
    if process.returncode:
        raise SandboxError(f"{' '.join(command[:4])} … failed: {wrong[-2000:]}")
    return said, most[0]


def _watch(pid: int, most: list[float], ended: threading.Event) -> None:
    """Watch the memory of a process and its children until it ends; shared pages count proportionally (PSS)."""
    while not ended.wait(LOOK_SECONDS):
        try:
            process = psutil.Process(pid)
            total = 0
            for each in [process, *process.children(recursive=True)]:
                try:
                    total += each.memory_full_info().pss
                except psutil.Error:
                    continue  # it has just ended
            most[0] = max(most[0], total / 2**30)
        except psutil.NoSuchProcess:
            return

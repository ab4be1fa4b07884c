"""Access reports: what this Gateway saw, written into the lake as Parquet, in batches that no request waits for.

One file a batch, ``access/date=2026-11-21/hour=17/<gateway>-<milliseconds>.parquet``: a row for each fact of access that has changed
since the last batch, with what has been added to it. A file appears whole or not at all.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hadash.gateway.slices import Slices
from hadash.gateway.traffic import AccessFact, AccessKey, Traffic
from hadash.identity.names import encode

log = logging.getLogger(__name__)

#: Goes up when a column is added. Columns are only added, never changed or removed.
SCHEMA_VERSION = 1

#: The columns of an access report. Counts are what was added since the last report of the same fact.
SCHEMA = pa.schema(
    [
        ("gateway", pa.string()),
        ("appid", pa.string()),
        ("client_id", pa.string()),
        ("kind", pa.string()),
        ("resource", pa.string()),
        ("cluster", pa.string()),
        ("host", pa.string()),
        ("library", pa.string()),
        ("version", pa.string()),
        ("acks", pa.int16()),
        ("idempotent", pa.bool_()),
        ("transactional", pa.bool_()),
        ("assignors", pa.list_(pa.string())),
        ("session_timeout_ms", pa.int32()),
        ("requests", pa.int64()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("first_seen", pa.timestamp("ms", tz="UTC")),
        ("last_seen", pa.timestamp("ms", tz="UTC")),
    ],
    metadata={"hadash.schema": f"access/{SCHEMA_VERSION}"},
)

#: Facts that are looked at in one go: about a millisecond.
SLICE = 500


class AccessReports:
    """Writes a Gateway's facts of access, again and again. Without a lake it does nothing.

    :param folder: the lake; ``None`` for none.
    :param seconds: from one batch to the next.
    """

    def __init__(
        self, folder: Path | None, gateway: str, seconds: float, traffic: Traffic, slices: Slices
    ) -> None:
        self._folder = folder
        self._gateway = gateway
        self._seconds = seconds
        self._traffic = traffic
        self._slices = slices
        self.rows_written = 0
        self.failures = 0
        #: One batch at a time: what is in a batch that is still being written must not come a second time.
        self._writing = asyncio.Lock()

    async def run(self) -> None:
        """Until it is cancelled."""
        while self._folder is not None:
            await asyncio.sleep(self._seconds)
            await self.write()

    async def write(self) -> None:
        """Write what has changed. What cannot be written now is in the next batch."""
        if self._folder is None:
            return
        async with self._writing:
            try:
                await self._write(self._folder)
            except (OSError, pa.ArrowException) as error:
                self.failures += 1
                log.warning("access reports cannot be written to %s (%s); they wait", self._folder, error)
            except Exception:  # reports must never end with one that cannot be made
                self.failures += 1
                log.exception("access reports cannot be made; they wait")

    async def _write(self, folder: Path) -> None:
        collected: asyncio.Future[tuple[list[dict[str, Any]], Reported]] = (
            asyncio.get_running_loop().create_future()
        )
        self._slices.run(self._collect(), collected.set_result, collected.set_exception)
        rows, reported = await collected
        if not rows:
            return
        await asyncio.to_thread(write_rows, folder, self._gateway, rows, datetime.now(UTC))
        for fact, numbers in reported:
            fact.reported = numbers
        self._traffic.forget_evicted()
        self.rows_written += len(rows)

    def _collect(self) -> Generator[None, None, tuple[list[dict[str, Any]], Reported]]:
        rows: list[dict[str, Any]] = []
        reported: Reported = []
        facts = [*self._traffic.access.items(), *self._traffic.evicted]
        for number, (key, fact) in enumerate(facts):
            numbers = (fact.requests, fact.records, fact.bytes)
            if numbers != fact.reported:
                rows.append(row(self._gateway, key, fact))
                reported.append((fact, numbers))
            if number % SLICE == SLICE - 1:
                yield
        return rows, reported


#: Facts, and the numbers of them that stand in a batch.
Reported = list[tuple[AccessFact, tuple[int, int, int]]]


def row(gateway: str, key: AccessKey, fact: AccessFact) -> dict[str, Any]:
    """One row of :data:`SCHEMA`."""
    requests, records, size = fact.reported
    assignors = key.circumstances.assignors
    return {
        **key._asdict(),
        **key.circumstances._asdict(),
        "assignors": None if assignors is None else list(assignors),
        "gateway": gateway,
        "requests": fact.requests - requests,
        "records": fact.records - records,
        "bytes": fact.bytes - size,
        "first_seen": datetime.fromtimestamp(fact.first_seen, UTC),
        "last_seen": datetime.fromtimestamp(fact.last_seen, UTC),
    }


def write_rows(lake: Path, gateway: str, rows: Iterable[dict[str, Any]], now: datetime) -> Path:
    """One batch as a file; its path. A reader never sees half of it.

    :raises OSError: the lake cannot be written to.
    """
    columns = [{name: values.get(name) for name in SCHEMA.names} for values in rows]
    table = pa.Table.from_pylist(columns, schema=SCHEMA)
    folder = lake / "access" / f"date={now:%Y-%m-%d}" / f"hour={now:%H}"
    folder.mkdir(parents=True, exist_ok=True)
    milliseconds = int(now.timestamp() * 1000)
    while (path := folder / f"{encode(gateway)}-{milliseconds}.parquet").exists():
        milliseconds += 1
    # A name that begins with a dot is no file of the lake to Spark, and to others.
    part = path.with_name(f".{path.name}")
    try:
        pq.write_table(table, part, compression="zstd")
        part.rename(path)
    finally:
        if part.exists():
            part.unlink()
    return path

"""Access reports: what this Gateway saw, written to the lake (:mod:`hadash.lake.access`) in batches that no request
waits for.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Generator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from hadash.gateway.reporting.traffic import AccessFact, AccessKey, Traffic
from hadash.gateway.waiting.slices import Slices
from hadash.lake.access import GATEWAY, write_batch
from hadash.lake.store import Store

log = logging.getLogger(__name__)

#: Facts that are processed in one slice: about a millisecond.
SLICE = 500

#: Seconds between two checks whether the first client has come.
FIRST_LOOK_SECONDS = 1.0


class AccessReports:
    """Writes a Gateway's access facts periodically. Does nothing without a lake.

    :param store: the lake; ``None`` for none.
    :param seconds: the time from one batch to the next.
    :param first_seconds: the time from the first client to the first batch.
    """

    def __init__(
        self,
        store: Store | None,
        pair: str,
        gateway: str,
        seconds: float,
        first_seconds: float,
        traffic: Traffic,
        slices: Slices,
    ) -> None:
        self._store = store
        self._pair = pair
        self._gateway = gateway
        self._seconds = seconds
        self._first_seconds = first_seconds
        self._traffic = traffic
        self._slices = slices
        self.rows_written = 0
        self.failures = 0
        #: One batch at a time: the facts in a batch that is being written must not be written a second time.
        self._writing = asyncio.Lock()

    async def run(self) -> None:
        """Write batches until cancelled."""
        if self._store is None:
            return
        while not self._traffic.access:
            await asyncio.sleep(FIRST_LOOK_SECONDS)
        await asyncio.sleep(min(self._first_seconds, self._seconds))
        while True:
            await self.write()
            await asyncio.sleep(self._seconds)

    async def write(self) -> None:
        """Write what has changed. Facts that cannot be written now are in the next batch."""
        if self._store is None:
            return
        async with self._writing:
            try:
                await self._write(self._store)
            except (OSError, pa.ArrowException) as error:
                self.failures += 1
                log.warning(
                    "access reports cannot be written to %s (%s); they wait", self._store.address, error
                )
            except Exception:  # one batch that cannot be made must not end the reports
                self.failures += 1
                log.exception("access reports cannot be made; they wait")

    async def _write(self, store: Store) -> None:
        collected: asyncio.Future[tuple[list[dict[str, Any]], Reported]] = (
            asyncio.get_running_loop().create_future()
        )
        self._slices.run(self._collect(), collected.set_result, collected.set_exception)
        rows, reported = await collected
        if not rows:
            return
        await asyncio.to_thread(write_batch, store, self._gateway, rows, datetime.now(UTC))
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
                rows.append(row(self._pair, self._gateway, key, fact))
                reported.append((fact, numbers))
            if number % SLICE == SLICE - 1:
                yield
        return rows, reported


#: Facts, and the counts of each that are in a batch.
Reported = list[tuple[AccessFact, tuple[int, int, int]]]


def row(pair: str, gateway: str, key: AccessKey, fact: AccessFact) -> dict[str, Any]:
    """Return one row of :data:`hadash.lake.access.SCHEMA`."""
    requests, records, size = fact.reported
    assignors = key.circumstances.assignors
    return {
        **key._asdict(),
        **key.circumstances._asdict(),
        "assignors": None if assignors is None else list(assignors),
        "pair": pair,
        "source": GATEWAY,
        "gateway": gateway,
        "requests": fact.requests - requests,
        "records": fact.records - records,
        "bytes": fact.bytes - size,
        "first_seen": datetime.fromtimestamp(fact.first_seen, UTC),
        "last_seen": datetime.fromtimestamp(fact.last_seen, UTC),
    }

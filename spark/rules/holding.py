"""Keeps tables that several rules and jobs use in memory: small ones on the driver, large ones in Spark's cache."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

from hadash.lake import snapshots
from hadash.lake.snapshots import TABLES, Snapshot
from hadash.lake.store import Store
from spark.session import is_small

#: A table whose files have at most ``FILES_AT_HAND`` bytes is read by the driver. If its rows then have at most
#: ``BYTES_AT_HAND`` (names compress to a tenth and less) they are sent with each plan, so that no task has to
#: read them.
FILES_AT_HAND, BYTES_AT_HAND = 4 << 20, 8 << 20

#: Files that are read in parallel: an object store takes some hundredths of a second for each.
FILES_AT_ONCE = 8


class Held:
    """The tables in memory, until :meth:`release`.

    :param size: the bytes of the facts that they are made of.
    """

    def __init__(self, spark: SparkSession, size: int) -> None:
        self.spark = spark
        #: Whether tables made of the facts fit into the driver.
        self.small = is_small(size)
        self._cached: list[DataFrame] = []
        self._for_job: list[DataFrame] | None = None

    @contextmanager
    def for_one_job(self) -> Iterator[None]:
        """Release the tables that are held in the block at its end, because the next job needs the memory."""
        self._for_job = []
        try:
            yield
        finally:
            for frame in self._for_job:
                frame.unpersist()
            self._for_job = None

    def hold(self, frame: DataFrame) -> DataFrame:
        """Return the same rows from memory. A small table is computed now, a large one when it is first used."""
        if self.small:
            return self._at_hand(frame.toArrow(), frame.schema)
        cached = frame.cache()
        (self._cached if self._for_job is None else self._for_job).append(cached)
        return cached

    def hold_small(self, frame: DataFrame) -> DataFrame:
        """Return the same rows, from memory only if they are few: rules read the parts of a large table that
        they need.
        """
        return self.hold(frame) if self.small else frame

    def release(self) -> None:
        for frame in self._cached:
            frame.unpersist()
        self._cached.clear()

    def snapshot_table(
        self,
        store: Store,
        of: Iterable[Snapshot],
        name: str,
        *,
        often: bool = False,
        with_moment: bool = False,
    ) -> DataFrame:
        """Return one table of some snapshots, with the current columns; missing ones are null.

        :param often: whether several rules read it, so that a large one is worth its memory.
        :param with_moment: add ``at``, a text that sorts by the time of the snapshot.
        """
        sizes = {each: store.files(each.place).get(each.table(name)) for each in of}
        there = {each: size for each, size in sizes.items() if size is not None}
        schema = from_arrow_schema(TABLES[name])
        if sum(there.values()) <= FILES_AT_HAND:
            with ThreadPoolExecutor(FILES_AT_ONCE) as readers:
                tables = list(readers.map(lambda each: _read(store, each, name, with_moment), there))
            whole = pa.concat_tables(tables or [_with_moment(TABLES[name].empty_table(), "", with_moment)])
            if whole.nbytes <= BYTES_AT_HAND:
                return self._at_hand(whole, from_arrow_schema(whole.schema))
        files = (store.for_spark(each.table(name)) for each in there)
        read = self.spark.read.schema(schema).parquet(*files)
        if with_moment:
            read = read.withColumn("at", F.input_file_name())  # a snapshot's place has its day and time
        return self.hold(read) if often else read

    def _at_hand(self, table: pa.Table, schema: StructType) -> DataFrame:
        """Return a table on the driver. (Combined, because PySpark 4.2 loses all rows if the first chunk is
        empty.)
        """
        return self.spark.createDataFrame(table.combine_chunks(), schema=schema)


def _read(store: Store, snapshot: Snapshot, name: str, with_moment: bool) -> pa.Table:
    return _with_moment(snapshots.read(store, snapshot, name), snapshot.place, with_moment)


def _with_moment(table: pa.Table, place: str, wanted: bool) -> pa.Table:
    return table.append_column("at", pa.array([place] * table.num_rows, pa.string())) if wanted else table

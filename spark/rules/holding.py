"""What several rules and jobs are made from, kept in memory: a small table at hand, a large one where Spark has it."""

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

#: Bytes of one table's files up to which it is looked at whether its rows are few; and bytes of these rows
#: (names compress to a tenth and less) up to which they are sent along with each plan: then no task has to
#: read them.
FILES_AT_HAND, BYTES_AT_HAND = 4 << 20, 8 << 20

#: Files that are read at once. An object store answers each after some hundredths of a second.
FILES_AT_ONCE = 8


class Held:
    """Tables in memory, until :meth:`release`.

    :param size: bytes of the facts that they are made of.
    """

    def __init__(self, spark: SparkSession, size: int) -> None:
        self.spark = spark
        #: Whether what is made of the facts fits into the driver, too.
        self.small = is_small(size)
        self._cached: list[DataFrame] = []
        self._for_job: list[DataFrame] | None = None

    @contextmanager
    def for_one_job(self) -> Iterator[None]:
        """What is held meanwhile is one job's, and goes with it: the next one needs the memory."""
        self._for_job = []
        try:
            yield
        finally:
            for frame in self._for_job:
                frame.unpersist()
            self._for_job = None

    def hold(self, frame: DataFrame) -> DataFrame:
        """The same rows. What is small is made now, and once; what is not when somebody first wants it."""
        if self.small:
            return self._at_hand(frame.toArrow(), frame.schema)
        cached = frame.cache()
        (self._cached if self._for_job is None else self._for_job).append(cached)
        return cached

    def hold_small(self, frame: DataFrame) -> DataFrame:
        """The same rows, and in memory only if they are few: of a large table the rules that want it read
        what they need.
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
        """One table of some snapshots, with today's columns: what older ones did not have is null.

        :param often: whether several rules read it, so that a large one is worth its memory.
        :param with_moment: with ``at`` besides, a text that sorts by when the snapshot was taken.
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
        """(PySpark 4.2 loses all rows of a table whose first chunk is empty.)"""
        return self.spark.createDataFrame(table.combine_chunks(), schema=schema)


def _read(store: Store, snapshot: Snapshot, name: str, with_moment: bool) -> pa.Table:
    return _with_moment(snapshots.read(store, snapshot, name), snapshot.place, with_moment)


def _with_moment(table: pa.Table, place: str, wanted: bool) -> pa.Table:
    return table.append_column("at", pa.array([place] * table.num_rows, pa.string())) if wanted else table

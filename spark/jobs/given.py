"""The input of the jobs that publish: the facts and the newest snapshot, read once for all jobs of one
application.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from hadash.identity.names import printable
from hadash.lake import snapshots
from hadash.lake.snapshots import Snapshot
from hadash.lake.store import Store
from hadash.sentences import Explained, say
from spark import manifest
from spark.jobs import facts
from spark.manifest import Manifest
from spark.publishing.runs import Kept
from spark.rules import inputs
from spark.rules.base import Inputs
from spark.rules.holding import Held
from spark.rules.sides import sides
from spark.session import fit

#: Clusters outside their pair that a run names, at most.
SHOWN_CLUSTERS = 10


class NothingYet(Explained):
    """The lake lacks the input; its sentence says what is missing."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a job. ``window_days``: uses seen within these days count. ``coverage_days``: the days in
    which client.ids count as new. ``kept``: how many published runs are kept.
    """

    window_days: int = 7
    coverage_days: int = 7
    kept: Kept = field(default_factory=Kept)


@dataclass(frozen=True)
class Given:
    """The input of a job. ``held``: its tables in memory."""

    spark: SparkSession
    store: Store
    settings: Settings
    manifest: Manifest
    snapshot: Snapshot
    inputs: Inputs
    held: Held

    @cached_property
    def of_no_pair(self) -> list[str]:
        """The first few clusters whose facts do not count, because they are not in the pair that the facts name."""
        found = facts.read_facts(self.spark, self.store, self.manifest)
        unknown = found.join(F.broadcast(sides(self.inputs.pairs)), ["pair", "cluster"], "left_anti")
        rows = unknown.select("cluster").distinct().orderBy("cluster").limit(SHOWN_CLUSTERS).collect()
        return [printable(row["cluster"]) for row in rows]

    @cached_property
    def away(self) -> frozenset[str]:
        """The clusters that did not answer when the snapshot was taken."""
        table = snapshots.read(self.store, self.snapshot, "clusters").to_pylist()
        return frozenset(row["cluster"] for row in table if row["fault"])

    def is_of(self, now: Manifest, newest: Snapshot, settings: Settings) -> bool:
        """Return whether reading now would give the same input."""
        return (self.manifest.version, self.snapshot, self.settings.window_days) == (
            now.version,
            newest,
            settings.window_days,
        )


class Reader:
    """Reads the input of jobs, and caches it until there is newer data: of jobs that are due together only the
    first one reads.
    """

    def __init__(self, spark: SparkSession, store: Store) -> None:
        self._spark = spark
        self._store = store
        self._last: Given | None = None

    def read(self, settings: Settings) -> Given:
        """Return the current input. :raises NothingYet: there are no facts, or no snapshot."""
        known = manifest.read(self._store)
        if not known.newest:
            raise NothingYet(
                say(
                    "There are no facts in the lake yet: no Gateway has written there, or the job facts has not run."
                )
            )
        snapshot = snapshots.newest(self._store)
        if snapshot is None:
            raise NothingYet(say("There is no snapshot in the lake yet: hadash takes one on its schedule."))
        size = sum(self._store.files(known.facts).values())
        fit(self._spark, size)
        if self._last is not None:
            if self._last.is_of(known, snapshot, settings):
                return self._last
            self.forget()
        held = Held(self._spark, size)
        used = inputs.read(
            held,
            self._store,
            facts.read_facts(self._spark, self._store, known),
            known.newest,
            snapshot,
            settings.window_days,
        )
        self._last = Given(self._spark, self._store, settings, known, snapshot, used, held)
        return self._last

    def forget(self) -> None:
        """Release the tables in memory."""
        if self._last is not None:
            self._last.held.release()
            self._last = None

"""One Spark for all tests of the jobs: two cores of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from hadash.lake.store import Store
from spark import session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = session.SparkSettings(master="local[2]", memory="1g", partitions=4)
    started = session.start("hadash tests", settings)
    session.fit(started, 0)  # as for every small fleet
    yield started
    started.stop()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "the lake"))

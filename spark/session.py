"""Spark: where it runs, and with how much.

``SPARK_MASTER`` runs the same code on this machine (``local[*]``), on a standalone cluster (``spark://…``),
on YARN (``yarn``) or on Kubernetes (``k8s://…``).
"""

from __future__ import annotations

import atexit
import logging
import os
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from hadash.lake.store import Store


@dataclass(frozen=True, slots=True)
class SparkSettings:
    """From the environment, each as ``HADASH_SPARK_…`` but the first."""

    #: SPARK_MASTER.
    master: str = "local[*]"
    #: Memory of the driver, which is all of Spark on one machine, and of each executor elsewhere. With Python's and the
    #: JVM's own on top a process stays under 4 GiB.
    memory: str = "2g"
    #: Partitions of a shuffle to begin with; Spark joins small ones. Enough that one of 100 M facts fits into memory.
    partitions: int = 64
    #: More of Spark's own settings, as ``name=value`` separated by ``;``: credentials of an object store, a
    #: queue of YARN.
    more: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> SparkSettings:
        """:raises ValueError: naming the variable that cannot be used."""
        more: dict[str, str] = {}
        for part in filter(None, environment.get("HADASH_SPARK_MORE", "").split(";")):
            name, equals, value = part.partition("=")
            if not equals or not name.strip():
                raise ValueError(f"HADASH_SPARK_MORE: {part!r} is not name=value.")
            more[name.strip()] = value.strip()
        default = cls()
        partitions = environment.get("HADASH_SPARK_PARTITIONS", str(default.partitions))
        if not partitions.isdecimal() or int(partitions) < 1:
            raise ValueError(f"HADASH_SPARK_PARTITIONS={partitions!r} is not a whole number from 1 on.")
        return cls(
            environment.get("SPARK_MASTER", default.master),
            environment.get("HADASH_SPARK_MEMORY", default.memory),
            int(partitions),
            more,
        )


#: How many times larger the rows of a table are than its files.
COMPRESSION = 10

#: Of Spark's connector for Kafka: the newest that Maven Central has, which PySpark may be a version ahead of.
KAFKA_CONNECTOR_VERSION = "4.2.0"

#: For a JVM that has little to compute: what it would compile in its first seconds takes the cores from
#: others, and would never pay off.
_HARDLY_COMPILING = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"

#: Where Spark's jars are, among them those of the Hadoop that it brings along.
_JARS = Path(pyspark.__file__).parent / "jars"


def for_lake(store: Store, more: Mapping[str, str]) -> dict[str, str]:
    """What Spark has to be told to reach a lake that lies in an object store; nothing for others. Both Spark
    and pyarrow take credentials from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the machine's role.

    :param more: what somebody has set, which goes first: whoever names a hadoop-aws of their own gets no other.
    """
    if not store.address.startswith("s3a://"):
        return {}
    found: dict[str, str] = {}
    if not any("hadoop-aws" in value for value in more.values()):
        # It has to be of the same version as Spark's own Hadoop.
        version = next(_JARS.glob("hadoop-client-api-*.jar")).stem.removeprefix("hadoop-client-api-")
        packages = [more.get("spark.jars.packages", ""), f"org.apache.hadoop:hadoop-aws:{version}"]
        found["spark.jars.packages"] = ",".join(filter(None, packages))
    options = store.options
    scheme = options.get("scheme", "https")
    if "endpoint_override" in options:
        found["spark.hadoop.fs.s3a.endpoint"] = f"{scheme}://{options['endpoint_override']}"
        found["spark.hadoop.fs.s3a.path.style.access"] = "true"
        found["spark.hadoop.fs.s3a.connection.ssl.enabled"] = str(scheme == "https").lower()
    if "region" in options:
        found["spark.hadoop.fs.s3a.endpoint.region"] = options["region"]
    return found


def for_kafka(more: Mapping[str, str]) -> dict[str, str]:
    """What Spark has to be told to read a Topic: to fetch its own connector.

    :param more: what somebody has set, which goes first: whoever names a connector of their own gets no other.
    """
    if any("spark-sql-kafka" in value for value in more.values()):
        return {}
    scala = next(_JARS.glob("spark-sql_*.jar")).stem.removeprefix("spark-sql_").partition("-")[0]
    connector = f"org.apache.spark:spark-sql-kafka-0-10_{scala}:{KAFKA_CONNECTOR_VERSION}"
    return {"spark.jars.packages": ",".join(filter(None, (more.get("spark.jars.packages", ""), connector)))}


def start(
    name: str,
    settings: SparkSettings | None = None,
    store: Store | None = None,
    *,
    with_kafka: bool = False,
    little: bool = False,
) -> SparkSession:
    """A session, or the one that this process has already.

    :param name: what Spark's pages call it. :param store: the lake that it works with. :param with_kafka:
        whether it reads a Topic.
    :param little: whether Spark itself has little to do: the fleet is small, or all the work is Python's.
    """
    settings = settings or SparkSettings.from_environment()
    logging.getLogger("py4j").setLevel(
        logging.WARNING
    )  # it tells of each connection, also when nobody listens any more
    # Executors run the Python that runs this (on a cluster: set PYSPARK_PYTHON to theirs).
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Arrow's usual allocator asks the system for far more fresh memory than it needs in the first seconds of
    # a process, which is how long a day takes: it would cost half as much again.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    local = settings.master.startswith("local")
    if local:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = (
        SparkSession.builder.master(settings.master)
        .appName(name)
        .config("spark.driver.memory", settings.memory)
        .config("spark.executor.memory", settings.memory)
        .config("spark.executorEnv.ARROW_DEFAULT_MEMORY_POOL", os.environ["ARROW_DEFAULT_MEMORY_POOL"])
        .config("spark.sql.shuffle.partitions", settings.partitions)
        .config("spark.sql.session.timeZone", "UTC")
        # Names compress to a tenth and less: what is sent to each task as small must be small there, too.
        .config("spark.sql.sources.fileCompressionFactor", COMPRESSION)
        # Ask for a list of files on the driver: they are few since they are compacted.
        .config("spark.sql.sources.parallelPartitionDiscovery.threshold", 100_000)
        .config("spark.ui.showConsoleProgress", False)
        # Where in Python each expression was written is asked of both sides otherwise: a third of the time of
        # a plan, for messages that nobody here reads.
        .config("spark.python.sql.dataFrameDebugging.enabled", False)
        .config("spark.sql.dataFrameQueryContext.enabled", False)
        # On one machine nobody else has to reach it; elsewhere its pages are where people look for them.
        .config("spark.ui.enabled", not local)
    )
    if local:
        builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config(
            "spark.driver.host", "127.0.0.1"
        )
    more = dict(settings.more)
    if store is not None:
        more |= for_lake(store, more)
    if with_kafka:
        more |= for_kafka(more)
    if little:
        more.setdefault("spark.driver.extraJavaOptions", _HARDLY_COMPILING)
    for key, value in more.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    context = spark.sparkContext
    if not local:
        context.addPyFile(str(_code()))
    # The executors' Python is started, too, and has loaded what it needs.
    cores = context.defaultParallelism
    context.parallelize(range(cores), cores).foreach(_load)
    return spark


#: Bytes of facts (compressed, some 300,000 of them) for which one partition of a shuffle is enough.
BYTES_A_PARTITION = 4 << 20

#: For a fleet that fits into one partition. To plan and to compile takes seconds there, and to run takes
#: none: nothing is compiled for a few thousand rows, and nothing is planned again while it runs.
_SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def is_small(size: int) -> bool:
    """Whether ``size`` bytes of facts are worked off in one partition."""
    return size <= BYTES_A_PARTITION


def fit(spark: SparkSession, size: int) -> None:
    """Plans for ``size`` bytes of facts: as many partitions of a shuffle as they need, and no more than the
    settings say. Each is a task, and a fleet of some thousand clients would wait for hundreds of empty
    ones.
    """
    small = is_small(size)
    most = int(spark.sparkContext.getConf().get("spark.sql.shuffle.partitions", "64") or 64)
    wanted = 1 if small else max(spark.sparkContext.defaultParallelism, -(-size // BYTES_A_PARTITION))
    spark.conf.set("spark.sql.shuffle.partitions", min(most, wanted))
    for name, value in _SMALL.items():
        if small:
            spark.conf.set(name, value)
        else:
            spark.conf.unset(name)


def _load(_: int) -> None:
    """In a task of Spark: what tasks need is loaded before the first of them. (pyarrow looks for pandas when
    it is given its first array.)
    """
    import numpy as np
    import pyarrow as pa

    import spark.jobs.facts  # noqa: F401

    pa.array(np.zeros(1))


def _code() -> Path:
    """hadash as one file for executors elsewhere. (What it needs of others, numpy, scipy and pyarrow, has to
    be there.)
    """
    import hadash

    packages = [Path(hadash.__file__).resolve().parent, Path(__file__).resolve().parent]
    archive = Path(tempfile.mkdtemp(prefix="hadash-spark-")) / "hadash.zip"
    atexit.register(shutil.rmtree, archive.parent, ignore_errors=True)
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for package in packages:
            for source in sorted(package.rglob("*.py")):
                packed.write(source, source.relative_to(package.parent))
    return archive

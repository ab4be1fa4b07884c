"""Starts Spark, with its settings and resources.

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
    """The settings of Spark, from ``SPARK_MASTER`` and the variables ``HADASH_SPARK_…``."""

    #: Where Spark runs: "local[*]" is this machine; "spark://…", "yarn" or "k8s://…" a cluster.
    master: str = "local[*]"
    #: The memory of the driver (on one machine that is all of Spark) and, on a cluster, of each executor. With
    #: the overhead of Python and the JVM a process stays under 4 GiB.
    memory: str = "2g"
    #: The initial number of partitions of a shuffle; Spark joins small ones. It is enough that a partition of
    #: 100 M facts fits into memory.
    partitions: int = 64
    #: More of Spark's own settings, as ``name=value`` separated by ``;``, such as credentials of an object
    #: store or a queue of YARN.
    more: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> SparkSettings:
        """Read the settings. :raises ValueError: a variable is not valid; the message names it."""
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


#: The ratio of the size of a table's rows to that of its files.
COMPRESSION = 10

#: The version of Spark's connector for Kafka: the newest on Maven Central; PySpark may be a version ahead.
KAFKA_CONNECTOR_VERSION = "4.2.0"

#: Options for a JVM with little to compute: compiling in its first seconds would only take cores from others.
_HARDLY_COMPILING = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"

#: The folder of Spark's jars, including those of its Hadoop.
_JARS = Path(pyspark.__file__).parent / "jars"


def for_lake(store: Store, more: Mapping[str, str]) -> dict[str, str]:
    """Return Spark's settings for a lake in an object store; none for other lakes. Spark and pyarrow both take
    credentials from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the machine's role.

    :param more: the user's settings, which take precedence: if they name a hadoop-aws, none is added.
    """
    if not store.address.startswith("s3a://"):
        return {}
    found: dict[str, str] = {}
    if not any("hadoop-aws" in value for value in more.values()):
        # It must have the same version as Spark's own Hadoop.
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
    """Return Spark's settings for reading a Topic: the package of its connector.

    :param more: the user's settings, which take precedence: if they name a connector, none is added.
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
    """Start a session, or return the existing one of this process.

    :param name: its name on Spark's pages.
    :param store: the lake that it works with.
    :param with_kafka: whether it reads a Topic.
    :param little: whether Spark itself has little to do, because the fleet is small, or all work is done in
        Python.
    """
    settings = settings or SparkSettings.from_environment()
    logging.getLogger("py4j").setLevel(logging.WARNING)  # it logs each connection
    # Executors use the same Python (on a cluster: set PYSPARK_PYTHON to theirs).
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # Arrow's default allocator requests far more memory than it needs in the first seconds of a process. A day
    # takes only seconds, and would take half as long again.
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
        # Names compress to a tenth and less: a table that is broadcast because it is small must be small in
        # memory.
        .config("spark.sql.sources.fileCompressionFactor", COMPRESSION)
        # List files on the driver: there are few, because they are compacted.
        .config("spark.sql.sources.parallelPartitionDiscovery.threshold", 100_000)
        .config("spark.ui.showConsoleProgress", False)
        # Otherwise the Python location of each expression is recorded, which takes a third of the time of a
        # plan, for messages that are not used here.
        .config("spark.python.sql.dataFrameDebugging.enabled", False)
        .config("spark.sql.dataFrameQueryContext.enabled", False)
        # Spark's pages are useful only on a cluster.
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
    # Start the executors' Python, too, and load its modules.
    cores = context.defaultParallelism
    context.parallelize(range(cores), cores).foreach(_load)
    return spark


#: Bytes of facts (compressed, some 300,000 facts) for which one partition of a shuffle is enough.
BYTES_A_PARTITION = 4 << 20

#: Settings for a fleet that fits into one partition, where planning and compiling take seconds and running
#: takes none: no compilation, and no replanning while it runs.
_SMALL = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def is_small(size: int) -> bool:
    """Return whether ``size`` bytes of facts are processed in one partition."""
    return size <= BYTES_A_PARTITION


def fit(spark: SparkSession, size: int) -> None:
    """Adapt a session to ``size`` bytes of facts: as many partitions of a shuffle as they need, up to the
    number in the settings. Each partition is a task, and a fleet of some thousand clients would wait for
    hundreds of empty ones.
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
    """Load the modules of tasks, in a Spark task. (pyarrow looks for pandas when it gets its first array.)"""
    import numpy as np
    import pyarrow as pa

    import spark.jobs.facts  # noqa: F401

    pa.array(np.zeros(1))


def _code() -> Path:
    """Return an archive of hadash for executors on other machines, where its dependencies numpy, scipy and
    pyarrow have to be installed.
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

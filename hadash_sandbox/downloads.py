"""Fetches Kafka, Connect, MirrorMaker 2 and Kafka's tools from Maven Central, once, with PySpark's own Ivy."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO
from xml.sax.saxutils import quoteattr

from hadash_sandbox.errors import SandboxError
from hadash_sandbox.java import Java, pyspark_jars
from hadash_sandbox.processes import Process
from hadash_sandbox.service import Log

KAFKA_VERSION = "3.9.2"
PROGRESS_STEP = 15

# Kafka's POMs leave the choice of a logging backend open, so the backend of Kafka's own distribution is named here.
_LOGGING = (("org.slf4j", "slf4j-reload4j", "1.7.36"), ("ch.qos.reload4j", "reload4j", "1.2.25"))


@dataclass(frozen=True, slots=True)
class Jars:
    """A folder of jars in the cache.

    ``roots`` are (organisation, module, version) of the modules to start from; their POMs name what they depend on.
    """

    folder: str
    what: str
    roots: tuple[tuple[str, str, str], ...]
    about: str


#: The jars of the stack's servers.
SERVERS = Jars(
    f"kafka-{KAFKA_VERSION}",
    f"Kafka {KAFKA_VERSION}",
    (
        ("org.apache.kafka", "kafka_2.13", KAFKA_VERSION),
        ("org.apache.kafka", "connect-runtime", KAFKA_VERSION),
        ("org.apache.kafka", "connect-mirror", KAFKA_VERSION),
        ("org.apache.kafka", "connect-json", KAFKA_VERSION),
        *_LOGGING,
    ),
    "about 80 MB, once; some minutes",
)

#: Versions of Kafka whose command-line clients are tried against a Gateway; the newest also runs as a KRaft cluster.
CLIENT_VERSIONS = ("2.8.2", "3.9.2", "4.2.0")


def distribution(version: str) -> Jars:
    """Kafka's own clients, console and performance tools, and its broker, of ``version``."""
    return Jars(
        f"kafka-tools-{version}",
        f"Kafka's tools {version}",
        (
            ("org.apache.kafka", "kafka_2.13", version),
            ("org.apache.kafka", "kafka-tools", version),
            *_LOGGING,
        ),
        "about 60 MB, once",
    )


#: The newest version on Maven Central. The installed pyspark is one version ahead, and works with it all the same.
SPARK_KAFKA_VERSION = "4.2.0"

#: Spark's own Kafka connector.
SPARK_KAFKA = Jars(
    f"spark-kafka-{SPARK_KAFKA_VERSION}",
    f"Spark's Kafka connector {SPARK_KAFKA_VERSION}",
    (("org.apache.spark", "spark-sql-kafka-0-10_2.13", SPARK_KAFKA_VERSION),),
    "about 20 MB, once",
)

# Without these timeouts a silently dropped connection would hang for as long as the system allows.
_TIMEOUTS = ("-Dsun.net.client.defaultConnectTimeout=15000", "-Dsun.net.client.defaultReadTimeout=60000")

_ERROR = re.compile(r"access error|exception", re.IGNORECASE)
_FOUND = re.compile(r"^\s+found \S+#")
_DOWNLOADING = re.compile(r"^downloading \S+\.jar")


def kafka_jars(java: Java, log: Log = print) -> list[Path]:
    """Return Kafka's jars: those of KAFKA_HOME if it is set, else those of the cache, fetched if need be.

    :raises SandboxError: KAFKA_HOME is no Kafka distribution, or the jars cannot be fetched.
    """
    home = os.environ.get("KAFKA_HOME")
    if home:
        jars = sorted(Path(home, "libs").glob("*.jar"))
        if not any(jar.name.startswith("connect-mirror-") for jar in jars):
            raise SandboxError(
                f"KAFKA_HOME is {home}, but {home}/libs holds no connect-mirror jar. "
                "Point it at an unpacked Kafka 3.9 distribution."
            )
        return jars
    return fetched(SERVERS, java, log)


def tool_jars(version: str, java: Java, log: Log = print) -> list[Path]:
    """The jars of Kafka's own tools of ``version`` (one of :data:`CLIENT_VERSIONS`), fetched if need be."""
    return fetched(distribution(version), java, log)


def spark_kafka_jars(java: Java, log: Log = print) -> list[Path]:
    """The jars of Spark's Kafka connector that PySpark does not bring along, fetched if need be."""
    own = {jar.name for jar in pyspark_jars().glob("*.jar")}
    return [jar for jar in fetched(SPARK_KAFKA, java, log) if jar.name not in own]


def fetched(jars: Jars, java: Java, log: Log = print) -> list[Path]:
    """Return the jars from the cache, which is filled if need be.

    :raises SandboxError: they cannot be fetched.
    """
    libs = cache_dir() / jars.folder / "libs"
    if not libs.is_dir():
        with one_at_a_time(jars.what, libs.parent, log):
            if not libs.is_dir():  # no other process has fetched them meanwhile
                _fetch(jars, java, libs, log)
    return sorted(libs.glob("*.jar"))


def cache_dir() -> Path:
    """The folder of HADASH_CACHE, else var/cache in the repository."""
    configured = os.environ.get("HADASH_CACHE")
    return Path(configured) if configured else Path(__file__).resolve().parents[1] / "var" / "cache"


@contextmanager
def one_at_a_time(what: str, folder: Path, log: Log) -> Iterator[None]:
    """Hold the lock of a cache folder, which must have one writer only: a second process waits for the first.

    The kernel releases the lock when its holder ends, for whatever reason, and downloads have timeouts of their own.

    :param what: what is fetched, for the log.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "fetch.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log(f"Another process is fetching {what} already; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(jars: Jars, java: Java, libs: Path, log: Log) -> None:
    """Fill `libs` atomically: an interrupted download leaves no folder of that name."""
    log(f"Fetching {jars.what} from Maven Central ({jars.about}) ...")
    work = Path(tempfile.mkdtemp(prefix=".fetch-", dir=libs.parent))
    try:
        (work / "ivy.xml").write_text(_ivy_module(jars))
        settings = os.environ.get("HADASH_IVY_SETTINGS")  # for sites with a mirror of their own
        command = [
            str(java.path),
            *_TIMEOUTS,
            *_proxy_options(),
            "-cp",
            str(_ivy_jar()),
            "org.apache.ivy.Main",
            *(["-settings", settings] if settings else []),
            "-ivy",
            str(work / "ivy.xml"),
            # Ivy's own cache survives a failed run: the next one fetches only what is missing.
            "-cache",
            str(libs.parent / "ivy"),
            "-retrieve",
            str(work / "libs" / "[artifact]-[revision](-[classifier]).[ext]"),
        ]
        _run_ivy(jars.what, command, libs.parent / "fetch.log", log)
        (work / "libs").rename(libs)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    log(f"{jars.what} is in {libs} ({len(list(libs.glob('*.jar')))} jars)")


def _run_ivy(what: str, command: Sequence[str], log_path: Path, log: Log) -> None:
    log_path.unlink(missing_ok=True)
    ivy = Process("Ivy", command, log_path=log_path)
    progress = _Progress(log)
    ivy.start()
    try:
        with log_path.open(errors="replace") as output:
            while ivy.alive:
                progress.read(output)
                time.sleep(0.2)
            progress.read(output)
    finally:
        ivy.stop(timeout=1)
    if ivy.exit_code != 0:
        raise SandboxError(
            f"{what} could not be fetched from Maven Central "
            f"({progress.first_error or 'no reason was given'}; see {log_path}). Check the network or "
            "https_proxy and try again, or set KAFKA_HOME to an unpacked Kafka 3.9 distribution."
        )


class _Progress:
    """Condenses Ivy's output to a few lines of progress and the first reason of a failure."""

    def __init__(self, log: Log) -> None:
        self.first_error = ""
        self._log = log
        self._modules = 0
        self._jars = 0
        self._pending = ""

    def read(self, output: TextIO) -> None:
        *lines, self._pending = (self._pending + output.read()).split("\n")
        for line in lines:
            self._hear(line)

    def _hear(self, line: str) -> None:
        if _FOUND.match(line):
            self._modules += 1
            if self._modules % PROGRESS_STEP == 0:
                self._log(f"  found {self._modules} modules")
        elif _DOWNLOADING.match(line):
            self._jars += 1
            if self._jars % PROGRESS_STEP == 0:
                self._log(f"  fetching jar {self._jars} of {self._modules}")
        elif not self.first_error and _ERROR.search(line):
            self.first_error = line.strip()


def _ivy_module(jars: Jars) -> str:
    dependencies = "\n".join(
        f"    <dependency org={quoteattr(org)} name={quoteattr(name)} rev={quoteattr(rev)}"
        ' conf="default->runtime(*),master(*)"/>'
        for org, name, rev in jars.roots
    )
    return f"""<ivy-module version="2.0">
  <info organisation="hadash" module="sandbox-kafka"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""


def _ivy_jar() -> Path:
    found = sorted(pyspark_jars().glob("ivy-*.jar"))
    if not found:
        raise SandboxError(
            "The installed pyspark holds no Ivy jar. Reinstall pyspark, or set KAFKA_HOME to an "
            "unpacked Kafka 3.9 distribution."
        )
    return found[-1]


def _proxy_options() -> list[str]:
    """Java's own options for the proxies of http_proxy and https_proxy, which Java does not read."""
    options = []
    for scheme in ("http", "https"):
        value = os.environ.get(f"{scheme}_proxy") or os.environ.get(f"{scheme.upper()}_PROXY")
        proxy = urllib.parse.urlsplit(value) if value else None
        if proxy and proxy.hostname:
            options += [
                f"-D{scheme}.proxyHost={proxy.hostname}",
                f"-D{scheme}.proxyPort={proxy.port or 3128}",
            ]
    return options

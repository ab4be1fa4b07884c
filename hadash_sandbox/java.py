"""Finds a Java that can run Kafka and ZooKeeper, and builds its command lines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from hadash_sandbox.errors import SandboxError

OLDEST = 17
_INSTALL = "Install it (`apt install openjdk-17-jre-headless`) or set JAVA_HOME"

# Small on purpose: seven JVMs may share two cores with the programs under test.
_LEAN = (
    "-XX:+UseSerialGC",
    "-XX:ReservedCodeCacheSize=64m",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:-UsePerfData",
    "-Xshare:auto",
    "-Djava.awt.headless=true",
)

# By default glibc gives threads malloc arenas of their own: hundreds of MB of address space for nothing.
LEAN_ENV = {"MALLOC_ARENA_MAX": "2"}


@dataclass(frozen=True)
class Java:
    """A Java runtime and its feature version (17, 21, ...)."""

    path: Path
    version: int

    def command(
        self,
        main_class: str,
        classpath: Iterable[Path],
        *,
        heap_mb: int,
        properties: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        arguments: Sequence[str | Path] = (),
    ) -> list[str]:
        """The argv of one JVM. ``heap_mb`` is its largest heap; ``properties`` become ``-D`` options."""
        return [
            str(self.path),
            f"-Xmx{heap_mb}m",
            *_LEAN,
            *options,
            *(f"-D{key}={value}" for key, value in (properties or {}).items()),
            "-cp",
            os.pathsep.join(str(path) for path in classpath),
            main_class,
            *(str(argument) for argument in arguments),
        ]


def find_java() -> Java:
    """Return the Java of JAVA_HOME, else of PATH.

    :raises SandboxError: there is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    if home:
        path = Path(home, "bin", "java")
        if not path.is_file():
            raise SandboxError(f"JAVA_HOME is {home}, but there is no {path}. {_INSTALL} correctly.")
    else:
        found = shutil.which("java")
        if found is None:
            raise SandboxError(f"Java {OLDEST} or newer is needed, and none was found. {_INSTALL}.")
        path = Path(found)
    version = _version(path)
    if version < OLDEST:
        raise SandboxError(f"Java {OLDEST} or newer is needed, but {path} is Java {version}. {_INSTALL}.")
    return Java(path, version)


def parse_version(text: str) -> int | None:
    """The feature version in the output of `java -version`; None if there is none.

    >>> parse_version('openjdk version "17.0.15" 2025-04-15')
    17
    >>> parse_version('java version "1.8.0_402"')
    8
    """
    found = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if found is None:
        return None
    major, minor = int(found[1]), int(found[2] or 0)
    return minor if major == 1 else major


def pyspark_jars() -> Path:
    """The folder of jars that PySpark brings along, ZooKeeper's and Ivy's among them.

    :raises SandboxError: PySpark is not installed.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise SandboxError("The Python package pyspark is missing. Run `pip install pyspark`.")
    return Path(spec.origin).parent / "jars"


@cache
def _version(path: Path) -> int:
    try:
        result = subprocess.run(
            [str(path), "-version"], capture_output=True, text=True, timeout=30, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{path} cannot be run: {error}. {_INSTALL}.") from error
    version = parse_version(result.stderr + result.stdout)
    if version is None:
        raise SandboxError(f"{path} does not tell its version. {_INSTALL}.")
    return version

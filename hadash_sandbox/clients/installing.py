"""Builds and installs the clients in Go and JavaScript into the cache, with the versions of their lock files.

Only ``make clients-check`` and the recording of clients need them, and with them Go and Node.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from hadash_sandbox.downloads import cache_dir, one_at_a_time
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.service import Log

SOURCES = Path(__file__).resolve().parent

#: Programs in Go: the folder of each, and the file with the versions of its libraries (go.mod has the newest).
GO_PROGRAMS = {
    "franz-go": ("franz-go", "go.mod"),
    "franz-go-range": ("franz-go", "go.mod"),
    "kafka-go": ("kafka-go", "go.mod"),
    "sarama": ("sarama", "go.mod"),
    "sarama-1.45": ("sarama", "go.sarama-1.45.mod"),
    "sarama-1.40": ("sarama", "go.sarama-1.40.mod"),
}

#: Programs in JavaScript: the file of each.
NODE_PROGRAMS = {"kafkajs": "kafkajs.mjs", "platformatic": "platformatic.mjs"}

#: Seconds that a build with all downloads may take on a slow machine.
BUILD_SECONDS = 900


def install(libraries: Sequence[str], log: Log = print) -> None:
    """Build and install what ``libraries`` need.

    :raises SandboxError: Go or Node is missing, or a build fails.
    """
    programs = [library for library in libraries if library in GO_PROGRAMS]
    if programs:
        _build(programs, log)
    if any(library in NODE_PROGRAMS for library in libraries):
        _install_packages(log)


def command(library: str) -> list[str]:
    """The command that starts the installed client of ``library``."""
    if library in GO_PROGRAMS:
        return [str(_binary(library))]
    return [_found("node"), str(_node_folder() / NODE_PROGRAMS[library])]


def _build(programs: Sequence[str], log: Log) -> None:
    go = _found("go")
    with one_at_a_time("the clients in Go", _go_folder(), log):
        log("Building the clients in Go (some minutes the first time) ...")
        for binary in dict.fromkeys(_binary(library) for library in programs):
            package, versions = GO_PROGRAMS[next(name for name in programs if _binary(name) == binary)]
            _run(
                "Building the clients in Go",
                [go, "build", f"-modfile={versions}", "-mod=readonly", "-o", str(binary), f"./{package}"],
                SOURCES / "go",
                go_environment(),
            )


def go_environment() -> dict[str, str]:
    """Environment variables that keep Go's caches inside the sandbox's cache: nothing else on the machine changes."""
    folder = _go_folder()
    return {
        "GOMODCACHE": str(folder / "modules"),
        "GOCACHE": str(folder / "build"),
        "GOFLAGS": "-modcacherw",
    }


def _go_folder() -> Path:
    return cache_dir() / "clients-go"


def _binary(library: str) -> Path:
    package, versions = GO_PROGRAMS[library]
    return _go_folder() / "bin" / (package if versions == "go.mod" else library)


def _node_folder() -> Path:
    return cache_dir() / "clients-node"


def _install_packages(log: Log) -> None:
    npm, _ = _found("npm"), _found("node")
    folder = _node_folder()
    with one_at_a_time("the clients in JavaScript", folder, log):
        lock = (SOURCES / "node" / "package-lock.json").read_bytes()
        # npm ci removes all packages before it installs them, so it must not run while another check may use them.
        installed = folder / "node_modules" / ".installed"
        fresh = installed.exists() and installed.read_bytes() == lock
        shutil.copytree(SOURCES / "node", folder, dirs_exist_ok=True)
        if not fresh:
            log("Installing the clients in JavaScript ...")
            _run(
                "Installing the clients in JavaScript",
                [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
                folder,
                {},
            )
            installed.write_bytes(lock)


def _found(program: str) -> str:
    """The path of a program.

    :raises SandboxError: it is not installed.
    """
    path = shutil.which(program)
    if path is None:
        raise SandboxError(
            f"{program} is not installed. make clients-check tries clients in Go and JavaScript: install Go 1.26 or "
            "newer and Node 20 or newer with npm, and see that go, node and npm are in PATH."
        )
    return path


def _run(what: str, arguments: Sequence[str], folder: Path, environment: Mapping[str, str]) -> None:
    try:
        done = subprocess.run(
            arguments,
            cwd=folder,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SandboxError(f"{what} took longer than {BUILD_SECONDS} s; is the registry reached?") from None
    if done.returncode != 0:
        raise SandboxError(f"{what} failed ({' '.join(arguments)}):\n{done.stdout[-2000:]}")

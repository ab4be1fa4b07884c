"""The environment of a running demo, for programs that are started beside it.

It is a file in the demo's data folder, which exists while the demo runs.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from hadash_sandbox.errors import SandboxError
from hadash_sandbox.stack import is_running


def _file(data: Path) -> Path:
    return data / "environment.json"


def keep(data: Path, environment: Mapping[str, str]) -> None:
    """Write the environment to its file. It holds secrets, so only the owner may read the file."""
    part = _file(data).with_suffix(".part")
    part.unlink(missing_ok=True)
    part.touch(mode=0o600)
    part.write_text(json.dumps(dict(environment), indent=2) + "\n")
    part.replace(_file(data))


def forget(data: Path) -> None:
    """Delete the file: the demo has ended."""
    _file(data).unlink(missing_ok=True)


def of_running(data: Path) -> dict[str, str]:
    """Return what :func:`keep` wrote.

    :raises SandboxError: no demo runs in ``data``, or it is still starting.
    """
    if not is_running(data):
        raise SandboxError(f"No demo runs in {data}. Start one with make demo, in another terminal.")
    try:
        found: dict[str, str] = json.loads(_file(data).read_text())
    except FileNotFoundError:
        raise SandboxError(
            f"The demo in {data} is still starting. Try again when it prints its address."
        ) from None
    return found


def exports(environment: Mapping[str, str]) -> str:
    """The environment as ``export`` lines for a shell.

    >>> print(exports({"A": "x y"}), end="")
    export A='x y'
    """
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in sorted(environment.items()))


def merged(environment: Mapping[str, str]) -> dict[str, str]:
    """This process's environment with ``environment`` over it."""
    return {**os.environ, **environment}

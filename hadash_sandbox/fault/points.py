"""Where inside a stage a fault hits, and how the worker is made to wait there.

The worker and the harness speak through files in one folder, because each of them may be killed at any time:
``armed.json`` names the point; the first executor that comes to it makes ``<name>.reached`` and waits for
``<name>.go``; when its run is over it makes ``<name>.left``.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hadash_sandbox.errors import SandboxError

#: The variable that tells a worker the folder.
FOLDER = "HADASH_FAULT_POINTS"

#: Seconds that a worker waits at its point before it goes on by itself: longer than any harness that lives needs.
HOLD_SECONDS = 300.0
#: Seconds between two looks for a file.
LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Point:
    """Directly before a command (the name of its class in ``switching/stages/commands.py``) of a stage is carried out.

    The executor's fence has let the command through already: whoever is held here is past the last check.
    """

    stage: str
    command: str


def _points(commands: Mapping[str, str]) -> dict[str, Point]:
    return {stage: Point(stage, command) for stage, command in commands.items()}


#: For what dies: in the middle of each stage's work.
WITHIN = _points(
    {
        "precheck": "ReadTopics",
        "quiesce": "ReadQuiesced",
        "block": "ReadWaiting",
        "drain": "ReadEnds",
        "translate": "WriteGroupOffsets",
        "forward": "WriteBindings",
        "reverse": "ReverseMirrors",
        "verify": "ReadClients",
    }
)

#: For who comes back late: where a stage is about to change something. (Verify changes nothing.)
AT_WRITES = WITHIN | _points(
    {
        "precheck": "PublishPlacement",
        "quiesce": "WriteBindings",
        "block": "WriteBindings",
        "drain": "PauseMirrors",
    }
)


class Points:
    """The folder, from both sides."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, name: str, what: str) -> Path:
        return self._folder / f"{name}.{what}"

    # -- the harness ---------------------------------------------------------------------------------------------

    def arm(self, name: str, point: Point, clock: float = 0.0) -> None:
        """Hold the first executor that comes to ``point``.

        :param name: of this use of it, never used before.
        :param clock: seconds by which the worker's clock jumps when it goes on.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"name": name, "stage": point.stage, "command": point.command, "clock": clock})
        temporary = self._folder / "armed.tmp"
        temporary.write_text(text)
        temporary.replace(self._folder / "armed.json")

    def disarm(self) -> None:
        (self._folder / "armed.json").unlink(missing_ok=True)

    def reached(self, name: str) -> bool:
        return self._file(name, "reached").exists()

    def go(self, name: str) -> None:
        self._file(name, "go").touch()

    def await_left(self, name: str, seconds: float) -> None:
        """Wait until the run that was held is over. :raises SandboxError: it is not within ``seconds``."""
        deadline = time.monotonic() + seconds
        while not self._file(name, "left").exists():
            if time.monotonic() > deadline:
                raise SandboxError(f"The worker held in {name} has not ended its run after {seconds:.0f} s.")
            time.sleep(LOOK_SECONDS)

    # -- the worker ----------------------------------------------------------------------------------------------

    def hold(self, stage: str, command: str) -> tuple[str, float] | None:
        """Wait if this is the armed point and nobody was here before: (name, the clock's jump), ``None`` otherwise."""
        try:
            armed = json.loads((self._folder / "armed.json").read_text())
        except FileNotFoundError:
            return None
        if (armed["stage"], armed["command"]) != (stage, command):
            return None
        name: str = armed["name"]
        try:
            os.close(os.open(self._file(name, "reached"), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return None
        deadline = time.monotonic() + HOLD_SECONDS
        while not self._file(name, "go").exists() and time.monotonic() < deadline:
            time.sleep(LOOK_SECONDS)
        return name, float(armed["clock"])

    def leave(self, name: str) -> None:
        self._file(name, "left").touch()

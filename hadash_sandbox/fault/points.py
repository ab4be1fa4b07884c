"""The points inside a stage at which a fault hits, and the protocol that makes a worker wait there.

The worker and the harness communicate through files in one folder, because each of them may be killed at any time.
``armed.json`` names the point. The first executor that reaches it creates ``<name>.reached`` and waits for
``<name>.go``; when its run is over, it creates ``<name>.left``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hadash_sandbox.waiting import came_about, wait_until

#: The environment variable with the folder.
FOLDER = "HADASH_FAULT_POINTS"

#: Seconds that a worker waits at its point before it continues by itself: more than a harness that is alive needs.
HOLD_SECONDS = 300.0
#: Seconds between two looks for a file.
LOOK_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Point:
    """The moment directly before a stage carries out a command.

    ``command`` is the name of its class in ``switching/stages/commands.py``. The executor's fence has already let the
    command pass, so a worker that is held here is past its last check.
    """

    stage: str
    command: str


def _points(commands: Mapping[str, str]) -> dict[str, Point]:
    return {stage: Point(stage, command) for stage, command in commands.items()}


#: Points in the middle of each stage's work, for most faults.
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

#: Points at which a stage is about to change something, for a worker that comes back late. (Verify changes nothing.)
AT_WRITES = WITHIN | _points(
    {
        "precheck": "PublishPlacement",
        "quiesce": "WriteBindings",
        "block": "WriteBindings",
        "drain": "PauseMirrors",
    }
)


class Points:
    """The folder of files, as the harness and the worker use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def _file(self, name: str, what: str) -> Path:
        return self._folder / f"{name}.{what}"

    # -- the harness ---------------------------------------------------------------------------------------------

    def arm(self, name: str, point: Point, clock: float = 0.0) -> None:
        """Hold the first executor that reaches ``point``.

        :param name: a name that was never used before.
        :param clock: seconds by which the worker's clock jumps when it continues.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"name": name, "stage": point.stage, "command": point.command, "clock": clock})
        temporary = self._folder / "armed.tmp"
        temporary.write_text(text)
        temporary.replace(self._folder / "armed.json")

    def disarm(self) -> None:
        """Hold no further executor."""
        (self._folder / "armed.json").unlink(missing_ok=True)

    def reached(self, name: str) -> bool:
        """Whether an executor has reached the point and was held."""
        return self._file(name, "reached").exists()

    def go(self, name: str) -> None:
        """Let the held executor continue."""
        self._file(name, "go").touch()

    def await_left(self, name: str, seconds: float) -> None:
        """Wait until the run that was held is over.

        :raises SandboxError: it is not over after ``seconds``.
        """
        wait_until(
            self._file(name, "left").exists,
            f"The end of the run that was held in {name}",
            seconds,
            every=LOOK_SECONDS,
        )

    # -- the worker ----------------------------------------------------------------------------------------------

    def hold(self, stage: str, command: str) -> tuple[str, float] | None:
        """Wait if this is the armed point and no executor was held here before.

        :return: (the point's name, seconds by which the clock jumps); ``None`` when it did not wait.
        """
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
        came_about(self._file(name, "go").exists, HOLD_SECONDS, every=LOOK_SECONDS)
        return name, float(armed["clock"])

    def leave(self, name: str) -> None:
        """Report that the run that was held is over."""
        self._file(name, "left").touch()

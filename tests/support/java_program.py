"""Programs in one Java file that answer a line for each line, with Kafka's own classes."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

from hadash_sandbox.downloads import kafka_jars
from hadash_sandbox.java import find_java

#: Seconds for a JVM to compile the program and answer some thousand lines.
SECONDS = 120


def answers(program: str, lines: Sequence[str], seconds: float = SECONDS) -> list[str]:
    """What ``tests/support/<program>.java`` says to each line. Raises subprocess.TimeoutExpired."""
    machine = find_java()
    classpath = ":".join(map(str, kafka_jars(machine, lambda line: None)))
    source = Path(__file__).with_name(f"{program}.java")
    done = subprocess.run(
        [str(machine.path), "-Xmx256m", "-cp", classpath, str(source)],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()

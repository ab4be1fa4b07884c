"""Before anything is installed: does this machine have Python, venv and Java as the README asks? Needs no package."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PYTHON = (3, 11)
JAVA = 17


def fail(sentence: str) -> None:
    print(f"error: {sentence}", file=sys.stderr)
    sys.exit(1)


if sys.version_info < PYTHON:
    have = ".".join(map(str, sys.version_info[:2]))
    fail(
        f"Python {'.'.join(map(str, PYTHON))} or newer is needed, this is {have}. Install one and run make "
        f"PYTHON=python3.11."
    )
try:
    import ensurepip  # noqa: F401
    import venv  # noqa: F401
except ImportError:
    fail("Python's venv module is missing. Install it: apt-get install python3-venv.")

java = (
    str(Path(os.environ["JAVA_HOME"]) / "bin" / "java")
    if os.environ.get("JAVA_HOME")
    else shutil.which("java")
)
if not java or not Path(java).exists():
    fail(
        f"Java {JAVA} or newer is needed and was not found. Install it: apt-get install openjdk-17-jre-headless."
    )
shown = subprocess.run([java, "-version"], capture_output=True, text=True).stderr
version = re.search(r'version "(\d+)', shown)
if version is None or int(version.group(1)) < JAVA:
    fail(f"Java {JAVA} or newer is needed; {java} is {shown.splitlines()[0] if shown else 'silent'}.")

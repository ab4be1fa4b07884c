"""Runs a client that is a separate program: starts it, reads its output line by line, and ends it."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from hadash_sandbox.processes import describe_exit
from hadash_sandbox.traffic.journal import Writer

#: Seconds between two checks whether to stop, and two writes of the journal's open runs.
LOOK_SECONDS = 0.2

#: Seconds that a program may take to end, because it waits for its last acknowledgements.
END_SECONDS = 20

#: Exit codes of a program that was told to end: a JVM ends with 128 plus the signal's number.
_ENDED_WELL = (0, 128 + signal.SIGTERM)


def run(
    command: Sequence[str], hear: Callable[[str], None], journal: Writer, wanted: Callable[[], bool]
) -> int | None:
    """Run a program until ``wanted`` returns true.

    :param hear: called with each line of its output. A line for which it raises ValueError becomes a note in the
        journal, as does each line of the standard error.
    :return: the exit code if the program ended by itself, else ``None``.
    """
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    errors = threading.Thread(target=_note_all, args=(process.stderr, journal), daemon=True)
    output = threading.Thread(target=_hear_all, args=(process.stdout, hear, journal), daemon=True)
    errors.start()
    output.start()
    while not wanted() and process.poll() is None:
        time.sleep(LOOK_SECONDS)
        journal.flush()
    ended = process.poll()
    if ended is None:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            journal.unfinished(f"the program did not end within {END_SECONDS} s, and was killed")
            process.kill()
        else:
            if process.returncode not in _ENDED_WELL:
                how = describe_exit(process.returncode)
                journal.unfinished(f"the program was told to end, and ended with {how}")
    output.join()
    return ended


def _hear_all(lines: Iterator[str], hear: Callable[[str], None], journal: Writer) -> None:
    for line in lines:
        try:
            hear(line.strip())
        except ValueError:
            journal.note(line.strip())
        except Exception as error:  # else this thread would end, and the following lines would be ignored
            journal.unfinished(f"what the program said could not be taken in ({error!r}): {line.strip()}")


def _note_all(lines: Iterator[str], journal: Writer) -> None:
    for line in lines:
        journal.note(line.strip())

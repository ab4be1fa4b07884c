"""Runs clients in Go and JavaScript (``hadash_sandbox/clients``): programs that print what they did, line by line.

A program that ends by itself is started again, as an application's supervisor would do, and the journal says so.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable

from hadash_sandbox.clients.installing import command
from hadash_sandbox.traffic import tool
from hadash_sandbox.traffic.journal import Writer
from hadash_sandbox.traffic.records import HEADER, KEYS, place

#: Seconds before a program that has ended by itself is started again.
AGAIN_SECONDS = 1.0

#: Numbers that a restarted producer skips after the last one that it reported: records that were in flight when it
#: ended may have been written.
SKIP = 10_000 * KEYS


def run(library: str, options: argparse.Namespace, journal: Writer, wanted: Callable[[], bool]) -> None:
    """Run a client until ``wanted`` returns true. The password is in the environment (CLIENT_PASSWORD)."""
    (topic,) = options.topic
    highest = -1

    def hear(line: str) -> None:
        """Note in the journal what a line of the program says.

        :raises ValueError: it is not about a record, such as a line that the library printed.
        """
        nonlocal highest
        said = json.loads(line)
        number = said.get("n", "") if isinstance(said, dict) else ""
        if number is None and "error" in said:
            journal.failed("", -1, str(said["error"]))
            return
        if number is None and "damaged" in said:
            journal.damaged("", -1, said["damaged"])
            return
        if not isinstance(number, int):
            raise ValueError(f"{line} says nothing of a record.")
        highest = max(highest, number)
        key, index = place(topic, number)
        if "error" in said:
            journal.failed(key, index, said["error"])
            return
        journal.progress(key, index)
        if "damaged" in said:
            journal.damaged(key, index, said["damaged"])

    first = 0
    while not wanted():
        asked = {
            "role": options.role,
            "bootstrap": options.bootstrap,
            "user": options.user,
            "client_id": options.client_id,
            "topic": topic,
            "group": options.group,
            "rate": options.rate,
            "keys": KEYS,
            "first": first,
            "header": HEADER,
            "config": dict(setting.split("=", 1) for setting in options.config),
        }
        code = tool.run([*command(library), json.dumps(asked)], hear, journal, wanted)
        if code is not None:
            journal.restart(f"the program ended by itself with exit code {code}")
            first = highest + SKIP if options.role == "produce" else 0
            time.sleep(AGAIN_SECONDS)

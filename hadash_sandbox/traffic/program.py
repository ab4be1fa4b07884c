"""Clients in Go and JavaScript (``hadash_sandbox/clients``): each is a program that says line by line what it did.

One that ends by itself is started again, as a supervisor of an application would, and the journal says so.
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

#: How far a producer that is started again goes on behind the last number that was heard of: what was under way when it
#: ended may have been written.
SKIP = 10_000 * KEYS


def run(library: str, options: argparse.Namespace, journal: Writer, wanted: Callable[[], bool]) -> None:
    """Until ``wanted`` says to stop. The password is in the environment."""
    (topic,) = options.topic
    highest = -1

    def hear(line: str) -> None:
        """:raises ValueError: it says nothing of a record: a line that its library has written, for one."""
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

"""``python -m hadash.coordinator.member package.module:function``: run a member that hands each record to a function,
until SIGTERM or SIGINT.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
from pathlib import Path

from hadash.coordinator.member.process import PoolMember
from hadash.coordinator.member.topic_reader import Handle
from hadash.coordinator.startup import exit_codes, stop_on_signals
from hadash.telemetry import logs

log = logging.getLogger("hadash.coordinator.member")


def named(path: str) -> Handle:
    """Return the function of a path such as ``package.module:function``. :raises ValueError: there is none."""
    module, _, name = path.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"There is no function {path!r}, such as package.module:function: {error}") from None
    if not callable(found):
        raise ValueError(f"{path!r} is no function.")
    handle: Handle = found
    return handle


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m hadash.coordinator.member", description="Run a member of a pool of consumers."
    )
    parser.add_argument("handle", help="what is done with each record: package.module:function")
    arguments = parser.parse_args()
    sys.path.insert(0, str(Path.cwd()))
    with exit_codes(log):
        logs.begin()
        member = PoolMember.from_environment(named(arguments.handle))
    stop_on_signals(member.stop)
    member.run()


if __name__ == "__main__":
    main()

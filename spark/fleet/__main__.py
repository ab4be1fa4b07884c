"""``python -m spark.fleet --lake FOLDER``: writes a generated fleet into a lake, and prints the findings that
the rules have to make.

It is for trying jobs and pages without clusters, and with a large fleet.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime

from hadash.lake.store import LakeError, Store
from spark.fleet.clean import Size
from spark.fleet.model import write
from spark.fleet.seeded import generate


def main(arguments: list[str] | None = None) -> int:
    """Write a fleet. Return 0 when it was written, 2 when an argument is not valid."""
    default = Size()
    parser = argparse.ArgumentParser(prog="python -m spark.fleet", description=__doc__)
    parser.add_argument("--lake", required=True, help="a folder, s3a://… or hdfs://…; best an empty one")
    parser.add_argument(
        "--appids", type=_count, default=default.appids, help="applications that nothing is wrong with"
    )
    parser.add_argument("--pairs", type=_count, default=default.pairs)
    parser.add_argument("--seed", type=int, default=default.seed, help="the same seed makes the same fleet")
    parser.add_argument("--times", type=_count, default=1, help="how often each thing that is wrong is there")
    parser.add_argument(
        "--day", default=f"{datetime.now(UTC):%Y-%m-%d}", help="its newest day (default: today)"
    )
    told = parser.parse_args(arguments)
    try:
        datetime.fromisoformat(told.day)
        store = Store(told.lake)
        fleet = generate(Size(told.appids, told.pairs, told.seed, told.day), times=told.times)
        write(store, fleet)
    except (LakeError, OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for answer in sorted(fleet.answers):
        print(json.dumps(answer._asdict(), ensure_ascii=False))
    print(
        f"{len(fleet.facts)} facts of {told.day} and before; {len(fleet.answers)} findings.",
        file=sys.stderr,
    )
    return 0


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())

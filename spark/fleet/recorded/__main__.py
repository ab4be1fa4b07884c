"""``python -m spark.fleet.recorded --lake FOLDER --out FOLDER --where TEXT``: writes the reports and the newest
snapshot of a lake as a fixture.

Names and addresses of hosts are replaced, and configs that could reveal a site are left out. Names of AppIDs,
clients, Topics and groups stay: check that they may be published before you commit them.
``python -m hadash_sandbox record`` makes a fixture of the demo's own clients.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

from hadash.lake.store import LakeError, Store
from spark.fleet.recorded.recording import MOST_FACTS, NothingToRecord, record


def main(arguments: list[str] | None = None) -> int:
    """Write a fixture. Return 0 when it was written, 2 when there is nothing to record or an argument is not
    valid.
    """
    parser = argparse.ArgumentParser(prog="python -m spark.fleet.recorded", description=__doc__)
    parser.add_argument("--lake", required=True, help="a folder, s3a://… or hdfs://…")
    parser.add_argument("--out", type=Path, required=True, help="the fixture's folder")
    parser.add_argument("--where", required=True, help="which installation this is, for the reader")
    parser.add_argument("--most", type=int, default=MOST_FACTS, help="so many facts at most")
    told = parser.parse_args(arguments)
    about = {"recorded_at": datetime.now(UTC).isoformat(timespec="seconds"), "where": told.where}
    try:
        rows = record(Store(told.lake), told.out, about, told.most)
    except (LakeError, NothingToRecord, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""``python -m spark.fleet.recorded --lake FOLDER --out FOLDER --where TEXT``: the reports and the newest
snapshot of any lake as a fixture.

Names and addresses of hosts are replaced, and configs that could say more of a site are left out. Names of
AppIDs, clients, Topics and groups stay: look whether they may be shown before you commit them. Of the demo's
own clients ``python -m hadash_sandbox record`` makes one.
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
    """The exit code: 0 when it was written, 2 when there is nothing to record or what was told cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m spark.fleet.recorded", description=__doc__)
    parser.add_argument("--lake", required=True, help="a folder, s3a://… or hdfs://…")
    parser.add_argument("--out", type=Path, required=True, help="the fixture's folder")
    parser.add_argument("--where", required=True, help="which installation this is, for whoever reads it")
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

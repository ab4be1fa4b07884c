"""``python -m spark JOB``: runs one job, and prints its result as JSON on the last line. ``python -m spark
serve`` runs one job after the other (:mod:`spark.serving`).
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence

from hadash.lake.store import LakeError, Store
from spark import session
from spark.application import CODES, IN_PYTHON, WITH_KAFKA, Application, parser
from spark.codes import UNUSABLE
from spark.serving import serve


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a job. Return 0 when it was done, else one of :mod:`spark.codes`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments and arguments[0] == "serve":
        return serve(arguments[1:])
    told = parser(__doc__ or "").parse_args(arguments)
    try:
        store, settings = Store(told.lake), session.SparkSettings.from_environment()
    except (LakeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return UNUSABLE
    began = time.monotonic()
    spark = session.start(
        f"hadash {told.job}",
        settings,
        store,
        with_kafka=told.job in WITH_KAFKA,
        little=told.job in IN_PYTHON,
    )
    started = time.monotonic()
    try:
        done = Application(spark, store).carry_out(told)
        seconds = {"start": started - began, "job": time.monotonic() - started}
    except tuple(CODES) as error:
        print(f"error: {error}", file=sys.stderr)
        return CODES[type(error)]
    finally:
        spark.stop()
    print(json.dumps({"job": told.job, "seconds": seconds, **done}, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())

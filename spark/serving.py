"""``python -m spark serve``: one Spark application that runs orders from standard input until that ends.

Each line of standard input is an order, the arguments of ``python -m spark`` as a JSON list. Each line of
standard output is the answer to one, ``{"code": 0, "said": "…"}``: the exit code that a separate process would
have had, and its message. When standard input ends, the process ends at once, even in the middle of a job: its
worker is gone, the job is not published, and the next run does it again.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
import traceback
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from queue import SimpleQueue
from typing import TextIO

from hadash.lake.store import LakeError, Store
from spark import manifest, session
from spark.application import CODES, Application, parser
from spark.codes import FAILED, UNUSABLE

#: The exit code when standard input has ended.
LEFT = 3


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to an order. ``code``: the exit code of the job. ``said``: its result in JSON, or the error."""

    code: int
    said: str


def serve(arguments: Sequence[str]) -> int:
    """Run orders from standard input. Returns only if it cannot begin: the exit code."""
    options = argparse.ArgumentParser(prog="python -m spark serve", description=__doc__)
    options.add_argument("--lake", required=True, help="a folder, s3a://… or hdfs://…")
    options.add_argument("--with-kafka", action="store_true", help="for the job from-kafka")
    told = options.parse_args(arguments)
    answers = _own_output()
    orders: SimpleQueue[str] = SimpleQueue()
    threading.Thread(target=_listen, args=[sys.stdin, orders], daemon=True).start()
    try:
        store, settings = Store(told.lake), session.SparkSettings.from_environment()
    except (LakeError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return UNUSABLE
    little = session.is_small(sum(store.files(manifest.read(store).facts).values()))
    spark = session.start("hadash", settings, store, with_kafka=told.with_kafka, little=little)
    application = Application(spark, store)
    while True:
        answer = answered(application, orders.get())
        print(json.dumps(asdict(answer), ensure_ascii=False), file=answers, flush=True)


def answered(application: Application, order: str) -> Answer:
    """Run one order. Every error becomes an answer, too."""
    try:
        told = parser().parse_args(json.loads(order))
        return Answer(0, json.dumps(application.carry_out(told), ensure_ascii=False))
    except tuple(CODES) as error:
        return Answer(CODES[type(error)], str(error))
    except SystemExit:  # the parser has said why
        return Answer(UNUSABLE, "The order cannot be read.")
    except Exception as error:
        traceback.print_exc()
        return Answer(FAILED, f"{type(error).__name__}: {error}")


def _own_output() -> TextIO:
    """Return standard output for the answers only: other output goes to standard error from now on."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


def _listen(told: TextIO, orders: SimpleQueue[str]) -> None:
    for line in told:
        orders.put(line)
    os._exit(LEFT)

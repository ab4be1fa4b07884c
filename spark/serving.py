"""``python -m spark serve``: one Spark application that carries out what it is told, until nobody tells it any more.

Each line of standard input is an order, the arguments of ``python -m spark`` as a list in JSON. Each line of
standard output is the answer to one, ``{"code": 0, "said": "…"}``: the code that a process of its own would
have ended with, and its last word. When standard input ends it ends at once, in the middle of a job, too:
whoever started it has gone, what is not published yet never will be, and the next run makes it again.
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
    """``code``: as a process of its own would have ended. ``said``: what it has done, in JSON, or what was wrong."""

    code: int
    said: str


def serve(arguments: Sequence[str]) -> int:
    """The exit code, if it cannot begin."""
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
    """Carry out one order. Whatever goes wrong is an answer, too."""
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
    """Standard output, for answers alone: what Spark and others print there goes to standard error from now on."""
    own = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return own


def _listen(told: TextIO, orders: SimpleQueue[str]) -> None:
    for line in told:
        orders.put(line)
    os._exit(LEFT)

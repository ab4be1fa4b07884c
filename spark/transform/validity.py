"""Finds invalid reports, and the reasons. Pure; over Arrow tables whose texts are dictionaries."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hadash.lake.access import KINDS
from spark.transform.grouping import codes_of

#: How far a time may be in the future before it counts as wrong.
CLOCK_TOLERANCE = timedelta(hours=24)
#: The largest count in one report: larger ones would break the sums.
MOST = 2**53
#: Characters of a name, at most. Kafka has a lower limit for Topics (249) and none for client.ids.
LONGEST_NAME = 4000

NAMES = ("appid", "client_id", "kind", "resource", "cluster", "host", "library", "version")
NUMBERS = ("requests", "records", "bytes")

Truths = NDArray[np.bool_]


def wrong(reports: pa.Table, came_by: datetime) -> dict[str, Truths]:
    """Return, by reason, which rows have it. A row may have several reasons: the first one is reported.

    :param reports: the reports, with dictionary-encoded texts.
    :param came_by: the time by which all of them had arrived.
    """
    first, last = reports["first_seen"], reports["last_seen"]
    latest = pa.scalar(came_by + CLOCK_TOLERANCE, pa.timestamp("ms", tz="UTC"))
    numbers = [reports[name] for name in NUMBERS]
    return {
        "no AppID": _texts(reports["appid"], _is_empty, True),
        "no Topic or group": _texts(reports["resource"], _is_empty, True),
        "no cluster": _texts(reports["cluster"], _is_empty, True),
        "unknown kind": _texts(reports["kind"], lambda text: text not in KINDS, True),
        "name too long": _any(_texts(reports[name], _is_too_long, False) for name in NAMES),
        "negative number": _any(_truths(pc.less(number, 0)) for number in numbers),
        "impossible number": _any(_truths(pc.greater(number, MOST)) for number in numbers),
        "no time": _truths(pc.or_(pc.is_null(first), pc.is_null(last))),
        "ends before it begins": _truths(pc.less(last, first)),
        "from the future": _truths(pc.greater(last, latest)),
    }


def reasons_of(found: dict[str, Truths], rows: int) -> pa.Array:
    """Return the first reason of each row, or null."""
    places = np.full(rows, -1, np.int32)
    for number, holds in reversed(list(enumerate(found.values()))):
        places[holds] = number
    said = pa.DictionaryArray.from_arrays(pa.array(places, mask=places < 0), pa.array(list(found)))
    return said.cast(pa.string())


def _is_empty(text: str) -> bool:
    return not text.strip()


def _is_too_long(text: str) -> bool:
    return len(text) > LONGEST_NAME


def _texts(column: pa.ChunkedArray, holds: Callable[[str], bool], of_null: bool) -> Truths:
    """Return for each row whether ``holds`` is true of its text; it is called once for each different text."""
    codes, values = codes_of(column)
    answers = np.array([of_null, *(holds(text) for text in values.to_pylist())], bool)
    return answers[codes] if answers.any() else np.zeros(len(codes), bool)


def _truths(column: pa.ChunkedArray) -> Truths:
    """Return a comparison's results, with null (a compared value is missing) as ``False``."""
    return pc.fill_null(column, False).to_numpy()


def _any(parts: object) -> Truths:
    return np.logical_or.reduce(list(parts))  # type: ignore[call-overload]

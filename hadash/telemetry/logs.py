"""The logging of every process: text lines for people, or JSON for machines (``HADASH_LOG_FORMAT``), with the
ids of the current work.

In JSON each line is an object: ``time`` (RFC 3339, UTC), ``level``, ``logger``, ``message``, the ids of
:mod:`hadash.telemetry.ids`, ``trace`` and ``span`` where traces are made, ``process``, and ``exception`` with
    the traceback as one text.
"""

from __future__ import annotations

import logging
import logging.config
import os
import re
from typing import Any

from hadash.telemetry import ids

LINE, JSON = "line", "json"
FORMATS = (LINE, JSON)

#: The levels of loggers that would otherwise write too much.
LEVELS = {
    "axes": "ERROR",  # the audit log has its messages, permanently
    "kazoo": "WARNING",
    "kafka": "CRITICAL",  # callers report connection failures
    "httpx": "WARNING",
    "django.server": "WARNING",
    "uvicorn.access": "WARNING",  # hadash.requests has a line for each request, with its ids
}


_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def printable(text: str) -> str:
    """Escape control characters: data from outside are logged, too, and must not fake another line.

    >>> printable("订单\\nERROR")
    '订单\\\\nERROR'
    """
    return _CONTROL.sub(lambda found: repr(found.group())[1:-1], text)


class WithIds(logging.Filter):
    """Adds the ids to every record: as fields for JSON, and as ``told`` for the end of a text line."""

    def filter(self, record: logging.LogRecord) -> bool:
        from hadash.telemetry import tracing

        found = {name: printable(value) for name, value in (ids.current() | tracing.current()).items()}
        record.ids = found
        shown = " ".join(f"{name}={value}" for name, value in found.items() if name != "span")
        record.told = f" [{shown}]" if shown else ""
        return True


def begin(*, prefix: str = "") -> None:
    """Configure the logging of a process without Django, as ``HADASH_LOG_FORMAT`` and ``HADASH_LOG_LEVEL`` say.

    :param prefix: see :func:`configuration`. :raises ValueError: a variable is wrong; the message names it.
    """
    format, level = os.environ.get("HADASH_LOG_FORMAT", LINE), os.environ.get("HADASH_LOG_LEVEL", "INFO")
    logging.config.dictConfig(configuration(format.strip().lower(), level.strip().upper(), prefix=prefix))


def configuration(format: str, level: str, *, prefix: str = "") -> dict[str, Any]:
    """Return the configuration for :func:`logging.config.dictConfig`, and for Django's ``LOGGING``.

    :param prefix: is added before the message of text lines, to tell several processes of one name apart.
    :raises ValueError: a value is not valid; the message names the variable.
    """
    if format not in FORMATS:
        raise ValueError(f"HADASH_LOG_FORMAT={format!r}: choose {' or '.join(FORMATS)}.")
    if level not in logging.getLevelNamesMapping():
        raise ValueError(f"HADASH_LOG_LEVEL={level!r}: choose DEBUG, INFO, WARNING or ERROR.")
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"ids": {"()": "hadash.telemetry.logs.WithIds"}},
        "formatters": {
            LINE: {"format": f"%(asctime)s %(levelname)s %(name)s{prefix}: %(message)s%(told)s"},
            JSON: {"()": "hadash.telemetry.json_lines.JsonLines"},
        },
        "handlers": {
            "console": {"class": "logging.StreamHandler", "formatter": format, "filters": ["ids"]},
        },
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            **{name: {"level": above} for name, above in LEVELS.items()},
            # uvicorn's own handlers do not add ids.
            "uvicorn": {"handlers": ["console"], "propagate": False},
        },
    }

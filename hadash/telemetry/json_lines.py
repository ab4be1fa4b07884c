"""Formats each log record as one JSON object. It is a separate module, so that processes with text logs do not
load it.
"""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter


class JsonLines(JsonFormatter):
    """The formatter for JSON; :mod:`hadash.telemetry.logs` describes the fields."""

    def __init__(self) -> None:
        super().__init__(json_ensure_ascii=False)

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        at = datetime.fromtimestamp(record.created, UTC)
        log_data |= {
            "time": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            "process": record.process,
            **getattr(record, "ids", {}),
            **getattr(record, "fields", {}),
        }
        exception = message_dict.get("exc_info")
        if exception:
            log_data["exception"] = exception

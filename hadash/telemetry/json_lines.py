"""One JSON object for each log record; a module of its own, so that who logs lines for people does not load it."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any

from pythonjsonlogger.json import JsonFormatter


class JsonLines(JsonFormatter):
    """See :mod:`hadash.telemetry.logs` for the fields."""

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

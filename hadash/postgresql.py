"""Connection options for PostgreSQL."""

from __future__ import annotations

from typing import Any

#: The share of the silent seconds that passes before the first keepalive probe, and the number of probes after it.
_BEFORE_ASKING, _QUESTIONS = 0.5, 3


def ending_in_silence(options: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Return libpq options with which both sides close a connection whose other side is silent.

    A machine that loses its power or its network does not close its connections: PostgreSQL would keep the locks
    of its sessions.

    :param options: the options of ``DATABASE_URL``; they take precedence. :param seconds: of silence, at least 4.
    """
    idle = max(1, round(seconds * _BEFORE_ASKING))
    interval = max(1, round((seconds - idle) / _QUESTIONS))
    ours = {
        "keepalives_idle": idle,
        "keepalives_interval": interval,
        "keepalives_count": _QUESTIONS,
        # For data that was sent and is not acknowledged: keepalive probes do not end such a connection.
        "tcp_user_timeout": round(seconds * 1000),
    }
    theirs = {
        "tcp_keepalives_idle": idle,
        "tcp_keepalives_interval": interval,
        "tcp_keepalives_count": _QUESTIONS,
        "tcp_user_timeout": round(seconds * 1000),
    }
    said = " ".join(f"-c {name}={value}" for name, value in theirs.items())
    return {**ours, **options, "options": f"{said} {options.get('options', '')}".strip()}

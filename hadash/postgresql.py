"""How hadash connects to PostgreSQL."""

from __future__ import annotations

from typing import Any

#: Of the seconds of silence, the share before the first question whether the other side is there; and how
#: many such questions follow.
_BEFORE_ASKING, _QUESTIONS = 0.5, 3


def ending_in_silence(options: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Options of a connection (libpq's) with which both sides give it up when the other one is silent.

    A machine that loses its power or its network says no good-bye: PostgreSQL would keep what its session has locked.

    :param options: what ``DATABASE_URL`` says; that goes before. :param seconds: of silence, at least 4.
    """
    idle = max(1, round(seconds * _BEFORE_ASKING))
    interval = max(1, round((seconds - idle) / _QUESTIONS))
    ours = {
        "keepalives_idle": idle,
        "keepalives_interval": interval,
        "keepalives_count": _QUESTIONS,
        # What was sent and is not confirmed: asking whether it is there does not end that.
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

"""Query parameters of the lists of requests, and of their logs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework import serializers as s

#: Most lines of a log in one answer; ``after`` gets the next ones.
LOG_LINES = 500


class InboxQuery(s.Serializer):
    """``?inbox=waiting&pair=east-west``."""

    inbox = s.ChoiceField(
        ["all", "waiting", "mine"], default="all", help_text="Those that wait for you, or that you requested."
    )
    pair = s.SlugField(max_length=40, required=False)


class LogQuery(s.Serializer):
    after = s.IntegerField(min_value=0, max_value=2**62, default=0, help_text="Only lines with larger ids.")


def inbox(
    user: Any,
    asked: dict[str, Any],
    everything: Callable[[Any], Any],
    waiting_for: Callable[[Any], Any],
    *same: str,
) -> Any:
    """Return the rows that match ``asked`` (an :class:`InboxQuery`).

    :param everything: returns the rows that a user may see.
    :param waiting_for: returns the rows that wait for a user.
    :param same: columns that are filtered by the values of the same name in ``asked``, where it has them.
    """
    found = waiting_for(user) if asked["inbox"] == "waiting" else everything(user)
    if asked["inbox"] == "mine":
        found = found.filter(requested_by=user)
    if "pair" in asked:
        found = found.filter(pair__name=asked["pair"])
    return found.filter(**{name: asked[name] for name in same if name in asked})

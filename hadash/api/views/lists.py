"""Lists of what was asked for, and the log of one: what they can be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rest_framework import serializers as s

#: Lines of a log that are answered at once; ``after`` has the next ones.
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
    """The rows that ``asked`` (an :class:`InboxQuery`) wants.

    :param everything: the rows that a user may see. :param waiting_for: those that wait for a user.
    :param same: columns besides the pair that are to hold what was asked, if it was.
    """
    found = waiting_for(user) if asked["inbox"] == "waiting" else everything(user)
    if asked["inbox"] == "mine":
        found = found.filter(requested_by=user)
    if "pair" in asked:
        found = found.filter(pair__name=asked["pair"])
    return found.filter(**{name: asked[name] for name in same if name in asked})

"""A message to a channel as JSON: stored when it is queued, converted to the channel's format when it is sent.
Pure.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from hadash.notices.payloads import Item, Message


def message_to_json(message: Message) -> dict[str, Any]:
    """Return a message as JSON.

    >>> message_from_json(message_to_json(Message("one", []))) == Message("one", [])
    True
    """
    items = [{**asdict(item), "at": item.at.isoformat()} for item in message.items]
    return {"title": message.title, "items": items, "more": message.more}


def message_from_json(kept: dict[str, Any]) -> Message:
    items = [Item(**{**each, "at": datetime.fromisoformat(each["at"])}) for each in kept["items"]]
    return Message(kept["title"], items, kept["more"])

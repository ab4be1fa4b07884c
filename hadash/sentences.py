"""Sentences of the engine, written once: logs, pages, the API and tests share them.

A sentence is an English template and its values. Templates are translated where they are shown, so a log that a
worker wrote reads in the language of its reader.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Sentence:
    """A template and its values. ``text`` has named places such as ``%(epoch)s`` and is the key of its translation."""

    text: str
    values: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The English sentence.

        >>> str(say("Waiting for %(gateway)s.", gateway="gateway-2"))
        'Waiting for gateway-2.'
        """
        return fill(self.text, self.values)

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "values": dict(self.values)}

    @classmethod
    def from_json(cls, value: Any) -> Sentence:
        """The sentence that :meth:`to_json` wrote; any other value becomes a sentence of its text, without places."""
        if isinstance(value, dict) and isinstance(value.get("text"), str):
            values = value.get("values")
            return cls(value["text"], values if isinstance(values, dict) else {})
        return cls("%(text)s", {"text": str(value or "")})


def say(text: str, /, **values: Any) -> Sentence:
    """A sentence: ``say("Epoch %(epoch)s is in effect.", epoch=7)``. Values are texts, numbers or lists of them."""
    return Sentence(text, {name: _plain(value) for name, value in values.items()})


def fill(text: str, values: Mapping[str, Any]) -> str:
    """``text`` with its places filled, or ``text`` itself when its values do not fit."""
    shown = {n: ", ".join(map(str, v)) if isinstance(v, (list, tuple)) else v for n, v in values.items()}
    try:
        return text % shown
    except (KeyError, ValueError, TypeError, OverflowError):
        return text


def _plain(value: Any) -> Any:
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    return str(value)

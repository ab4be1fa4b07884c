"""How pages show a state: its word and its look, in one row with its value.

There are five looks: fine, waiting, bad, unknown (hatched) and off (ended, neither good nor bad). None of them is
blue or orange: those two hues say which cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

E = TypeVar("E", bound=StrEnum)


class Look(StrEnum):
    """How a state looks: a class of the style sheet."""

    FINE = "fine"
    WAITING = "waiting"
    BAD = "bad"
    UNKNOWN = "unknown"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Shown:
    """How people see one state.

    ``label``: in the reader's language, lazily. ``icon``: the id of a symbol in ``parts/icons.html``.
    """

    label: Any
    look: Look
    icon: str


def choices(shown: Mapping[E, Shown]) -> list[tuple[str, Any]]:
    """The choices of a Django field.

    >>> class Light(StrEnum):
    ...     ON = "on"
    >>> choices({Light.ON: Shown("shining", Look.FINE, "fine")})
    [('on', 'shining')]
    """
    return [(value.value, each.label) for value, each in shown.items()]

"""What is said of a whole pool of consumers: its strategy, whether it is stopped, and who is isolated. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from hadash.coordinator.documents import parsed, unreadable
from hadash.coordinator.strategies import STRATEGIES

#: The strategy of a pool that names none: it moves as little as it can.
DEFAULT_STRATEGY = "sticky"


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """The settings of a pool.

    :param strategy: one of :data:`hadash.coordinator.strategies.STRATEGIES`.
    :param shadow: a strategy whose outcome is only compared with what is; empty for none.
    :param is_stopped: no member reads anything; ``by`` and ``reason`` say who stopped them, and why.
    """

    strategy: str = DEFAULT_STRATEGY
    shadow: str = ""
    is_stopped: bool = False
    by: str = ""
    reason: str = ""

    def to_bytes(self) -> bytes:
        return json.dumps(
            {
                "strategy": self.strategy,
                "shadow": self.shadow,
                "stopped": self.is_stopped,
                "by": self.by,
                "reason": self.reason,
            },
            ensure_ascii=False,
        ).encode()

    @classmethod
    def parse(cls, path: str, value: bytes) -> PoolSettings:
        """Parse the content of a node; an empty one has the defaults.

        :raises DocumentError: it cannot be read, or names a strategy that there is not.
        """
        if not value:
            return cls()
        found = parsed(path, value)
        strategy, shadow = found.get("strategy", DEFAULT_STRATEGY), found.get("shadow", "")
        if strategy not in STRATEGIES:
            raise unreadable(path, "strategy")
        if shadow and shadow not in STRATEGIES:
            raise unreadable(path, "shadow")
        is_stopped = found.get("stopped", False)
        if not isinstance(is_stopped, bool):
            raise unreadable(path, "stopped")
        return cls(strategy, shadow, is_stopped, _text(found, "by"), _text(found, "reason"))


@dataclass(frozen=True, slots=True)
class Isolation:
    """A member that a person has isolated: it gets no partition, and is to read none.

    :param is_ending: the member may come back. It ends the isolation itself, as soon as it reads nothing.
    """

    by: str = ""
    reason: str = ""
    is_ending: bool = False

    def to_bytes(self) -> bytes:
        return json.dumps(
            {"by": self.by, "reason": self.reason, "ending": self.is_ending}, ensure_ascii=False
        ).encode()

    @classmethod
    def parse(cls, value: bytes) -> Isolation:
        """Parse the content of a node. Whatever it is, the member is isolated: only a readable one may end."""
        try:
            found = json.loads(value or b"{}")
        except ValueError:
            found = None
        if not isinstance(found, dict):
            return cls()
        return cls(_text(found, "by"), _text(found, "reason"), found.get("ending") is True)


def _text(found: dict[str, Any], name: str) -> str:
    return str(found.get(name, ""))

"""Why something is not done: what was asked for is not possible, or not now."""

from __future__ import annotations

from hadash.sentences import Sentence


class Refused(Exception):
    """What was asked for is not possible. ``reasons`` are for the person who asked."""

    def __init__(self, *reasons: Sentence) -> None:
        super().__init__(" ".join(str(reason) for reason in reasons))
        self.reasons = list(reasons)


class Busy(Refused):
    """Another switch holds part of what was asked for: later it may be possible."""


class BeingWritten(Busy):
    """A worker writes bindings of what was asked for: in a moment it is possible."""


class PlanChanged(Refused):
    """What somebody saw and agreed to is not what would be done now."""


class EnginesAway(Refused):
    """ZooKeeper, a Gateway, a cluster or Connect does not answer: nothing was changed."""

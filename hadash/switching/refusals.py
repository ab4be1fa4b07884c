"""Why something is not done: what was asked for is not possible, or not now."""

from __future__ import annotations

from hadash.refusals import Refused


class Busy(Refused):
    """Another switch holds part of what was asked for: later it may be possible."""


class BeingWritten(Busy):
    """A worker writes bindings of what was asked for: in a moment it is possible."""


class PlanChanged(Refused):
    """What somebody saw and agreed to is not what would be done now."""


class EnginesAway(Refused):
    """ZooKeeper, a Gateway, a cluster or Connect does not answer: nothing was changed."""

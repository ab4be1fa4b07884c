"""Why a request is refused: it is not possible, or not now."""

from __future__ import annotations

from hadash.refusals import Refused


class Busy(Refused):
    """Another switch holds part of what was asked for; it may be possible later."""


class BeingWritten(Busy):
    """A worker is writing bindings of what was asked for; it will be possible in a moment."""


class PlanChanged(Refused):
    """The plan that a person saw and agreed to is not the one that would be carried out now."""


class EnginesAway(Refused):
    """ZooKeeper, a Gateway, a cluster or Connect does not answer. Nothing was changed."""

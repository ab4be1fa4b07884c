"""The tables. Django finds them here; all other code imports them from their own modules."""

from hadash.governance.models.findings import Acceptance, Finding
from hadash.governance.models.posture import Posture
from hadash.governance.models.published import (
    AdviceStep,
    Coverage,
    CoverageCell,
    Edge,
    Found,
    Island,
    LagDay,
    Mark,
    Node,
    SharedBy,
    Sharing,
)
from hadash.governance.models.runs import Run

__all__ = [
    "Acceptance",
    "AdviceStep",
    "Coverage",
    "CoverageCell",
    "Edge",
    "Finding",
    "Found",
    "Island",
    "LagDay",
    "Mark",
    "Node",
    "Posture",
    "Run",
    "SharedBy",
    "Sharing",
]

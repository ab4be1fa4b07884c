"""The tables. Django finds them here; all other code imports them from their own modules."""

from hadash.switching.models.batches import Batch, BatchApproval, BatchEvent, BatchItem
from hadash.switching.models.binding_changes import BindingApproval, BindingChange
from hadash.switching.models.drafts import RequestDraft
from hadash.switching.models.handovers import HandoverCount
from hadash.switching.models.policies import Blackout, Policy
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Approval, StageRecord, Switch, SwitchEvent
from hadash.switching.models.unreplicated import Unreplicated

__all__ = [
    "Approval",
    "Batch",
    "BatchApproval",
    "BatchEvent",
    "BatchItem",
    "BindingApproval",
    "BindingChange",
    "Blackout",
    "HandoverCount",
    "Policy",
    "RequestDraft",
    "Retirement",
    "StageRecord",
    "Switch",
    "SwitchEvent",
    "Unreplicated",
]

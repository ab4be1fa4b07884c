"""Serializers of plans and switches."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import serializers as s

from hadash.api.fields import Text
from hadash.api.serializers.common import (
    MAX_RESOURCE,
    MAX_TEXT,
    MAX_TOPICS,
    DecisionSerializer,
    MovedSerializer,
    MoveRequest,
    ReasonRequest,
    SeenRequest,
    WindowRequest,
    words,
)
from hadash.governance.catalogue import Severity
from hadash.governance.findings import RULES
from hadash.identity.names import MAX_NAME_LENGTH
from hadash.radius.closure import Dimension
from hadash.radius.scope import Scope, ScopeKind, node_named
from hadash.switching.machines.retirements import Status as RetirementStatus
from hadash.switching.machines.switches import KINDS, Kind, Status
from hadash.switching.models.switches import StageRecord
from hadash.switching.previews import Checks


class ScopeSerializer(s.Serializer):
    """What is to move: an AppID, one of its InstanceIDs, some Topics, several of them together, or everything that
    is on the other cluster.
    """

    kind = s.ChoiceField(words(ScopeKind))
    appid = Text(max_length=MAX_NAME_LENGTH, required=False, default="", allow_blank=True)
    instance_id = Text(max_length=MAX_NAME_LENGTH, required=False, default="", allow_blank=True)
    topics = s.ListField(
        child=Text(max_length=MAX_RESOURCE), max_length=MAX_TOPICS, required=False, default=list
    )
    dimension = s.ChoiceField(
        words(Dimension),
        default=Dimension.INSTANCE.value,
        help_text="Whether InstanceIDs move by themselves, or AppIDs always as a whole.",
    )
    widen = s.BooleanField(
        default=False, help_text="Whether clients without an InstanceID take their whole AppID along."
    )

    roots = s.ListField(
        child=Text(max_length=3 * (2 * MAX_NAME_LENGTH + MAX_RESOURCE)),
        max_length=MAX_TOPICS,
        required=False,
        default=list,
        help_text="Of “several”: what moves together, as a batch lists it (appid:shop, instance:shop+web, "
        "topic:orders).",
    )

    def validate_roots(self, value: list[str]) -> list[str]:
        for key in value:
            try:
                node_named(key)
            except ValueError:
                raise s.ValidationError(_("%(key)s names nothing that moves.") % {"key": key}) from None
        return value

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        needed = {
            ScopeKind.APPID: ("appid",),
            ScopeKind.INSTANCE: ("appid", "instance_id"),
            ScopeKind.TOPICS: ("topics",),
            ScopeKind.PAIR: (),
            ScopeKind.SEVERAL: ("roots",),
        }[ScopeKind(attrs["kind"])]
        faults = {name: [_("Needed for this kind.")] for name in needed if not attrs[name]}
        faults |= {
            name: [_("Not for this kind.")]
            for name in ("appid", "instance_id", "topics", "roots")
            if attrs[name] and name not in needed
        }
        if faults:
            raise s.ValidationError(faults)
        return attrs


def scope_of(values: dict[str, Any]) -> Scope:
    """Return the scope from values that :class:`ScopeSerializer` has validated."""
    return Scope.from_json({**values, "topics": sorted(set(values["topics"]))})


class PlanRequest(MoveRequest):
    scope = ScopeSerializer()
    kind = s.ChoiceField(
        words(Kind),
        default=Kind.PLANNED.value,
        help_text=" ".join(f"`{kind}`: {spec.choice}." for kind, spec in KINDS.items()),
    )

    restores = s.SlugField(
        max_length=20,
        required=False,
        default="",
        allow_blank=True,
        help_text="Of a restore: the key of the switch that it goes back from, with its scope and source.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if attrs["restores"] and not Kind(attrs["kind"]).spec.goes_back:
            raise s.ValidationError({"restores": [_("Not for this kind.")]})
        return attrs


class SwitchRequest(PlanRequest, WindowRequest):
    reason = Text(max_length=MAX_TEXT)
    retire_after_days = s.IntegerField(
        required=False,
        min_value=settings.RETIREMENT_MIN_DAYS,
        max_value=settings.RETIREMENT_MAX_DAYS,
        help_text="Of a migration: days from its success until the mirror and the old Topics are deleted; "
        f"{settings.RETIREMENT_DAYS} when nothing is said.",
    )
    pause_after_precheck = s.BooleanField(
        default=False,
        help_text="Pause when all checks hold, until somebody resumes it; not for what runs at once.",
    )
    confirm = Text(
        max_length=40,
        required=False,
        default="",
        allow_blank=True,
        help_text="The name of a cluster once more, of "
        + ", ".join(f"`{kind}` the {spec.confirm}'s" for kind, spec in KINDS.items() if spec.confirm)
        + ".",
    )
    plan_digest = Text(
        max_length=40,
        required=False,
        default="",
        allow_blank=True,
        help_text="Of the plan that was shown: when it is another one by now, nothing is requested (412).",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        spec = Kind(attrs["kind"]).spec
        unfit = ["start_at"] if spec.at_once else []
        unfit += [] if spec.may_pause else ["pause_after_precheck"]
        unfit += [] if spec.removes_old_topics else ["retire_after_days"]
        for name in unfit:
            if attrs.get(name):
                raise s.ValidationError({name: [_("Not for this kind.")]})
        if Kind(attrs["kind"]).spec.goes_back and not attrs["restores"]:
            raise s.ValidationError({"restores": [_("Needed for this kind.")]})
        return attrs


class ApprovalRequest(SeenRequest):
    plan_digest = Text(max_length=40, help_text="Of the plan that is approved.")


class PostponeRequest(ReasonRequest):
    days = s.IntegerField(min_value=settings.RETIREMENT_MIN_DAYS, max_value=settings.RETIREMENT_MAX_DAYS)


class AbandonRequest(ReasonRequest):
    confirm = Text(max_length=40, help_text="The target once more: it is lost.")


class RetireRequest(s.Serializer):
    confirm = Text(max_length=40, help_text="The old cluster's name: its Topics are deleted there.")


class PoolTopicSerializer(s.Serializer):
    pool = Text()
    topic = Text()
    group = Text(help_text="The consumer group in which the pool's members commit.")


class PlanSerializer(s.Serializer):
    pair = Text()
    scope = ScopeSerializer()
    source = Text()
    target = Text()
    identities = s.ListField(child=Text(), help_text="Whose bindings are written.")
    topics = s.ListField(child=Text())
    groups = s.ListField(child=Text())
    mirrors = s.ListField(child=Text())
    pools = PoolTopicSerializer(
        many=True, help_text="What consumer pools read of the Topics: their members move."
    )


class MemberSerializer(s.Serializer):
    kind = Text()
    name = Text()
    why = Text()
    already = s.BooleanField(help_text="It is on the target already.")
    chain = s.ListField(child=Text(), help_text="From what was asked for to this member.")
    mirrors = s.ListField(
        child=Text(), allow_null=True, help_text="Of a Topic: those of this plan that carry it; else null."
    )
    last_seen = s.DateTimeField(
        allow_null=True, help_text="When it was last used; null: not within the access window, or a Topic."
    )


class UseSerializer(s.Serializer):
    appid = Text()
    client_id = Text(allow_blank=True)
    kind = Text()
    resource = Text()


class FindingSerializer(s.Serializer):
    code = s.ChoiceField(words(RULES))
    severity = s.ChoiceField(words(Severity))
    stops = s.BooleanField(help_text="Whether it is among the blockers, by the rules of the pair.")
    who = s.ListField(child=Text())
    sentence = Text()


class HolderSerializer(s.Serializer):
    kind = s.ChoiceField(["switch", "batch"])
    key = Text()


class ProposalSerializer(s.Serializer):
    kind = s.ChoiceField(words(Kind))
    plan = PlanSerializer()
    plan_digest = Text()
    whole = s.BooleanField(
        help_text="Whether the plan has all that would move. Else more AppIDs hang together than one "
        "switch can move, as the "
        "blockers say, and the plan has those that are nearest to what was asked for."
    )
    checks = s.ChoiceField(
        words(Checks),
        help_text="What became of the checks of servers, Gateways, mirrors, Topics, groups and users, "
        "which a request is "
        "refused for, too. Not made: the plan has blockers already. Unknown: something does not answer, which is among "
        "the blockers.",
    )
    blockers = s.ListField(
        child=Text(),
        help_text="Why it cannot be carried out; empty when it can, unless something holds part of it. All that stand "
        "against the plan; of the checks the first one that fails, because they stop there.",
    )
    uncovered = UseSerializer(many=True, help_text="Clients without an InstanceID that would stay behind.")
    findings = FindingSerializer(many=True, help_text="What rules say about the clients, the gravest first.")
    members = MemberSerializer(many=True, help_text="Nearest first; at most 200.")
    held_by = HolderSerializer(allow_null=True, help_text="What is open and holds part of it.")
    expected_pause_seconds = s.FloatField(
        help_text="How long those who move will wait; nobody who writes waits for a read split."
    )
    records_at_risk = s.IntegerField(allow_null=True, help_text="Not yet in the mirror; null when not known.")


class SwitchSerializer(MovedSerializer):
    kind = s.ChoiceField(words(Kind))
    scope = ScopeSerializer()
    restores = Text(allow_null=True, help_text="Of a restore: the key of the switch that it goes back from.")
    status = s.ChoiceField(words(Status))
    stage = Text(allow_blank=True)
    plan_digest = Text()


class StageSerializer(s.Serializer):
    stage = Text()
    phase = Text()
    result = s.ChoiceField(StageRecord.Result.values)
    started_at = s.DateTimeField()
    ended_at = s.DateTimeField(allow_null=True)
    seconds = s.FloatField(allow_null=True)
    sentence = Text(allow_blank=True)


class LossSerializer(s.Serializer):
    records = s.IntegerField(help_text="That the source was seen to hold and the target had not.")
    seen = s.FloatField(allow_null=True, help_text="How many seconds before that the source was seen.")


class UnreplicatedPartitionSerializer(s.Serializer):
    topic = Text()
    partition = s.IntegerField()
    first = s.IntegerField(help_text="The first offset that was not mirrored.")
    end = s.IntegerField()
    records = s.IntegerField()


class UnreplicatedRecordsSerializer(s.Serializer):
    status = Text()
    records = s.IntegerField()
    deleted = s.IntegerField(
        help_text="Records that were reported and are deleted: their mirrors are rebuilt."
    )
    gone = s.ListField(
        child=Text(),
        help_text="Topics that the source has lost for good: nobody can count what was not mirrored of them.",
    )
    partitions = UnreplicatedPartitionSerializer(many=True)
    reported_at = s.DateTimeField(allow_null=True)
    fault = Text(allow_blank=True)
    note = Text(allow_blank=True)


class RebuildRequest(s.Serializer):
    confirm = Text(max_length=40, help_text="The cluster whose Topics are deleted and made again, once more.")
    note = Text(max_length=MAX_TEXT, help_text="What became of the records that were never mirrored.")


class RetirementSerializer(s.Serializer):
    """The removal of the mirror and the old Topics after a migration."""

    status = s.ChoiceField(words(RetirementStatus))
    due_at = s.DateTimeField(help_text="When they are deleted by themselves, while it is waiting.")
    postponed = s.IntegerField(help_text="How often it was postponed.")
    outcome = Text(allow_blank=True)
    removed = s.ListField(child=Text(), help_text="What is gone already: mirrors, groups, topics, denials.")
    decided_by = Text(allow_null=True)
    done_at = s.DateTimeField(allow_null=True)


class WholeSwitchSerializer(SwitchSerializer, DecisionSerializer):
    plan = PlanSerializer()
    retire_after_days = s.IntegerField(
        allow_null=True, help_text="Of a migration: days from its success until the old Topics are deleted."
    )
    retirement = RetirementSerializer(allow_null=True, help_text="Of a migration that has succeeded.")
    pause_after_precheck = s.BooleanField(
        help_text="Whether it pauses when all checks hold, until somebody resumes it."
    )
    to_be_reviewed = s.BooleanField(help_text="An emergency that nobody else has looked at yet.")
    reviewed_by = Text(allow_null=True)
    review_note = Text(allow_blank=True)
    loss = LossSerializer(allow_null=True, help_text="Of a forced switch that was assessed.")
    unreplicated = UnreplicatedRecordsSerializer(
        allow_null=True, help_text="Of a forced switch: what its source held beyond the mirror."
    )
    scope_back = ScopeSerializer(help_text="What a restore of it takes back.")
    restored_by = s.ListField(child=Text(), help_text="Keys of the restores that were requested of it.")
    abort_requested = s.BooleanField()
    blocked = s.BooleanField(help_text="Whether clients wait at this moment.")
    refused_seconds = s.FloatField(allow_null=True, help_text="RTO: for how long writes were refused.")
    stages = StageSerializer(many=True)


class LogLineSerializer(s.Serializer):
    id = s.IntegerField()
    at = s.DateTimeField()
    actor = Text()
    stage = Text(allow_blank=True)
    sentence = Text()

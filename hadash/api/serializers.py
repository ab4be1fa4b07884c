"""The shapes of what is sent and answered. The OpenAPI document is made of them; what is allowed is decided by the services.

Clusters, pairs and people are named by their unique names, switches by their keys, AppIDs by their numbers (their names may
hold any character).
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import serializers as s

from hadash.accounts.roles import ROLES, SCOPES
from hadash.governance.findings import Code, Severity
from hadash.identity.names import MAX_NAME_LENGTH
from hadash.inventory.models import Access
from hadash.switching.closure import Dimension
from hadash.switching.machine import AT_ONCE, Kind, Status
from hadash.switching.models import POLICY_FIELDS, Policy, StageRecord
from hadash.switching.plan import Scope, ScopeKind, thing_named
from hadash.switching.retirement.machine import Status as RetirementStatus

#: Topics of one scope: more are "everything".
MAX_TOPICS = 1000

#: Characters of a reason or a note.
MAX_TEXT = 2000

#: Characters of a Topic or group name, as Kafka has them.
MAX_RESOURCE = 255


def _words(kind: Any) -> list[str]:
    return [each.value for each in kind]


# -- what is asked for ----------------------------------------------------------------------------------------------


class ScopeShape(s.Serializer):
    """What is to move: an AppID, one InstanceID of it, some Topics, or everything that is on the other cluster."""

    kind = s.ChoiceField(_words(ScopeKind))
    appid = s.CharField(max_length=MAX_NAME_LENGTH, required=False, default="", allow_blank=True)
    instance_id = s.CharField(max_length=MAX_NAME_LENGTH, required=False, default="", allow_blank=True)
    topics = s.ListField(
        child=s.CharField(max_length=MAX_RESOURCE), max_length=MAX_TOPICS, required=False, default=list
    )
    dimension = s.ChoiceField(
        _words(Dimension),
        default=Dimension.INSTANCE.value,
        help_text="Whether InstanceIDs move by themselves, or AppIDs always as a whole.",
    )
    widen = s.BooleanField(
        default=False, help_text="Whether clients without an InstanceID take their whole AppID along."
    )

    roots = s.ListField(
        child=s.CharField(max_length=3 * (2 * MAX_NAME_LENGTH + MAX_RESOURCE)),
        max_length=MAX_TOPICS,
        required=False,
        default=list,
        help_text="Of “several”: what moves together, as a batch lists it (appid:shop, instance:shop+web, topic:orders).",
    )

    def validate_roots(self, value: list[str]) -> list[str]:
        for key in value:
            try:
                thing_named(key)
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
    """The scope that :class:`ScopeShape` has validated."""
    return Scope.from_json({**values, "topics": sorted(set(values["topics"]))})


class PlanRequest(s.Serializer):
    pair = s.SlugField(max_length=40)
    scope = ScopeShape()
    target = s.SlugField(max_length=40, help_text="The cluster that everything moves to.")
    kind = s.ChoiceField(
        _words(Kind),
        default=Kind.PLANNED.value,
        help_text="A rehearsal touches no client; an emergency runs at once and is reviewed afterwards; a restore goes back "
        "from one switch; a migration deletes the old Topics after a term; "
        "a read split moves consumers only, to the mirror or home from it; a forced switch goes without the source, which is lost.",
    )


class SwitchRequest(PlanRequest):
    reason = s.CharField(max_length=MAX_TEXT)
    restores = s.SlugField(
        max_length=20,
        required=False,
        default="",
        allow_blank=True,
        help_text="Of a restore: the key of the switch that it goes back from, with its scope and source.",
    )
    retire_after_days = s.IntegerField(
        required=False,
        min_value=settings.RETIREMENT_MIN_DAYS,
        max_value=settings.RETIREMENT_MAX_DAYS,
        help_text="Of a migration: days from its success until the mirror and the old Topics are deleted; "
        f"{settings.RETIREMENT_DAYS} when nothing is said.",
    )
    ask_for_go = s.BooleanField(
        default=False, help_text="Wait for a go when all checks hold; not for what runs at once."
    )
    confirm = s.CharField(
        max_length=40,
        required=False,
        default="",
        allow_blank=True,
        help_text="Of an emergency: the target once more; of a forced switch: the cluster that is lost.",
    )
    plan_digest = s.CharField(
        max_length=40,
        required=False,
        default="",
        allow_blank=True,
        help_text="Of the plan that was shown: when it is another one by now, nothing is requested (412).",
    )
    start_at = s.DateTimeField(
        required=False, help_text="From when it may start; without it as soon as it is approved."
    )
    start_until = s.DateTimeField(required=False, help_text="Until when it may start: later it is dropped.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("start_at" in attrs) != ("start_until" in attrs):
            missing = "start_until" if "start_at" in attrs else "start_at"
            raise s.ValidationError({missing: [_("A window has a beginning and an end.")]})
        unfit = ["start_at", "ask_for_go"] if attrs["kind"] in AT_ONCE else []
        unfit += ["restores"] if attrs["kind"] != Kind.RESTORE else []
        unfit += ["retire_after_days"] if attrs["kind"] != Kind.MIGRATION else []
        for name in unfit:
            if attrs.get(name):
                raise s.ValidationError({name: [_("Not for this kind.")]})
        if attrs["kind"] == Kind.RESTORE and not attrs["restores"]:
            raise s.ValidationError({"restores": [_("Needed for this kind.")]})
        return attrs


class ApprovalRequest(s.Serializer):
    plan_digest = s.CharField(max_length=40, help_text="Of the plan that is approved.")
    approvals = s.IntegerField(
        required=False,
        min_value=0,
        max_value=99,
        help_text="How many approvals were seen: 412 if there are others now.",
    )


class ReasonRequest(s.Serializer):
    reason = s.CharField(max_length=MAX_TEXT)


class PutOffRequest(ReasonRequest):
    days = s.IntegerField(min_value=settings.RETIREMENT_MIN_DAYS, max_value=settings.RETIREMENT_MAX_DAYS)


class RetireRequest(s.Serializer):
    confirm = s.CharField(max_length=40, help_text="The old cluster's name: its Topics are deleted there.")


class CommentRequest(s.Serializer):
    text = s.CharField(max_length=MAX_TEXT)


class NothingRequest(s.Serializer):
    """No fields."""


# -- plans ----------------------------------------------------------------------------------------------------------


class PlanShape(s.Serializer):
    pair = s.CharField()
    scope = ScopeShape()
    source = s.CharField()
    target = s.CharField()
    identities = s.ListField(child=s.CharField(), help_text="Whose bindings are written.")
    topics = s.ListField(child=s.CharField())
    groups = s.ListField(child=s.CharField())
    mirrors = s.ListField(child=s.CharField())


class MemberShape(s.Serializer):
    kind = s.CharField()
    name = s.CharField()
    why = s.CharField()
    already = s.BooleanField(help_text="It is on the target already.")
    chain = s.ListField(child=s.CharField(), help_text="From what was asked for to this member.")


class UseShape(s.Serializer):
    appid = s.CharField()
    client_id = s.CharField(allow_blank=True)
    kind = s.CharField()
    resource = s.CharField()


class FindingShape(s.Serializer):
    code = s.ChoiceField(_words(Code))
    severity = s.ChoiceField(_words(Severity))
    stops = s.BooleanField(help_text="Whether it is among the objections, by the rules of the pair.")
    who = s.ListField(child=s.CharField())
    sentence = s.CharField()


class DraftShape(s.Serializer):
    kind = s.ChoiceField(_words(Kind))
    plan = PlanShape()
    plan_digest = s.CharField()
    objections = s.ListField(
        child=s.CharField(), help_text="Why it cannot be carried out; empty when it can."
    )
    uncovered = UseShape(many=True, help_text="Clients without an InstanceID that would stay behind.")
    findings = FindingShape(many=True, help_text="What rules say about the clients, the gravest first.")
    members = MemberShape(many=True, help_text="Nearest first; at most 200.")
    held_by = s.CharField(allow_null=True, help_text="Key of the open switch or batch that holds part of it.")
    expected_pause_seconds = s.FloatField(
        help_text="How long those who move will wait; nobody who writes waits for a read split."
    )
    records_at_risk = s.IntegerField(allow_null=True, help_text="Not yet in the mirror; null when not known.")


# -- switches -------------------------------------------------------------------------------------------------------


class SwitchShape(s.Serializer):
    key = s.CharField()
    kind = s.ChoiceField(_words(Kind))
    pair = s.CharField()
    scope = ScopeShape()
    source = s.CharField()
    target = s.CharField()
    restores = s.CharField(
        allow_null=True, help_text="Of a restore: the key of the switch that it goes back from."
    )
    status = s.ChoiceField(_words(Status))
    stage = s.CharField(allow_blank=True)
    reason = s.CharField()
    requested_by = s.CharField()
    requested_at = s.DateTimeField()
    decided_by = s.CharField(allow_null=True)
    decided_at = s.DateTimeField(allow_null=True)
    start_at = s.DateTimeField(allow_null=True)
    start_until = s.DateTimeField(allow_null=True)
    expires_at = s.DateTimeField()
    started_at = s.DateTimeField(allow_null=True)
    ended_at = s.DateTimeField(allow_null=True)
    outcome = s.CharField(allow_blank=True)
    plan_digest = s.CharField()


class StageShape(s.Serializer):
    stage = s.CharField()
    phase = s.CharField()
    result = s.ChoiceField(StageRecord.Result.values)
    started_at = s.DateTimeField()
    ended_at = s.DateTimeField(allow_null=True)
    seconds = s.FloatField(allow_null=True)
    sentence = s.CharField(allow_blank=True)


class ApprovalShape(s.Serializer):
    by = s.CharField()
    at = s.DateTimeField()


class LossShape(s.Serializer):
    records = s.IntegerField(help_text="That the source was seen to hold and the target had not.")
    seen = s.FloatField(allow_null=True, help_text="How many seconds before that the source was seen.")


class TailPartitionShape(s.Serializer):
    topic = s.CharField()
    partition = s.IntegerField()
    first = s.IntegerField(help_text="The first offset that was not mirrored.")
    end = s.IntegerField()
    records = s.IntegerField()


class TailShape(s.Serializer):
    status = s.CharField()
    records = s.IntegerField()
    partitions = TailPartitionShape(many=True)
    reported_at = s.DateTimeField(allow_null=True)
    fault = s.CharField(allow_blank=True)
    note = s.CharField(allow_blank=True)


class RebuildRequest(s.Serializer):
    confirm = s.CharField(
        max_length=40, help_text="The cluster whose Topics are deleted and made anew, once more."
    )
    note = s.CharField(max_length=MAX_TEXT, help_text="What became of the tail.")


class RetirementShape(s.Serializer):
    """What becomes of the mirror and the old Topics after a migration."""

    status = s.ChoiceField(_words(RetirementStatus))
    due_at = s.DateTimeField(help_text="When they are deleted by themselves, while it is waiting.")
    postponed = s.IntegerField(help_text="How often it was put off.")
    outcome = s.CharField(allow_blank=True)
    removed = s.ListField(
        child=s.CharField(), help_text="What is gone already: mirrors, groups, topics, denials."
    )
    decided_by = s.CharField(allow_null=True)
    done_at = s.DateTimeField(allow_null=True)


class WholeSwitchShape(SwitchShape):
    plan = PlanShape()
    retire_after_days = s.IntegerField(
        allow_null=True, help_text="Of a migration: days from its success until the old Topics are deleted."
    )
    retirement = RetirementShape(allow_null=True, help_text="Of a migration that has succeeded.")
    approvals = ApprovalShape(many=True)
    approvals_needed = s.IntegerField()
    decision_note = s.CharField(allow_blank=True)
    ask_for_go = s.BooleanField(help_text="Whether it waits for a go when all checks hold.")
    to_be_reviewed = s.BooleanField(help_text="An emergency that nobody else has looked at yet.")
    reviewed_by = s.CharField(allow_null=True)
    review_note = s.CharField(allow_blank=True)
    loss = LossShape(allow_null=True, help_text="Of a forced switch that was assessed.")
    tail = TailShape(allow_null=True, help_text="Of a forced switch: what its source held beyond the mirror.")
    scope_back = ScopeShape(help_text="What a restore of it takes back.")
    restored_by = s.ListField(
        child=s.CharField(), help_text="Keys of the restores that were requested of it."
    )
    abort_requested = s.BooleanField()
    blocked = s.BooleanField(help_text="Whether clients wait at this moment.")
    refused_seconds = s.FloatField(allow_null=True, help_text="RTO: for how long writes were refused.")
    stages = StageShape(many=True)


class LogLineShape(s.Serializer):
    id = s.IntegerField()
    at = s.DateTimeField()
    actor = s.CharField()
    stage = s.CharField(allow_blank=True)
    sentence = s.CharField()


# -- what there is --------------------------------------------------------------------------------------------------


class ClusterShape(s.Serializer):
    name = s.CharField()
    number = s.IntegerField()
    bootstrap_servers = s.CharField()
    security_protocol = s.CharField()
    kafka_cluster_id = s.CharField(allow_blank=True)
    brokers = s.ListField(child=s.DictField())
    fault = s.CharField(allow_blank=True)
    looked_at = s.DateTimeField(allow_null=True)


class MirrorShape(s.Serializer):
    name = s.CharField()
    topics = s.ListField(child=s.CharField())
    source = s.CharField()
    target = s.CharField()
    state = s.CharField()
    fault = s.CharField(allow_blank=True)
    lag_records = s.IntegerField(allow_null=True)
    lag_seconds = s.FloatField(allow_null=True)
    looked_at = s.DateTimeField(allow_null=True)


class PairShape(s.Serializer):
    name = s.CharField()
    default = s.CharField(help_text="The cluster of everybody who has no binding.")
    clusters = ClusterShape(many=True)
    mirrors = MirrorShape(many=True)


class RulesShape(s.ModelSerializer):
    """What is null is as in the settings; ``in_effect`` has both."""

    class Meta:
        model = Policy
        fields = POLICY_FIELDS
        extra_kwargs = {name: {"required": False} for name in POLICY_FIELDS}

    stopping = s.ListField(
        child=s.ChoiceField(_words(Code)),
        required=False,
        allow_null=True,
        help_text="Findings that stop a switch.",
    )


class BlackoutRequest(s.Serializer):
    begins = s.DateTimeField()
    ends = s.DateTimeField()
    reason = s.CharField(max_length=300)


class BlackoutShape(BlackoutRequest):
    id = s.IntegerField()


class BindingShape(s.Serializer):
    cluster = s.CharField()
    state = s.CharField()
    epoch = s.IntegerField()
    own = s.BooleanField(help_text="False when it comes from the AppID or the pair's default.")


class InstanceShape(s.Serializer):
    name = s.CharField()
    registered = s.BooleanField()
    binding = BindingShape(allow_null=True, help_text="null when ZooKeeper does not answer.")
    last_seen = s.DateTimeField(allow_null=True)
    last_cluster = s.CharField(allow_blank=True)


class AppIDShape(s.Serializer):
    id = s.IntegerField()
    name = s.CharField()
    pair = s.CharField()
    owner = s.CharField(allow_blank=True)
    binding = BindingShape(allow_null=True)
    observed = s.IntegerField(help_text="Distinct client.ids that were seen.")
    covered = s.IntegerField(help_text="Those of them that are registered.")
    instances = InstanceShape(many=True)


class InstanceRequest(s.Serializer):
    name = s.CharField(max_length=MAX_NAME_LENGTH)
    note = s.CharField(max_length=MAX_TEXT, required=False, default="", allow_blank=True)


class AccessShape(s.Serializer):
    client_id = s.CharField(allow_blank=True)
    kind = s.ChoiceField(Access.Kind.values)
    resource = s.CharField()
    cluster = s.CharField()
    host = s.CharField(allow_blank=True)
    library = s.CharField(allow_blank=True)
    version = s.CharField(allow_blank=True)
    first_seen = s.DateTimeField()
    last_seen = s.DateTimeField()


class GatewayShape(s.Serializer):
    id = s.CharField()
    address = s.CharField()
    version = s.CharField()
    live = s.BooleanField()
    excluded = s.BooleanField()
    applied = s.IntegerField(help_text="The newest epoch that it has put into effect.")


class ExcludeRequest(s.Serializer):
    confirm = s.CharField(
        max_length=200, help_text="The Gateway's id once more: its process does not run any more."
    )
    reason = s.CharField(max_length=MAX_TEXT)


# -- people ---------------------------------------------------------------------------------------------------------


class RoleShape(s.Serializer):
    role = s.ChoiceField(sorted(ROLES))
    pair = s.SlugField(max_length=40, allow_null=True, default=None, help_text="null for all pairs.")


class PersonShape(s.Serializer):
    username = s.CharField()
    name = s.CharField(allow_blank=True)
    active = s.BooleanField()
    roles = RoleShape(many=True)


class MeShape(PersonShape):
    permissions = s.ListField(
        child=s.CharField(), help_text="What may be done on some pair, with this token."
    )


class TokenRequest(s.Serializer):
    name = s.CharField(max_length=100)
    scopes = s.ListField(
        child=s.ChoiceField(sorted(SCOPES)), required=False, default=list, max_length=len(SCOPES)
    )
    days = s.IntegerField(min_value=1, max_value=settings.TOKEN_MAX_DAYS, default=settings.TOKEN_DAYS)
    pair = s.SlugField(max_length=40, required=False, allow_null=True, default=None)


class TokenShape(s.Serializer):
    id = s.IntegerField()
    name = s.CharField()
    beginning = s.CharField()
    scopes = s.ListField(child=s.CharField())
    pair = s.CharField(allow_null=True)
    created_at = s.DateTimeField()
    expires_at = s.DateTimeField()
    last_used_at = s.DateTimeField(allow_null=True)
    revoked_at = s.DateTimeField(allow_null=True)


class NewTokenShape(TokenShape):
    secret = s.CharField(help_text="Shown this once.")


class AuditShape(s.Serializer):
    number = s.IntegerField()
    at = s.DateTimeField()
    actor = s.CharField(allow_blank=True)
    verb = s.CharField()
    subject = s.CharField()
    address = s.CharField(allow_null=True)
    details = s.DictField()
    previous = s.CharField()
    digest = s.CharField()


class ProblemShape(s.Serializer):
    """RFC 9457."""

    type = s.CharField()
    title = s.CharField()
    status = s.IntegerField()
    detail = s.CharField(allow_blank=True)
    reasons = s.ListField(child=s.CharField(), help_text="In the language of Accept-Language.")
    errors = s.DictField(child=s.ListField(child=s.CharField()), required=False)

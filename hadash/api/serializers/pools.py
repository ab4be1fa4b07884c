"""Serializers of pools of consumers and of changes of them."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers as s

from hadash.api.fields import Text
from hadash.api.serializers.common import (
    MAX_RESOURCE,
    MAX_TEXT,
    DecisionSerializer,
    RequestedSerializer,
    SeenRequest,
    words,
)
from hadash.changes import Status
from hadash.coordinator.strategies import STRATEGIES
from hadash.identity.names import MAX_NAME_LENGTH
from hadash.pools.actions import Action

_OPTIONAL: dict[str, Any] = {"required": False, "default": "", "allow_blank": True}

#: Most settings of consumers.
MAX_SETTINGS = 100


class StepSerializer(s.Serializer):
    at = s.DateTimeField()
    topic = Text()
    event = Text(help_text="assign, reassign, confirm start, add, move, confirm close.")
    state = Text(help_text="Of the Topic's assignment after it.")
    moved = s.IntegerField(help_text="Partitions that got another member, or none.")


class ShadowSerializer(s.Serializer):
    moves = s.IntegerField(help_text="Partitions that it would move.")
    spread_now = s.FloatField(help_text="What the fullest member carries, as a multiple of the mean.")
    spread_then = s.FloatField()


class PoolTopicSerializer(s.Serializer):
    topic = Text()
    state = Text(allow_null=True, help_text="Initial, Starting, Stable, Closing; null: it cannot be read.")
    servers = Text(allow_blank=True)
    cluster = Text(allow_null=True, help_text="null: the servers are those of no cluster here.")
    group = Text(allow_blank=True)
    partitions = s.DictField(child=Text(allow_blank=True), help_text="Partition: who has it; empty: nobody.")
    to_start = s.DictField(child=s.ListField(child=s.IntegerField()), help_text="Member: partitions.")
    to_close = s.DictField(child=s.ListField(child=s.IntegerField()), help_text="Member: partitions.")
    unstable_since = s.DateTimeField(allow_null=True)
    held_by = Text(allow_null=True, help_text="The switch that has had it stopped; null: none.")
    waits = Text(allow_blank=True, help_text="What is waited for.")
    error = Text(allow_blank=True, help_text="Why nothing can be decided.")
    shadow = ShadowSerializer(allow_null=True)


class PoolMemberSerializer(s.Serializer):
    name = Text()
    state = Text(help_text="In the language of Accept-Language.")
    assigned = s.IntegerField()
    reads = s.IntegerField(allow_null=True, help_text="Partitions that it says it reads; null: not known.")
    bytes_per_second = s.FloatField(allow_null=True)
    lag = s.IntegerField(allow_null=True)
    isolated_by = Text(allow_null=True, help_text="null: it is not isolated.")
    isolated_because = Text(allow_null=True)
    coming_back = s.BooleanField()
    error = Text(allow_blank=True)


class PoolSummarySerializer(s.Serializer):
    name = Text()
    state = Text(help_text="In the language of Accept-Language.")
    pair = Text(allow_null=True, help_text="null: it reads clusters of no pair, or of several.")
    strategy = s.ChoiceField(sorted(STRATEGIES))
    shadow = Text(allow_blank=True)
    stopped = s.BooleanField(help_text="All its members are stopped.")
    topics = s.IntegerField()
    partitions = s.IntegerField()
    members = s.IntegerField()
    isolated = s.IntegerField()
    lag = s.IntegerField(allow_null=True, help_text="null: not known.")
    fault = Text(allow_blank=True)


class PoolSerializer(s.Serializer):
    name = Text()
    state = Text()
    pair = Text(allow_null=True)
    strategy = s.ChoiceField(sorted(STRATEGIES))
    shadow = Text(allow_blank=True)
    stopped = s.BooleanField()
    stopped_by = Text(allow_blank=True)
    stopped_because = Text(allow_blank=True)
    topics = PoolTopicSerializer(many=True)
    members = PoolMemberSerializer(many=True)
    fault = Text(allow_blank=True)
    coordinator = Text(allow_null=True, help_text="The one that decides; null: none does.")
    coordinator_fault = Text(allow_blank=True, help_text="Why it has not said how the members are.")


class PoolRequest(s.Serializer):
    name = Text(max_length=MAX_NAME_LENGTH)
    strategy = s.ChoiceField(sorted(STRATEGIES), default="sticky")
    reason = Text(max_length=MAX_TEXT)

    def validate_name(self, name: str) -> str:
        if "/" in name or name.startswith("."):
            raise s.ValidationError(_("A pool's name has no slash, and does not begin with a dot."))
        return name


class PoolChangeRequest(s.Serializer):
    action = s.ChoiceField([action.value for action in Action if action is not Action.CREATE])
    member = Text(max_length=MAX_NAME_LENGTH, help_text="Of isolate and take_back.", **_OPTIONAL)
    strategy = Text(max_length=40, help_text="Of strategy and shadow; empty: no shadow.", **_OPTIONAL)
    topic = Text(max_length=MAX_RESOURCE, help_text="Of add_topic, remove_topic and release.", **_OPTIONAL)
    cluster = Text(max_length=40, help_text="Of add_topic: where it is read.", **_OPTIONAL)
    group = Text(max_length=MAX_RESOURCE, help_text="Of add_topic: where offsets are committed.", **_OPTIONAL)
    settings = s.DictField(
        child=Text(max_length=MAX_TEXT),
        required=False,
        default=dict,
        help_text="Of add_topic: more settings of its consumers, without secrets.",
    )
    confirm = Text(
        max_length=MAX_RESOURCE,
        help_text="Of isolate the member's, of stop and delete the pool's, of remove_topic the Topic's name again.",
        **_OPTIONAL,
    )
    reason = Text(max_length=MAX_TEXT)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        needed = {
            Action.ISOLATE: ("member",),
            Action.TAKE_BACK: ("member",),
            Action.STRATEGY: ("strategy",),
            Action.ADD_TOPIC: ("topic", "cluster", "group"),
            Action.REMOVE_TOPIC: ("topic",),
            Action.RELEASE: ("topic",),
        }.get(Action(attrs["action"]), ())
        missing = {name: [_("This field is required.")] for name in needed if not attrs[name]}
        if missing:
            raise s.ValidationError(missing)
        if len(attrs["settings"]) > MAX_SETTINGS:
            raise s.ValidationError({"settings": [_("These are too many settings.")]})
        return attrs


class PoolApprovalRequest(SeenRequest):
    digest = Text(max_length=40, help_text="Of the change that is approved.")


class PoolChangeSerializer(RequestedSerializer, DecisionSerializer):
    pair = Text(allow_null=True)
    pool = Text()
    action = s.ChoiceField(words(Action))
    member = Text(allow_blank=True)
    topic = Text(allow_blank=True)
    strategy = Text(allow_blank=True)
    settings = s.DictField(child=Text(), allow_null=True)
    what = Text(help_text="What it does, in the language of Accept-Language.")
    digest = Text()
    status = s.ChoiceField(words(Status))
    outcome = Text(allow_blank=True)

"""Serializers of bindings by hand."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers as s

from hadash.api.fields import Text
from hadash.api.serializers.common import (
    MAX_RESOURCE,
    MAX_TEXT,
    MAX_TOPICS,
    DecisionSerializer,
    RequestedSerializer,
    SeenRequest,
    words,
)
from hadash.changes import Status
from hadash.identity.identity import Identity
from hadash.identity.names import MAX_NAME_LENGTH
from hadash.inventory import generating
from hadash.inventory.relations import CONSUME, PRODUCE
from hadash.switching.binding_rule import MAX_EDITS, Wanted

_OPTIONAL: dict[str, Any] = {"required": False, "default": "", "allow_blank": True}


class IdentitySerializer(s.Serializer):
    """An identity of an AppID: an InstanceID, a Topic, a Topic list or a group; with none of them the AppID itself."""

    # Names are not trimmed: one that begins with a blank is refused with a reason, not read as another name.
    instance_id = Text(max_length=MAX_NAME_LENGTH, trim_whitespace=False, **_OPTIONAL)
    topics = s.ListField(
        child=Text(max_length=MAX_RESOURCE, trim_whitespace=False),
        max_length=MAX_TOPICS,
        required=False,
        default=list,
    )
    group = Text(max_length=MAX_RESOURCE, trim_whitespace=False, **_OPTIONAL)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        named = [name for name in ("instance_id", "topics", "group") if attrs[name]]
        if len(named) > 1:
            raise s.ValidationError({named[1]: [_("Only one of InstanceID, Topics and group can be named.")]})
        return attrs


class BindingsRequest(s.Serializer):
    pair = s.SlugField(max_length=40)
    appid = Text(max_length=MAX_NAME_LENGTH)
    bind = IdentitySerializer(
        many=True,
        required=False,
        default=list,
        max_length=MAX_EDITS,
        help_text="To where each of them is now.",
    )
    unbind = IdentitySerializer(many=True, required=False, default=list, max_length=MAX_EDITS)
    register = s.BooleanField(
        default=False, help_text="Register the InstanceIDs to be bound that are not registered."
    )


def wanted_of(appid: str, values: dict[str, Any]) -> Wanted:
    """Return the identities to bind and to unbind from values that :class:`BindingsRequest` has validated."""

    def identities(named: list[dict[str, Any]]) -> tuple[Identity, ...]:
        return tuple(
            Identity(appid, each["instance_id"] or None, tuple(each["topics"]), each["group"] or None)
            for each in named
        )

    return Wanted(identities(values["bind"]), identities(values["unbind"]))


class ChangeRequest(BindingsRequest):
    reason = Text(max_length=MAX_TEXT)
    digest = Text(
        max_length=40, help_text="Of what was shown: when it is something else by now, 412.", **_OPTIONAL
    )


class ChangeApprovalRequest(SeenRequest):
    digest = Text(max_length=40, help_text="Of the change that is approved.")


class EditSerializer(s.Serializer):
    identity = Text(help_text="One text for it, with names percent-encoded: shop+web-1, shop#orders.")
    cluster = Text(allow_null=True, help_text="What it is bound to; null: it is unbound.")


class MoveSerializer(s.Serializer):
    client_id = Text(allow_null=True, help_text="null: all clients without a bound InstanceID.")
    topic = Text(allow_null=True)
    group = Text(allow_null=True)
    before = Text()
    after = Text()


class JudgementSerializer(s.Serializer):
    edits = EditSerializer(many=True, help_text="What would be written.")
    digest = Text()
    blockers = s.ListField(child=Text(), help_text="Why it cannot be; empty when it can.")
    moves = MoveSerializer(many=True, help_text="Who would move: a switch does that.")


class ChangeSerializer(RequestedSerializer, DecisionSerializer):
    appid = Text()
    edits = EditSerializer(many=True)
    digest = Text()
    registered = s.ListField(child=Text(), help_text="InstanceIDs that were registered with it.")
    status = s.ChoiceField(words(Status))
    outcome = s.ListField(child=Text())
    epoch = s.IntegerField(allow_null=True, help_text="Of the transaction that has written it.")


class GenerateRequest(s.Serializer):
    topics = s.ListField(child=Text(max_length=MAX_RESOURCE), min_length=1, max_length=generating.MAX_TOPICS)
    one = s.BooleanField(default=False, help_text="One InstanceID for all Topics; else one for each.")
    declare = s.ListField(
        child=s.ChoiceField([PRODUCE, CONSUME]),
        required=False,
        default=list,
        max_length=2,
        help_text="Declare that they do this to their Topics.",
    )
    note = Text(max_length=MAX_TEXT, **_OPTIONAL)


class GeneratedSerializer(s.Serializer):
    name = Text()
    topics = s.ListField(child=Text())


class UnregisterQuery(s.Serializer):
    name = Text(max_length=MAX_NAME_LENGTH, trim_whitespace=False)

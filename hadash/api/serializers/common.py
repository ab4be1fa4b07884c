"""Shapes and limits that several other shapes share."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from rest_framework import serializers as s

from hadash.api.fields import Text
from hadash.identity.names import MAX_RESOURCE_LENGTH

#: Most Topics of one scope: for more, "everything" is meant.
MAX_TOPICS = 1000

#: Most characters of a reason or a note.
MAX_TEXT = 2000

#: Most characters of a Topic or group name, as in Kafka.
MAX_RESOURCE = MAX_RESOURCE_LENGTH


def words(kind: Any) -> list[str]:
    """Return the values of an enumeration."""
    return [each.value for each in kind]


class ReasonRequest(s.Serializer):
    reason = Text(max_length=MAX_TEXT)


class CommentRequest(s.Serializer):
    text = Text(max_length=MAX_TEXT)


class NothingRequest(s.Serializer):
    """No fields."""


class WindowRequest(s.Serializer):
    """The window in which it may start."""

    start_at = s.DateTimeField(
        required=False, help_text="From when it may start; without it as soon as it is approved."
    )
    start_until = s.DateTimeField(
        required=False,
        help_text="Until when it may start: what has not started by then is dropped, of a batch it waits for a person.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("start_at" in attrs) != ("start_until" in attrs):
            missing = "start_until" if "start_at" in attrs else "start_at"
            raise s.ValidationError({missing: [_("A window has a beginning and an end.")]})
        return attrs


def window_of(values: dict[str, Any]) -> tuple[datetime, datetime] | None:
    """Return the window from values that :class:`WindowRequest` has validated; ``None`` without one."""
    return (values["start_at"], values["start_until"]) if "start_at" in values else None


class SeenRequest(s.Serializer):
    """An approval, which names what the approver has seen."""

    approvals = s.IntegerField(
        required=False,
        min_value=0,
        max_value=99,
        help_text="How many approvals were seen: 412 if there are others now.",
    )


class ApprovalSerializer(s.Serializer):
    by = Text()
    at = s.DateTimeField()


class MoveRequest(s.Serializer):
    """A move within a pair: from the other cluster, the source, to the target."""

    pair = s.SlugField(max_length=40)
    target = s.SlugField(max_length=40, help_text="The cluster that everything moves to.")


class RequestedSerializer(s.Serializer):
    """A request that one person makes and others decide on."""

    key = Text()
    pair = Text()
    reason = Text()
    requested_by = Text()
    requested_at = s.DateTimeField()
    expires_at = s.DateTimeField()
    decided_by = Text(allow_null=True)
    decided_at = s.DateTimeField(allow_null=True)
    ended_at = s.DateTimeField(allow_null=True)


class MovedSerializer(RequestedSerializer):
    """A request to move clients: a switch or a batch."""

    source = Text()
    target = Text()
    start_at = s.DateTimeField(allow_null=True)
    start_until = s.DateTimeField(allow_null=True)
    started_at = s.DateTimeField(allow_null=True)
    outcome = Text(allow_blank=True)


class DecisionSerializer(s.Serializer):
    """The approvals, and the reason if it was declined or cancelled."""

    approvals = ApprovalSerializer(many=True)
    approvals_needed = s.IntegerField()
    decision_note = Text(allow_blank=True)


class ProblemSerializer(s.Serializer):
    """An error as problem details (RFC 9457)."""

    type = Text()
    title = Text()
    status = s.IntegerField()
    detail = Text(allow_blank=True)
    reasons = s.ListField(child=Text(), help_text="In the language of Accept-Language.")
    errors = s.DictField(child=s.ListField(child=Text()), required=False)

"""Serializers of batches."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import serializers as s

from hadash.api.fields import Text
from hadash.api.serializers.common import (
    MAX_TEXT,
    DecisionSerializer,
    MovedSerializer,
    MoveRequest,
    SeenRequest,
    WindowRequest,
    words,
)
from hadash.api.serializers.switches import ScopeSerializer
from hadash.identity.names import MAX_NAME_LENGTH
from hadash.radius.closure import Dimension
from hadash.switching.batches.plans import Names
from hadash.switching.machines.batches import ItemStatus, Status

#: The largest wave number.
MAX_WAVE = 99_999


class NamedSerializer(s.Serializer):
    """One line of the list: a name, and its wave if it has one."""

    name = Text(max_length=MAX_NAME_LENGTH)
    wave = s.IntegerField(required=False, allow_null=True, default=None, min_value=1, max_value=MAX_WAVE)


class BatchPlanRequest(MoveRequest):
    """What a batch moves: everything on the other cluster, or the names in ``list``, each with all that moves
    with it.
    """

    list = s.ListField(
        child=NamedSerializer(),
        required=False,
        min_length=1,
        max_length=10 * settings.BATCH_MAX_ITEMS,
        help_text="Without it everything on the other cluster.",
    )
    names = s.ChoiceField(words(Names), default=Names.APPIDS.value, help_text="What the list names.")
    dimension = s.ChoiceField(words(Dimension), default=Dimension.INSTANCE.value)
    widen = s.BooleanField(default=False)
    wave_size = s.IntegerField(
        min_value=1,
        max_value=settings.BATCH_MAX_ITEMS,
        default=settings.BATCH_WAVE_SIZE,
        help_text="Radii of a wave.",
    )
    first_wave = s.IntegerField(
        min_value=1,
        max_value=settings.BATCH_MAX_ITEMS,
        required=False,
        allow_null=True,
        default=None,
        help_text="Radii of the first one, if fewer are to try it.",
    )
    parallelism = s.IntegerField(
        min_value=1,
        max_value=settings.BATCH_MAX_PARALLELISM,
        default=settings.BATCH_PARALLELISM,
        help_text="Switches that run at once, at most.",
    )
    leave_out = s.BooleanField(
        default=False,
        help_text="Whether radii that cannot move are left out, instead of being a blocker of it.",
    )

    def validate_list(self, value: Any) -> Any:
        names = [line["name"] for line in value]
        twice = (
            sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
        )
        if twice:
            raise s.ValidationError(_("Named twice: %(names)s.") % {"names": ", ".join(twice[:5])})
        return value


class BatchRequest(BatchPlanRequest, WindowRequest):
    reason = Text(max_length=MAX_TEXT)
    digest = Text(
        max_length=40,
        required=False,
        default="",
        allow_blank=True,
        help_text="Of what was shown: when it is something else by now, nothing is requested (412).",
    )


class BatchApprovalRequest(SeenRequest):
    digest = Text(max_length=40, help_text="Of the batch that is approved.")


class ResumeRequest(s.Serializer):
    without = s.BooleanField(
        default=False, help_text="Whether what failed is left out; else it is tried again as it was approved."
    )
    reason = Text(max_length=MAX_TEXT, required=False, default="", allow_blank=True)


class RadiusSerializer(s.Serializer):
    wave = s.IntegerField(help_text="0 for what is left out.")
    scope = ScopeSerializer()
    what = Text()
    plan_digest = Text()
    topics = s.IntegerField()
    bindings = s.IntegerField()
    clients = s.IntegerField(help_text="Distinct client.ids that move with it.")
    records_at_risk = s.IntegerField(allow_null=True, help_text="Not yet in the mirror; null when not known.")
    blockers = s.ListField(child=Text(), help_text="Why it cannot move; empty when it can.")


class BatchProposalSerializer(s.Serializer):
    source = Text()
    target = Text()
    digest = Text()
    parallelism = s.IntegerField()
    waves = s.ListField(child=s.IntegerField(), help_text="How many radii each has.")
    against = s.IntegerField(help_text="How many radii cannot move and are not left out.")
    radii = RadiusSerializer(many=True)


class CountsSerializer(s.Serializer):
    done = s.IntegerField()
    running = s.IntegerField()
    failed = s.IntegerField()
    dropped = s.IntegerField()
    waiting = s.IntegerField()


class BatchSerializer(MovedSerializer):
    status = s.ChoiceField(words(Status))
    parallelism = s.IntegerField()
    digest = Text()
    radii = s.IntegerField()
    counts = CountsSerializer()


class WaveSerializer(s.Serializer):
    wave = s.IntegerField()
    counts = CountsSerializer()


class WholeBatchSerializer(BatchSerializer, DecisionSerializer):
    waves = WaveSerializer(many=True)
    left_out = s.ListField(child=Text(), help_text="What was left out when it was asked for.")


class BatchItemSerializer(s.Serializer):
    wave = s.IntegerField()
    position = s.IntegerField()
    scope = ScopeSerializer()
    what = Text()
    status = s.ChoiceField(words(ItemStatus))
    clients = s.IntegerField()
    plan_digest = Text()
    switch = Text(allow_null=True, help_text="Key of the switch that moves it.")
    outcome = Text(allow_blank=True)


class BatchLineSerializer(s.Serializer):
    id = s.IntegerField()
    at = s.DateTimeField()
    actor = Text()
    sentence = Text()

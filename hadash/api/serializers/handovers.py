"""Serializers of hand-overs."""

from __future__ import annotations

from rest_framework import serializers as s

from hadash.switching.handovers.counting import KEPT_DAYS, SHOWN_DAYS
from hadash.switching.models.handovers import FAULTS, Way, Work


class HandoverQuery(s.Serializer):
    days = s.IntegerField(
        min_value=1, max_value=KEPT_DAYS, default=SHOWN_DAYS, help_text="How many days (UTC), today included."
    )


class HandoverSerializer(s.Serializer):
    """How often one kind of work reached a worker in one way."""

    work = s.ChoiceField(Work.choices)
    way = s.ChoiceField(Way.choices, help_text="Something to look at: " + ", ".join(FAULTS) + ".")
    count = s.IntegerField()
    last_at = s.DateTimeField()

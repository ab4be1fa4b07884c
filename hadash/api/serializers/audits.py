"""Serializers of what auditors say."""

from __future__ import annotations

from rest_framework import serializers as s

from hadash.api.fields import Text
from hadash.api.serializers.common import MAX_TEXT, words
from hadash.auditing.findings import Kind
from hadash.auditors.standing import Proof

#: Most differences that one request names.
MAX_DIFFERENCES = 1000


class AuditedPartitionSerializer(s.Serializer):
    topic = Text()
    partition = s.IntegerField()
    proof = s.ChoiceField(words(Proof))
    source = Text(help_text="The cluster that the mirror copied from when it was compared last.")
    source_begin = s.IntegerField(help_text="Where the comparison began.")
    source_next = s.IntegerField(help_text="Up to here (exclusively) both sides were compared.")
    source_end = s.IntegerField(allow_null=True)
    target_next = s.IntegerField()
    equal = s.IntegerField(help_text="Records that were found equal.")
    different = s.IntegerField(help_text="Differences that were found.")
    accepted = s.IntegerField(help_text="How many of these people have accepted.")
    share = s.FloatField(allow_null=True, help_text="Of what the source holds; null: not known.")
    compared_at = s.DateTimeField(allow_null=True, help_text="When all that both sides held was compared.")
    fault = Text(allow_blank=True, help_text="Why it is not compared now.")


class MirrorAuditSerializer(s.Serializer):
    mirror = Text()
    proof = s.ChoiceField(words(Proof))
    says = Text(help_text="In the language of Accept-Language.")
    share = s.FloatField(allow_null=True)
    age_seconds = s.FloatField(allow_null=True, help_text="Of the oldest proof; null: a partition has none.")
    differences = s.IntegerField(help_text="That nobody has accepted.")
    accepted = s.IntegerField()
    partitions = AuditedPartitionSerializer(many=True)


class DifferenceSerializer(s.Serializer):
    id = s.IntegerField()
    kind = s.ChoiceField(words(Kind))
    topic = Text()
    partition = s.IntegerField()
    source = Text()
    source_offset = s.IntegerField()
    target_offset = s.IntegerField()
    parts = s.ListField(child=Text(), help_text="key, value, headers, time.")
    found_at = s.DateTimeField()
    accepted_by = Text(allow_null=True)
    accepted_because = Text(allow_null=True)


class AcceptDifferencesRequest(s.Serializer):
    reason = Text(max_length=MAX_TEXT)
    differences = s.ListField(
        child=s.IntegerField(min_value=1, max_value=2**62),
        required=False,
        max_length=MAX_DIFFERENCES,
        help_text="Their ids; without it all that are open now.",
    )


class AcceptedSerializer(s.Serializer):
    accepted = s.IntegerField(help_text="How many differences were accepted.")

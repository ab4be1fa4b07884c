"""Serializers of what auditors say."""

from __future__ import annotations

from rest_framework import serializers as s

from hadash.api.fields import Text
from hadash.api.serializers.common import MAX_TEXT, words
from hadash.auditing.findings import Kind
from hadash.auditors.proofs import Proof
from hadash.full_audits.machine import Status as FullAuditStatus

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


class FullAuditPartitionSerializer(s.Serializer):
    partition = s.IntegerField()
    source = s.ListField(
        child=s.IntegerField(),
        allow_null=True,
        help_text="Offsets of the source: the first, and after the last.",
    )
    target = s.ListField(child=s.IntegerField(), allow_null=True)
    equal = s.IntegerField()
    older = s.ListField(
        child=s.IntegerField(),
        help_text="Records of the source and of the target before the first that both hold: not compared.",
    )
    late = s.IntegerField(help_text="Records of the source that the target did not hold yet: not compared.")
    has_no_place = s.BooleanField(
        help_text="No place was found at which both sides agree: nothing is known of the partition."
    )
    kinds = s.DictField(child=s.IntegerField(), help_text="How many differences there are of each kind.")


class FullAuditSerializer(s.Serializer):
    id = s.IntegerField()
    topic = Text()
    status = s.ChoiceField(words(FullAuditStatus))
    says = Text(help_text="What it has found, or why it has failed; in the language of Accept-Language.")
    asked_by = Text()
    asked_at = s.DateTimeField()
    began_at = s.DateTimeField(allow_null=True)
    read_at = s.DateTimeField(allow_null=True, help_text="It compares up to what both sides held then.")
    ended_at = s.DateTimeField(allow_null=True)
    source = Text(allow_null=True, help_text="The cluster that the mirror copied from when it began.")
    offsets = s.IntegerField(help_text="How many offsets of the source are to be compared.")
    equal = s.IntegerField(help_text="Records.")
    different = s.IntegerField(help_text="Records. They are among the mirror's differences.")


class OneFullAuditSerializer(FullAuditSerializer):
    progress = s.DictField(help_text="While it runs: step, done and total.")
    partitions = FullAuditPartitionSerializer(many=True)


class AskFullAuditRequest(s.Serializer):
    topic = Text(max_length=249)


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

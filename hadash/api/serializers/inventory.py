"""Serializers of pairs, clusters, mirrors, AppIDs, access and Gateways."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from hadash.api.fields import Text
from hadash.api.serializers.common import MAX_TEXT, words
from hadash.governance.findings import RULES
from hadash.governance.owners import MAX_OWNER
from hadash.identity.names import MAX_NAME_LENGTH
from hadash.inventory.models import Access
from hadash.mirroring.content import KINDS
from hadash.switching.models.policies import POLICY_FIELDS, Policy


class ClusterSerializer(s.Serializer):
    name = Text()
    number = s.IntegerField()
    bootstrap_servers = Text()
    security_protocol = Text()
    kafka_cluster_id = Text(allow_blank=True)
    brokers = s.ListField(child=s.DictField())
    fault = Text(allow_blank=True)
    looked_at = s.DateTimeField(allow_null=True)


class DriftSerializer(s.Serializer):
    """The connector's settings that differ from those that hadash sets; never their values."""

    keys = s.ListField(child=Text())
    since = s.DateTimeField()
    mended = s.DateTimeField(allow_null=True)


class DifferenceSerializer(s.Serializer):
    """Records of a partition that differ between the standby and the source."""

    topic = Text()
    partition = s.IntegerField()
    kind = s.ChoiceField(list(KINDS), help_text="The part that differs.")
    first = s.IntegerField(help_text="Offset of the first one on the source.")
    last = s.IntegerField(help_text="Offset of the last one on the source.")
    count = s.IntegerField()
    since = s.DateTimeField()


class GapSerializer(s.Serializer):
    """Offsets of the source without a copy."""

    topic = Text()
    partition = s.IntegerField()
    without_record = s.IntegerField(
        help_text="Offsets that hold no record: transaction markers, or compacted."
    )
    lost = s.IntegerField(help_text="Records that were deleted on the source before they were mirrored.")
    lost_before = s.IntegerField(
        allow_null=True, help_text="The source's offset up to which they were lost, if it is known."
    )
    resumes_at = s.IntegerField(
        allow_null=True,
        help_text="The target's offset of the first record after the lost ones, if it is known.",
    )
    at = s.DateTimeField(help_text="When it was found.")


class CopiedTwiceSerializer(s.Serializer):
    """Records that are in one partition twice, because the mirror's Connect worker died."""

    cluster = Text(help_text="The cluster that holds them.")
    topic = Text()
    partition = s.IntegerField()
    records = s.IntegerField(help_text="How many.")


class MirrorSerializer(s.Serializer):
    name = Text()
    topics = s.ListField(child=Text())
    source = Text()
    target = Text()
    state = Text()
    fault = Text(allow_blank=True)
    lag_records = s.IntegerField(allow_null=True)
    lag_seconds = s.FloatField(allow_null=True)
    looked_at = s.DateTimeField(allow_null=True)
    drift = DriftSerializer(
        allow_null=True, help_text="Null when the connector's settings have always been hadash's."
    )
    compared_at = s.DateTimeField(allow_null=True, help_text="When records of both sides were compared last.")
    differences = DifferenceSerializer(many=True)
    gaps = GapSerializer(many=True)
    copied_twice = CopiedTwiceSerializer(
        many=True,
        help_text="Groups go on behind them; who reads a Topic from its beginning reads them twice.",
    )


class PairSerializer(s.Serializer):
    name = Text()
    default = Text(help_text="The cluster of everybody who has no binding.")
    clusters = ClusterSerializer(many=True)
    mirrors = MirrorSerializer(
        many=True, help_text="The first ones by name; all of them: ``pairs/{pair}/mirrors/``."
    )
    mirror_count = s.IntegerField()


class RulesSerializer(s.ModelSerializer):
    """The rules of a pair. A rule that is null is as in hadash's settings."""

    class Meta:
        model = Policy
        fields = POLICY_FIELDS
        extra_kwargs = {name: {"required": False} for name in POLICY_FIELDS}

    stopping = s.ListField(
        child=s.ChoiceField(words(RULES)),
        required=False,
        allow_null=True,
        help_text="Findings that stop a switch.",
    )


class BlackoutRequest(s.Serializer):
    begins = s.DateTimeField()
    ends = s.DateTimeField()
    reason = Text(max_length=300)


class BlackoutSerializer(BlackoutRequest):
    id = s.IntegerField()


class BindingSerializer(s.Serializer):
    cluster = Text()
    state = Text()
    epoch = s.IntegerField()
    own = s.BooleanField(help_text="False when it comes from the AppID or the pair's default.")


class BoundSerializer(s.Serializer):
    """One binding of an AppID, with the names that a request to unbind it takes."""

    identity = Text(help_text="One text for it, with names percent-encoded: shop+web-1, shop#orders.")
    instance_id = Text(allow_blank=True)
    topics = s.ListField(child=Text())
    group = Text(allow_blank=True)
    cluster = Text()
    state = Text()
    epoch = s.IntegerField()
    switch = Text(allow_null=True, help_text="The switch that put it there.")
    change = Text(allow_null=True, help_text="The change by hand that put it there.")
    at = s.DateTimeField(allow_null=True, help_text="When that was; null when it is not known here.")


class InstanceSerializer(s.Serializer):
    name = Text()
    registered = s.BooleanField()
    binding = BindingSerializer(allow_null=True, help_text="null when ZooKeeper does not answer.")
    last_seen = s.DateTimeField(allow_null=True)
    last_cluster = Text(allow_blank=True)


class AppIDSerializer(s.Serializer):
    id = s.IntegerField()
    name = Text()
    pair = Text()
    owner = Text(allow_blank=True)
    critical = s.BooleanField(help_text="The work list begins with what makes its radii smaller.")
    binding = BindingSerializer(allow_null=True)
    observed = s.IntegerField(help_text="Distinct client.ids that were seen.")
    covered = s.IntegerField(help_text="Those of them that are registered.")
    instances = InstanceSerializer(many=True)


class AppIDChange(s.Serializer):
    critical = s.BooleanField(required=False, help_text="Whether its radii matter most.")
    owner = Text(
        required=False, allow_blank=True, max_length=MAX_OWNER, help_text="Whose it is; empty: nobody's."
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise s.ValidationError("Say critical, owner, or both.")
        return attrs


class InstanceRequest(s.Serializer):
    name = Text(max_length=MAX_NAME_LENGTH)
    note = Text(max_length=MAX_TEXT, required=False, default="", allow_blank=True)


class AccessSerializer(s.Serializer):
    client_id = Text(allow_blank=True)
    kind = s.ChoiceField(Access.Kind.values)
    resource = Text()
    cluster = Text()
    host = Text(allow_blank=True)
    library = Text(allow_blank=True)
    version = Text(allow_blank=True)
    first_seen = s.DateTimeField()
    last_seen = s.DateTimeField()


class GatewaySerializer(s.Serializer):
    id = Text()
    address = Text()
    version = Text()
    live = s.BooleanField()
    excluded = s.BooleanField()
    applied = s.IntegerField(help_text="The newest epoch that it has put into effect.")


class ExcludeRequest(s.Serializer):
    confirm = Text(max_length=200, help_text="The Gateway's id once more: its process does not run any more.")
    reason = Text(max_length=MAX_TEXT)

"""Serializers of findings, of the tables that jobs publish, of jobs and of runs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from hadash.api.fields import SaidText, Text
from hadash.api.serializers.common import MAX_TEXT, words
from hadash.governance.catalogue import About, Code, Severity
from hadash.governance.models.runs import Run
from hadash.pipeline.cron import MAX_LENGTH
from hadash.presentation.tables import TABLES


class FindingQuery(s.Serializer):
    pair = s.SlugField(max_length=40, required=False)
    code = s.ChoiceField(words(Code), required=False)
    severity = s.ChoiceField(words(Severity), required=False)
    show = s.ChoiceField(
        ["open", "worse", "accepted", "resolved", "all"],
        default="open",
        help_text="open: those that count. worse: those of them that got worse since they came up. accepted: those "
        "that somebody has accepted, up to a day that is not over.",
    )
    appid = Text(max_length=200, required=False)
    q = Text(max_length=200, required=False, help_text="A part of an AppID, or of what it is about.")


class AcceptanceSerializer(s.Serializer):
    until = s.DateField()
    reason = Text()
    by = Text()
    at = s.DateTimeField()
    withdrawn_at = s.DateTimeField(allow_null=True)


class FindingSerializer(s.Serializer):
    id = s.IntegerField()
    pair = Text()
    code = Text()
    severity = Text(allow_blank=True, help_text="Empty for a rule that this version does not know any more.")
    weight = s.IntegerField(help_text="What it adds to a score while it is open and nobody has accepted it.")
    appid = Text(allow_blank=True)
    name = Text(allow_blank=True, help_text="What it is about: the rule says what that is.")
    sentence = Text(help_text="What was found, in the language of Accept-Language.")
    evidence = s.DictField(child=Text())
    state = Text()
    accepted_until = s.DateField(allow_null=True)
    first_at = s.DateTimeField()
    opened_at = s.DateTimeField()
    worse_at = s.DateTimeField(
        allow_null=True,
        help_text="When it last got worse while it was open: there is half as much again of it, or its rule is graver.",
    )
    resolved_at = s.DateTimeField(allow_null=True)
    reopened = s.IntegerField()


class WholeFindingSerializer(FindingSerializer):
    acceptances = AcceptanceSerializer(many=True)


class AcceptRequest(s.Serializer):
    until = s.DateField(help_text="The last day (UTC) on which it does not count.")
    reason = Text(max_length=MAX_TEXT)


class GovernanceRuleSerializer(s.Serializer):
    code = Text()
    severity = s.ChoiceField(words(Severity))
    weight = s.IntegerField()
    about = s.ChoiceField(words(About))
    title = Text()
    holds = Text(help_text="When there is a finding, with the figures that decide.")
    remedy = Text()
    source = Text()


class ScoreSerializer(s.Serializer):
    pair = Text()
    score = s.IntegerField(help_text="high × 10 + medium × 4 + low × 1.")
    high = s.IntegerField()
    medium = s.IntegerField()
    low = s.IntegerField()


class TableQuery(s.Serializer):
    pair = s.SlugField(max_length=40, required=False)
    q = Text(max_length=200, required=False, help_text="A part of a name.")
    sort = Text(max_length=40, required=False, help_text="A column; with - before it the other way round.")
    show = Text(
        max_length=40,
        required=False,
        help_text="One of the table's filters: coverage has under-ha, not-mirrored, unregistered, twice and bypassing; "
        "sharing has shared and applications; lag has today and over-rpo.",
    )


class CoverageQuery(s.Serializer):
    pair = s.SlugField(max_length=40, required=False)
    appid = Text(
        max_length=200, required=False, help_text="Of this AppID alone; without it all of a pair together."
    )


class CoverageSerializer(s.Serializer):
    run = s.IntegerField()
    at = s.DateTimeField(help_text="When the run ended.")
    pair = Text()
    clients = s.IntegerField()
    registered = s.IntegerField(help_text="Those whose client.id is a registered InstanceID.")
    nameless = s.IntegerField(help_text="Those without a client.id.")
    new_clients = s.IntegerField(help_text="Those whose client.id was seen on one day only, lately.")
    duplicates = s.IntegerField(help_text="Those that were on two hosts at once.")
    bypassing = s.IntegerField(help_text="Those that brokers see and no Gateway does.")


class TableRowSerializer(s.Serializer):
    """One row: its columns depend on the table."""

    def to_representation(self, instance: Any) -> Any:
        return instance


class ScheduleRequest(s.Serializer):
    cron = Text(
        max_length=MAX_LENGTH,
        required=False,
        help_text="Minute, hour, day of the month, month, day of the week; in UTC.",
    )
    enabled = s.BooleanField(required=False)


class RunQuery(s.Serializer):
    job = s.ChoiceField(Run.Job.values, required=False)


class RunSerializer(s.Serializer):
    id = s.IntegerField(source="pk")
    job = Text()
    state = Text()
    asked_by = Text(allow_blank=True, help_text="Empty: its schedule.")
    attempt = s.IntegerField()
    due_at = s.DateTimeField()
    began_at = s.DateTimeField(allow_null=True)
    ended_at = s.DateTimeField(allow_null=True)
    watermark = s.DictField(child=s.JSONField())
    rows = s.DictField(child=s.IntegerField())
    seconds = s.DictField(child=s.FloatField())
    quality = s.DictField(child=s.JSONField())
    progress = s.DictField(child=s.JSONField())
    fault = SaidText(allow_blank=True)


class JobSerializer(s.Serializer):
    job = Text()
    does = Text()
    cron = Text()
    enabled = s.BooleanField()
    next_at = s.DateTimeField(allow_null=True)
    under_way = RunSerializer(allow_null=True)
    published = RunSerializer(allow_null=True)
    alarm = Text(allow_blank=True, help_text="What is wrong with it; empty when nothing is.")


class ChangesQuery(s.Serializer):
    since = s.IntegerField(
        min_value=1, max_value=2**62, help_text="An earlier published run of the same job."
    )


class RowChangeSerializer(s.Serializer):
    key = s.ListField(child=s.JSONField(allow_null=True))
    values = s.DictField(
        child=s.ListField(child=s.JSONField(allow_null=True)), help_text="column → [before, now]"
    )


class ChangesSerializer(s.Serializer):
    """The changes of a table. Rows are named by their keys, at most some hundred of each kind; the counts cover
    all of them.
    """

    table = Text()
    columns = s.ListField(child=Text())
    added = s.ListField(child=s.ListField(child=s.JSONField(allow_null=True)))
    gone = s.ListField(child=s.ListField(child=s.JSONField(allow_null=True)))
    changed = RowChangeSerializer(many=True)
    added_count = s.IntegerField()
    gone_count = s.IntegerField()
    changed_count = s.IntegerField()


#: The names of all tables.
TABLE_NAMES = tuple(TABLES)

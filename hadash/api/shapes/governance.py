"""Findings, the tables that jobs publish, jobs and runs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers as s

from hadash.api.shapes.common import MAX_TEXT, words
from hadash.dashboard.tables import TABLES
from hadash.governance.catalogue import About, Code, Severity
from hadash.governance.models import Run
from hadash.pipeline.cron import MAX_LENGTH


class FindingQuery(s.Serializer):
    pair = s.SlugField(max_length=40, required=False)
    code = s.ChoiceField(words(Code), required=False)
    severity = s.ChoiceField(words(Severity), required=False)
    show = s.ChoiceField(
        ["open", "accepted", "resolved", "all"],
        default="open",
        help_text="open: those that count. accepted: those that somebody has accepted, up to a day that is not over.",
    )
    appid = s.CharField(max_length=200, required=False)
    q = s.CharField(max_length=200, required=False, help_text="A part of an AppID, or of what it is about.")


class AcceptanceShape(s.Serializer):
    until = s.DateField()
    reason = s.CharField()
    by = s.CharField()
    at = s.DateTimeField()
    withdrawn_at = s.DateTimeField(allow_null=True)


class FindingShape(s.Serializer):
    id = s.IntegerField()
    pair = s.CharField()
    code = s.CharField()
    severity = s.CharField(
        allow_blank=True, help_text="Empty for a rule that this version does not know any more."
    )
    weight = s.IntegerField(help_text="What it adds to a score while it is open and nobody has accepted it.")
    appid = s.CharField(allow_blank=True)
    name = s.CharField(allow_blank=True, help_text="What it is about: the rule says what that is.")
    sentence = s.CharField(help_text="What was found, in the language of Accept-Language.")
    evidence = s.DictField(child=s.CharField())
    state = s.CharField()
    accepted_until = s.DateField(allow_null=True)
    first_at = s.DateTimeField()
    opened_at = s.DateTimeField()
    resolved_at = s.DateTimeField(allow_null=True)
    reopened = s.IntegerField()


class WholeFindingShape(FindingShape):
    acceptances = AcceptanceShape(many=True)


class AcceptRequest(s.Serializer):
    until = s.DateField(help_text="The last day (UTC) on which it does not count.")
    reason = s.CharField(max_length=MAX_TEXT)


class GovernanceRuleShape(s.Serializer):
    code = s.CharField()
    severity = s.ChoiceField(words(Severity))
    weight = s.IntegerField()
    about = s.ChoiceField(words(About))
    title = s.CharField()
    holds = s.CharField(help_text="When there is a finding, with the figures that decide.")
    remedy = s.CharField()
    source = s.CharField()


class ScoreShape(s.Serializer):
    pair = s.CharField()
    score = s.IntegerField(help_text="high × 10 + medium × 4 + low × 1.")
    high = s.IntegerField()
    medium = s.IntegerField()
    low = s.IntegerField()


class TableQuery(s.Serializer):
    pair = s.SlugField(max_length=40, required=False)
    q = s.CharField(max_length=200, required=False, help_text="A part of a name.")
    sort = s.CharField(
        max_length=40, required=False, help_text="A column; with - before it the other way round."
    )


class CoverageQuery(s.Serializer):
    pair = s.SlugField(max_length=40, required=False)
    appid = s.CharField(
        max_length=200, required=False, help_text="Of this AppID alone; without it all of a pair together."
    )


class CoverageShape(s.Serializer):
    run = s.IntegerField()
    at = s.DateTimeField(help_text="When the run ended.")
    pair = s.CharField()
    clients = s.IntegerField()
    registered = s.IntegerField(help_text="Those whose client.id is a registered InstanceID.")
    nameless = s.IntegerField(help_text="Those without a client.id.")
    new_clients = s.IntegerField(help_text="Those whose client.id was seen on one day only, lately.")
    duplicates = s.IntegerField(help_text="Those that were on two hosts at once.")
    bypassing = s.IntegerField(help_text="Those that brokers see and no Gateway does.")


class TableRowShape(s.Serializer):
    """One row: its columns depend on the table."""

    def to_representation(self, instance: Any) -> Any:
        return instance


class ScheduleRequest(s.Serializer):
    cron = s.CharField(
        max_length=MAX_LENGTH,
        required=False,
        help_text="Minute, hour, day of the month, month, day of the week; in UTC.",
    )
    enabled = s.BooleanField(required=False)


class RunQuery(s.Serializer):
    job = s.ChoiceField(Run.Job.values, required=False)


class RunShape(s.Serializer):
    id = s.IntegerField(source="pk")
    job = s.CharField()
    state = s.CharField()
    asked_by = s.CharField(allow_blank=True, help_text="Empty: its schedule.")
    attempt = s.IntegerField()
    due_at = s.DateTimeField()
    began_at = s.DateTimeField(allow_null=True)
    ended_at = s.DateTimeField(allow_null=True)
    watermark = s.DictField(child=s.JSONField())
    rows = s.DictField(child=s.IntegerField())
    seconds = s.DictField(child=s.FloatField())
    quality = s.DictField(child=s.JSONField())
    progress = s.DictField(child=s.JSONField())
    fault = s.CharField(allow_blank=True)


class JobShape(s.Serializer):
    job = s.CharField()
    does = s.CharField()
    cron = s.CharField()
    enabled = s.BooleanField()
    next_at = s.DateTimeField(allow_null=True)
    under_way = RunShape(allow_null=True)
    published = RunShape(allow_null=True)
    alarm = s.CharField(allow_blank=True, help_text="What is wrong with it; empty when nothing is.")


class ChangesQuery(s.Serializer):
    since = s.IntegerField(
        min_value=1, max_value=2**62, help_text="An earlier published run of the same job."
    )


class RowChangeShape(s.Serializer):
    key = s.ListField(child=s.JSONField(allow_null=True))
    values = s.DictField(
        child=s.ListField(child=s.JSONField(allow_null=True)), help_text="column → [before, now]"
    )


class ChangesShape(s.Serializer):
    """How a table has changed. Rows are told by their keys, at most some hundred of each kind; the counts are of all."""

    table = s.CharField()
    columns = s.ListField(child=s.CharField())
    added = s.ListField(child=s.ListField(child=s.JSONField(allow_null=True)))
    gone = s.ListField(child=s.ListField(child=s.JSONField(allow_null=True)))
    changed = RowChangeShape(many=True)
    added_count = s.IntegerField()
    gone_count = s.IntegerField()
    changed_count = s.IntegerField()


#: The tables that there are.
TABLE_NAMES = tuple(TABLES)

"""Tables: who gets which report when, what was made at each of these times, and how a person wants mail."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils.translation import gettext_lazy as _


class Kind(models.TextChoices):
    """What stands in a report."""

    POSTURE = "posture", _("Posture")
    RISKS = "risks", _("Risk changes")
    COVERAGE = "coverage", _("Coverage by owner")
    LAG = "lag", _("Mirror lag and RPO")
    SWITCH = "switch", _("Record of a switch")
    DUE = "due", _("What is due")


class MailPreference(models.Model):
    """In which language and time zone a person wants mail. Without one: the installation's."""

    user = models.OneToOneField(User, models.CASCADE, related_name="mail_preference")
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, blank=True)
    zone = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"mail of {self.user}"


class OwnerAddress(models.Model):
    """Where an owner of AppIDs (as their page names it) gets mail."""

    owner = models.CharField(max_length=200, unique=True)
    address = models.CharField(max_length=320)
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, blank=True)
    zone = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("owner",)

    def __str__(self) -> str:
        return f"{self.owner}: {self.address}"


class ReportSchedule(models.Model):
    """Who gets a report when. Changed by :mod:`hadash.reports.schedules` only."""

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    #: ``None``: all pairs that a recipient may see.
    pair = models.ForeignKey("inventory.Pair", models.CASCADE, null=True, blank=True, related_name="+")
    #: Five fields, in ``zone``; empty for a report that is made when something happens (the record of a switch).
    cron = models.CharField(max_length=200, blank=True)
    zone = models.CharField(max_length=64, default="UTC")
    enabled = models.BooleanField(default=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)
    #: The next time that it is due; ``None`` while it is paused.
    next_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("name", "pk")
        permissions = [("manage_reports", "May change who gets which report")]
        indexes = [models.Index(fields=["next_at"], condition=models.Q(enabled=True), name="report_due")]

    def __str__(self) -> str:
        return self.name

    @property
    def topic(self) -> str:
        """What its mails are unsubscribed from."""
        return f"report-{self.pk}"


class ReportRecipient(models.Model):
    """A person, all who have a role, all who may see a pair, the owners of AppIDs, or an address."""

    class Way(models.TextChoices):
        PERSON = "person", _("person")
        ROLE = "role", _("role")
        PAIR = "pair", _("everybody of a pair")
        OWNER = "owner", _("owner")
        ADDRESS = "address", _("address")

    schedule = models.ForeignKey(ReportSchedule, models.CASCADE, related_name="recipients")
    way = models.CharField(max_length=10, choices=Way.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, null=True, blank=True, related_name="+"
    )
    #: Name of a role; of a pair; of an owner (empty: each owner gets what is theirs); or the address.
    value = models.CharField(max_length=320, blank=True)
    #: Of an address that is nobody's account.
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, blank=True)
    zone = models.CharField(max_length=64, blank=True, db_default="")

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["schedule", "way", "user", "value"], name="one_report_recipient", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.way} {self.user or self.value}"


class ReportIssue(models.Model):
    """A schedule at one of its times. Made once, however many workers look."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        QUEUED = "queued", _("queued")
        FAILED = "failed", _("failed")
        SKIPPED = "skipped", _("left out")

    schedule = models.ForeignKey(ReportSchedule, models.CASCADE, related_name="issues")
    due_at = models.DateTimeField()
    #: What it is about, when it was made because something has happened: key of a switch.
    about = models.CharField(max_length=40, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    #: Why it failed, in the words of the program.
    fault = models.TextField(blank=True)
    #: Why somebody got nothing, or nobody: sentences, as :meth:`hadash.sentences.Sentence.to_json` keeps them.
    left_out = models.JSONField(null=True)
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    made_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-due_at", "-pk")
        constraints = [
            models.UniqueConstraint(fields=["schedule", "due_at", "about"], name="one_report_issue")
        ]

    def __str__(self) -> str:
        return f"{self.schedule} of {self.due_at:%Y-%m-%d %H:%M}"


class ReportEdition(models.Model):
    """What some readers of an issue got: those with the same language, zone and view. Its page shows it as it was."""

    issue = models.ForeignKey(ReportIssue, models.CASCADE, related_name="editions")
    language = models.CharField(max_length=10)
    zone = models.CharField(max_length=64)
    #: Names of the pairs that it tells of: whoever may not see all of them may not see its page.
    pairs = models.JSONField(default=list)
    #: Of an owner's: whose AppIDs it tells of.
    owner = models.CharField(max_length=200, blank=True)
    #: :meth:`hadash.reports.report.Report.to_json`.
    report: Any = models.JSONField()
    content = models.ForeignKey("outbox.Content", models.SET_NULL, null=True, related_name="editions")

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{self.issue} ({self.language})"

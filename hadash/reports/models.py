"""Tables: schedules and recipients of reports, the issues and editions that were made, and mail preferences."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.shown import Look, Shown


class Kind(models.TextChoices):
    """The kind of a report."""

    POSTURE = "posture", _("Posture")
    RISKS = "risks", _("Risk changes")
    COVERAGE = "coverage", _("Coverage by owner")
    LAG = "lag", _("Mirror lag and RPO")
    SWITCH = "switch", _("Record of a switch")
    DUE = "due", _("What is due")


class MailPreference(models.Model):
    """A person's language and time zone for mail; empty: the installation's."""

    user = models.OneToOneField(User, models.CASCADE, related_name="mail_preference")
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, blank=True)
    zone = models.CharField(max_length=64, blank=True)

    def __str__(self) -> str:
        return f"mail of {self.user}"


class OwnerAddress(models.Model):
    """The mail address of an owner of AppIDs, by the name on the AppIDs' pages."""

    owner = models.CharField(max_length=200, unique=True)
    address = models.CharField(max_length=320)
    language = models.CharField(max_length=10, choices=settings.LANGUAGES, blank=True)
    zone = models.CharField(max_length=64, blank=True)

    class Meta:
        ordering = ("owner",)

    def __str__(self) -> str:
        return f"{self.owner}: {self.address}"


class ReportSchedule(models.Model):
    """A schedule of a report, with its recipients. Only :mod:`hadash.reports.schedules` changes it."""

    name = models.CharField(max_length=100)
    kind = models.CharField(max_length=20, choices=Kind.choices)
    #: ``None``: all pairs that a recipient may see.
    pair = models.ForeignKey("inventory.Pair", models.CASCADE, null=True, blank=True, related_name="+")
    #: Five fields, in ``zone``; empty for a report that is made for an event (the record of a switch).
    cron = models.CharField(max_length=200, blank=True)
    zone = models.CharField(max_length=64, default="UTC")
    enabled = models.BooleanField(default=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    changed_at = models.DateTimeField(auto_now=True)
    #: When it is due next; ``None`` while it is paused, and for reports on events.
    next_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("name", "pk")
        permissions = [("manage_reports", "May change who gets which report")]
        indexes = [models.Index(fields=["next_at"], condition=models.Q(enabled=True), name="report_due")]

    def __str__(self) -> str:
        return self.name

    @property
    def topic(self) -> str:
        """The topic of its mails, from which a recipient can unsubscribe."""
        return f"report-{self.pk}"


class ReportRecipient(models.Model):
    """A recipient: a person, all with a role, all who may see a pair, the owners of AppIDs, or an address."""

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
    #: The name of a role, of a pair, or of an owner (empty: each owner gets their own report); or the address.
    value = models.CharField(max_length=320, blank=True)
    #: The language and zone for an address without an account.
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
    """A schedule at one of its times. It is made once, however many workers look."""

    class State(models.TextChoices):
        WAITING = "waiting", _("waiting")
        QUEUED = "queued", _("queued")
        FAILED = "failed", _("failed")
        SKIPPED = "skipped", _("left out")

    #: Whether it was made, not whether its mail arrived.
    SHOWN: ClassVar[dict[State, Shown]] = {
        State.WAITING: Shown(State.WAITING.label, Look.WAITING, "running"),
        State.QUEUED: Shown(State.QUEUED.label, Look.FINE, "fine"),
        State.FAILED: Shown(State.FAILED.label, Look.BAD, "bad"),
        State.SKIPPED: Shown(State.SKIPPED.label, Look.UNKNOWN, "off"),
    }

    schedule = models.ForeignKey(ReportSchedule, models.CASCADE, related_name="issues")
    due_at = models.DateTimeField()
    #: The key of the switch that it is about; empty for scheduled reports.
    about = models.CharField(max_length=40, blank=True)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    #: The error with which it failed.
    fault = models.TextField(blank=True)
    #: Why recipients were skipped, or the whole issue: sentences as from
    #: :meth:`hadash.sentences.Sentence.to_json`.
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

    @property
    def shown(self) -> Shown:
        """How pages show its state."""
        return self.SHOWN[self.State(self.state)]


class ReportEdition(models.Model):
    """The report for the readers of an issue with the same language, zone and view. Its page shows the stored
    report.
    """

    issue = models.ForeignKey(ReportIssue, models.CASCADE, related_name="editions")
    language = models.CharField(max_length=10)
    zone = models.CharField(max_length=64)
    #: The names of its pairs: its page is only for users who may see all of them.
    pairs = models.JSONField(default=list)
    #: The owner whose AppIDs it is about; empty: all AppIDs.
    owner = models.CharField(max_length=200, blank=True)
    #: The result of :meth:`hadash.reports.report.Report.to_json`.
    report: Any = models.JSONField()
    content = models.ForeignKey("outbox.Content", models.SET_NULL, null=True, related_name="editions")

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{self.issue} ({self.language})"

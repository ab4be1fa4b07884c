"""Tables: switches, their approvals and logs, and the attempts at their stages."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from hadash.identity.names import MAX_NAME_LENGTH
from hadash.inventory.models import Cluster, Pair
from hadash.radius.scope import Scope
from hadash.sentences import Sentence, say
from hadash.shown import Look, Shown, choices
from hadash.switching.machines.switches import KINDS, MACHINE, OPEN, Kind, Status
from hadash.switching.models.approvable import Approvable, GivenApproval
from hadash.switching.plan import Plan


class Switch(Approvable):
    """One requested move of an AppID, InstanceID, Topics or a whole cluster, with everything that has to come
    along.
    """

    MACHINE = MACHINE

    SHOWN: ClassVar[dict[Status, Shown]] = {
        Status.AWAITING_APPROVAL: Shown(_("awaiting approval"), Look.WAITING, "waiting"),
        Status.APPROVED: Shown(_("approved"), Look.WAITING, "waiting"),
        Status.RUNNING: Shown(_("running"), Look.WAITING, "running"),
        Status.PAUSED: Shown(_("paused"), Look.WAITING, "waiting"),
        Status.SUCCEEDED: Shown(_("succeeded"), Look.FINE, "fine"),
        Status.ROLLED_BACK: Shown(_("rolled back"), Look.OFF, "back"),
        Status.NEEDS_ATTENTION: Shown(_("needs attention"), Look.BAD, "bad"),
        Status.DECLINED: Shown(_("declined"), Look.OFF, "off"),
        Status.CANCELLED: Shown(_("cancelled"), Look.OFF, "off"),
        Status.EXPIRED: Shown(_("expired"), Look.OFF, "off"),
        Status.CLOSED: Shown(_("closed"), Look.OFF, "off"),
    }

    KIND_LABELS = [(kind.value, _(spec.label.text)) for kind, spec in KINDS.items()]

    kind = models.CharField(max_length=20, choices=KIND_LABELS, default=Kind.PLANNED.value)
    pair = models.ForeignKey(Pair, models.PROTECT, related_name="switches")
    #: The AppID that was asked for; empty for Topics and for a whole cluster.
    appid = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    #: Empty for the whole AppID.
    instance_id = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    source = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    target = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    #: What was asked for: a :class:`hadash.radius.scope.Scope`. The plan has it too, but lists do not read plans.
    asked = models.JSONField()
    plan = models.JSONField()
    plan_digest = models.CharField(max_length=40)
    #: Of a restore: the switch that it goes back from.
    restores = models.ForeignKey("self", models.PROTECT, null=True, related_name="restored_by")
    #: Of a migration: days from its success until the old Topics are removed.
    retire_after_days = models.PositiveSmallIntegerField(null=True)

    status = models.CharField(max_length=20, choices=choices(SHOWN), default=Status.AWAITING_APPROVAL.value)
    stage = models.CharField(max_length=20, blank=True)
    outcome = models.JSONField(default=dict)
    abort_requested_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+"
    )

    #: The earliest and the latest start; empty: at once.
    start_at = models.DateTimeField(null=True)
    start_until = models.DateTimeField(null=True)
    #: Whether it will pause when all checks hold, until somebody resumes it; since when it is paused, and when it was
    #: last resumed.
    pause_after_precheck = models.BooleanField(default=False)
    paused_at = models.DateTimeField(null=True)
    resumed_at = models.DateTimeField(null=True)
    #: The person who reviewed an emergency afterwards.
    reviewed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="reviewed_switches"
    )
    reviewed_at = models.DateTimeField(null=True)
    review_note = models.TextField(blank=True)
    started_at = models.DateTimeField(null=True)

    #: Fencing: only the executor with the newest token may act, and the others leave the switch alone until the lease
    #: ends.
    token = models.PositiveIntegerField(default=0)
    #: Empty from the hand-over until a worker takes it.
    executor = models.CharField(max_length=200, blank=True)
    lease_until = models.DateTimeField(null=True)
    #: Whether its executor has released it because a server did not answer: it is retried when the lease has ended.
    released = models.BooleanField(default=False)

    #: What later stages need from earlier ones, also in another process: drained ends, clients seen before.
    facts = models.JSONField(default=dict)
    #: Traffic around the switch, stored when it has ended: see ``traffic.keep_traffic``.
    traffic = models.JSONField(default=list)
    #: How long each client was without a record, stored when it has ended: see ``pauses.keep_pauses``.
    pauses = models.JSONField(default=list)
    #: When both were stored, as far as Gateways answered: from then on its record is complete.
    recorded_at = models.DateTimeField(null=True)

    class Meta(Approvable.Meta):
        constraints = [
            *Approvable.Meta.constraints,
            models.CheckConstraint(
                condition=models.Q(reviewed_by__isnull=True)
                | ~models.Q(reviewed_by=models.F("requested_by")),
                name="switch_reviewed_by_somebody_else",
            ),
            models.UniqueConstraint(
                fields=["pair", "appid", "instance_id"],
                condition=models.Q(status__in=sorted(s.value for s in OPEN)) & ~models.Q(appid=""),
                name="one_open_switch_a_scope",
            ),
        ]
        permissions = [
            ("request_switch", "May request, cancel and abort switches"),
            ("decide_switch", "May approve and decline switches of others"),
            (
                "force_switch",
                "May ask for switches without the source, and say what becomes of its records",
            ),
            ("operate_switch", "May run stages again, resume switches, and close them"),
            ("exclude_gateway", "May let switches go on without a Gateway that does not answer"),
        ]
        indexes = [models.Index(fields=["status", "start_at"])]

    def __str__(self) -> str:
        return f"{self.scope}: {self.source} → {self.target}"

    @property
    def scope(self) -> Scope:
        """What was asked for."""
        return Scope.from_json(self.asked)

    def get_absolute_url(self) -> str:
        return reverse("switch", args=[self.key])

    @property
    def subject(self) -> str:
        """Its name in the audit log."""
        return f"switch {self.key} ({self.scope}, {self.source} → {self.target})"

    @property
    def current(self) -> Status:
        return Status(self.status)

    @property
    def the_kind(self) -> Kind:
        return Kind(self.kind)

    @property
    def to_be_reviewed(self) -> bool:
        """Whether it is an emergency that has ended and was not reviewed yet."""
        return self.the_kind.spec.reviewed and not self.open and self.reviewed_by_id is None

    @property
    def digest(self) -> str:
        """The hash that approvals refer to."""
        return self.plan_digest

    def cannot_change(self) -> Sentence:
        return say(
            "This switch is %(status)s: it cannot be changed that way any more.",
            status=self.get_status_display(),
        )

    def conclude(self, *sentences: Sentence) -> None:
        self.outcome = sentences[0].to_json()

    def tell(self, sentence: Sentence, actor: Any = None) -> None:
        log_event(self, sentence, actor=actor)

    def tell_once(self, sentence: Sentence) -> None:
        """Add a line to the log, unless its last line is the same."""
        log_once(self, sentence)

    def the_plan(self) -> Plan:
        return Plan.from_json(self.plan)

    @property
    def outcome_sentence(self) -> Sentence:
        return Sentence.from_json(self.outcome)


class Approval(GivenApproval):
    """One person's approval of one plan. A switch runs when it has as many as it needs."""

    switch = models.ForeignKey(Switch, models.CASCADE, related_name="approvals")

    class Meta(GivenApproval.Meta):
        constraints = [models.UniqueConstraint(fields=["switch", "user"], name="one_approval_a_person")]

    def __str__(self) -> str:
        return f"{self.user} approves {self.switch_id}"


class StageRecord(models.Model):
    """One attempt at one stage."""

    class Result(models.TextChoices):
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        INTERRUPTED = "interrupted", _("interrupted")
        #: The reply to its write was lost: it may have been carried out.
        UNKNOWN = "unknown", _("outcome not known")

    SHOWN: ClassVar[dict[Result, Shown]] = {
        Result.RUNNING: Shown(Result.RUNNING.label, Look.WAITING, "running"),
        Result.DONE: Shown(Result.DONE.label, Look.FINE, "fine"),
        Result.FAILED: Shown(Result.FAILED.label, Look.BAD, "bad"),
        Result.INTERRUPTED: Shown(Result.INTERRUPTED.label, Look.OFF, "interrupted"),
        Result.UNKNOWN: Shown(Result.UNKNOWN.label, Look.UNKNOWN, "unknown"),
    }
    #: Results of attempts that have ended by themselves, each with an entry in the audit log.
    ENDED: ClassVar[tuple[Result, ...]] = (Result.DONE, Result.FAILED, Result.UNKNOWN)

    switch = models.ForeignKey(Switch, models.CASCADE, related_name="stages")
    stage = models.CharField(max_length=20)
    token = models.PositiveIntegerField()
    result = models.CharField(max_length=12, choices=Result.choices, default=Result.RUNNING)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    sentence = models.JSONField(default=dict)
    #: What it has changed, and whether that is in the audit log.
    effects = models.JSONField(default=list)
    audited = models.BooleanField(default=False)
    #: Where the time went: maps a command, or work of the executor itself, to [how often, seconds in all].
    timings = models.JSONField(default=dict)

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return f"{self.switch_id} {self.stage}: {self.result}"

    @property
    def seconds(self) -> float | None:
        """How long it took; ``None`` while it runs."""
        return (self.ended_at - self.started_at).total_seconds() if self.ended_at else None


class SwitchEvent(models.Model):
    """One line of a switch's log."""

    switch = models.ForeignKey(Switch, models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    stage = models.CharField(max_length=20, blank=True)
    sentence = models.JSONField()

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return str(Sentence.from_json(self.sentence))


def log_event(switch: Switch, sentence: Sentence, stage: str = "", actor: Any = None) -> SwitchEvent:
    """Add a line to the log of ``switch``."""
    return SwitchEvent.objects.create(switch=switch, stage=stage, sentence=sentence.to_json(), actor=actor)


def log_once(switch: Switch, sentence: Sentence) -> None:
    """Add a line to the log, unless its last line is the same."""
    last = switch.events.order_by("-pk").first()
    if last is None or last.sentence != sentence.to_json():
        log_event(switch, sentence, switch.stage)

"""Tables: batches, the radii that they move, their approvals and their logs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from hadash.inventory.models import Cluster, Pair
from hadash.radius.scope import Scope
from hadash.sentences import Sentence, say
from hadash.shown import Look, Shown, choices
from hadash.stateful import Stateful
from hadash.switching.machines.batches import ITEM_MACHINE, MACHINE, ItemStatus, Status
from hadash.switching.models.approvable import Approvable, GivenApproval
from hadash.switching.plan import Plan


class Batch(Approvable):
    """Many radii of one pair that move to one cluster in waves, asked for and approved once."""

    MACHINE = MACHINE

    SHOWN: ClassVar[dict[Status, Shown]] = {
        Status.AWAITING_APPROVAL: Shown(_("awaiting approval"), Look.WAITING, "waiting"),
        Status.APPROVED: Shown(_("approved"), Look.WAITING, "waiting"),
        Status.RUNNING: Shown(_("running"), Look.WAITING, "running"),
        Status.STOPPED: Shown(pgettext_lazy("batch", "stopped"), Look.BAD, "bad"),
        Status.FINISHED: Shown(pgettext_lazy("batch", "finished"), Look.FINE, "fine"),
        Status.ENDED: Shown(pgettext_lazy("batch", "ended early"), Look.OFF, "interrupted"),
        Status.DECLINED: Shown(_("declined"), Look.OFF, "off"),
        Status.CANCELLED: Shown(_("cancelled"), Look.OFF, "off"),
        Status.EXPIRED: Shown(_("expired"), Look.OFF, "off"),
    }

    pair = models.ForeignKey(Pair, models.PROTECT, related_name="batches")
    source = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    target = models.ForeignKey(Cluster, models.PROTECT, related_name="+")
    #: The most of its switches that run at once.
    parallelism = models.PositiveSmallIntegerField()
    #: Of everything that is approved: see :func:`digest_of`.
    digest = models.CharField(max_length=40)

    status = models.CharField(max_length=20, choices=choices(SHOWN), default=Status.AWAITING_APPROVAL.value)
    outcome = models.JSONField(default=dict)

    #: When its switches may start, and until when; empty: as soon as it is approved, without an end.
    start_at = models.DateTimeField(null=True)
    start_until = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)
    #: When a worker last looked at it while it was running.
    looked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.key

    def get_absolute_url(self) -> str:
        return reverse("batch", args=[self.key])

    @property
    def subject(self) -> str:
        """Its name in the audit log."""
        return f"batch {self.key} ({self.source} → {self.target})"

    @property
    def current(self) -> Status:
        return Status(self.status)

    def cannot_change(self) -> Sentence:
        return say(
            "This batch is %(status)s: it cannot be changed that way any more.",
            status=self.get_status_display(),
        )

    def conclude(self, *sentences: Sentence) -> None:
        self.outcome = sentences[0].to_json()

    def tell(self, sentence: Sentence, actor: Any = None) -> None:
        tell(self, sentence, actor)

    def tell_once(self, sentence: Sentence) -> None:
        """Add a line to the log, unless its last line is the same."""
        tell_once(self, sentence)

    def locked(self) -> Batch:
        rows = Batch.objects.select_for_update(of=("self",)).select_related("pair", "source", "target")
        return rows.get(pk=self.pk)


class BatchItem(Stateful):
    """One radius of a batch. A radius that was left out by choice is dropped from the beginning, in wave 0."""

    MACHINE = ITEM_MACHINE

    SHOWN: ClassVar[dict[ItemStatus, Shown]] = {
        ItemStatus.WAITING: Shown(pgettext_lazy("item", "waiting"), Look.OFF, "pending"),
        ItemStatus.RUNNING: Shown(pgettext_lazy("item", "running"), Look.WAITING, "running"),
        ItemStatus.DONE: Shown(pgettext_lazy("item", "moved"), Look.FINE, "fine"),
        ItemStatus.FAILED: Shown(pgettext_lazy("item", "failed"), Look.BAD, "bad"),
        ItemStatus.DROPPED: Shown(pgettext_lazy("item", "left out"), Look.OFF, "off"),
    }

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="items")
    wave = models.PositiveIntegerField()
    #: Its place in the batch, counted over all waves.
    position = models.PositiveIntegerField()
    #: What was asked for (a :class:`Scope`), and what is approved (:meth:`Plan.approved`).
    asked = models.JSONField()
    plan = models.JSONField()
    plan_digest = models.CharField(max_length=40)
    #: Distinct client.ids that were known to use it when it was requested.
    clients = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=12, choices=choices(SHOWN), default=ItemStatus.WAITING.value)
    #: Why it failed or was left out; if it has moved, the outcome of its switch.
    outcome = models.JSONField(default=dict)
    #: Since when its turn has come and it could not begin, because engines do not answer or its bindings are
    #: being written.
    held_up_since = models.DateTimeField(null=True)
    #: The switch that moves it; after another attempt, the newest one.
    switch = models.OneToOneField("switching.Switch", models.SET_NULL, null=True, related_name="batch_item")

    class Meta:
        ordering = ("position",)
        constraints = [models.UniqueConstraint(fields=["batch", "position"], name="one_item_a_place")]

    def __str__(self) -> str:
        return f"{self.batch_id} {self.wave}/{self.position}: {self.scope}"

    @property
    def scope(self) -> Scope:
        return Scope.from_json(self.asked)

    @property
    def current(self) -> ItemStatus:
        return ItemStatus(self.status)

    def cannot_change(self) -> Sentence:
        return say(
            "%(scope)s is %(status)s: that cannot be changed any more.",
            scope=self.scope,
            status=self.get_status_display(),
        )

    def the_plan(self) -> Plan:
        """The approved part of its plan, without members."""
        return Plan.from_json(self.plan)


class BatchApproval(GivenApproval):
    """One person's approval of one batch as it was shown."""

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="approvals")

    class Meta(GivenApproval.Meta):
        constraints = [models.UniqueConstraint(fields=["batch", "user"], name="one_batch_approval_a_person")]

    def __str__(self) -> str:
        return f"{self.user} approves batch {self.batch_id}"


class BatchEvent(models.Model):
    """One line of a batch's log."""

    batch = models.ForeignKey(Batch, models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    sentence = models.JSONField()

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return str(Sentence.from_json(self.sentence))


def tell(batch: Batch, sentence: Sentence, actor: Any = None) -> None:
    """Add a line to the log of ``batch``."""
    BatchEvent.objects.create(batch=batch, sentence=sentence.to_json(), actor=actor)


def tell_once(batch: Batch, sentence: Sentence) -> None:
    """Add a line to the log, unless its last line is the same."""
    last = batch.events.order_by("-pk").first()
    if last is None or last.sentence != sentence.to_json():
        tell(batch, sentence)


def digest_of(source: str, target: str, parallelism: int, items: Iterable[BatchItem]) -> str:
    """The hash that approvals refer to: of every radius with its plan and wave, of those left out, and of how many
    run at once.
    """
    said = [[item.wave, item.asked, item.plan_digest, item.current is ItemStatus.DROPPED] for item in items]
    text = json.dumps([source, target, parallelism, said], sort_keys=True, ensure_ascii=False)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

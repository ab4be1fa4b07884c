"""Table: retirements of migrations."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils.translation import pgettext_lazy

from hadash.sentences import Sentence, say
from hadash.shown import Look, Shown, choices
from hadash.stateful import Stateful
from hadash.switching.machines.retirements import MACHINE, Status, Step


class Retirement(Stateful):
    """The retirement of a successful migration: its mirrors are retired and its old Topics removed, or they stay."""

    MACHINE = MACHINE

    SHOWN: ClassVar[dict[Status, Shown]] = {
        Status.WAITING: Shown(pgettext_lazy("retirement", "waiting"), Look.WAITING, "waiting"),
        Status.RUNNING: Shown(pgettext_lazy("retirement", "running"), Look.WAITING, "running"),
        Status.DONE: Shown(pgettext_lazy("retirement", "done"), Look.FINE, "fine"),
        Status.KEPT: Shown(pgettext_lazy("retirement", "kept"), Look.OFF, "off"),
        Status.FAILED: Shown(pgettext_lazy("retirement", "failed"), Look.BAD, "bad"),
    }

    switch = models.OneToOneField("switching.Switch", models.PROTECT, related_name="retirement")
    status = models.CharField(max_length=10, choices=choices(SHOWN), default=Status.WAITING.value)
    #: When it is carried out without a person's order.
    due_at = models.DateTimeField()
    #: How often it was postponed.
    postponed = models.PositiveSmallIntegerField(default=0)
    #: The reason for its status: what was decided, what blocks it, or what was removed.
    outcome = models.JSONField(default=dict)
    #: The person who last postponed it, kept the Topics or had them removed.
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    done_at = models.DateTimeField(null=True)
    #: Fencing, as for a switch: the holder of the newest token may act until the lease ends.
    token = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    #: What existed before, what is removed already, and where the mirror ended: see ``removing.py``.
    facts = models.JSONField(default=dict)

    class Meta:
        ordering = ("due_at",)
        indexes = [models.Index(fields=["status", "due_at"])]

    def __str__(self) -> str:
        return f"retirement of {self.switch}"

    @property
    def current(self) -> Status:
        return Status(self.status)

    def cannot_change(self) -> Sentence:
        return say(
            "The removal of the old Topics is %(status)s: that cannot be decided any more.",
            status=self.get_status_display(),
        )

    @property
    def outcome_sentence(self) -> Sentence:
        return Sentence.from_json(self.outcome)

    @property
    def removed(self) -> list[str]:
        """The steps that are done; until all mirrors are retired, also each mirror that is gone or cannot run
        again.
        """
        steps = list(self.facts.get("removed", ()))
        mirrors = [] if Step.MIRRORS.value in steps else self.facts.get("retired", ())
        return [*(f"mirror {name}" for name in mirrors), *steps]

"""Tables: changes of pools that people ask for, their approvals, and the steps that the coordinator has taken."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from django.db import models
from django.urls import reverse

from hadash.identity.names import MAX_NAME_LENGTH
from hadash.inventory.models import Pair
from hadash.pools.actions import Action, Change
from hadash.pools.machine import MACHINE
from hadash.sentence_field import SentenceField
from hadash.sentences import Sentence
from hadash.switching.models.approvable import GivenApproval
from hadash.switching.models.requested_change import RequestedChange


def digest_of(change: Change) -> str:
    """The hash that approvals refer to: the same change of the same pool has the same digest."""
    said = [
        change.pool,
        change.action.value,
        change.member,
        change.topic,
        change.strategy,
        change.partitions,
        change.consumer or {},
    ]
    return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=16).hexdigest()


class PoolChange(RequestedChange):
    """A change of a pool that somebody asked for."""

    MACHINE = MACHINE

    #: The pair whose clusters the pool reads; null: both clusters of none, or of several.
    pair = models.ForeignKey(Pair, models.PROTECT, null=True, related_name="pool_changes")
    pool = models.CharField(max_length=MAX_NAME_LENGTH)
    action = models.CharField(max_length=20)
    #: What :class:`hadash.pools.actions.Change` has besides.
    member = models.CharField(max_length=MAX_NAME_LENGTH, blank=True)
    topic = models.CharField(max_length=249, blank=True)
    strategy = models.CharField(max_length=40, blank=True)
    consumer = models.JSONField(null=True)
    partitions = models.PositiveIntegerField(default=0)
    digest = models.CharField(max_length=40)
    #: (Its column has another default in the base: a change may need nobody's approval.)
    approvals_needed = models.PositiveSmallIntegerField(default=0)

    #: What came of it.
    outcome = SentenceField()

    class Meta(RequestedChange.Meta):
        indexes = [
            models.Index(fields=["pool", "-requested_at"], name="pool_change_of_pool"),
            models.Index(fields=["status"], name="pool_change_status"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.pool}"

    def get_absolute_url(self) -> str:
        return reverse("pool-change", args=[self.key])

    @property
    def subject(self) -> str:
        """Its name in the audit log."""
        return f"pool {self.pool}"

    @property
    def change(self) -> Change:
        """What is to be done."""
        return Change(
            self.pool,
            Action(self.action),
            self.member,
            self.topic,
            self.strategy,
            self.consumer,
            self.partitions,
        )

    @property
    def sentence(self) -> Sentence:
        """What it does, in words."""
        return self.change.sentence

    def conclude(self, *sentences: Sentence) -> None:
        (self.outcome,) = sentences

    def values(self) -> dict[str, Any]:
        """What it does, for the audit log."""
        named = ("action", "member", "topic", "strategy", "consumer", "partitions")
        return {name: value for name in named if (value := getattr(self, name))}


class PoolApproval(GivenApproval):
    """One person's approval of one change."""

    change = models.ForeignKey(PoolChange, models.CASCADE, related_name="approvals")

    class Meta(GivenApproval.Meta):
        constraints = [models.UniqueConstraint(fields=["change", "user"], name="one_pool_approval_a_person")]

    def __str__(self) -> str:
        return f"{self.user} approves {self.change_id}"


class PoolStep(models.Model):
    """A step of a Topic's assignment, as the coordinator has said. ``event`` and ``state`` as in
    :mod:`hadash.coordinator.states`; ``moved``: partitions that got another member, or none.
    """

    pool = models.CharField(max_length=MAX_NAME_LENGTH)
    topic = models.CharField(max_length=249)
    at = models.DateTimeField()
    event = models.CharField(max_length=20)
    state = models.CharField(max_length=20)
    moved = models.PositiveIntegerField()

    class Meta:
        ordering = ("-at", "-pk")
        constraints = [
            models.UniqueConstraint(fields=["pool", "topic", "at", "event"], name="pool_step_once")
        ]

    def __str__(self) -> str:
        return f"{self.pool} {self.topic}: {self.event} at {self.at}"

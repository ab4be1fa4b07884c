"""What every request has that others decide on, and who has agreed to it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.sentences import Sentence
from hadash.stateful import Stateful
from hadash.switching.keys import new_key


class Approvable(Stateful):
    """A request that other people approve or decline: :class:`hadash.switching.approvals.workflow.Workflow` says how.

    A row has a ``pair`` besides, whose policy it is asked for under, a ``digest`` of what is approved, and
    ``approvals`` (rows of a
    :class:`GivenApproval`).
    """

    #: Its name in ZooKeeper and in addresses; of all requests no two have the same.
    key = models.CharField(max_length=20, unique=True, default=new_key)
    reason = models.TextField(_("reason"))
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
    #: The browser that it was requested in (see ``accounts/browser.py``); empty for a program.
    requested_in = models.CharField(max_length=40, blank=True)
    #: How many have to approve it: the pair's policy when it was requested.
    approvals_needed = models.PositiveSmallIntegerField(default=1)
    expires_at = models.DateTimeField()
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    decided_at = models.DateTimeField(null=True)
    decision_note = models.TextField(blank=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True
        ordering = ("-requested_at",)
        constraints = [
            # Four eyes, whatever the code above it does.
            models.CheckConstraint(
                condition=models.Q(decided_by__isnull=True) | ~models.Q(decided_by=models.F("requested_by")),
                name="%(class)s_decided_by_somebody_else",
            )
        ]

    @property
    def subject(self) -> str:
        """As the audit log calls it."""
        raise NotImplementedError

    def conclude(self, *sentences: Sentence) -> None:
        """Note what has become of it; the caller saves."""
        raise NotImplementedError

    def tell(self, sentence: Sentence, actor: Any = None) -> None:
        """A line in its log, if it has one."""


class GivenApproval(models.Model):
    """One person's yes to what was shown."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    #: Of what was shown.
    digest = models.CharField(max_length=40)
    #: The browser in which it was given; empty for a program.
    browser = models.CharField(max_length=40, blank=True)

    class Meta:
        abstract = True
        ordering = ("at",)

"""The base of every request that others decide on, and of the approvals given to it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.sentences import Sentence
from hadash.stateful import Stateful
from hadash.switching.keys import new_key


class Approvable(Stateful):
    """A request that other people approve or decline; :class:`hadash.switching.approvals.workflow.Workflow` does it.

    A row also has a ``pair``, whose policy applies, a ``digest`` of what is approved, and ``approvals`` (rows of a
    :class:`GivenApproval`).
    """

    #: Its name in ZooKeeper and in addresses, unique among all requests.
    key = models.CharField(max_length=20, unique=True, default=new_key)
    reason = models.TextField(_("reason"))
    requested_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    requested_at = models.DateTimeField(auto_now_add=True)
    #: The browser that it was requested in (see ``accounts/browser.py``); empty for a program.
    requested_in = models.CharField(max_length=40, blank=True)
    #: How many people have to approve it, by the pair's policy when it was requested.
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
            # Four eyes, whatever the code does.
            models.CheckConstraint(
                condition=models.Q(decided_by__isnull=True) | ~models.Q(decided_by=models.F("requested_by")),
                name="%(class)s_decided_by_somebody_else",
            )
        ]

    @property
    def subject(self) -> str:
        """Its name in the audit log."""
        raise NotImplementedError

    def conclude(self, *sentences: Sentence) -> None:
        """Note its outcome; the caller saves."""
        raise NotImplementedError

    def tell(self, sentence: Sentence, actor: Any = None) -> None:
        """Add a line to its log, if it has one."""


class GivenApproval(models.Model):
    """One person's approval of what was shown."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    #: Of what was shown to the person.
    digest = models.CharField(max_length=40)
    #: The browser in which it was given; empty for a program.
    browser = models.CharField(max_length=40, blank=True)

    class Meta:
        abstract = True
        ordering = ("at",)

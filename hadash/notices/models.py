"""Tables: notices, incidents, channels, the wishes of people, and pending notices."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.notices.kinds import NOTICES
from hadash.outbox.models import Endpoint

KIND_CHOICES = [(kind.value, about.word) for kind, about in NOTICES.items()]


class Notice(models.Model):
    """One event that users and channels are notified of."""

    kind = models.CharField(max_length=30, choices=KIND_CHOICES)
    #: Identifies the event, however often it is seen: ``switch-ended:a1b2c3``.
    key = models.CharField(max_length=200, unique=True)
    #: ``None``: it is about the whole installation.
    pair = models.ForeignKey("inventory.Pair", models.CASCADE, null=True, related_name="+")
    sentence = models.JSONField()
    #: A further sentence, such as the outcome of a switch; may be empty.
    detail = models.JSONField(default=dict)
    #: The path of the page that shows it.
    path = models.CharField(max_length=300)
    #: The users that take part in it: they get the kinds for those involved.
    involved = models.ManyToManyField(User, related_name="+")
    #: The user that did it, who is not told.
    actor = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField()
    #: When pending notices were made for its recipients; null until then.
    routed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        indexes = [models.Index(fields=["id"], condition=models.Q(routed_at=None), name="notice_to_route")]

    def __str__(self) -> str:
        return self.key


class Incident(models.Model):
    """A lasting fault, with the time when it was first seen. The row is deleted when it has been over for a while."""

    key = models.CharField(max_length=200, unique=True)
    since = models.DateTimeField()
    #: Whether it was announced, because it has lasted long enough.
    is_told = models.BooleanField(default=False)
    #: Since when it is over; null: it still lasts. A fault that comes back soon is the same incident: a mirror
    #: that swings around its RPO is one.
    over_since = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.key


class _Wish(models.Model):
    """Which notices somebody wants, and when (:class:`hadash.notices.timing.Wish`)."""

    #: The wanted kinds; null: the usual ones.
    kinds = models.JSONField(null=True, blank=True)
    digest_minutes = models.PositiveIntegerField(_("together, every (minutes)"), default=0)
    quiet_from = models.TimeField(_("quiet from"), null=True, blank=True)
    quiet_until = models.TimeField(_("quiet until"), null=True, blank=True)
    #: When the last message was queued.
    told_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class PersonalWish(_Wish):
    """A person's wish for notices by mail."""

    user = models.OneToOneField(User, models.CASCADE, related_name="notice_wish")
    by_mail = models.BooleanField(default=True)
    #: The kinds that the person also gets when they are not concerned; null: none.
    everybodys = models.JSONField(null=True, blank=True)
    #: Names of pairs; null: all that the person may see.
    pairs = models.JSONField(null=True, blank=True)

    def __str__(self) -> str:
        return f"notices of {self.user}"


class Channel(_Wish):
    """A webhook or chat channel that gets the notices of a pair (or of all)."""

    endpoint = models.OneToOneField(Endpoint, models.CASCADE, related_name="channel")
    #: ``None``: all pairs, and the installation.
    pair = models.ForeignKey("inventory.Pair", models.CASCADE, null=True, blank=True, related_name="+")
    language = models.CharField(max_length=10, blank=True)
    zone = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ("endpoint__name",)

    def __str__(self) -> str:
        return self.endpoint.name


class Pending(models.Model):
    """A notice that a person or a channel has not been sent yet."""

    notice = models.ForeignKey(Notice, models.CASCADE, related_name="pending")
    user = models.ForeignKey(User, models.CASCADE, null=True, related_name="+")
    channel = models.ForeignKey(Channel, models.CASCADE, null=True, related_name="+")

    class Meta:
        ordering = ("pk",)
        constraints = [
            models.UniqueConstraint(
                fields=["notice", "user", "channel"], name="one_pending_notice", nulls_distinct=False
            )
        ]

    def __str__(self) -> str:
        return f"{self.notice} for {self.user or self.channel}"

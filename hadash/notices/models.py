"""Tables: what has happened, which channels there are, how people want to be told, and what has gathered for whom."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import models
from django.utils.translation import gettext_lazy as _

from hadash.notices.kinds import NOTICES
from hadash.outbox.models import Endpoint

KIND_CHOICES = [(kind.value, about.word) for kind, about in NOTICES.items()]


class Notice(models.Model):
    """Something that has happened, once."""

    kind = models.CharField(max_length=30, choices=KIND_CHOICES)
    #: What makes it one and the same, however often it is seen: ``switch-ended:a1b2c3``.
    key = models.CharField(max_length=200, unique=True)
    #: ``None``: of the whole installation.
    pair = models.ForeignKey("inventory.Pair", models.CASCADE, null=True, related_name="+")
    sentence = models.JSONField()
    #: What more there is to say: what came of a switch. Empty for nothing.
    detail = models.JSONField(default=dict)
    #: Of the page that shows the very thing.
    path = models.CharField(max_length=300)
    #: Who has a part in it: they get what is told to those involved.
    involved = models.ManyToManyField(User, related_name="+")
    #: Who did it: they know.
    actor = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")
    at = models.DateTimeField()
    #: When it was given to those who get it; null until then.
    routed_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-pk",)
        indexes = [models.Index(fields=["id"], condition=models.Q(routed_at=None), name="notice_to_route")]

    def __str__(self) -> str:
        return self.key


class Incident(models.Model):
    """Something that is not as it should be, since when it was first seen so; the row goes when it has been
    over for a while.
    """

    key = models.CharField(max_length=200, unique=True)
    since = models.DateTimeField()
    #: Whether it has lasted long enough to be told.
    is_told = models.BooleanField(default=False)
    #: Since when it is over; null: it is not. What comes again at once is the same: a mirror that swings
    #: around its RPO is one incident.
    over_since = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.key


class _Wish(models.Model):
    """Which notices, and when (:class:`hadash.notices.timing.Wish`)."""

    #: Kinds; null: those that are usual.
    kinds = models.JSONField(null=True, blank=True)
    digest_minutes = models.PositiveIntegerField(_("together, every (minutes)"), default=0)
    quiet_from = models.TimeField(_("quiet from"), null=True, blank=True)
    quiet_until = models.TimeField(_("quiet until"), null=True, blank=True)
    #: When anything was told last.
    told_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True


class PersonalWish(_Wish):
    """How a person wants to be told by mail."""

    user = models.OneToOneField(User, models.CASCADE, related_name="notice_wish")
    by_mail = models.BooleanField(default=True)
    #: Of ``kinds``, those that are told of what others do as well; null: of none.
    everybodys = models.JSONField(null=True, blank=True)
    #: Names of pairs; null: all that the person may see.
    pairs = models.JSONField(null=True, blank=True)

    def __str__(self) -> str:
        return f"notices of {self.user}"


class Channel(_Wish):
    """A webhook or a chat's channel that is told of a pair (or of all)."""

    endpoint = models.OneToOneField(Endpoint, models.CASCADE, related_name="channel")
    #: ``None``: of all pairs, and of the installation.
    pair = models.ForeignKey("inventory.Pair", models.CASCADE, null=True, blank=True, related_name="+")
    language = models.CharField(max_length=10, blank=True)
    zone = models.CharField(max_length=64, blank=True)
    created_by = models.ForeignKey(User, models.SET_NULL, null=True, related_name="+")

    class Meta:
        ordering = ("endpoint__name",)

    def __str__(self) -> str:
        return self.endpoint.name


class Pending(models.Model):
    """A notice that somebody, or a channel, has not been told of yet."""

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

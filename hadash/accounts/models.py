"""Who a person is elsewhere."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import models


class ExternalIdentity(models.Model):
    """A user who signs in through a provider of OpenID Connect.

    Issuer and subject are what a provider promises to keep; names and mail addresses are given to somebody else one day.
    """

    user = models.OneToOneField(User, models.CASCADE, related_name="external_identity")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="external_identity_once")]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"

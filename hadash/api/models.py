"""The answers to requests that carried an idempotency key."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from rest_framework.utils.encoders import JSONEncoder

#: Most characters of a key: a UUID fits, with room to spare.
MAX_KEY = 200


class IdempotentAnswer(models.Model):
    """The answer to a write. It is stored in the transaction of the write: both are there, or neither."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=MAX_KEY)
    #: HMAC-SHA-256 over method, path, token and body: the same key for another request is a mistake.
    fingerprint = models.CharField(max_length=64)
    status_code = models.PositiveSmallIntegerField(default=0)
    body = models.JSONField(null=True, encoder=JSONEncoder)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "key"], name="idempotency_key_once_a_user")]
        indexes = [models.Index(fields=["at"])]

    def __str__(self) -> str:
        return f"{self.key} of {self.user_id}: {self.status_code}"

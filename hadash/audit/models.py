"""The audit log. Rows are only ever added."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models


class Entry(models.Model):
    """One decision or effect."""

    at = models.DateTimeField(auto_now_add=True)
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    verb = models.CharField(max_length=40)
    subject = models.CharField(max_length=300)
    address = models.GenericIPAddressField(null=True)
    details = models.JSONField(default=dict)

    class Meta:
        ordering = ("-at", "-pk")
        indexes = [models.Index(fields=["subject"])]

    def __str__(self) -> str:
        return f"{self.verb} {self.subject}"


def record(actor: Any, verb: str, subject: str, address: str | None = None, **details: Any) -> Entry:
    """Add an entry. ``actor`` is ``None`` for what the program did by itself."""
    return Entry.objects.create(
        actor=actor, verb=verb, subject=subject, address=address or None, details=details
    )

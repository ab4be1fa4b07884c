"""Table: drafts of requests for switches."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.urls import reverse

from hadash.inventory.models import AppID, Pair


class RequestDraft(models.Model):
    """What a person has typed into the request form so far, by the form's field names, unchanged."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="request_drafts")
    pair = models.ForeignKey(Pair, models.CASCADE, related_name="+")
    #: The AppID to switch; ``None`` for Topics and whole clusters.
    appid = models.ForeignKey(AppID, models.CASCADE, null=True, related_name="+")
    fields = models.JSONField(default=dict)
    saved_at = models.DateTimeField()

    class Meta:
        ordering = ("-saved_at", "-pk")

    def get_absolute_url(self) -> str:
        """The form, filled with the draft."""
        return f"{reverse('request-switch')}?draft={self.pk}"

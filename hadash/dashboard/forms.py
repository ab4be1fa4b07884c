"""Forms: what people type. What is allowed is decided by the services."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from hadash.inventory.models import AppID


class RegisterForm(forms.Form):
    """Register an InstanceID under an AppID."""

    # No length and no character rules here: the service has them, and says them in its own words.
    name = forms.CharField(label=_("InstanceID"), error_messages={"required": _("Type the client.id.")})
    note = forms.CharField(label=_("Note"), required=False)


class RequestForm(forms.Form):
    """Ask for a switch. Without ``scope``, an ``instance`` says that it is about that one."""

    SCOPES = [("appid", _("The whole AppID")), ("instance", _("One InstanceID"))]

    appid = forms.IntegerField(widget=forms.HiddenInput)
    scope = forms.ChoiceField(choices=SCOPES, required=False)
    instance = forms.CharField(required=False)
    #: The cluster that was shown as the target; without it the other one than where the scope is bound.
    target = forms.CharField(required=False)
    reason = forms.CharField(required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.the_appid: AppID | None = None

    @property
    def instance_id(self) -> str | None:
        """The InstanceID that was asked for; ``None`` for the whole AppID."""
        name = str(self.cleaned_data.get("instance", ""))
        if self.cleaned_data.get("scope") == "appid":
            return None
        return name or None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("scope") == "instance" and not cleaned.get("instance"):
            self.add_error("instance", _("Say which InstanceID."))
        return cleaned

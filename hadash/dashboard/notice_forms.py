"""Forms for notices: which, when, and into which channel. The services decide what is allowed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from hadash.inventory.models import Pair
from hadash.notices.channels import WantedChannel, WantedWish
from hadash.notices.kinds import NoticeKind
from hadash.notices.models import KIND_CHOICES, Channel
from hadash.outbox.models import POSTED, Transport

#: Most minutes of a digest: a day. For longer times there are reports.
MOST_DIGEST = 24 * 60

_TRANSPORTS = [(each.value, each.label) for each in Transport if each in POSTED]
_TIME = {"invalid": _("Type a time such as 22:00.")}


class WishForm(forms.Form):
    """Which notices are wanted, and when. ``usual``: the usual kinds instead of ``kinds``."""

    usual = forms.BooleanField(required=False)
    kinds = forms.MultipleChoiceField(choices=KIND_CHOICES, required=False)
    digest_minutes = forms.IntegerField(min_value=0, max_value=MOST_DIGEST, required=False)
    quiet_from = forms.TimeField(required=False, error_messages=_TIME)
    quiet_until = forms.TimeField(required=False, error_messages=_TIME)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if (values.get("quiet_from") is None) != (values.get("quiet_until") is None):
            self.add_error(None, _("Quiet hours need a beginning and an end."))
        return values

    def wish(self) -> WantedWish:
        """Return the wish that a valid form has."""
        values = self.cleaned_data
        return WantedWish(
            kinds=None if values["usual"] else [NoticeKind(kind) for kind in values["kinds"]],
            digest_minutes=values["digest_minutes"] or 0,
            quiet_from=values["quiet_from"],
            quiet_until=values["quiet_until"],
        )


class OwnNoticesForm(WishForm):
    """The notices that a person wants. ``everybodys``: kinds that are wanted even if the person has no part in the
    event.
    """

    by_mail = forms.BooleanField(required=False)
    everybodys = forms.MultipleChoiceField(choices=KIND_CHOICES, required=False)
    pairs = forms.MultipleChoiceField(required=False)

    def __init__(self, data: Any = None, *, pairs: Sequence[str], initial: dict[str, Any]) -> None:
        super().__init__(data, initial=initial)
        self.fields["pairs"].choices = [(name, name) for name in pairs]  # type: ignore[attr-defined]

    def wish(self) -> WantedWish:
        kinds = [NoticeKind(kind) for kind in self.cleaned_data["everybodys"]]
        return replace(super().wish(), everybodys=kinds, pairs=self.cleaned_data["pairs"])


class ChannelForm(WishForm):
    """A channel for notices, with its endpoint and its wish."""

    name = forms.CharField(required=False, max_length=200)
    transport = forms.ChoiceField(choices=_TRANSPORTS)
    url = forms.CharField(required=False, max_length=2000)
    secret = forms.CharField(required=False, max_length=500)
    pair = forms.ModelChoiceField(Pair.objects.none(), required=False)
    language = forms.ChoiceField(choices=[("", ""), *settings.LANGUAGES], required=False)
    zone = forms.CharField(required=False, max_length=64)
    enabled = forms.BooleanField(required=False)

    def __init__(self, data: Any = None, *, pairs: Any, channel: Channel | None = None) -> None:
        super().__init__(data, initial=_initial(channel))
        self.fields["pair"].queryset = pairs  # type: ignore[attr-defined]

    def wanted(self) -> WantedChannel:
        """Return what a valid form requests."""
        values = self.cleaned_data
        return WantedChannel(
            name=values["name"],
            transport=values["transport"],
            url=values["url"],
            secret=values["secret"],
            pair=values["pair"],
            language=values["language"],
            zone=values["zone"],
            wish=self.wish(),
            enabled=values["enabled"],
        )


def wish_of(kept: Any) -> dict[str, Any]:
    """Return the initial values of a form from a kept wish."""
    return {
        "usual": kept.kinds is None,
        "kinds": kept.kinds or [],
        "digest_minutes": kept.digest_minutes,
        "quiet_from": kept.quiet_from,
        "quiet_until": kept.quiet_until,
    }


def _initial(channel: Channel | None) -> dict[str, Any]:
    if channel is None:
        return {"usual": True, "enabled": True, "transport": Transport.WEBHOOK.value}
    return {
        **wish_of(channel),
        "name": channel.endpoint.name,
        "transport": channel.endpoint.transport,
        "pair": channel.pair_id,
        "language": channel.language,
        "zone": channel.zone,
        "enabled": channel.endpoint.enabled,
    }

"""Forms for bindings by hand and for generated InstanceIDs. The services decide what is allowed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from hadash.dashboard.forms import names_in
from hadash.identity.identity import Identity, NotAnIdentity, parse
from hadash.switching.binding_rule import Wanted


class BindForm(forms.Form):
    """The request to bind one identity of an AppID to the cluster that serves it, or to unbind some that are bound."""

    KINDS = [
        ("instance", _("One InstanceID")),
        ("topics", _("A Topic, or a list of Topics")),
        ("group", _("A consumer group")),
        ("appid", _("The AppID itself")),
    ]

    action = forms.ChoiceField(choices=[("bind", "bind"), ("unbind", "unbind")], required=False)
    kind = forms.ChoiceField(choices=KINDS, required=False)
    instance = forms.CharField(required=False)
    topics = forms.CharField(required=False)
    group = forms.CharField(required=False)
    #: Whether to register the InstanceID if it is not registered.
    register = forms.BooleanField(required=False)
    reason = forms.CharField(required=False)
    #: The digest of the change that was shown.
    digest = forms.CharField(required=False)

    def __init__(self, *args: Any, appid: str, unbind: list[str], **kwargs: Any) -> None:
        """:param unbind: the keys of the ticked identities."""
        super().__init__(*args, **kwargs)
        self.appid, self.unbind = appid, unbind

    def _value(self, name: str) -> str:
        return str((self.cleaned_data if self.is_bound else self.initial).get(name) or "").strip()

    @property
    def the_action(self) -> str:
        """``bind`` or ``unbind``: as chosen, else as the filled fields imply."""
        return self._value("action") or ("unbind" if self.unbind else "bind")

    @property
    def the_kind(self) -> str:
        chosen = self._value("kind")
        if chosen:
            return chosen
        return next((name for name in ("topics", "group") if self._value(name)), "instance")

    def wanted(self) -> Wanted | None:
        """Return what is requested; ``None`` while something is missing."""
        if self.the_action == "unbind":
            try:
                found = tuple(parse(key) for key in self.unbind)
            except NotAnIdentity:
                return None
            return Wanted(unbind=found) if found else None
        kind = self.the_kind
        if kind == "appid":
            return Wanted(bind=(Identity(self.appid),))
        if kind == "topics":
            topics = tuple(names_in(self._value("topics")))
            return Wanted(bind=(Identity(self.appid, topics=topics),)) if topics else None
        name = self._value(kind)
        if not name:
            return None
        if kind == "group":
            return Wanted(bind=(Identity(self.appid, group=name),))
        return Wanted(bind=(Identity(self.appid, name),))


class GenerateForm(forms.Form):
    """The request to generate InstanceIDs for Topics."""

    topics = forms.CharField(required=False)
    one = forms.ChoiceField(choices=[("each", "each"), ("one", "one")], required=False)
    produce = forms.BooleanField(required=False)
    consume = forms.BooleanField(required=False)
    note = forms.CharField(required=False)

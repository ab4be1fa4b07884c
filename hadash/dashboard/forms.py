"""Forms: what people type. What is allowed is decided by the services."""

from __future__ import annotations

import base64
import re
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from hadash.accounts.roles import SCOPES
from hadash.governance.findings import RULES
from hadash.identity.names import printable
from hadash.inventory.models import AppID, Pair
from hadash.inventory.relations import CONSUME, PRODUCE
from hadash.inventory.relations_csv import MAX_BYTES
from hadash.radius.closure import Dimension
from hadash.radius.scope import Scope, ScopeKind, node_named
from hadash.sentences import Sentence, say
from hadash.switching.machines.switches import Kind
from hadash.switching.models.policies import POLICY_FIELDS, Policy

#: What separates Topics in a field: people paste lists, and a Chinese keyboard has commas of its own.
_SEPARATORS = re.compile(r"[\s,;，；、]+")


class LocalTimeField(forms.DateTimeField):
    """A time as the browser's own field gives it, in the time zone of whoever types it; see :func:`in_utc`."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"})

    def to_python(self, value: Any) -> datetime | None:
        if value in self.empty_values:
            return None
        try:
            return datetime.fromisoformat(str(value)).replace(tzinfo=UTC)
        except ValueError:
            raise forms.ValidationError(_("Type a date and a time, such as 2026-12-01 02:00.")) from None


def in_utc(form: forms.Form, *names: str) -> None:
    """Move times from the typist's clock to UTC. How many minutes that clock is behind it stands in the field
    ``<name>_offset`` (JavaScript's getTimezoneOffset for that very time: clocks change with the season);
    without it they are in UTC.
    """
    for name in names:
        at = form.cleaned_data.get(name)
        offset = form.cleaned_data.get(f"{name}_offset")
        if at is None or not offset:
            continue
        try:
            form.cleaned_data[name] = at + timedelta(minutes=offset)
        except OverflowError:
            form.add_error(name, _("Type a date and a time, such as 2026-12-01 02:00."))


def offset_field() -> forms.IntegerField:
    """Beside a time: see :func:`in_utc`."""
    return forms.IntegerField(required=False, min_value=-24 * 60, max_value=24 * 60)


class RulesForm(forms.ModelForm):
    """The rules of a pair; what is left empty is as in the settings."""

    class Meta:
        model = Policy
        fields = tuple(name for name in POLICY_FIELDS if name != "stopping")

    #: Whether the page showed which findings stop a switch: no box at all is ticked by whoever wants none to.
    findings_shown = forms.BooleanField(required=False)
    stopping = forms.MultipleChoiceField(choices=[(code.value, code.value) for code in RULES], required=False)

    def values(self) -> dict[str, Any]:
        """What :func:`hadash.switching.policy.set_policy` takes."""
        values = dict(self.cleaned_data)
        if not values.pop("findings_shown"):
            values.pop("stopping")
        return values


class BlackoutForm(forms.Form):
    """A time in which nothing starts."""

    begins = LocalTimeField(label=_("From"), error_messages={"required": _("Say when it begins.")})
    ends = LocalTimeField(label=_("To"), error_messages={"required": _("Say when it ends.")})
    reason = forms.CharField(label=_("Reason"), required=False)
    begins_offset, ends_offset = offset_field(), offset_field()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.cleaned_data = cleaned
        in_utc(self, "begins", "ends")
        return cleaned


class RegisterForm(forms.Form):
    """Register an InstanceID under an AppID."""

    # No length and no character rules here: the service has them, and says them in its own words.
    name = forms.CharField(label=_("InstanceID"), error_messages={"required": _("Type the client.id.")})
    note = forms.CharField(label=_("Note"), required=False)


def names_in(text: str) -> list[str]:
    """The names in a field that takes several; each once, sorted.

    >>> names_in("orders， carts、orders")
    ['carts', 'orders']
    """
    return sorted({name for name in _SEPARATORS.split(text) if name})


class DeclareForm(forms.Form):
    """Declare what an InstanceID, or its AppID as a whole, uses. What can be declared the service says."""

    instance_id = forms.CharField(required=False)
    topics = forms.CharField(required=False)
    produce = forms.BooleanField(required=False)
    consume = forms.BooleanField(required=False)
    groups = forms.CharField(required=False)
    note = forms.CharField(required=False)
    #: Whether every Topic gets a new InstanceID of its own.
    each = forms.BooleanField(required=False)

    def fault(self) -> Sentence | None:
        """Why it is not valid: every field may be empty, and the one thing that none takes is a NUL."""
        if not self.errors:
            return None
        typed = str(self.data.get(next(iter(self.errors)), ""))
        return say("“%(name)s” holds a control character. Remove it.", name=printable(typed))

    def values(self) -> dict[str, Any]:
        """The arguments of :func:`hadash.inventory.declarations.declare`."""
        typed = self.cleaned_data
        return {
            "instance_id": typed["instance_id"],
            "topics": names_in(typed["topics"]),
            "kinds": [kind for kind in (PRODUCE, CONSUME) if typed[kind]],
            "groups": names_in(typed["groups"]),
            "note": typed["note"],
            "each": typed["each"],
        }


class ImportForm(forms.Form):
    """A file with relations; or, from its preview, the same file again with the digest of what was looked at."""

    file = forms.FileField(required=False, allow_empty_file=True)
    #: The file in base64: what a browser does to the ends of lines in a field must not change it.
    carried = forms.CharField(required=False)
    whole = forms.BooleanField(required=False)
    digest = forms.CharField(required=False)

    def clean(self) -> dict[str, Any]:
        """``content`` is the file."""
        cleaned = super().clean() or {}
        upload, carried = cleaned.get("file"), cleaned.get("carried")
        if upload is not None:
            # (One byte more than there may be says that there is more.)
            cleaned |= {"content": upload.read(MAX_BYTES + 1), "digest": ""}
            return cleaned
        try:
            cleaned["content"] = base64.b64decode(carried or "", validate=True)
        except ValueError:
            carried = ""
        if not carried:
            raise forms.ValidationError(_("Choose a file."))
        return cleaned

    def carry(self) -> str:
        """The file as its preview carries it."""
        return base64.b64encode(self.cleaned_data["content"]).decode()


class RequestForm(forms.Form):
    """Ask for a switch. Without ``scope``, an ``instance`` says that it is about that one, and ``topics``
    about those.
    """

    SCOPES = [
        (ScopeKind.APPID.value, _("The whole AppID")),
        (ScopeKind.INSTANCE.value, _("One InstanceID")),
        (ScopeKind.TOPICS.value, _("Topics")),
        (ScopeKind.PAIR.value, _("Everything on one cluster")),
        (ScopeKind.SEVERAL.value, _("What moved together before")),
    ]

    scope = forms.ChoiceField(choices=SCOPES, required=False)
    instance = forms.CharField(required=False)
    topics = forms.CharField(required=False)
    #: What moved together in another switch, a line for each; nobody types it.
    roots = forms.CharField(required=False)
    #: Whether InstanceIDs move by themselves.
    dimension = forms.ChoiceField(choices=[(d.value, d.value) for d in Dimension], required=False)
    #: Whether clients without an InstanceID take their whole AppID along.
    widen = forms.BooleanField(required=False)
    #: The cluster that was shown as the target; without it the other one than where the scope is bound.
    target = forms.CharField(required=False)
    reason = forms.CharField(required=False)
    #: One of :class:`Kind`.
    kind_of_switch = forms.ChoiceField(choices=[(k.value, k.value) for k in Kind], required=False)
    #: The key of the switch that a restore goes back from.
    restores = forms.CharField(required=False)
    #: Of a migration: days until the old Topics are removed.
    retire_after_days = forms.IntegerField(
        required=False, min_value=settings.RETIREMENT_MIN_DAYS, max_value=settings.RETIREMENT_MAX_DAYS
    )
    #: Whether a planned one waits for a go when all checks hold.
    ask_for_go = forms.BooleanField(required=False)
    #: Of the plan that was shown, and what it moved: see :func:`hadash.presentation.radius.carried`.
    digest = forms.CharField(required=False)
    shown = forms.CharField(required=False)
    #: The target's name once more, for an emergency.
    confirmed = forms.CharField(required=False)
    #: Whether it starts as soon as it is approved, or in a window.
    start = forms.ChoiceField(choices=[("now", "now"), ("window", "window")], required=False)
    start_at = LocalTimeField(required=False)
    start_until = LocalTimeField(required=False)
    start_at_offset, start_until_offset = offset_field(), offset_field()

    def __init__(self, *args: Any, pair: Pair, appid: AppID | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.pair = pair
        self.appid = appid

    def kind(self) -> ScopeKind:
        """What is asked for: what was chosen, else what the filled fields mean."""
        values = self.cleaned_data if self.is_bound else self.initial
        chosen = values.get("scope")
        if chosen == ScopeKind.SEVERAL and self.the_roots():
            return ScopeKind.SEVERAL
        if chosen in set(ScopeKind) and (
            self.appid is not None or chosen in (ScopeKind.TOPICS, ScopeKind.PAIR)
        ):
            return ScopeKind(chosen)
        if self.appid is None or values.get("topics"):
            return ScopeKind.TOPICS
        return ScopeKind.INSTANCE if values.get("instance") else ScopeKind.APPID

    def the_roots(self) -> tuple[str, ...]:
        """Empty also for what names nothing."""
        values = self.cleaned_data if self.is_bound else self.initial
        keys = tuple((values.get("roots") or "").split("\n"))
        try:
            return keys if all(node_named(key) for key in keys) else ()
        except ValueError:
            return ()

    def the_scope(self) -> Scope | None:
        """What is asked for; ``None`` as long as something of it is missing."""
        values = self.cleaned_data if self.is_bound else self.initial
        kind = self.kind()
        topics = tuple(names_in(values.get("topics") or ""))
        instance = (values.get("instance") or "").strip()
        missing = {ScopeKind.TOPICS: not topics, ScopeKind.INSTANCE: not instance}
        if missing.get(kind):
            return None
        by_appid = kind in (ScopeKind.APPID, ScopeKind.INSTANCE)
        return Scope(
            kind,
            appid=self.appid.name if by_appid and self.appid is not None else "",
            instance_id=instance if kind is ScopeKind.INSTANCE else "",
            topics=topics if kind is ScopeKind.TOPICS else (),
            dimension=Dimension.APPID if values.get("dimension") == Dimension.APPID else Dimension.INSTANCE,
            widen=bool(values.get("widen")),
            roots=self.the_roots() if kind is ScopeKind.SEVERAL else (),
        )

    def the_kind(self) -> Kind:
        values = self.cleaned_data if self.is_bound else self.initial
        chosen = values.get("kind_of_switch")
        return Kind(chosen) if chosen in set(Kind) else Kind.PLANNED

    def term(self) -> int:
        """Days until the old Topics of a migration are removed: as they were typed, else the setting's."""
        values = self.cleaned_data if self.is_bound else self.initial
        typed = str(values.get("retire_after_days") or "")
        return int(typed) if typed.isdecimal() and len(typed) < 5 else settings.RETIREMENT_DAYS

    def window(self) -> tuple[datetime, datetime] | None:
        """From when to when it may start; ``None`` for at once."""
        if self.cleaned_data.get("start") != "window" or self.the_kind().spec.at_once:
            return None
        return self.cleaned_data["start_at"], self.cleaned_data["start_until"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.cleaned_data = cleaned
        in_utc(self, "start_at", "start_until")
        if cleaned.get("start") == "window" and not self.the_kind().spec.at_once:
            missing = [
                n for n in ("start_at", "start_until") if cleaned.get(n) is None and n not in self.errors
            ]
            if missing:
                self.add_error(missing[0], _("Say from when to when it may start."))
        if "scope" not in self.errors and self.the_scope() is None:
            if self.kind() is ScopeKind.INSTANCE:
                self.add_error("instance", _("Say which InstanceID."))
            else:
                self.add_error("topics", _("Say which Topics."))
        return cleaned


class TokenForm(forms.Form):
    """A new token of one's own."""

    name = forms.CharField(label=_("Name"), error_messages={"required": _("Say what it is for.")})
    scopes = forms.MultipleChoiceField(choices=[(s, s) for s in SCOPES], required=False)
    days = forms.IntegerField(
        label=_("Days until it expires"),
        min_value=1,
        max_value=settings.TOKEN_MAX_DAYS,
        initial=settings.TOKEN_DAYS,
    )
    pair = forms.ModelChoiceField(Pair.objects.none(), required=False, empty_label=_("all pairs"))

    def __init__(self, *args: Any, pairs: QuerySet[Pair], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choice = self.fields["pair"]
        assert isinstance(choice, forms.ModelChoiceField)
        choice.queryset = pairs


class PersonForm(forms.Form):
    """A new local account. What a password must be like is decided by the service."""

    username = forms.CharField(label=_("User name"), error_messages={"required": _("Type a user name.")})
    name = forms.CharField(label=_("Full name"), required=False)
    password = forms.CharField(
        label=_("Password"), strip=False, error_messages={"required": _("Type a password.")}
    )


class PasswordForm(forms.Form):
    """Another password for one's own account. What it must be like is decided by the service."""

    present = forms.CharField(
        label=_("Present password"),
        strip=False,
        error_messages={"required": _("Type your present password.")},
    )
    wanted = forms.CharField(
        label=_("New password"), strip=False, error_messages={"required": _("Type a new password.")}
    )
    again = forms.CharField(
        label=_("The new one again"),
        strip=False,
        error_messages={"required": _("Type the new password again.")},
    )

    def clean_again(self) -> str:
        again: str = self.cleaned_data["again"]
        if self.cleaned_data.get("wanted", again) != again:
            raise forms.ValidationError(_("The two new passwords differ."))
        return again


class RoleForm(forms.Form):
    """One role of somebody, on one pair or on all."""

    role = forms.CharField()
    pair = forms.ModelChoiceField(Pair.objects.all(), required=False, to_field_name="name")

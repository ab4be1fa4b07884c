"""Forms: what people type. The services decide what is allowed."""

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

#: The separators of Topics in a field: people paste lists, and a Chinese keyboard has commas of its own.
_SEPARATORS = re.compile(r"[\s,;，；、]+")


class LocalTimeField(forms.DateTimeField):
    """A time as the browser's field sends it, in the user's time zone; see :func:`in_utc`."""

    widget = forms.DateTimeInput(attrs={"type": "datetime-local"})

    def to_python(self, value: Any) -> datetime | None:
        if value in self.empty_values:
            return None
        try:
            return datetime.fromisoformat(str(value)).replace(tzinfo=UTC)
        except ValueError:
            raise forms.ValidationError(_("Type a date and a time, such as 2026-12-01 02:00.")) from None


def in_utc(form: forms.Form, *names: str) -> None:
    """Convert times from the user's time zone to UTC.

    The field ``<name>_offset`` has the minutes that the user's clock is behind UTC (JavaScript's getTimezoneOffset
    for that very time, because of daylight saving time); without it the time is in UTC.
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
    """Return the offset field for a time: see :func:`in_utc`."""
    return forms.IntegerField(required=False, min_value=-24 * 60, max_value=24 * 60)


class RulesForm(forms.ModelForm):
    """The rules of a pair; an empty rule is as in the settings."""

    class Meta:
        model = Policy
        fields = tuple(name for name in POLICY_FIELDS if name != "stopping")

    #: Whether the page showed which findings stop a switch: without it, no ticked box could also mean "not shown".
    findings_shown = forms.BooleanField(required=False)
    stopping = forms.MultipleChoiceField(choices=[(code.value, code.value) for code in RULES], required=False)

    def values(self) -> dict[str, Any]:
        """Return the values for :func:`hadash.switching.policy.set_policy`."""
        values = dict(self.cleaned_data)
        if not values.pop("findings_shown"):
            values.pop("stopping")
        return values


class BlackoutForm(forms.Form):
    """A time in which no switch starts."""

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

    # No length and no character rules here: the service has them, with its own messages.
    name = forms.CharField(label=_("InstanceID"), error_messages={"required": _("Type the client.id.")})
    note = forms.CharField(label=_("Note"), required=False)


def names_in(text: str) -> list[str]:
    """Return the names in a field that takes several; each once, sorted.

    >>> names_in("orders， carts、orders")
    ['carts', 'orders']
    """
    return sorted({name for name in _SEPARATORS.split(text) if name})


class DeclareForm(forms.Form):
    """A declaration of what an InstanceID, or its AppID as a whole, uses. The service decides what can be declared."""

    instance_id = forms.CharField(required=False)
    topics = forms.CharField(required=False)
    produce = forms.BooleanField(required=False)
    consume = forms.BooleanField(required=False)
    groups = forms.CharField(required=False)
    note = forms.CharField(required=False)
    #: Whether every Topic gets a new InstanceID of its own.
    each = forms.BooleanField(required=False)

    def fault(self) -> Sentence | None:
        """Return why the form is not valid: every field may be empty, and only a NUL is refused."""
        if not self.errors:
            return None
        typed = str(self.data.get(next(iter(self.errors)), ""))
        return say("“%(name)s” holds a control character. Remove it.", name=printable(typed))

    def values(self) -> dict[str, Any]:
        """Return the arguments of :func:`hadash.inventory.declarations.declare`."""
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
    """A file with relations; or, from its preview, the same file again with the digest of what was shown."""

    file = forms.FileField(required=False, allow_empty_file=True)
    #: The file in base64: a browser changes line ends in a field, which must not change the file.
    carried = forms.CharField(required=False)
    whole = forms.BooleanField(required=False)
    digest = forms.CharField(required=False)

    def clean(self) -> dict[str, Any]:
        """Add the file as ``content``."""
        cleaned = super().clean() or {}
        upload, carried = cleaned.get("file"), cleaned.get("carried")
        if upload is not None:
            # (One byte more than allowed shows that the file is too large.)
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
        """Return the file in base64, as its preview carries it."""
        return base64.b64encode(self.cleaned_data["content"]).decode()


class RequestForm(forms.Form):
    """The request of a switch. Without ``scope``, a filled ``instance`` or ``topics`` implies it."""

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
    #: What moved together in another switch, one node per line; a page fills it.
    roots = forms.CharField(required=False)
    #: Whether InstanceIDs move by themselves.
    dimension = forms.ChoiceField(choices=[(d.value, d.value) for d in Dimension], required=False)
    #: Whether clients without an InstanceID take their whole AppID along.
    widen = forms.BooleanField(required=False)
    #: The cluster that was shown as the target; without it the target is the cluster that the scope is not bound to.
    target = forms.CharField(required=False)
    reason = forms.CharField(required=False)
    #: One of :class:`Kind`.
    kind_of_switch = forms.ChoiceField(choices=[(k.value, k.value) for k in Kind], required=False)
    #: The key of the switch that a restore goes back from.
    restores = forms.CharField(required=False)
    #: For a migration: days until the old Topics are removed.
    retire_after_days = forms.IntegerField(
        required=False, min_value=settings.RETIREMENT_MIN_DAYS, max_value=settings.RETIREMENT_MAX_DAYS
    )
    #: Whether the switch pauses when all checks hold.
    pause_after_precheck = forms.BooleanField(required=False)
    #: The digest of the plan that was shown, and what it moved: see :func:`hadash.presentation.radius.carried`.
    digest = forms.CharField(required=False)
    shown = forms.CharField(required=False)
    #: The name of a cluster, typed to confirm: the target of an emergency, or the lost source of a forced switch.
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
        """Return the kind of scope: as chosen, else as the filled fields imply."""
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
        """Return the nodes that move together; empty when any line names no node."""
        values = self.cleaned_data if self.is_bound else self.initial
        keys = tuple((values.get("roots") or "").split("\n"))
        try:
            return keys if all(node_named(key) for key in keys) else ()
        except ValueError:
            return ()

    def the_scope(self) -> Scope | None:
        """Return the requested scope; ``None`` while something is missing."""
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
        """Return the days until the old Topics of a migration are removed: as typed, else the setting's."""
        values = self.cleaned_data if self.is_bound else self.initial
        typed = str(values.get("retire_after_days") or "")
        return int(typed) if typed.isdecimal() and len(typed) < 5 else settings.RETIREMENT_DAYS

    def window(self) -> tuple[datetime, datetime] | None:
        """Return the window in which the switch may start; ``None`` for at once."""
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
    """A new API token for the user."""

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
    """A new local account. The service decides which passwords are allowed."""

    username = forms.CharField(label=_("User name"), error_messages={"required": _("Type a user name.")})
    name = forms.CharField(label=_("Full name"), required=False)
    password = forms.CharField(
        label=_("Password"), strip=False, error_messages={"required": _("Type a password.")}
    )


class PasswordForm(forms.Form):
    """A new password for the user's own account. The service decides which passwords are allowed."""

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
    """One role of a person, on one pair or on all."""

    role = forms.CharField()
    pair = forms.ModelChoiceField(Pair.objects.all(), required=False, to_field_name="name")

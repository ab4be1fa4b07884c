"""Forms for reports: a schedule with its recipients, a person's own mail, and the addresses of owners. The services
decide what is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from hadash.inventory.models import Pair
from hadash.outbox.addresses import BadAddress, normalised
from hadash.presentation.localized import sentence
from hadash.reports.models import Kind, ReportRecipient, ReportSchedule
from hadash.reports.schedules import BY_EVENT, Wanted, WantedRecipient, Way
from hadash.reports.times import NoSuchZone, zone_named

#: Empty rows for recipients at the end of the form; after saving there are as many again.
BLANK_ROWS = 3
#: Most rows of a form: an organisation mails to roles and mailing lists, not to hundreds of people one by one.
MOST_ROWS = 200

_LANGUAGES = [("", _("the installation's")), *settings.LANGUAGES]

#: kind of report → the usual schedule (cron); empty for reports that follow an event.
USUAL_TIMES: dict[Kind, str] = {
    Kind.POSTURE: "0 7 * * *",
    Kind.RISKS: "0 7 * * 1",
    Kind.COVERAGE: "0 7 1 * *",
    Kind.LAG: "0 7 * * 1",
    Kind.SWITCH: "",
    Kind.DUE: "0 7 * * 1-5",
}


class ZoneField(forms.CharField):
    """The name of a time zone; empty for the installation's."""

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        if text:
            try:
                zone_named(text)
            except NoSuchZone as error:
                raise forms.ValidationError(sentence(error.sentence)) from None
        return text


class ScheduleForm(forms.Form):
    """A schedule. ``way-0``, ``value-0``, ``language-0``, …: one recipient per number; rows without a way are left
    out.
    """

    name = forms.CharField(label=_("Name"), required=False, max_length=200)
    kind = forms.ChoiceField(label=_("What it tells"), choices=Kind.choices)
    pair = forms.ModelChoiceField(Pair.objects.none(), required=False, label=_("Pair"))
    cron = forms.CharField(label=_("When"), required=False, max_length=200)
    zone = forms.CharField(label=_("Time zone"), required=False, max_length=64)

    def __init__(self, data: Any = None, *, pairs: Any, schedule: ReportSchedule | None = None) -> None:
        initial = _initial(schedule)
        super().__init__(data, initial=initial)
        self.fields["pair"].queryset = pairs  # type: ignore[attr-defined]
        self.rows = _rows(data) if data is not None else [*_kept(schedule), *_blank(BLANK_ROWS)]

    def wanted(self, enabled: bool = True) -> Wanted:
        """Return what a valid form requests."""
        values = self.cleaned_data
        recipients = [
            WantedRecipient(Way(row["way"]), row["value"], row["language"], row["zone"])
            for row in self.rows
            if row["way"] in Way.values
        ]
        return Wanted(
            name=values["name"],
            kind=Kind(values["kind"]),
            cron=values["cron"],
            zone=values["zone"] or settings.REPORT_ZONE,
            pair=values["pair"],
            recipients=recipients,
            enabled=enabled,
        )

    @property
    def by_event(self) -> bool:
        """Whether reports of this kind follow an event and not a schedule."""
        return self["kind"].value() in {kind.value for kind in BY_EVENT}


def _initial(schedule: ReportSchedule | None) -> dict[str, Any]:
    if schedule is None:
        return {"kind": Kind.POSTURE.value, "cron": USUAL_TIMES[Kind.POSTURE], "zone": settings.REPORT_ZONE}
    return {
        "name": schedule.name,
        "kind": schedule.kind,
        "pair": schedule.pair_id,
        "cron": schedule.cron,
        "zone": schedule.zone,
    }


def _rows(data: Mapping[str, Any]) -> list[dict[str, str]]:
    found = []
    for number in range(MOST_ROWS):
        way = data.get(f"way-{number}")
        if way is None:
            break
        found.append(
            {
                "way": str(way),
                "value": str(data.get(f"value-{number}", "")).replace("\0", "").strip(),
                "language": _language(str(data.get(f"language-{number}", ""))),
                "zone": str(data.get(f"zone-{number}", "")).replace("\0", "").strip(),
            }
        )
    filled = [row for row in found if row["way"]]
    return [*filled, *_blank(BLANK_ROWS)]


def _language(text: str) -> str:
    return text if text in dict(settings.LANGUAGES) else ""


def _kept(schedule: ReportSchedule | None) -> list[dict[str, str]]:
    if schedule is None:
        return []
    return [
        {
            "way": each.way,
            "value": each.user.get_username()
            if each.way == ReportRecipient.Way.PERSON and each.user
            else each.value,
            "language": each.language,
            "zone": each.zone,
        }
        for each in schedule.recipients.select_related("user")
    ]


def _blank(count: int) -> list[dict[str, str]]:
    return [{"way": "", "value": "", "language": "", "zone": ""} for _number in range(count)]


class AddressField(forms.CharField):
    """A mail address, in the normal form that servers understand."""

    def clean(self, value: Any) -> str:
        text: str = super().clean(value)
        if not text:
            return ""
        try:
            return normalised(text)
        except BadAddress as error:
            raise forms.ValidationError(sentence(error.sentence)) from None


class OwnMailForm(forms.Form):
    """The address, language and time zone of a person's own mail."""

    address = AddressField(required=False, max_length=320, label=_("Address"))
    language = forms.ChoiceField(choices=_LANGUAGES, required=False, label=_("Language"))
    zone = ZoneField(required=False, max_length=64, label=_("Time zone"))


class OwnerAddressForm(forms.Form):
    """The address of an owner's mail; without an address, the owner gets none any more."""

    owner = forms.CharField(max_length=200)
    address = AddressField(required=False, max_length=320)
    language = forms.ChoiceField(choices=_LANGUAGES, required=False)
    zone = ZoneField(required=False, max_length=64)

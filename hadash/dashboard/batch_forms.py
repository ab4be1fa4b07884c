"""The form that requests a batch. The services decide what is allowed."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _

from hadash.dashboard.forms import LocalTimeField, in_utc, offset_field
from hadash.inventory.models import Cluster, Pair
from hadash.radius.closure import Dimension
from hadash.sentences import Sentence
from hadash.switching.batches.plans import Names, Wanted
from hadash.switching.batches.waves import Line, read_list

#: Most characters of a pasted list: ten times what fits a batch, with long names.
MAX_LIST = 2_000_000


def _count(most: int) -> forms.IntegerField:
    return forms.IntegerField(
        min_value=1,
        max_value=most,
        required=False,
        error_messages={"invalid": _("Type a number.")},
    )


class BatchForm(forms.Form):
    """The request of a batch. ``way`` is ``<pair>:<target>``: a pair's number, and the cluster to move to."""

    way = forms.CharField(error_messages={"required": _("Choose from where to where.")})
    what = forms.ChoiceField(choices=[("everything", "everything"), ("list", "list")], required=False)
    names = forms.ChoiceField(choices=[(n.value, n.value) for n in Names], required=False)
    list = forms.CharField(required=False, max_length=MAX_LIST)
    dimension = forms.ChoiceField(choices=[(d.value, d.value) for d in Dimension], required=False)
    widen = forms.BooleanField(required=False)
    wave_size = _count(settings.BATCH_MAX_ITEMS)
    first_wave = _count(settings.BATCH_MAX_ITEMS)
    parallelism = _count(settings.BATCH_MAX_PARALLELISM)
    #: Whether radii that cannot move are left out.
    leave_out = forms.BooleanField(required=False)
    reason = forms.CharField(required=False)
    #: The digest of the plan that was shown.
    digest = forms.CharField(required=False)
    start = forms.ChoiceField(choices=[("now", "now"), ("window", "window")], required=False)
    start_at = LocalTimeField(required=False)
    start_until = LocalTimeField(required=False)
    start_at_offset, start_until_offset = offset_field(), offset_field()

    def __init__(self, *args: Any, pairs: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ways: dict[str, tuple[Pair, Cluster]] = {
            f"{pair.pk}:{target.name}": (pair, target)
            for pair in pairs
            for target in (pair.second, pair.first)
        }
        self.lines: list[Line] | None = None
        self.list_faults: list[Sentence] = []

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        self.cleaned_data = cleaned
        in_utc(self, "start_at", "start_until")
        if "way" in cleaned and cleaned["way"] not in self.ways:
            self.add_error("way", _("Choose from where to where."))
        if cleaned.get("what") == "list":
            self.lines, self.list_faults = read_list(cleaned.get("list") or "")
        if cleaned.get("start") == "window":
            missing = [
                n for n in ("start_at", "start_until") if cleaned.get(n) is None and n not in self.errors
            ]
            if missing:
                self.add_error(missing[0], _("Say from when to when it may start."))
        return cleaned

    def wanted(self) -> Wanted:
        """Return what a valid form requests."""
        typed = self.cleaned_data
        pair, target = self.ways[typed["way"]]
        return Wanted(
            pair=pair,
            target=target,
            lines=self.lines,
            names=Names(typed["names"] or Names.APPIDS),
            dimension=Dimension(typed["dimension"] or Dimension.INSTANCE),
            widen=typed["widen"],
            wave_size=typed["wave_size"] or settings.BATCH_WAVE_SIZE,
            first_wave=typed["first_wave"],
            parallelism=typed["parallelism"] or settings.BATCH_PARALLELISM,
            leave_out=typed["leave_out"],
        )

    def window(self) -> tuple[datetime, datetime] | None:
        """Return the window in which the switches may start; ``None`` for at once."""
        if self.cleaned_data.get("start") != "window":
            return None
        return self.cleaned_data["start_at"], self.cleaned_data["start_until"]

"""Stored sentences, names of stages and durations in the viewer's language."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from hadash.presentation import labels
from hadash.sentences import Sentence, fill, said_by


def sentence(value: Any) -> str:
    """Return a stored sentence in the viewer's language. (Its value ``stage`` is the name of a stage.)"""
    said = value if isinstance(value, Sentence) else Sentence.from_json(value)
    values = (
        {**said.values, "stage": stage_name(said.values["stage"])} if "stage" in said.values else said.values
    )
    # (No space follows a Chinese full stop; a template has one, because what stands before it may be English.)
    return fill(gettext(said.text), values, sentence).replace("。 ", "。") if said.text else ""


def explained(error: Exception) -> str:
    """Return what an error says, in the viewer's language if it explains itself."""
    return sentence(said_by(error))


def stage_name(value: Any) -> str:
    """Return the word for a stage; an unknown one is returned as it is."""
    try:
        return labels.stage_word(labels.Stage(value))
    except ValueError:
        return str(value)


def seconds(value: float | None) -> str:
    """Return a duration in readable precision.

    >>> seconds(0.314), seconds(12.34), seconds(125)
    ('0.31 s', '12.3 s', '2 min 05 s')
    """
    if value is None:
        return "?"
    value = max(0.0, float(value))
    if value < 9.995:
        return f"{value:.2f} s"
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        values = {"minutes": whole // 60, "seconds": f"{whole % 60:02d}"}
        return gettext("%(minutes)s min %(seconds)s s") % values
    values = {"hours": whole // 3600, "minutes": f"{whole % 3600 // 60:02d}"}
    return gettext("%(hours)s h %(minutes)s min") % values

"""Stored sentences and names of stages in the viewer's language."""

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

"""Stored sentences and names of stages in the language of whoever looks."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext

from hadash.presentation import labels
from hadash.sentences import Sentence, fill


def sentence(value: Any) -> str:
    """A stored sentence in the viewer's language. (The value ``stage`` is the name of a stage.)"""
    said = value if isinstance(value, Sentence) else Sentence.from_json(value)
    values = (
        {**said.values, "stage": stage_name(said.values["stage"])} if "stage" in said.values else said.values
    )
    return fill(gettext(said.text), values) if said.text else ""


def stage_name(value: Any) -> str:
    try:
        return labels.stage_word(labels.Stage(value))
    except ValueError:
        return str(value)

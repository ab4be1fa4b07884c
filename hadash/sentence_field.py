"""A model's field that holds a sentence, so that what a worker stored reads in the language of who reads it."""

from __future__ import annotations

from typing import Any

from django.db import models

from hadash.sentences import NOTHING, Sentence


def nothing() -> Sentence:
    """The default of a field. (A migration has to be able to name it.)"""
    return NOTHING


class SentenceField(models.JSONField):
    """A :class:`~hadash.sentences.Sentence`; without one :data:`~hadash.sentences.NOTHING`, stored as ``{}``. A text
    that is assigned becomes a sentence without a translation, such as a server's own words.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("default", nothing)
        kwargs.setdefault("blank", True)
        super().__init__(*args, **kwargs)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return self.to_python(super().from_db_value(value, expression, connection))

    def to_python(self, value: Any) -> Any:
        return value if isinstance(value, Sentence) else Sentence.from_json(value)

    def validate(self, value: Any, model_instance: Any) -> None:
        super().validate(self.to_python(value).to_json(), model_instance)

    def value_to_string(self, obj: models.Model) -> Any:
        return self.value_from_object(obj).to_json()

    def get_prep_value(self, value: Any) -> Any:
        return super().get_prep_value(self.to_python(value).to_json())

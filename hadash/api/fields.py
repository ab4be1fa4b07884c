"""Serializer fields that accept only the type that the schema names."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers as s
from rest_framework.fields import empty

from hadash.presentation.localized import sentence


class Text(s.CharField):
    """A text. Numbers and other values are refused, not converted: a number that became a name would be a name
    that nobody meant.
    """

    default_error_messages = {"invalid": _("This has to be a text in quotes.")}

    def run_validation(self, data: Any = empty) -> Any:
        # Before it is trimmed: the document says how long a text may be that is sent.
        if isinstance(data, str) and self.max_length is not None and len(data) > self.max_length:
            self.fail("max_length", max_length=self.max_length)
        return super().run_validation(data)

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class SaidText(Text):
    """A stored sentence, in the language of who asks."""

    def to_representation(self, value: Any) -> str:
        return sentence(value)

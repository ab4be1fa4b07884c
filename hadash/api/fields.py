"""Fields of what programs send, as the schema says that they are."""

from __future__ import annotations

from typing import Any

from django.utils.translation import gettext_lazy as _
from rest_framework import serializers as s


class Text(s.CharField):
    """A text, and nothing that could be written as one: a number that became a name would be a name that
    nobody meant.
    """

    default_error_messages = {"invalid": _("This has to be a text in quotes.")}

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))

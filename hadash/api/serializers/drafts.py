"""Serializers of drafts of requests."""

from __future__ import annotations

from django.conf import settings
from django.utils.translation import gettext as _
from rest_framework import serializers as s

from hadash.api.fields import Text
from hadash.switching.drafts.services import FIELDS


class DraftRequest(s.Serializer):
    """The fields of the request form, as far as they are filled in."""

    pair = s.SlugField(max_length=40)
    appid = s.IntegerField(
        required=False,
        allow_null=True,
        default=None,
        min_value=1,
        max_value=2**31 - 1,
        help_text="Whose switch it is, by its id; null for Topics and whole clusters.",
    )
    typed = s.DictField(
        child=Text(allow_blank=True, max_length=settings.DRAFT_MAX_CHARACTERS),
        help_text=f"As the form names them: {', '.join(FIELDS)}. Nothing of it has to be complete or valid.",
    )

    def validate_typed(self, value: dict[str, str]) -> dict[str, str]:
        unknown = sorted(value.keys() - set(FIELDS))
        if unknown:
            raise s.ValidationError(_("There is no field %(names)s.") % {"names": ", ".join(unknown[:5])})
        return value


class DraftSerializer(s.Serializer):
    id = s.IntegerField()
    pair = Text()
    appid = s.IntegerField(allow_null=True)
    typed = s.DictField(child=Text())
    saved_at = s.DateTimeField()

"""People, their roles and tokens, and what they did."""

from __future__ import annotations

from django.conf import settings
from rest_framework import serializers as s

from hadash.accounts.roles import ROLES, SCOPES


class RoleShape(s.Serializer):
    role = s.ChoiceField(sorted(ROLES))
    pair = s.SlugField(max_length=40, allow_null=True, default=None, help_text="null for all pairs.")


class PersonShape(s.Serializer):
    username = s.CharField()
    name = s.CharField(allow_blank=True)
    active = s.BooleanField()
    roles = RoleShape(many=True)


class MeShape(PersonShape):
    permissions = s.ListField(
        child=s.CharField(), help_text="What may be done on some pair, with this token."
    )


class TokenRequest(s.Serializer):
    name = s.CharField(max_length=100)
    scopes = s.ListField(
        child=s.ChoiceField(sorted(SCOPES)), required=False, default=list, max_length=len(SCOPES)
    )
    days = s.IntegerField(min_value=1, max_value=settings.TOKEN_MAX_DAYS, default=settings.TOKEN_DAYS)
    pair = s.SlugField(max_length=40, required=False, allow_null=True, default=None)


class TokenShape(s.Serializer):
    id = s.IntegerField()
    name = s.CharField()
    beginning = s.CharField()
    scopes = s.ListField(child=s.CharField())
    pair = s.CharField(allow_null=True)
    created_at = s.DateTimeField()
    expires_at = s.DateTimeField()
    last_used_at = s.DateTimeField(allow_null=True)
    revoked_at = s.DateTimeField(allow_null=True)


class NewTokenShape(TokenShape):
    secret = s.CharField(help_text="Shown this once.")


class AuditShape(s.Serializer):
    number = s.IntegerField()
    at = s.DateTimeField()
    actor = s.CharField(allow_blank=True)
    verb = s.CharField()
    subject = s.CharField()
    address = s.CharField(allow_null=True)
    details = s.DictField()
    previous = s.CharField()
    digest = s.CharField()

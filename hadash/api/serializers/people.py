"""Serializers of people, their roles and tokens, and of the audit log."""

from __future__ import annotations

from django.conf import settings
from rest_framework import serializers as s

from hadash.accounts.roles import ROLES, SCOPES
from hadash.api.fields import Text


class RoleSerializer(s.Serializer):
    role = s.ChoiceField(sorted(ROLES))
    pair = s.SlugField(max_length=40, allow_null=True, default=None, help_text="null for all pairs.")


class PersonSerializer(s.Serializer):
    username = Text()
    name = Text(allow_blank=True)
    active = s.BooleanField()
    roles = RoleSerializer(many=True)


class MeSerializer(PersonSerializer):
    permissions = s.ListField(child=Text(), help_text="What may be done on some pair, with this token.")


class TokenRequest(s.Serializer):
    name = Text(max_length=100)
    scopes = s.ListField(
        child=s.ChoiceField(sorted(SCOPES)), required=False, default=list, max_length=len(SCOPES)
    )
    days = s.IntegerField(min_value=1, max_value=settings.TOKEN_MAX_DAYS, default=settings.TOKEN_DAYS)
    pair = s.SlugField(max_length=40, required=False, allow_null=True, default=None)


class TokenSerializer(s.Serializer):
    id = s.IntegerField()
    name = Text()
    beginning = Text()
    scopes = s.ListField(child=Text())
    pair = Text(allow_null=True)
    created_at = s.DateTimeField()
    expires_at = s.DateTimeField()
    last_used_at = s.DateTimeField(allow_null=True)
    revoked_at = s.DateTimeField(allow_null=True)


class NewTokenSerializer(TokenSerializer):
    secret = Text(help_text="Shown this once.")


class AuditSerializer(s.Serializer):
    number = s.IntegerField()
    at = s.DateTimeField()
    actor = Text(allow_blank=True)
    verb = Text()
    subject = Text()
    address = Text(allow_null=True)
    details = s.DictField()
    previous = Text()
    digest = Text()

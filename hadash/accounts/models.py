"""Tables for roles on one pair, API tokens, temporary passwords and identities at an OpenID Connect provider.

A role on all pairs is the membership of a Django group; see ``roles.py``.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.core.validators import MinLengthValidator
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

#: Characters of a token that are kept readable, so that people recognise it in a list.
SHOWN_CHARACTERS = 8


class PairRole(models.Model):
    """One person's role on one pair."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="pair_roles")
    group = models.ForeignKey(Group, models.PROTECT, related_name="+")
    pair = models.ForeignKey("inventory.Pair", models.CASCADE, related_name="roles")

    class Meta:
        ordering = ("pair__name", "group__name")
        constraints = [models.UniqueConstraint(fields=["user", "group", "pair"], name="role_once_a_pair")]
        permissions = [("manage_people", "May create people and give them roles")]

    def __str__(self) -> str:
        return f"{self.user} is {self.group} of {self.pair}"


class ApiToken(models.Model):
    """A token that a program sends instead of a password. It allows what its owner may, within its scopes, until
    it expires.

    Only a digest is kept: a person who reads the database cannot use it.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(_("name"), max_length=100, validators=[MinLengthValidator(1)])
    #: SHA-256 of the secret, in hexadecimal. The secret has 256 random bits: it needs no slow hash.
    digest = models.CharField(max_length=64, unique=True)
    beginning = models.CharField(max_length=SHOWN_CHARACTERS + 20)
    #: Names of :data:`hadash.accounts.roles.SCOPES`.
    scopes = models.JSONField(default=list)
    #: The only pair that it is for; empty for all pairs of its owner.
    pair = models.ForeignKey("inventory.Pair", models.CASCADE, null=True, blank=True, related_name="+")
    #: The browser in which it was issued (:mod:`hadash.accounts.browser`): its approvals count as given there.
    issued_in = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return f"token {self.name} of {self.user}"

    @property
    def usable(self) -> bool:
        """Whether it is neither revoked nor expired."""
        return self.revoked_at is None and self.expires_at > timezone.now()


class TemporaryPassword(models.Model):
    """A mark that another person has set a local account's password and knows it: the owner has to choose
    another one at the first sign-in. Only :mod:`hadash.accounts.passwords` writes it.
    """

    user = models.OneToOneField(User, models.CASCADE, related_name="temporary_password")
    set_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"temporary password of {self.user}"


class ExternalIdentity(models.Model):
    """A user who signs in through a provider of OpenID Connect.

    A provider promises to keep issuer and subject; names and mail addresses may be given to another person one day.
    """

    user = models.OneToOneField(User, models.CASCADE, related_name="external_identity")
    issuer = models.CharField(max_length=500)
    subject = models.CharField(max_length=255)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["issuer", "subject"], name="external_identity_once")]

    def __str__(self) -> str:
        return f"{self.subject} at {self.issuer}"

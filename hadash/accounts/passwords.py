"""Passwords of local accounts. All changes go through this module."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.signals import user_logged_in
from django.core.exceptions import ValidationError
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest

from hadash.accounts.models import TemporaryPassword
from hadash.audit.models import record
from hadash.sentences import Sentence, say

#: The session's key that is set when its user has to choose a password before anything else.
MUST_CHANGE = "must_change_password"


class PasswordRefused(Exception):
    """The password cannot be changed. ``sentence`` says why."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


def has_own(user: User) -> bool:
    """Whether the account has a password here; people who sign in through a provider have theirs there."""
    return user.has_usable_password()


def is_temporary(user: User) -> bool:
    """Whether another person has set the user's password."""
    return TemporaryPassword.objects.filter(user=user).exists()


def note_temporary(user: User) -> None:
    """Note that another person has set the password of ``user``."""
    TemporaryPassword.objects.get_or_create(user=user)


def change(
    user: User, present: str, wanted: str, is_right: Callable[[str], bool], address: str | None = None
) -> None:
    """Change the user's own password. All other sessions of the account end; tokens stay.

    :param is_right: checks ``present``, and counts a wrong one as a failed sign-in.
    :raises PasswordRefused: ``present`` is not the password, or ``wanted`` is too weak or the same.
    """
    if not is_right(present):
        raise PasswordRefused(say("The present password is not right. Nothing was changed."))
    if wanted == present:
        raise PasswordRefused(say("That is the present password. Choose another one."))
    try:
        validate_password(wanted, user)
    except ValidationError as error:
        raise PasswordRefused(say("%(error)s", error=" ".join(error.messages))) from None
    with transaction.atomic():
        user.set_password(wanted)
        user.save(update_fields=["password"])
        TemporaryPassword.objects.filter(user=user).delete()
        record(user, "password changed", f"person {user.get_username()}", address)


@receiver(user_logged_in)
def _note_in_session(sender: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Note a temporary password in the session, so that not every request has to query it."""
    if is_temporary(user):
        request.session[MUST_CHANGE] = True

"""Creating people, giving and taking roles, letting people in or keeping them out.

All changes of people go through this module.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.validators import UnicodeUsernameValidator
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from hadash.accounts import passwords
from hadash.accounts.models import PairRole
from hadash.accounts.roles import MANAGE_PEOPLE, ROLES, may, people_who
from hadash.audit.models import record
from hadash.inventory.models import Pair
from hadash.sentences import Sentence, say

#: The role whose row is locked while people are changed.
ADMINISTRATOR = "administrator"

#: Characters of a user name and of a full name: Django's own columns.
MAX_USERNAME = 150
MAX_NAME = 150


class PersonRefused(Exception):
    """A change of a person is not possible. ``sentence`` says why."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


def create(actor: Any, username: str, name: str, password: str, address: str | None = None) -> User:
    """Create a local account without a role. Its owner has to choose another password at the first sign-in.

    :raises PersonRefused: the name is taken or impossible, or the password too weak.
    :raises PermissionDenied: ``actor`` may not manage people.
    """
    _may(actor)
    username, name = username.strip(), name.strip()
    try:
        UnicodeUsernameValidator()(username)
    except ValidationError as error:
        raise PersonRefused(say("%(error)s", error=" ".join(error.messages))) from None
    if len(username) > MAX_USERNAME or len(name) > MAX_NAME:
        raise PersonRefused(say("A name has at most %(most)s characters.", most=MAX_NAME))
    person = User(username=username, first_name=name)
    try:
        validate_password(password, person)
    except ValidationError as error:
        raise PersonRefused(say("%(error)s", error=" ".join(error.messages))) from None
    with transaction.atomic():
        _one_at_a_time(actor)
        if User.objects.filter(username__iexact=username).exists():
            raise PersonRefused(say("There is somebody called %(username)s already.", username=username))
        person.set_password(password)
        person.save()
        passwords.note_temporary(person)
        record(actor, "person created", f"person {username}", address, name=name)
    return person


def grant(actor: Any, person: User, role: str, pair: Pair | None, address: str | None = None) -> None:
    """Give a role on ``pair``, or on all pairs (``None``). Roles that the person has already stay.

    :raises PersonRefused: there is no such role.
    :raises PermissionDenied: ``actor`` may not manage people, or is ``person``.
    """
    _may_change(actor, person)
    group = _group(role)
    with transaction.atomic():
        if pair is None:
            new = not person.groups.filter(pk=group.pk).exists()
            person.groups.add(group)
        else:
            _, new = PairRole.objects.get_or_create(user=person, group=group, pair=pair)
        if new:
            record(actor, "role given", f"person {person.username}", address, role=role, pair=_name(pair))


def revoke(actor: Any, person: User, role: str, pair: Pair | None, address: str | None = None) -> None:
    """Take a role away.

    :raises PersonRefused: there is no such role, or nobody could manage people afterwards.
    :raises PermissionDenied: ``actor`` may not manage people, or is ``person``.
    """
    _may_change(actor, person)
    group = _group(role)
    with transaction.atomic():
        _one_at_a_time(actor)
        if pair is None:
            had = person.groups.filter(pk=group.pk).exists()
            person.groups.remove(group)
        else:
            had = bool(PairRole.objects.filter(user=person, group=group, pair=pair).delete()[0])
        if had:
            _somebody_manages()
            record(actor, "role taken", f"person {person.username}", address, role=role, pair=_name(pair))


def set_active(actor: Any, person: User, active: bool, address: str | None = None) -> None:
    """Let a person in, or keep them out: their sessions and tokens then no longer work.

    :raises PersonRefused: nobody could manage people afterwards.
    :raises PermissionDenied: ``actor`` may not manage people, or is ``person``.
    """
    _may_change(actor, person)
    with transaction.atomic():
        _one_at_a_time(actor)
        person.refresh_from_db(fields=["is_active"])
        if person.is_active != active:
            person.is_active = active
            person.save(update_fields=["is_active"])
            _somebody_manages()
            verb = "person let in" if active else "person kept out"
            record(actor, verb, f"person {person.username}", address)


def _may(actor: Any) -> None:
    if not may(actor, MANAGE_PEOPLE):
        raise PermissionDenied("You may not manage people.")


def _one_at_a_time(actor: Any) -> None:
    """Lock against concurrent changes of people, and check again that ``actor`` may manage people.

    Two administrators who keep each other out at the same time would leave none, and two could create the same name.
    """
    list(Group.objects.select_for_update().filter(name=ADMINISTRATOR))
    _may(User.objects.get(pk=actor.pk))


def _may_change(actor: Any, person: User) -> None:
    _may(actor)
    if actor.pk == person.pk:
        raise PermissionDenied("Nobody changes their own roles: ask another administrator.")


def _group(role: str) -> Group:
    if role not in ROLES:
        raise PersonRefused(
            say("There is no role %(role)s; there are %(known)s.", role=role, known=list(ROLES))
        )
    return Group.objects.get(name=role)


def _somebody_manages() -> None:
    if not people_who(MANAGE_PEOPLE).exists():
        raise PersonRefused(
            say("Then nobody could manage people any more. Make somebody else an administrator first.")
        )


def _name(pair: Pair | None) -> str | None:
    return pair.name if pair is not None else None

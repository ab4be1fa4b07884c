"""Turning a person that the provider vouches for into a user, with exactly the roles that their groups map to."""

from __future__ import annotations

from django.contrib.auth.models import Group, User
from django.db import IntegrityError, transaction

from hadash.accounts.claims import Person, Refused
from hadash.accounts.journal import subject_of
from hadash.accounts.models import ExternalIdentity, PairRole
from hadash.accounts.roles import ROLES, ensure_roles
from hadash.audit.models import record
from hadash.sentences import say


def admit(person: Person, issuer: str, address: str | None) -> User:
    """Return this person's user, created at the first sign-in. Each sign-in updates names and roles from the provider.

    The user name stays what it was at the first sign-in: the audit log names people by it.

    :raises Refused: the person has no role (all roles held here are then taken away), the user name belongs to
        another account, or the account is closed.
    """
    if not person.roles:
        username = _withdraw(person, issuer, address)
        raise Refused(
            say(
                "%(user)s has no role in hadash: none of the groups that the provider names is mapped to one. Ask "
                "an administrator.",
                user=username,
            ),
            username,
        )
    try:
        with transaction.atomic():
            user = _known(person, issuer) or _new(person, issuer)
            if not user.is_active:
                name = user.get_username()
                raise Refused(say("The account %(user)s is closed. Ask an administrator.", user=name), name)
            user.first_name, user.last_name, user.email = person.first_name, person.last_name, person.email
            user.save(update_fields=["first_name", "last_name", "email"])
            _give(user, person.roles, address)
    except IntegrityError:  # the same person, or the same name, in another tab at the same moment
        raise _taken(person.username) from None
    return user


def _known(person: Person, issuer: str) -> User | None:
    identity = (
        ExternalIdentity.objects.select_related("user")
        .select_for_update()
        .filter(issuer=issuer, subject=person.subject)
        .first()
    )
    return identity.user if identity else None


def _new(person: Person, issuer: str) -> User:
    """Create the user.

    :raises Refused: a user of this name exists, in any capitalisation: people would take the two for one.
    """
    if User.objects.filter(username__iexact=person.username).exists():
        raise _taken(person.username)
    user = User(username=person.username)
    user.set_unusable_password()
    user.save()
    ExternalIdentity.objects.create(user=user, issuer=issuer, subject=person.subject)
    return user


def _taken(username: str) -> Refused:
    return Refused(
        say(
            "There is an account %(user)s already, and it is not yours by what the provider says. Ask an "
            "administrator.",
            user=username,
        ),
        username,
    )


def _withdraw(person: Person, issuer: str, address: str | None) -> str:
    """Take all roles away, which open sessions notice at once.

    :returns: the user name, here or at the provider.
    """
    with transaction.atomic():
        user = _known(person, issuer)
        if user is None:
            return person.username
        # Roles that an administrator gave on one pair go, too: hadash is closed to people without a mapped group.
        held = list(PairRole.objects.filter(user=user).select_related("group", "pair").order_by("pk"))
        PairRole.objects.filter(user=user).delete()
        for role in held:
            subject = subject_of(user.get_username())
            record(
                None, "role taken", subject, address, role=role.group.name, pair=role.pair.name, how="OIDC"
            )
        _give(user, frozenset(), address)
    return user.get_username()


def _give(user: User, roles: frozenset[str], address: str | None) -> None:
    """Give the user exactly these roles. The audit log records the change as hadash's own, not the person's."""
    before = set(user.groups.values_list("name", flat=True))
    if before == roles:
        return
    if Group.objects.filter(name__in=ROLES).count() < len(ROLES):
        ensure_roles()
    user.groups.set(Group.objects.filter(name__in=roles))
    record(
        None,
        "roles",
        subject_of(user.get_username()),
        address,
        before=sorted(before),
        after=sorted(roles),
        how="OIDC",
    )

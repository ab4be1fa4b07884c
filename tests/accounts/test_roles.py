"""Who may do what, and where."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.contrib.auth.models import Group, User

from hadash.accounts.admission import admit
from hadash.accounts.claims import Person, Refused
from hadash.accounts.models import ExternalIdentity, PairRole
from hadash.accounts.roles import (
    CHANGE_POLICY,
    DECIDE,
    EXCLUDE_GATEWAY,
    ON_ALL_PAIRS,
    OPERATE,
    REQUEST,
    ROLES,
    SCOPES,
    VIEW,
    Limit,
    may,
    may_somewhere,
    pairs_where,
    people_who,
)
from hadash.audit.models import Entry

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def names(found: object) -> list[str]:
    return [str(each) for each in found]  # type: ignore[attr-defined]


def test_a_role_on_all_pairs(people: SimpleNamespace, pairs: SimpleNamespace) -> None:
    assert may(people.olga, REQUEST, pairs.main)
    assert may(people.olga, REQUEST, pairs.other)
    assert may(people.olga, EXCLUDE_GATEWAY)
    assert not may(people.olga, DECIDE, pairs.main)
    assert names(pairs_where(people.olga, REQUEST)) == ["main", "other"]


def test_a_role_on_one_pair(people: SimpleNamespace, pairs: SimpleNamespace) -> None:
    assert may(people.mara, REQUEST, pairs.main)
    assert not may(people.mara, REQUEST, pairs.other)
    assert may_somewhere(people.mara, REQUEST)
    assert not may(people.mara, EXCLUDE_GATEWAY), "Gateways serve all pairs"
    assert names(pairs_where(people.mara)) == ["main"]


def test_several_roles_add_up(people: SimpleNamespace, pairs: SimpleNamespace) -> None:
    approver = Group.objects.get(name="approver")
    PairRole.objects.create(user=people.mara, group=approver, pair=pairs.other)
    mara = User.objects.get(pk=people.mara.pk)  # permissions are read once a user object
    assert may(mara, DECIDE, pairs.other)
    assert not may(mara, DECIDE, pairs.main)
    assert names(pairs_where(mara)) == ["main", "other"]


def test_without_a_role_there_is_nothing(people: SimpleNamespace, pairs: SimpleNamespace) -> None:
    assert not any(may(people.nobu, each, pairs.main) for each in ROLES["operator"])
    assert not may_somewhere(people.nobu, VIEW)
    assert names(pairs_where(people.nobu)) == []


def test_who_is_not_active_may_nothing(people: SimpleNamespace, pairs: SimpleNamespace) -> None:
    User.objects.update(is_active=False)
    for person in User.objects.all():
        assert not may(person, VIEW, pairs.main)
        assert not pairs_where(person).exists()
    assert not people_who(REQUEST, pairs.main).exists()


def test_whom_to_ask(people: SimpleNamespace, pairs: SimpleNamespace) -> None:
    assert names(people_who(REQUEST, pairs.main).order_by("username")) == ["mara", "olga"]
    assert names(people_who(REQUEST, pairs.other)) == ["olga"]
    assert names(people_who(REQUEST)) == ["olga"]


def test_what_concerns_all_pairs_is_not_had_on_one(people: SimpleNamespace, pairs: SimpleNamespace) -> None:
    """A link that can only be answered with 403 is not shown."""
    PairRole.objects.create(user=people.mara, group=Group.objects.get(name="administrator"), pair=pairs.main)
    mara = User.objects.get(pk=people.mara.pk)
    assert may_somewhere(mara, CHANGE_POLICY)
    for permission in ON_ALL_PAIRS:
        assert not may_somewhere(mara, permission)
    assert may_somewhere(people.olga, EXCLUDE_GATEWAY)


def test_whom_the_provider_drops_loses_what_was_given_on_one_pair_on_the_record(
    people: SimpleNamespace, pairs: SimpleNamespace
) -> None:
    ExternalIdentity.objects.create(user=people.mara, issuer="https://sso", subject="7")
    person = Person("7", "mara", "Mara", "", "", frozenset())
    with pytest.raises(Refused):
        admit(person, "https://sso", "10.0.0.1")
    assert not PairRole.objects.filter(user=people.mara).exists()
    [entry] = Entry.objects.filter(verb="role taken")
    assert (entry.subject, entry.actor_name, entry.address) == ("account mara", "", "10.0.0.1")
    assert (entry.details["pair"], entry.details["how"]) == ("main", "OIDC")


class TestLimit:
    """What a token lets its owner do."""

    def limited(self, user: User, scopes: list[str], pair: int | None = None) -> User:
        user.token_limit = Limit.of(scopes, pair)  # type: ignore[attr-defined]
        return user

    def test_never_more_than_the_owner(self, people: SimpleNamespace, pairs: SimpleNamespace) -> None:
        mara = self.limited(people.mara, list(SCOPES))
        assert not may(mara, DECIDE, pairs.main)
        assert not may(mara, REQUEST, pairs.other)

    def test_never_more_than_its_scopes(self, people: SimpleNamespace, pairs: SimpleNamespace) -> None:
        olga = self.limited(people.olga, ["request"])
        assert may(olga, REQUEST, pairs.main)
        assert not may(olga, OPERATE, pairs.main)
        assert may(olga, VIEW, pairs.main), "nothing can be asked for without looking"

    def test_on_one_pair(self, people: SimpleNamespace, pairs: SimpleNamespace) -> None:
        olga = self.limited(people.olga, ["request", "operate"], pairs.main.pk)
        assert may(olga, REQUEST, pairs.main)
        assert not may(olga, REQUEST, pairs.other)
        assert not may(olga, EXCLUDE_GATEWAY), "Gateways serve all pairs"
        assert names(pairs_where(olga)) == ["main"]

    def test_also_of_a_superuser(self, pairs: SimpleNamespace) -> None:
        root = self.limited(User.objects.create_superuser("root"), [], pairs.main.pk)
        assert may(root, VIEW, pairs.main)
        assert not may(root, REQUEST, pairs.main)
        assert not may(root, VIEW, pairs.other)


def test_every_permission_of_a_role_can_be_given_to_a_token_and_the_other_way_round() -> None:
    of_roles = {permission for role in ROLES.values() for permission in role}
    of_scopes = {permission for scope in SCOPES.values() for permission in scope}
    assert of_roles == of_scopes

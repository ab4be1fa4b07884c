"""Changing people needs the right at the moment of the change, and is recorded in the audit log."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.core.management import call_command

from hadash.accounts import people as services
from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.audit.models import Entry

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def admins(db: None) -> SimpleNamespace:
    ensure_roles()
    return SimpleNamespace(
        **{name: ensure_user(name, "a-long-password", "administrator") for name in ("ada", "bob")}
    )


def test_of_two_administrators_who_keep_each_other_out_one_stays(admins: SimpleNamespace) -> None:
    """Each has looked at the moment before: both were let in, then."""
    bob_before = User.objects.get(pk=admins.bob.pk)
    services.set_active(admins.ada, admins.bob, False)
    with pytest.raises(PermissionDenied):
        services.set_active(bob_before, admins.ada, False)
    assert User.objects.get(username="ada").is_active


def test_names_that_differ_in_case_only_are_one(admins: SimpleNamespace) -> None:
    services.create(admins.ada, "Wei", "王伟", "correct horse battery")
    with pytest.raises(services.PersonRefused, match="somebody called wei already"):
        services.create(admins.ada, "wei", "", "correct horse battery")


def test_who_is_registered_at_the_command_line_stands_in_the_audit_log(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("getpass.getpass", lambda prompt: "correct horse battery")
    call_command("register_person", "wei", "operator", name="王 伟")
    (entry,) = Entry.objects.all()
    assert (entry.actor, entry.verb, entry.subject) == (None, "person registered", "person wei")
    assert (entry.details["role"], entry.details["by"]) == ("operator", "hadash-manage register_person")
    assert "correct horse" not in str(entry.to_json())

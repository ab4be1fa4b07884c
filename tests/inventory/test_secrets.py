"""Credentials of clusters are encrypted, and outlive a change of the key."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from hadash.audit.models import Entry
from hadash.inventory.models import Cluster
from hadash.inventory.secrets import Ciphertext, EncryptedField


def read(stored: str) -> str:
    return Ciphertext(stored).decrypted()


def test_what_an_earlier_key_has_encrypted_is_read_while_that_key_is_known(settings: Any) -> None:
    stored = EncryptedField().get_prep_value("a-password")
    assert "a-password" not in stored
    settings.SECRET_KEY, earlier = "another", settings.SECRET_KEY
    assert read(stored) == ""
    settings.SECRET_KEY_FALLBACKS = [earlier]
    assert read(stored) == "a-password"


def test_what_is_stored_again_needs_the_new_key_only(settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [settings.SECRET_KEY]
    stored = EncryptedField().get_prep_value("a-password")
    settings.SECRET_KEY_FALLBACKS = []
    assert read(stored) == "a-password"


@pytest.mark.stack
@pytest.mark.django_db
class TestReading:
    """Rows are read far more often than their secrets: they are decrypted when somebody reads them."""

    @pytest.fixture
    def decrypted(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """What is decrypted meanwhile."""
        Cluster.objects.create(name="east", number=1, admin_password="a-password", bootstrap_servers="a:1")
        found: list[str] = []
        decrypt = Ciphertext.decrypted

        def noted(held: Ciphertext) -> str:
            found.append(decrypt(held))
            return found[-1]

        monkeypatch.setattr(Ciphertext, "decrypted", noted)
        return found

    def test_once_and_not_before_it_is_needed(self, decrypted: list[str]) -> None:
        east = Cluster.objects.get()
        assert (east.name, decrypted) == ("east", [])
        assert (east.admin_password, east.access.password) == ("a-password", "a-password")
        assert decrypted.count("a-password") == 1

    def test_it_is_saved_as_it_was_read(self, decrypted: list[str]) -> None:
        Cluster.objects.get().save()
        assert Cluster.objects.get().admin_password == "a-password"

    def test_what_lists_leave_out_is_read_at_once_to_connect(
        self, decrypted: list[str], django_assert_num_queries: Any
    ) -> None:
        [east] = Cluster.objects.defer(*Cluster.ACCESS_FIELDS)
        with django_assert_num_queries(1):
            access = east.access
        assert (access.bootstrap_servers, access.password) == ("a:1", "a-password")


@pytest.mark.stack
@pytest.mark.django_db
class TestEncryptAgain:
    """``hadash-manage encrypt_again``: after it the old key can go."""

    @pytest.fixture(autouse=True)
    def rotated(self, settings: Any) -> None:
        Cluster.objects.create(name="east", number=1, admin_password="a-password", tls_key="a-key")
        settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "another", [settings.SECRET_KEY]

    def test_everything_is_the_new_keys(self, settings: Any) -> None:
        told = io.StringIO()
        call_command("encrypt_again", stdout=told)
        assert told.getvalue() == "3 secrets are encrypted with the new key now; 0 were already.\n"
        settings.SECRET_KEY_FALLBACKS = []
        east = Cluster.objects.get()
        assert (east.admin_password, east.mirror_password, east.tls_key) == ("a-password", "", "a-key")
        assert Entry.objects.get(verb="secrets encrypted again").details["secrets"] == 3

    def test_it_may_be_repeated(self) -> None:
        call_command("encrypt_again", stdout=io.StringIO())
        told = io.StringIO()
        call_command("encrypt_again", stdout=told)
        assert told.getvalue().startswith("0 secrets are encrypted with the new key now; 3 were already.")

    def test_what_no_key_reads_is_named_and_stays(self, settings: Any) -> None:
        settings.SECRET_KEY_FALLBACKS = []
        with connection.cursor() as cursor:
            cursor.execute("SELECT admin_password FROM inventory_cluster")
            before = cursor.fetchone()
        with pytest.raises(
            CommandError, match=r"3 cannot be read with any of the keys: inventory_cluster \d+ admin_password"
        ):
            call_command("encrypt_again", stdout=io.StringIO())
        with connection.cursor() as cursor:
            cursor.execute("SELECT admin_password FROM inventory_cluster")
            assert cursor.fetchone() == before

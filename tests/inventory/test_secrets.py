"""Credentials of clusters are encrypted, and outlive a change of the key."""

from __future__ import annotations

from typing import Any

from hadash.inventory.secrets import EncryptedField


def read(stored: str) -> str:
    return EncryptedField().from_db_value(stored, None, None)


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

"""Credentials of clusters, encrypted in the database with a key made from ``HADASH_SECRET_KEY``.

What one of ``HADASH_SECRET_KEY_FALLBACKS`` has encrypted is read, too.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models


def _fernet() -> MultiFernet:
    """It encrypts with the first key, and tries all to decrypt."""
    return MultiFernet([_of(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _of(key: str) -> Fernet:
    digest = hashlib.blake2b(key.encode(), digest_size=32, person=b"hadash-cluster").digest()
    return Fernet(base64.urlsafe_b64encode(digest))


class EncryptedField(models.TextField):
    """A text that the database holds encrypted. It cannot be searched."""

    def get_prep_value(self, value: Any) -> Any:
        return _fernet().encrypt((value or "").encode()).decode()

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> str:
        if not value:
            return ""
        try:
            return _fernet().decrypt(value.encode()).decode()
        except InvalidToken:
            # Another HADASH_SECRET_KEY wrote it. The cluster then refuses the sign-in, which says what is wrong.
            return ""

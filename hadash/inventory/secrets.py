"""Credentials of clusters, encrypted in the database with a key made from ``HADASH_SECRET_KEY``."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.db import models


def _fernet() -> Fernet:
    digest = hashlib.blake2b(settings.SECRET_KEY.encode(), digest_size=32, person=b"hadash-cluster").digest()
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

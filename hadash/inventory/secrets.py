"""Encrypts secrets in the database, with a key derived from ``HADASH_SECRET_KEY``.

Secrets that were encrypted with one of ``HADASH_SECRET_KEY_FALLBACKS`` are read, too.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import connection, models, transaction
from django.db.models.query_utils import DeferredAttribute


def _fernet() -> MultiFernet:
    """Return a cipher that encrypts with the first key, and tries all keys to decrypt."""
    return MultiFernet([_of(key) for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)])


def _of(key: str) -> Fernet:
    digest = hashlib.blake2b(key.encode(), digest_size=32, person=b"hadash-cluster").digest()
    return Fernet(base64.urlsafe_b64encode(digest))


class Ciphertext(str):
    """A secret as the database holds it."""

    __slots__ = ()

    def decrypted(self) -> str:
        """Return the secret; empty when no key of this installation has encrypted it: the server that it is for will
        refuse the sign-in, which shows the fault.
        """
        try:
            return _fernet().decrypt(self.encode()).decode()
        except InvalidToken:
            return ""


class _DecryptedWhenRead(DeferredAttribute):
    """The attribute of an :class:`EncryptedField`. Rows are read far more often than their secrets: lists of mirrors,
    for example, join clusters, and would decrypt three passwords a row.
    """

    def __get__(self, instance: Any, cls: Any = None) -> Any:
        value = super().__get__(instance, cls)  # (reads it from the database if it was deferred)
        if isinstance(value, Ciphertext):
            value = value.decrypted()
            self.__set__(instance, value)
        return value

    def __set__(self, instance: Any, value: Any) -> None:
        instance.__dict__[self.field.attname] = value


class EncryptedField(models.TextField):
    """A text field whose value is encrypted in the database. It cannot be searched; ``values()`` and ``values_list()``
    return it as it is held.
    """

    descriptor_class = _DecryptedWhenRead

    def get_prep_value(self, value: Any) -> Any:
        return _fernet().encrypt((value or "").encode()).decode()

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> str:
        return Ciphertext(value) if value else ""


@dataclass
class Again:
    """The result of :func:`encrypt_again`. ``lost``: secrets that no key can decrypt, as ``table pk field``."""

    changed: int = 0
    already: int = 0
    lost: list[str] = field(default_factory=list)


def encrypt_again() -> Again:
    """Encrypt all secrets with the first key that were encrypted with another one. Runs in one transaction,
    with all their rows locked.
    """
    found, own = Again(), _of(settings.SECRET_KEY)
    with transaction.atomic():
        for model in apps.get_models():
            for column in model._meta.get_fields():
                if isinstance(column, EncryptedField):
                    _again(model, column, own, found)
    return found


def _again(model: type[models.Model], column: EncryptedField, own: Fernet, found: Again) -> None:
    """Encrypt one column again. Uses SQL, because Django would return decrypted values."""
    table, name = (connection.ops.quote_name(text) for text in (model._meta.db_table, str(column.column)))
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT id, {name} FROM {table} WHERE {name} <> '' ORDER BY id FOR UPDATE")
        for pk, held in cursor.fetchall():
            try:
                own.decrypt(held.encode())
                found.already += 1
                continue
            except InvalidToken:
                pass
            try:
                again = own.encrypt(_fernet().decrypt(held.encode())).decode()
            except InvalidToken:
                found.lost.append(f"{model._meta.db_table} {pk} {column.column}")
                continue
            cursor.execute(f"UPDATE {table} SET {name} = %s WHERE id = %s", [again, pk])
            found.changed += 1

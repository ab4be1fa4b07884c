"""The audit log. Rows are only ever added: PostgreSQL refuses changes, and a chain of digests reveals them."""

from __future__ import annotations

import ipaddress
import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction
from django.utils import timezone

from hadash.audit.chain import BEGINNING, digest_of

#: The advisory lock for one writer at a time: each entry holds the digest of the one before it.
_CHAIN_LOCK = 0x6175646974

#: Entries per read when the whole log is read: it may be long.
CHUNK = 2000


class Entry(models.Model):
    """One decision or effect. Only :func:`record` creates entries."""

    #: From 1, without a gap.
    number = models.BigIntegerField(unique=True)
    at = models.DateTimeField()
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, models.PROTECT, null=True, related_name="+")
    #: The actor's user name at that time; empty when hadash acted by itself.
    actor_name = models.CharField(max_length=150, blank=True)
    verb = models.CharField(max_length=40)
    subject = models.CharField(max_length=300)
    address = models.GenericIPAddressField(null=True)
    details = models.JSONField(default=dict)
    previous = models.CharField(max_length=64)
    digest = models.CharField(max_length=64)

    class Meta:
        ordering = ("-number",)
        indexes = [models.Index(fields=["subject"])]

    def __str__(self) -> str:
        return f"{self.verb} {self.subject}"

    def to_json(self) -> dict[str, Any]:
        """Return the entry as it is exported, its digest included; the digest covers all other fields."""
        return {
            "number": self.number,
            "at": self.at.isoformat(timespec="microseconds"),
            "actor": self.actor_name,
            "verb": self.verb,
            "subject": self.subject,
            "address": self.address,
            "details": self.details,
            "previous": self.previous,
            "digest": self.digest,
        }


class LastAnchor(models.Model):
    """The newest entry whose digest is kept outside of the database (:mod:`hadash.audit.anchors`); one row at most.
    It is only for telling how long newer entries have had none: what proves the log is outside.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    number = models.BigIntegerField()

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(id=1), name="one_last_anchor")]

    def __str__(self) -> str:
        return f"anchor of entry {self.number}"


def record(actor: Any, verb: str, subject: str, address: str | None = None, **details: Any) -> Entry:
    """Add an entry.

    It belongs to the caller's transaction: an action that is rolled back is not recorded. Entries wait for each
    other until their transactions end, so call it last.

    :param actor: a user; ``None`` when hadash acted by itself, or a person at its command line. The name of the
        API token that the user came with is added to the details.
    """
    token = getattr(actor, "token_name", "")
    said = stored({**details, "token": token} if token else details)
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_CHAIN_LOCK])
        last = Entry.objects.order_by("-number").only("number", "digest").first()
        entry = Entry(
            number=last.number + 1 if last is not None else 1,
            at=timezone.now(),
            actor=actor,
            actor_name=actor.get_username() if actor is not None else "",
            verb=verb,
            subject=stored(subject)[:300],
            address=_address(address),
            details=said,
            previous=last.digest if last is not None else BEGINNING,
        )
        entry.digest = digest_of(entry.to_json())
        entry.save(force_insert=True)
    return entry


def stored(value: Any) -> Any:
    """Return ``value`` as PostgreSQL gives it back: the digest must fit the entry that is read later.

    PostgreSQL has no NUL and no negative zero, and writes numbers without an exponent.

    >>> stored({"at": 1e30, "text": "a\\0b", "list": (1, 2.5, -0.0)})
    {'at': '1e+30', 'text': 'a\ufffdb', 'list': [1, 2.5, 0.0]}
    """
    if isinstance(value, str):
        return value.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {stored(str(name)): stored(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [stored(entry) for entry in value]
    if isinstance(value, float):
        return (
            value + 0.0 if "e" not in repr(value) and math.isfinite(value) else repr(value)
        )  # (-0.0 + 0.0 is 0.0)
    return value if value is None or isinstance(value, bool | int) else stored(str(value))


def _address(text: str | None) -> str | None:
    """Return an address as PostgreSQL writes it; ``None`` when the text is no address (a Unix socket)."""
    try:
        address = ipaddress.ip_address(text or "")
    except ValueError:
        return None
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def exported(first: int = 1) -> Iterator[dict[str, Any]]:
    """Return every entry from number ``first`` on as JSON, oldest first."""
    for entry in Entry.objects.filter(number__gte=first).order_by("number").iterator(chunk_size=CHUNK):
        yield entry.to_json()


def unanchored_since() -> datetime | None:
    """Return the time of the oldest entry that is newer than the last anchor; ``None`` when all have one."""
    last = LastAnchor.objects.values_list("number", flat=True).first() or 0
    oldest = Entry.objects.filter(number__gt=last).order_by("number").values_list("at", flat=True)
    return oldest.first()


def head() -> Entry | None:
    """Return the newest entry. Its digest, noted elsewhere, reveals later whether the log was shortened."""
    return Entry.objects.order_by("-number").first()

"""Reads the delivery reports of mail servers (RFC 3464), from a Maildir on the worker's machine
(:setting:`BOUNCES`), or one at a time from standard input.

hadash reads no mailbox over the network: the mail server for ``MAIL_RETURN`` puts the reports there, or a
program that fetches them.
"""

from __future__ import annotations

import logging
import mailbox
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes, policy
from email.message import EmailMessage, Message
from pathlib import Path

from django.db import InterfaceError, OperationalError

from hadash.outbox import services

log = logging.getLogger(__name__)

#: The folder of the Maildir for mail that is not a report of a failure: answers, and out-of-office replies.
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Bounce:
    """A returned mail. ``key``: the key of its delivery. ``said``: the server's words."""

    key: uuid.UUID
    said: str


def bounce_of(raw: bytes) -> Bounce | None:
    """Return the failed delivery that a mail reports; ``None`` for other mail, and for a report of a mere
    delay.

    :param raw: a whole message.
    """
    message = message_from_bytes(raw, policy=policy.default)
    if (
        message.get_content_type() != "multipart/report"
        or message.get_param("report-type") != "delivery-status"
    ):
        return None
    parts = list(message.walk())
    failed = [
        said
        for part in parts
        if part.get_content_type() == "message/delivery-status"
        for said in _failures(part)
    ]
    key = next((found for part in parts[1:] if (found := _key_of(part)) is not None), None)
    return Bounce(key, "; ".join(failed)) if failed and key is not None else None


def _failures(part: Message) -> Iterator[str]:
    """Yield the server's words for each recipient whose delivery failed. (The first group of fields is about
    the message.)
    """
    groups = part.get_payload()
    for fields in groups[1:] if isinstance(groups, list) else []:
        if isinstance(fields, Message) and str(fields.get("Action", "")).strip().lower() == "failed":
            said = fields.get("Diagnostic-Code") or fields.get("Status") or "no reason is told"
            yield " ".join(str(said).split())


def _key_of(part: Message) -> uuid.UUID | None:
    """Return the delivery's key from a part that is the returned message, or has its headers; else ``None``."""
    if part.get_content_type() == "text/rfc822-headers":
        content = part.get_content() if isinstance(part, EmailMessage) else str(part.get_payload())
        headers = message_from_bytes(content.encode("utf-8", "surrogateescape"), policy=policy.default)
        return _key(str(headers.get("Message-ID", "")))
    return _key(str(part.get("Message-ID", "")))


def _key(message_id: str) -> uuid.UUID | None:
    """Return the delivery's key in a Message-ID; ``None`` if it has none.

    >>> _key("<0b2b9a3e-6c0e-4e0e-9a55-0d9f0f6f4b3a@example.org>")
    UUID('0b2b9a3e-6c0e-4e0e-9a55-0d9f0f6f4b3a')
    """
    try:
        return uuid.UUID(message_id.strip().strip("<>").partition("@")[0])
    except ValueError:
        return None


def note(raw: bytes, now: datetime) -> bool:
    """Note a bounce; return whether the mail reported a failed delivery of hadash."""
    found = bounce_of(raw)
    return found is not None and services.bounce(found.key, now, found.said)


def read(folder: Path, now: datetime) -> Counter[str]:
    """Process the mail in a Maildir; return how many were ``noted`` (and removed), and how many were ``other``
    mail (moved to the folder of that name).
    """
    box = mailbox.Maildir(folder, create=True)
    other = box.add_folder(OTHER)
    done: Counter[str] = Counter()
    for key in list(box.iterkeys()):
        raw = box.get_bytes(key)
        try:
            is_ours = note(raw, now)
        except (OperationalError, InterfaceError):
            raise  # PostgreSQL is down: the mail stays for the next look
        except Exception:
            # (Python's parser raises many kinds of errors for malformed mail, and the other mail must not
            # wait.)
            log.exception("mail %s that came back cannot be read; it lies in %s", key, OTHER)
            is_ours = False
        if is_ours:
            done["noted"] += 1
        else:
            other.add(raw)
            done["other"] += 1
        box.remove(key)
    if done:
        log.info("%d mails have come back, %d were other mail", done["noted"], done["other"])
    return done

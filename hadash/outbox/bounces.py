"""What mail servers send back: reports of delivery (RFC 3464), in a Maildir of the machine that looks
(:setting:`BOUNCES`), or one at a time on standard input.

hadash reads no mailbox of its own over the network: the mail server that delivers for ``MAIL_RETURN`` puts
them there, or a program that fetches them.
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

#: The folder of the Maildir into which what is no report of a failure is moved: answers of people, and of
#: their absence.
OTHER = "other"


@dataclass(frozen=True, slots=True)
class Bounce:
    """``key``: of the delivery that came back. ``said``: the words of the server."""

    key: uuid.UUID
    said: str


def bounce_of(raw: bytes) -> Bounce | None:
    """What a report says has failed; ``None`` for other mail, and for a report that it is only late.

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
    """Of each recipient that it has failed for, what the server said. (The first group of fields is about the
    message.)
    """
    groups = part.get_payload()
    for fields in groups[1:] if isinstance(groups, list) else []:
        if isinstance(fields, Message) and str(fields.get("Action", "")).strip().lower() == "failed":
            said = fields.get("Diagnostic-Code") or fields.get("Status") or "no reason is told"
            yield " ".join(str(said).split())


def _key_of(part: Message) -> uuid.UUID | None:
    """The delivery of the message that is sent back with the report, whole or its headers."""
    if part.get_content_type() == "text/rfc822-headers":
        content = part.get_content() if isinstance(part, EmailMessage) else str(part.get_payload())
        headers = message_from_bytes(content.encode("utf-8", "surrogateescape"), policy=policy.default)
        return _key(str(headers.get("Message-ID", "")))
    return _key(str(part.get("Message-ID", "")))


def _key(message_id: str) -> uuid.UUID | None:
    """
    >>> _key("<0b2b9a3e-6c0e-4e0e-9a55-0d9f0f6f4b3a@example.org>")
    UUID('0b2b9a3e-6c0e-4e0e-9a55-0d9f0f6f4b3a')
    """
    try:
        return uuid.UUID(message_id.strip().strip("<>").partition("@")[0])
    except ValueError:
        return None


def note(raw: bytes, now: datetime) -> bool:
    """Whether it told of a delivery of ours that came back."""
    found = bounce_of(raw)
    return found is not None and services.bounce(found.key, now, found.said)


def read(folder: Path, now: datetime) -> Counter[str]:
    """Note what lies in a Maildir: how many were ``noted`` (they are removed), and how many were ``other``
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
            raise  # PostgreSQL is away: it lies there for the next look
        except Exception:
            # (Python's parser raises many kinds of errors over what some servers write; and the other mail
            # must not wait for it.)
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

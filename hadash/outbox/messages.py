"""Builds a MIME message from a content and a delivery. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP, EmailPolicy
from email.utils import format_datetime
from typing import Any

from hadash.outbox.addresses import in_ascii, sender_of
from hadash.outbox.models import Content, ContentPart, Delivery

#: Headers that are written on one line: Python would fold addresses in them as encoded words, which readers
#: need not decode there (RFC 2047, 5; RFC 2369, 2). A line may have 998 characters (RFC 5322).
_ON_ONE_LINE = frozenset({"list-unsubscribe", "list-id"})
_LONG = SMTP.clone(max_line_length=998)


class _Policy(EmailPolicy):
    """The standard library's policy for SMTP, except for ``_ON_ONE_LINE``."""

    def fold_binary(self, name: str, value: Any) -> bytes:
        if name.lower() in _ON_ONE_LINE:
            return _LONG.fold_binary(name, value)
        return super().fold_binary(name, value)


POLICY = _Policy(linesep=SMTP.linesep)

#: The placeholder in texts for the unsubscribe link, which is different for each recipient.
UNSUBSCRIBE_MARK = "urn:hadash:unsubscribe"

#: A mail that is sent so long after it was made has its date in the subject.
OLD = timedelta(hours=20)

#: Characters of a subject, at most. A line of a header may have 998 (RFC 5322), and servers may add some.
SUBJECT_CHARACTERS = 300


def message_of(
    delivery: Delivery,
    content: Content,
    parts: Sequence[ContentPart],
    sender: str,
    unsubscribe_url: str,
    at: datetime,
) -> EmailMessage:
    """Return the message for the server.

    :param sender: such as ``hadash <hadash@example.org>``.
    :param unsubscribe_url: the link of this delivery; empty where unsubscribing is not possible.
    """
    message = EmailMessage(policy=POLICY)
    name, address = sender_of(sender)
    address = in_ascii(address)
    domain = address.rpartition("@")[2] or "localhost"
    message["From"] = Address(name, addr_spec=address)
    message["To"] = Address(addr_spec=delivery.address)
    message["Subject"] = _one_line(_dated(content, at))
    message["Date"] = format_datetime(at)
    # The same for every try, so that servers and mailboxes can recognise duplicates.
    message["Message-ID"] = f"<{delivery.key}@{domain}>"
    # Suppress out-of-office replies (RFC 3834; the second one is Outlook's).
    message["Auto-Submitted"] = "auto-generated"
    message["X-Auto-Response-Suppress"] = "All"
    if content.list_id:
        message["List-Id"] = f"<{content.list_id}.{domain}>"
    if unsubscribe_url:
        message["List-Unsubscribe"] = f"<{unsubscribe_url}>"
        message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"  # RFC 8058
    message.set_content(content.text.replace(UNSUBSCRIBE_MARK, unsubscribe_url), cte="quoted-printable")
    if content.html:
        message.add_alternative(
            content.html.replace(UNSUBSCRIBE_MARK, unsubscribe_url), subtype="html", cte="quoted-printable"
        )
        twin = message.get_payload()[-1]  # type: ignore[index]
        for part in parts:
            if part.cid:
                kind, _, subtype = part.media_type.partition("/")
                twin.add_related(  # type: ignore[union-attr]
                    bytes(part.data),
                    kind,
                    subtype,
                    cid=f"<{part.cid}>",
                    filename=part.name,
                    disposition="inline",
                )
    for part in parts:
        if not part.cid:
            kind, _, subtype = part.media_type.partition("/")
            charset = {"charset": "utf-8"} if kind == "text" else None
            message.add_attachment(bytes(part.data), kind, subtype, filename=part.name, params=charset)
    # (Last: setting the content removes such headers.)
    message["Content-Language"] = content.language
    return message


def _dated(content: Content, at: datetime) -> str:
    """Return the subject, with the date if the mail is sent long after it was made: it could be taken for today's."""
    made = content.made_at
    is_new = made is None or at - made < OLD  # (None: it was not saved yet)
    return content.subject if is_new else f"[{made:%Y-%m-%d}] {content.subject}"


def _one_line(subject: str) -> str:
    """Return a subject as one line that fits into a header.

    >>> _one_line("main:\\r\\nBcc: everybody@example.org")
    'main: Bcc: everybody@example.org'
    """
    # (Text that looks like an encoded word would be decoded.)
    line = " ".join(subject.split()).replace("=?", "= ?")
    return line if len(line) <= SUBJECT_CHARACTERS else line[: SUBJECT_CHARACTERS - 1] + "…"

"""One MIME message from a content and a delivery. Pure."""

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

#: Headers that stand on one line, however long it is: Python folds addresses in them as encoded words, which
#: nobody has to decode there (RFC 2047, 5; RFC 2369, 2). A line may have 998 characters (RFC 5322).
_ON_ONE_LINE = frozenset({"list-unsubscribe", "list-id"})
_LONG = SMTP.clone(max_line_length=998)


class _Policy(EmailPolicy):
    """As the standard library's for SMTP, but for ``_ON_ONE_LINE``."""

    def fold_binary(self, name: str, value: Any) -> bytes:
        if name.lower() in _ON_ONE_LINE:
            return _LONG.fold_binary(name, value)
        return super().fold_binary(name, value)


POLICY = _Policy(linesep=SMTP.linesep)

#: Stands in texts where the link that unsubscribes belongs: each recipient has another.
UNSUBSCRIBE_MARK = "urn:hadash:unsubscribe"

#: A mail that is sent so long after it was made bears its day.
OLD = timedelta(hours=20)

#: RFC 5322: a line of a header may have 998 characters. Servers add some of their own.
SUBJECT_CHARACTERS = 300


def message_of(
    delivery: Delivery,
    content: Content,
    parts: Sequence[ContentPart],
    sender: str,
    unsubscribe_url: str,
    at: datetime,
) -> EmailMessage:
    """What is handed to the server.

    :param sender: ``hadash <hadash@example.org>``. :param unsubscribe_url: of this delivery; empty where
        nobody can unsubscribe.
    """
    message = EmailMessage(policy=POLICY)
    name, address = sender_of(sender)
    address = in_ascii(address)
    domain = address.rpartition("@")[2] or "localhost"
    message["From"] = Address(name, addr_spec=address)
    message["To"] = Address(addr_spec=delivery.address)
    message["Subject"] = _one_line(_dated(content, at))
    message["Date"] = format_datetime(at)
    # The same when it is tried again: servers and mailboxes that look for it show a message once.
    message["Message-ID"] = f"<{delivery.key}@{domain}>"
    # No "out of office" answers, please (RFC 3834; Outlook's own).
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
    # (Last: whatever sets the content forgets what was said of it before.)
    message["Content-Language"] = content.language
    return message


def _dated(content: Content, at: datetime) -> str:
    """Its subject. What comes long after it was made says of which day it is: it would pass for today's."""
    made = content.made_at
    is_new = made is None or at - made < OLD  # (None: nobody has kept it yet)
    return content.subject if is_new else f"[{made:%Y-%m-%d}] {content.subject}"


def _one_line(subject: str) -> str:
    """
    >>> _one_line("main:\\r\\nBcc: everybody@example.org")
    'main: Bcc: everybody@example.org'
    """
    # (What looks like an encoded word would be decoded: it stays what it is.)
    line = " ".join(subject.split()).replace("=?", "= ?")
    return line if len(line) <= SUBJECT_CHARACTERS else line[: SUBJECT_CHARACTERS - 1] + "…"

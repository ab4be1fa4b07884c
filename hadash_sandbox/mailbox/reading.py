"""Reads the mail that the demo's server has accepted: aiosmtpd keeps it as a Maildir, one file for each message."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

#: The newest messages that the list shows, at most.
LISTED = 100


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that is attached to a message."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Mail:
    """One message; ``key`` is the name of its file."""

    key: str
    message: EmailMessage

    @property
    def to(self) -> str:
        return str(self.message["To"] or "")

    @property
    def subject(self) -> str:
        return str(self.message["Subject"] or "")

    @property
    def at(self) -> datetime | None:
        header = self.message["Date"]
        return header.datetime if header is not None else None

    @property
    def text(self) -> str:
        part = self.message.get_body(("plain",))
        return str(part.get_content()) if part is not None else ""

    @property
    def html(self) -> str:
        """The HTML part with its pictures embedded as data URLs; empty when the mail has none."""
        part = self.message.get_body(("html",))
        if part is None:
            return ""
        html = str(part.get_content())
        for picture in self.message.walk():
            cid = str(picture["Content-ID"] or "").strip("<>")
            if cid:
                data = base64.b64encode(picture.get_payload(decode=True) or b"").decode()  # type: ignore[arg-type]
                html = html.replace(f"cid:{cid}", f"data:{picture.get_content_type()};base64,{data}")
        return html

    @property
    def attachments(self) -> list[Attachment]:
        return [
            Attachment(part.get_filename() or "file", part.get_content_type(), part.get_payload(decode=True))  # type: ignore[arg-type]
            for part in self.message.iter_attachments()
        ]

    @property
    def headers(self) -> list[tuple[str, str]]:
        return [(name, str(value)) for name, value in self.message.items()]


def _files(folder: Path) -> list[Path]:
    every = [path for name in ("new", "cur") for path in (folder / name).glob("*") if path.is_file()]
    return sorted(every, key=lambda path: path.stat().st_mtime_ns, reverse=True)


def newest(folder: Path, most: int = LISTED) -> Iterator[Mail]:
    """The newest messages, the newest first."""
    for path in _files(folder)[:most]:
        yield _read(path)


def count(folder: Path) -> int:
    """The number of all messages."""
    return len(_files(folder))


def one(folder: Path, key: str) -> Mail | None:
    """The message of the file ``key``; ``None`` when it is gone."""
    return next((_read(path) for path in _files(folder) if path.name == key), None)


def _read(path: Path) -> Mail:
    return Mail(path.name, message_from_bytes(path.read_bytes(), policy=default))

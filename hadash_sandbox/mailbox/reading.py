"""Mail that the demo's server has taken, as aiosmtpd keeps it: a Maildir, a file a message."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

#: Messages that the list shows, the newest.
LISTED = 100


@dataclass(frozen=True, slots=True)
class Attachment:
    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Mail:
    """``key``: its file's name."""

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
        """With its pictures in it; empty when it has none."""
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
    for path in _files(folder)[:most]:
        yield _read(path)


def count(folder: Path) -> int:
    return len(_files(folder))


def one(folder: Path, key: str) -> Mail | None:
    return next((_read(path) for path in _files(folder) if path.name == key), None)


def _read(path: Path) -> Mail:
    return Mail(path.name, message_from_bytes(path.read_bytes(), policy=default))

"""The demo's mailbox shows mail as its readers see it; elsewhere there is none."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from email.message import EmailMessage
from mailbox import Maildir
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import clear_url_caches

import hadash.urls

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def signed_in() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("ada"), "django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def box(settings: Any, tmp_path: Path) -> Iterator[Maildir]:
    """A demo that has one."""
    made = Maildir(tmp_path / "mail", create=True)
    settings.DEMO_MAIL = str(tmp_path / "mail")
    _reload()
    yield made
    settings.DEMO_MAIL = ""
    _reload()


def _reload() -> None:
    """Addresses are read once; the setting decides whether these are among them."""
    clear_url_caches()
    importlib.reload(sys.modules["hadash.urls"])
    assert hadash.urls.urlpatterns


def mail() -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = (
        "hadash@example.org",
        "olga@example.org",
        "main：3 个新风险",
    )
    message["Date"] = "Thu, 26 Nov 2026 07:00:00 +0000"
    message.set_content("Plain.")
    message.add_alternative('<p>Good <img src="cid:a" alt="x"></p><script>alert(1)</script>', subtype="html")
    message.get_payload()[1].add_related(b"PNG", "image", "png", cid="<a>")  # type: ignore[index, union-attr]
    message.add_attachment(b"risk", "text", "csv", filename="risks.csv")
    return message


def test_each_mail_as_its_reader_sees_it(signed_in: Client, box: Maildir) -> None:
    key = box.add(mail().as_bytes())
    name = next(path.name for path in (Path(box._path) / "new").iterdir() if path.name.startswith(key))  # type: ignore[attr-defined]
    page = signed_in.get("/demo/mail/").content.decode()
    assert "main：3 个新风险" in page and "olga@example.org" in page and "risks.csv" in page
    shown = signed_in.get(f"/demo/mail/{name}/html/")
    assert "data:image/png;base64,UE5H" in shown.content.decode(), "its picture stands in it"
    assert "script-src 'none'" in shown["Content-Security-Policy"], "and what it brings along does not run"


def test_an_empty_one_says_so(signed_in: Client, box: Maildir) -> None:
    assert signed_in.get("/demo/mail/").status_code == 200


def test_in_production_there_is_none(signed_in: Client, settings: Any) -> None:
    assert settings.DEMO_MAIL == ""
    assert signed_in.get("/demo/mail/").status_code == 404

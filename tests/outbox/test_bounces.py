"""What mail servers send back is noted on the mail that it was."""

from __future__ import annotations

import io
import mailbox
import sys
from datetime import datetime
from email.message import EmailMessage
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.db import OperationalError
from django.utils import timezone

from hadash.outbox import bounces, services
from hadash.outbox.models import Delivery
from hadash.outbox.services import Recipient
from hadash.outbox.states import State

#: As Postfix writes them; ``%(returned)s`` is the part that it gives back.
REPORT = """From: MAILER-DAEMON@mx.example.org
To: bounces@example.org
Subject: Undelivered Mail Returned to Sender
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status; boundary="B"

--B
Content-Type: text/plain; charset=us-ascii

I'm sorry to have to inform you that your message could not be delivered.

--B
Content-Type: message/delivery-status

Reporting-MTA: dns; mx.example.org
Arrival-Date: Thu, 26 Nov 2026 07:00:00 +0000

Final-Recipient: rfc822; olga@example.org
Action: %(action)s
Status: 5.1.1
Diagnostic-Code: smtp; 550 5.1.1 <olga@example.org>:
    Recipient address rejected: User unknown

--B
Content-Type: %(kind)s

From: hadash <hadash@example.org>
To: olga@example.org
Subject: main: 3 new risks
Message-ID: <%(key)s@example.org>

%(body)s
--B--
"""


def report(key: object, action: str = "failed", kind: str = "text/rfc822-headers", body: str = "") -> bytes:
    return (
        (REPORT % {"key": key, "action": action, "kind": kind, "body": body}).replace("\n", "\r\n").encode()
    )


@pytest.mark.parametrize("kind", ["text/rfc822-headers", "message/rfc822"])
def test_the_words_of_the_server_and_which_mail_it_was(kind: str) -> None:
    key = "0b2b9a3e-6c0e-4e0e-9a55-0d9f0f6f4b3a"
    found = bounces.bounce_of(report(key, kind=kind, body="The text."))
    assert found is not None
    assert str(found.key) == key
    assert found.said == "smtp; 550 5.1.1 <olga@example.org>: Recipient address rejected: User unknown"


@pytest.mark.parametrize(
    "raw",
    [
        report("0b2b9a3e-6c0e-4e0e-9a55-0d9f0f6f4b3a", action="delayed"),
        report("of-somebody-else"),
        b"Subject: I am away until Monday\r\n\r\nYours, Olga\r\n",
        b"",
        b"\xff\xfe no mail at all",
    ],
    ids=["late", "another program's", "absence", "empty", "bytes"],
)
def test_what_tells_of_no_failure_of_ours(raw: bytes) -> None:
    assert bounces.bounce_of(raw) is None


@pytest.mark.stack
@pytest.mark.django_db
class TestNoting:
    @pytest.fixture
    def accepted(self) -> Delivery:
        now = timezone.now()
        content = services.keep_content("main: 3 risks", "Text")
        services.queue(content, [Recipient("olga@example.org", "1")], due_at=now)
        (delivery,) = services.claim_due(now, 1)
        services.hand_over(delivery, now)
        services.accept(delivery, now, "250 queued")
        return delivery

    @pytest.fixture
    def now(self) -> datetime:
        return timezone.now()

    def test_a_maildir_is_emptied_and_other_mail_is_kept_aside(
        self, accepted: Delivery, now: datetime, tmp_path: Path
    ) -> None:
        box = mailbox.Maildir(tmp_path / "returned", create=True)
        box.add(report(accepted.key))
        absence = EmailMessage()
        absence["Subject"] = "I am away"
        box.add(absence)
        assert bounces.read(tmp_path / "returned", now) == {"noted": 1, "other": 1}
        accepted.refresh_from_db()
        assert (accepted.state, accepted.settled_at) == (State.BOUNCED, now)
        assert "User unknown" in accepted.said
        assert [state for _at, state, _said in accepted.log] == [State.ACCEPTED, State.BOUNCED]
        assert len(mailbox.Maildir(tmp_path / "returned")) == 0
        assert len(mailbox.Maildir(tmp_path / "returned").get_folder(bounces.OTHER)) == 1
        assert not bounces.read(tmp_path / "returned", now)

    @pytest.mark.parametrize(
        "broken",
        [
            b"Message-ID: <>\r\n\r\nx",
            b"Content-Type: multipart/report; report-type=delivery-status; "
            b"boundary=b\r\n\r\n--b\r\nContent-Type: message/rfc822\r\n\r\nMessage-ID: <>\r\n\r\nx\r\n--b--\r\n",
        ],
    )
    def test_one_that_cannot_be_read_keeps_no_other_waiting(
        self, accepted: Delivery, now: datetime, tmp_path: Path, broken: bytes
    ) -> None:
        box = mailbox.Maildir(tmp_path / "returned", create=True)
        box.add(broken)
        box.add(report(accepted.key))
        box.add(broken)
        assert bounces.read(tmp_path / "returned", now) == {"noted": 1, "other": 2}
        accepted.refresh_from_db()
        assert accepted.state == State.BOUNCED

    def test_one_on_standard_input(self, accepted: Delivery, monkeypatch: pytest.MonkeyPatch) -> None:
        told = io.StringIO()
        for _time in range(2):
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(report(accepted.key))))
            call_command("note_bounce", stdout=told)
        assert told.getvalue() == "It is noted.\nIt tells of no mail that hadash has sent.\n"

    def test_a_person_sends_it_again(self, accepted: Delivery, now: datetime) -> None:
        assert services.bounce(accepted.key, now, "550 no such user")
        accepted.refresh_from_db()
        assert services.send_again(None, accepted, now)


def test_what_came_back_while_postgresql_was_away_is_noted_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = mailbox.Maildir(tmp_path / "bounces", create=True)
    box.add(report("0b2b9a3e-6c0e-4e0e-9a55-0d9f0f6f4b3a"))

    def away(*_: object) -> bool:
        raise OperationalError("the server closed the connection")

    monkeypatch.setattr(services, "bounce", away)
    with pytest.raises(OperationalError):
        bounces.read(tmp_path / "bounces", timezone.now())
    assert len(mailbox.Maildir(tmp_path / "bounces")) == 1, "it lies there for the next look"

"""A connection to real servers: encrypted, refused, deferred, lost."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.certificates import Authority, Issued
from support.smtp import MailServer, mail_server

from hadash.outbox.failures import Deferred, NotOurs, Refused, Unavailable, Untold
from hadash.outbox.smtp import Connection

from .conftest import server_at

TEXT = b"Subject: hello\r\n\r\nOne line\r\n.hidden\r\n.\r\nThe last\r\n"


def handed() -> bool:
    return True


def sent(mail: MailServer, recipient: str = "olga@example.org") -> str:
    with Connection(server_at(mail.port)) as connection:
        return connection.send("hadash@example.org", recipient, TEXT, handed)


def test_a_message_arrives_byte_for_byte_and_the_server_s_words_come_back() -> None:
    with mail_server() as mail:
        assert sent(mail) == "250 2.0.0 taken as 4711"
    (received,) = mail.taken
    assert (received.sender, received.recipient) == ("hadash@example.org", "olga@example.org")
    assert received.data == TEXT


def test_one_connection_takes_many_and_is_made_anew_after_a_hundred() -> None:
    with mail_server() as mail, Connection(server_at(mail.port), messages_each=10) as connection:
        for number in range(25):
            connection.send("h@example.org", f"{number}@example.org", TEXT, handed)
        assert (len(mail.taken), connection.opened) == (25, 3)


@pytest.mark.parametrize("security", ["starttls", "tls"])
class TestEncrypted:
    def test_it_signs_in_over_tls(self, security: str, authority: Authority, certificate: Issued) -> None:
        with (
            mail_server(certificate, security, password="密码 pass") as mail,
            Connection(server_at(mail.port, security, authority.certificate, "密码 pass")) as connection,
        ):
            connection.send("h@example.org", "olga@example.org", TEXT, handed)
        assert (mail.signed_in, len(mail.taken)) == (["hadash"], 1)

    def test_a_wrong_password_is_no_fault_of_the_message(
        self, security: str, authority: Authority, certificate: Issued
    ) -> None:
        with (
            mail_server(certificate, security, password="right") as mail,
            Connection(server_at(mail.port, security, authority.certificate, "wrong")) as connection,
            pytest.raises(Unavailable, match="535"),
        ):
            connection.send("h@example.org", "olga@example.org", TEXT, handed)
        assert mail.taken == []

    def test_a_server_that_nobody_vouches_for_is_told_nothing(
        self, security: str, certificate: Issued
    ) -> None:
        with (
            mail_server(certificate, security, password="secret") as mail,
            Connection(server_at(mail.port, security, None, "secret")) as connection,
            pytest.raises(Unavailable, match="certificate verify failed"),
        ):
            connection.send("h@example.org", "olga@example.org", TEXT, handed)
        assert (mail.signed_in, mail.taken) == ([], [])

    def test_a_server_under_another_name_is_told_nothing(self, security: str, authority: Authority) -> None:
        other = authority.issue("elsewhere", hosts=("mail.example.org",))
        with (
            mail_server(other, security) as mail,
            Connection(server_at(mail.port, security, authority.certificate)) as connection,
            pytest.raises(Unavailable, match="IP address mismatch"),
        ):
            connection.send("h@example.org", "olga@example.org", TEXT, handed)


def test_nothing_is_said_in_plain_to_a_server_without_starttls() -> None:
    with (
        mail_server() as mail,
        Connection(server_at(mail.port, "starttls", None, "secret")) as connection,
        pytest.raises(Unavailable, match="STARTTLS"),
    ):
        connection.send("h@example.org", "olga@example.org", TEXT, handed)
    assert mail.taken == []


@pytest.mark.parametrize("when", ["to_recipient", "to_message"])
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("451 4.7.1 Greylisted, try again later", Deferred),
        ("452 4.2.2 Mailbox full", Deferred),
        ("550 5.1.1 No such user", Refused),
        ("554 5.7.1 Spam", Refused),
        ("530 5.7.0 Authentication required", Deferred),
    ],
)
def test_what_the_server_answers(when: str, answer: str, error: type[Exception]) -> None:
    """The next message goes through the same connection."""

    def says(recipient: str) -> str | None:
        return answer if recipient.startswith("odd") else None

    with mail_server(**{when: says}) as mail, Connection(server_at(mail.port)) as connection:
        with pytest.raises(error, match=answer):
            connection.send("h@example.org", "odd@example.org", TEXT, handed)
        connection.send("h@example.org", "olga@example.org", TEXT, handed)
        assert (mail.recipients(), mail.connections) == (["olga@example.org"], 1)


def test_a_server_that_is_closing_ends_the_connection_and_nothing_was_taken() -> None:
    answers = iter(["421 4.3.2 closing", None])
    with (
        mail_server(to_recipient=lambda _: next(answers)) as mail,
        Connection(server_at(mail.port)) as connection,
    ):
        with pytest.raises(Unavailable, match="421"):
            connection.send("h@example.org", "olga@example.org", TEXT, handed)
        connection.send("h@example.org", "olga@example.org", TEXT, handed)
        assert (len(mail.taken), mail.connections) == (1, 2)


@pytest.mark.parametrize("when", ["dies_before", "dies_after"])
def test_a_server_that_dies_in_the_midst_may_have_it(when: str) -> None:
    with mail_server(**{when: {"olga@example.org"}}) as mail, Connection(server_at(mail.port)) as connection:
        with pytest.raises(Untold, match="while the server was taking it"):
            connection.send("h@example.org", "olga@example.org", TEXT, handed)
        assert len(mail.taken) == (when == "dies_after")
        connection.send("h@example.org", "arne@example.org", TEXT, handed)


def test_a_server_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with (
        Connection(server_at(port)) as connection,
        pytest.raises(Unavailable, match="does not take mail now"),
    ):
        connection.send("h@example.org", "olga@example.org", TEXT, handed)


def test_a_server_that_says_nothing_is_given_up() -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        Connection(server_at(silent.getsockname()[1], timeout=0.1)) as connection,
        pytest.raises(Unavailable, match="timed out"),
    ):
        connection.send("h@example.org", "olga@example.org", TEXT, handed)


def test_what_is_another_sender_s_is_not_handed_over() -> None:
    def lost() -> bool:
        return False

    no: Callable[[], bool] = lost
    with mail_server() as mail, Connection(server_at(mail.port)) as connection:
        with pytest.raises(NotOurs):
            connection.send("h@example.org", "olga@example.org", TEXT, no)
        connection.send("h@example.org", "arne@example.org", TEXT, handed)
    assert mail.recipients() == ["arne@example.org"]


class TestWhatIsWrongWithOurSettings:
    """It is no message's fault: each would be refused like this, and is sent when the settings are right."""

    def test_a_sender_that_the_server_does_not_take(self) -> None:
        with mail_server(to_sender=lambda _: "550 5.7.1 sender not allowed") as mail:
            with pytest.raises(Unavailable, match="sender not allowed"):
                sent(mail)
            mail.to_sender = lambda _: None
            assert sent(mail)

    @pytest.mark.parametrize("text", [None, "no certificate"])
    def test_a_file_of_authorities_that_cannot_be_read(self, text: str | None, tmp_path: Path) -> None:
        path = tmp_path / "ca.pem"
        if text is not None:
            path.write_text(text)
        with Connection(server_at(1, "tls", path)) as connection, pytest.raises(Unavailable):
            connection.send("h@example.org", "olga@example.org", TEXT, handed)

    def test_a_host_that_is_no_name(self) -> None:
        server = replace(server_at(25), host="mail..example.org")
        with Connection(server) as connection, pytest.raises(Unavailable):
            connection.send("h@example.org", "olga@example.org", TEXT, handed)


def test_a_server_may_take_longer_over_the_text_than_over_other_answers() -> None:
    """It looks for viruses; a sender that gives up meanwhile does not know whether it was taken."""
    with mail_server() as mail:
        # (The server thinks for longer than the time for other answers.)
        mail.thinks_seconds = 0.6
        server = replace(server_at(mail.port, timeout=0.3), taking_seconds=30.0)
        with Connection(server) as connection:
            assert connection.send("h@example.org", "olga@example.org", TEXT, handed)
            assert connection.send("h@example.org", "arne@example.org", TEXT, handed)
        assert mail.connections == 1

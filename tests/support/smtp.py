"""A real SMTP server (aiosmtpd) that does what a test asks for: TLS, signing in, refusing, greylisting, dying
in the midst of a message.
"""

from __future__ import annotations

import asyncio
import ssl
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from .certificates import Issued

#: What the server says to a recipient or to a message: ``None`` for its usual "250 OK".
Says = Callable[[str], str | None]


def yes(_: str) -> None:
    return None


@dataclass
class Received:
    """A message that the server has taken."""

    sender: str
    recipient: str
    data: bytes

    @property
    def message(self) -> EmailMessage:
        return message_from_bytes(self.data, policy=default)  # type: ignore[return-value]


@dataclass
class MailServer:
    """``to_sender``: what it answers to MAIL FROM, by sender; ``to_recipient``, ``to_message``: by recipient.
    ``dies_before``, ``dies_after``: recipients at whose message the connection ends without an answer, before
    and after it was taken.
    """

    port: int = 0
    security: str = "none"
    to_sender: Says = yes
    to_recipient: Says = yes
    to_message: Says = yes
    dies_before: set[str] = field(default_factory=set)
    dies_after: set[str] = field(default_factory=set)
    #: Seconds for which it looks through a text before it answers.
    thinks_seconds: float = 0.0
    taken: list[Received] = field(default_factory=list)
    connections: int = 0
    signed_in: list[str] = field(default_factory=list)
    _controller: _Controller | None = None
    _options: dict[str, Any] = field(default_factory=dict)

    def start(self) -> None:
        """(On the same port, when it is started again.)"""
        self._controller = _Controller(self, **self._options)
        self._controller.start()
        self.port = self._controller.server.sockets[0].getsockname()[1]  # type: ignore[union-attr]

    def stop(self) -> None:
        """Connections end without a word."""
        if self._controller is not None:
            self._controller.stop()

    # -- what aiosmtpd calls

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, hostname: str, responses: list[str]
    ) -> list[str]:
        session.host_name = hostname
        return responses

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        said = self.to_sender(address)
        if said is not None:
            return said
        envelope.mail_from = address
        envelope.mail_options.extend(options)
        return "250 OK"

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        said = self.to_recipient(address)
        if said is not None:
            return said
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        (recipient,) = envelope.rcpt_tos
        if self.thinks_seconds:
            await asyncio.sleep(self.thinks_seconds)
        if recipient in self.dies_before:
            server.transport.abort()
            await asyncio.sleep(0)
            return "421 gone"
        said = self.to_message(recipient)
        if said is not None:
            return said
        assert isinstance(envelope.content, bytes)
        self.taken.append(Received(envelope.mail_from or "", recipient, envelope.content))
        if recipient in self.dies_after:
            server.transport.abort()
            await asyncio.sleep(0)
        return "250 2.0.0 taken as 4711"

    def recipients(self) -> list[str]:
        return [each.recipient for each in self.taken]


class _Controller(Controller):
    """Counts connections, and begins TLS with the first byte where it is asked to."""

    def __init__(self, mail: MailServer, **options: Any) -> None:
        super().__init__(mail, hostname="127.0.0.1", port=mail.port, **options)
        self._mail = mail

    def factory(self) -> SMTP:
        self._mail.connections += 1
        with warnings.catch_warnings():
            # (It warns of passwords in plain: of the TLS around the whole connection it knows nothing.)
            warnings.simplefilter("ignore")
            return super().factory()

    def _trigger_server(self) -> None:
        """aiosmtpd knocks at its own port to see whether it is there: only now is known which one it is, and
        it is nobody's connection.
        """
        self.port = self.server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        super()._trigger_server()
        self._mail.connections -= 1


@contextmanager
def mail_server(
    certificate: Issued | None = None, security: str = "none", password: str = "", **behaviour: Any
) -> Iterator[MailServer]:
    """:param security: none, starttls or tls; the latter need a certificate.

    :param password: of the user ``hadash``; empty: nobody signs in.
    """
    mail = MailServer(security=security, **behaviour)
    options: dict[str, Any] = {}
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate.certificate, certificate.key)
        if security == "tls":
            options["ssl_context"] = context
        else:
            options |= {"tls_context": context, "require_starttls": True}
    if password:

        def may(server: SMTP, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
            known = isinstance(data, LoginPassword) and data == LoginPassword(b"hadash", password.encode())
            if known:
                mail.signed_in.append(data.login.decode())
            return AuthResult(success=known, handled=False)

        # (aiosmtpd itself sees only the TLS that STARTTLS begins.)
        options |= {"auth_required": True, "authenticator": may, "auth_require_tls": security == "starttls"}
    mail._options = options
    mail.start()
    try:
        yield mail
    finally:
        mail.stop()

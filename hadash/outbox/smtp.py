"""A connection to the mail server, kept for many messages. Signing with DKIM is left to the relay."""

from __future__ import annotations

import base64
import re
import smtplib
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType

from hadash.outbox.failures import Deferred, NotOurs, Refused, Unavailable, Untold


class Security(StrEnum):
    """How the connection is encrypted."""

    #: Not encrypted: for a relay on the same machine.
    NONE = "none"
    #: Begins unencrypted, and switches to TLS before the sign-in (port 587).
    STARTTLS = "starttls"
    #: Encrypted from the beginning (port 465).
    TLS = "tls"


@dataclass(frozen=True, slots=True)
class Server:
    """A mail server. ``ca_file``: the authorities for its certificate; empty: the system's.
    ``timeout_seconds``: for each answer except the one to the message's text, which has ``taking_seconds``:
    servers check it before they accept it (RFC 5321, 4.5.3.2.6).
    """

    host: str
    port: int
    security: Security
    username: str = ""
    password: str = ""
    ca_file: str = ""
    timeout_seconds: float = 30.0
    taking_seconds: float = 600.0


class Connection:
    """A connection that is opened for the first message and closed at the end of the ``with`` block."""

    def __init__(self, server: Server, messages_each: int = 100) -> None:
        """Prepare a connection. :param messages_each: reconnect after so many messages: many servers close it
        after some hundred.
        """
        self._server = server
        self._messages_each = messages_each
        self._smtp: smtplib.SMTP | None = None
        self._sent = 0
        #: The number of connections made so far.
        self.opened = 0

    def __enter__(self) -> Connection:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        smtp, self._smtp = self._smtp, None
        if smtp is None:
            return
        try:
            smtp.quit()
        except (smtplib.SMTPException, OSError):
            smtp.close()

    def send(self, sender: str, recipient: str, message: bytes, before_hand_over: Callable[[], bool]) -> str:
        """Send one message to one recipient; return the server's words of acceptance.

        :param before_hand_over: called when the server is ready for the text, before any of it is sent;
            ``False``: do not send.
        :raises Unavailable: nothing was handed over, and the server accepts nothing now.
        :raises Deferred: the server asks to try later.
        :raises Refused: the server refuses it permanently.
        :raises Untold: the server may have accepted it.
        :raises NotOurs: ``before_hand_over`` returned ``False``.
        """
        smtp = self._connected()
        try:
            self._expect_of_sender(smtp.mail(sender))
            self._expect(smtp.rcpt(recipient))
            code, words = smtp.docmd("DATA")
            if code != 354:
                self._expect((code, words))
                raise Deferred(_said(code, words))
        except (smtplib.SMTPServerDisconnected, OSError) as error:
            self._drop()
            raise Unavailable(f"The connection ended: {error}") from error
        except Unavailable:
            self._drop()
            raise
        except (Deferred, Refused):
            self._reset()
            raise
        if not before_hand_over():
            self._drop()  # (after DATA the server waits for the text: only closing the connection aborts that)
            raise NotOurs
        try:
            smtp.send(_as_data(message))
            self._wait_at_most(self._server.taking_seconds)
            code, words = smtp.getreply()
            self._wait_at_most(self._server.timeout_seconds)
        except (smtplib.SMTPException, OSError) as error:
            self._drop()
            raise Untold(f"The connection ended while the server was taking it: {error}") from error
        self._sent += 1
        try:
            self._expect((code, words))
        except (Deferred, Refused):
            self._reset()
            raise
        return _said(code, words)

    def _connected(self) -> smtplib.SMTP:
        if self._smtp is not None and self._sent >= self._messages_each:
            self.close()
        if self._smtp is None:
            self._smtp = self._open()
            self._sent = 0
            self.opened += 1
        return self._smtp

    def _open(self) -> smtplib.SMTP:
        server = self._server
        smtp: smtplib.SMTP | None = None
        try:
            context = ssl.create_default_context(cafile=server.ca_file or None)
            if server.security is Security.TLS:
                smtp = smtplib.SMTP_SSL(
                    server.host, server.port, timeout=server.timeout_seconds, context=context
                )
            else:
                smtp = smtplib.SMTP(server.host, server.port, timeout=server.timeout_seconds)
            smtp.ehlo_or_helo_if_needed()
            if server.security is Security.STARTTLS:
                smtp.starttls(context=context)
                smtp.ehlo()
            if server.username:
                _sign_in(smtp, server)
        except smtplib.SMTPResponseException as error:
            if smtp is not None:
                smtp.close()
            raise Unavailable(_said(error.smtp_code, _bytes(error.smtp_error))) from error
        except (smtplib.SMTPException, OSError, UnicodeError) as error:
            # (UnicodeError: an invalid host name. Errors of ssl are OSErrors, also for an unreadable file of
            # authorities.)
            if smtp is not None:
                smtp.close()
            raise Unavailable(f"{server.host}:{server.port} does not take mail now: {error}") from error
        return smtp

    def _expect(self, answer: tuple[int, bytes]) -> None:
        code, words = answer
        if 200 <= code < 300:
            return
        if code == 421:  # the server is about to close the connection
            self._drop()
            raise Unavailable(_said(code, words))
        if 500 <= code < 600 and code not in _OF_THE_CONNECTION:
            raise Refused(_said(code, words))
        raise Deferred(_said(code, words))

    def _expect_of_sender(self, answer: tuple[int, bytes]) -> None:
        """Check the answer to the sender: a refused sender is no message's fault, because all have the same."""
        try:
            self._expect(answer)
        except Refused as error:
            raise Unavailable(f"The sender is refused: {error}") from error

    def _wait_at_most(self, seconds: float) -> None:
        if self._smtp is not None and self._smtp.sock is not None:
            self._smtp.sock.settimeout(seconds)

    def _reset(self) -> None:
        if self._smtp is None:
            return
        try:
            self._smtp.rset()
        except (smtplib.SMTPException, OSError):
            self._drop()

    def _drop(self) -> None:
        smtp, self._smtp = self._smtp, None
        if smtp is not None:
            smtp.close()


def _sign_in(smtp: smtplib.SMTP, server: Server) -> None:
    """Sign in. :raises smtplib.SMTPException: the server refuses."""
    if server.username.isascii() and server.password.isascii():
        smtp.login(server.username, server.password)
        return
    # (smtplib supports only ASCII; PLAIN is UTF-8 by RFC 4616.)
    told = base64.b64encode(f"\0{server.username}\0{server.password}".encode()).decode()
    code, words = smtp.docmd("AUTH", f"PLAIN {told}")
    if code != 235:
        raise smtplib.SMTPAuthenticationError(code, words)


_LEADING_DOT = re.compile(rb"(?m)^\.")

#: Codes such as "sign in first", "encrypt first" and "unknown command": faults of the settings or of the
#: server, not of one message.
_OF_THE_CONNECTION = frozenset({500, 501, 502, 503, 504, 530, 534, 535, 538})


def _as_data(message: bytes) -> bytes:
    """Encode a message for DATA: a line that begins with a dot gets another one, and a single dot ends it (RFC
    5321, 4.5.2).

    >>> _as_data(b"one\\r\\n.two\\r\\n")
    b'one\\r\\n..two\\r\\n.\\r\\n'
    """
    stuffed = _LEADING_DOT.sub(b"..", message)
    return stuffed + (b"" if stuffed.endswith(b"\r\n") else b"\r\n") + b".\r\n"


def _said(code: int, words: bytes) -> str:
    """Return a server's answer as one line.

    >>> _said(451, b"4.7.1 Greylisted,\\ntry again")
    '451 4.7.1 Greylisted, try again'
    """
    return f"{code} {' '.join(words.decode('utf-8', 'replace').split())}"


def _bytes(words: bytes | str) -> bytes:
    return words if isinstance(words, bytes) else words.encode()

"""Checks and normalises mail addresses. Pure."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.core.validators import validate_email

from hadash.sentences import Sentence, say


class BadAddress(ValueError):
    """Mail cannot be sent to an address; ``sentence`` says why."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


def normalised(text: str) -> str:
    """Return an address as servers understand it: with the domain in lower case and in ASCII (IDNA).

    :raises BadAddress: it is not a valid address.

    >>> normalised(" Olga@Example.ORG ")
    'Olga@example.org'
    >>> normalised("wei@例子.中国")
    'wei@xn--fsqu00a.xn--fiqs8s'
    """
    local, at, domain = text.strip().rpartition("@")
    if not at or not local:
        raise BadAddress(
            say("“%(address)s” is no address: it needs a name, an @ and a domain.", address=text.strip())
        )
    if not local.isascii():
        raise BadAddress(
            say("“%(name)s” has letters that most mail servers do not take before the @.", name=local)
        )
    try:
        ascii_domain = domain.rstrip(".").encode("idna").decode().lower()
        validate_email(f"{local}@{ascii_domain}")
    except (UnicodeError, ValidationError):
        raise BadAddress(say("“%(address)s” is no address of mail.", address=text.strip())) from None
    return f"{local}@{ascii_domain}"


def in_ascii(address: str) -> str:
    """Return an address as servers understand it; an invalid one is not changed (the server will refuse it).

    >>> in_ascii("hadash@例子.中国"), in_ascii("hadash@localhost")
    ('hadash@xn--fsqu00a.xn--fiqs8s', 'hadash@localhost')
    """
    try:
        return normalised(address)
    except BadAddress:
        return address


def sender_of(text: str) -> tuple[str, str]:
    """Return (name, address) of a sender from the settings, with or without quotes around the name.

    >>> sender_of("hadash <hadash@example.org>"), sender_of("hadash@example.org")
    (('hadash', 'hadash@example.org'), ('', 'hadash@example.org'))
    >>> sender_of('"Kafka, Platform" <hadash@example.org>')
    ('Kafka, Platform', 'hadash@example.org')
    """
    name, opens, address = text.rpartition("<")
    return name.strip().strip('"'), (address.rstrip("> ") if opens else text).strip()

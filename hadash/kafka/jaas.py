"""Builds the JAAS line with which Kafka's Java programs sign in (``sasl.jaas.config``). Pure."""

from __future__ import annotations

_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}

#: Kafka reads the line with Java's StreamTokenizer: a quoted text ends at a quote or at the end of the line,
#: and a backslash begins an escape sequence.
_ESCAPED = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r"})


class UnknownMechanism(ValueError):
    """The login module of a SASL mechanism is not known."""


def login(mechanism: str, username: str, password: str) -> str:
    """Return the JAAS line for a SASL mechanism and account.

    >>> print(login("PLAIN", "shop", 'a"b'))
    org.apache.kafka.common.security.plain.PlainLoginModule required username="shop" password="a\\"b";

    :raises UnknownMechanism: it is none of PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512.
    """
    if mechanism not in _MODULES:
        raise UnknownMechanism(mechanism)
    user, secret = (text.translate(_ESCAPED) for text in (username, password))
    return f'{_MODULES[mechanism]} required username="{user}" password="{secret}";'

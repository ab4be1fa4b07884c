"""Names of AppIDs, InstanceIDs, Topics and groups, and how they are written into paths and keys.

A Kafka user name or client.id may hold any character, ``#`` and ``/`` included, and people do type Chinese
into them. Wherever hadash joins such names with a separator or puts one into a ZooKeeper path, the name is
percent-encoded first, so that the joined text has exactly one reading.
"""

from __future__ import annotations

import hashlib
from urllib.parse import quote, unquote

from hadash.sentences import Sentence, say

#: Kafka's own limit on a client.id is the 32 KiB of a protocol string; nobody has a use for that. The limit
#: keeps a name readable in a page and in a ZooKeeper path (encoded Chinese takes nine bytes a character).
MAX_NAME_LENGTH = 200

#: Characters of the name of a Topic (Kafka has at most 249) or of a group (Kafka has no limit) in the tables.
MAX_RESOURCE_LENGTH = 255


#: Characters of a part of a file's name: file systems take 255 bytes, and something stands before and after it.
MAX_FILE_NAME = 150


class InvalidName(ValueError):
    """A name that cannot be an AppID or InstanceID. ``sentence`` says why, for the person who typed it."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


def encode(name: str) -> str:
    """Percent-encode ``name`` for a path or key.

    >>> encode('shop/web#1')
    'shop%2Fweb%231'
    >>> encode('购物车')
    '%E8%B4%AD%E7%89%A9%E8%BD%A6'
    """
    encoded = quote(name, safe="")
    # ZooKeeper refuses the path elements "." and "..", which quote() leaves as they are.
    return encoded.replace(".", "%2E") if encoded in (".", "..") else encoded


def file_name(name: str) -> str:
    """``name`` encoded as a part of a file's name: of one that no file system would take the beginning and a digest.

    >>> file_name('kafka-access/reports')
    'kafka-access%2Freports'
    >>> len(file_name('网关' * 200))
    150
    """
    encoded = encode(name)
    if len(encoded) <= MAX_FILE_NAME:
        return encoded
    digest = hashlib.blake2b(name.encode(), digest_size=10).hexdigest()
    return f"{encoded[: MAX_FILE_NAME - len(digest) - 1]}~{digest}"


def decode(encoded: str) -> str:
    """The name that :func:`encode` wrote.

    >>> decode(encode('..'))
    '..'
    """
    return unquote(encoded)


def printable(name: str, longest: int = MAX_NAME_LENGTH) -> str:
    """A name or text that came from outside as it may stand in a log: on one line, and no longer than a person reads.

    >>> printable('购物车')
    '购物车'
    >>> printable('web-1\\n2026-11-21 ERROR all is lost')
    "'web-1\\\\n2026-11-21 ERROR all is lost'"
    """
    shown = name if name.isprintable() else repr(name)
    return shown if len(shown) <= longest else f"{shown[:longest]}…"


def fitting(name: str, limit: int) -> str:
    """``name``, or for one that is too long its beginning and a digest: two names never become one.

    One client with a name that no table can hold must not keep all others out of it.

    >>> fitting("x" * 300, 20)
    'xxxxxxx…6eb05c555288'
    """
    name = name.replace("\0", "\ufffd")  # PostgreSQL holds any character but this
    if len(name) <= limit:
        return name
    digest = hashlib.blake2b(name.encode(), digest_size=6).hexdigest()
    return f"{name[: limit - len(digest) - 1]}…{digest}"


def validated(name: str, what: str) -> str:
    """``name`` without surrounding blanks, or :class:`InvalidName`.

    ``what`` is the word for the message: "AppID" or "InstanceID".
    """
    name = name.strip()
    if not name:
        raise InvalidName(say("%(what)s is empty.", what=what))
    if len(name) > MAX_NAME_LENGTH:
        raise InvalidName(
            say(
                "%(what)s is %(length)s characters long; at most %(most)s are possible.",
                what=what,
                length=len(name),
                most=MAX_NAME_LENGTH,
            )
        )
    if any(ord(character) < 32 or ord(character) == 127 for character in name):
        raise InvalidName(say("%(what)s contains a control character.", what=what))
    return name

"""Names of AppIDs, InstanceIDs, Topics and groups, and their encoding in paths and keys.

A Kafka user name or client.id may hold any character, including ``#``, ``/`` and Chinese. Wherever hadash joins such
names with a separator or puts one into a ZooKeeper path, the name is percent-encoded first, so that the joined text
has exactly one reading.
"""

from __future__ import annotations

import hashlib
from urllib.parse import quote, unquote

from hadash.sentences import Sentence, say

#: The longest AppID or InstanceID, in characters. Kafka's own limit on a client.id is the 32 KiB of a protocol string,
#: which nobody needs. This limit keeps a name readable on a page and in a ZooKeeper path (encoded Chinese takes nine
#: bytes a character).
MAX_NAME_LENGTH = 200

#: The longest name of a Topic (Kafka allows 249) or of a group (Kafka has no limit) in the tables, in characters.
MAX_RESOURCE_LENGTH = 255


#: The longest part of a file name, in characters. File systems allow 255 bytes, and there is text before and after it.
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
    # ZooKeeper refuses the path elements "." and "..", which quote() does not encode.
    return encoded.replace(".", "%2E") if encoded in (".", "..") else encoded


def file_name(name: str) -> str:
    """Return ``name`` encoded as a part of a file name; if that is too long, its beginning and a digest.

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
    """Return the name that :func:`encode` encoded.

    >>> decode(encode('..'))
    '..'
    """
    return unquote(encoded)


def printable(name: str, longest: int = MAX_NAME_LENGTH) -> str:
    """Return a name or text from outside in a form that is safe in a log: one line, at most ``longest`` characters.

    >>> printable('购物车')
    '购物车'
    >>> printable('web-1\\n2026-11-21 ERROR all is lost')
    "'web-1\\\\n2026-11-21 ERROR all is lost'"
    """
    shown = name if name.isprintable() else repr(name)
    return shown if len(shown) <= longest else f"{shown[:longest]}…"


def fitting(name: str, limit: int) -> str:
    """Return ``name``, or its beginning and a digest if it is longer than ``limit``.

    Two names never become one. A client whose name no table can hold must not keep the other clients out of it.

    >>> fitting("x" * 300, 20)
    'xxxxxxx…6eb05c555288'
    """
    name = name.replace("\0", "\ufffd")  # PostgreSQL can store any character except this one
    if len(name) <= limit:
        return name
    digest = hashlib.blake2b(name.encode(), digest_size=6).hexdigest()
    return f"{name[: limit - len(digest) - 1]}…{digest}"


def validated(name: str, what: str) -> str:
    """Return ``name`` without surrounding blanks.

    :param what: the word for the message: "AppID" or "InstanceID".
    :raises InvalidName: the name is empty, too long, or contains a control character.
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

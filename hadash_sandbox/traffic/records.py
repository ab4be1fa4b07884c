"""The records of the demo's clients of all libraries. Pure.

They are numbered. Value and header tell which record each is, so that damage shows and strangers' records can be
recognized.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

#: Types of librdkafka's Python binding.
Value = str | bytes | None
Headers = list[tuple[str, Value]]

#: Number of keys that records use in turn; each key stays in one partition.
KEYS = 6

#: The name of the header that each record carries.
HEADER = "check"


def place(topic: str, number: int) -> tuple[str, int]:
    """The journal's key and number of the ``number``-th record of a Topic; records use the keys in turn.

    >>> place("orders", 13)
    ('orders/1', 2)
    """
    return f"{topic}/{number % KEYS}", number // KEYS


def header_of(number: int) -> bytes:
    """The value of record ``number``'s header: bytes that are not valid text.

    >>> header_of(13)
    b'\\x00\\xff13'
    """
    return b"\0\xff%d" % number


def headers_of(number: int) -> Headers:
    """All headers of record ``number``."""
    return [(HEADER, header_of(number))]


def damage(number: int, headers: Mapping[str, Value] | Iterable[tuple[str, Value]] | None) -> str:
    """What is wrong with the headers of record ``number``; empty when they are as they were written.

    >>> damage(13, [("check", b"AP8xMw==")])
    "header b'AP8xMw=='"
    """
    by_name = headers if isinstance(headers, Mapping) else dict(headers or ())
    found = by_name.get(HEADER)
    return "" if found == header_of(number) else f"header {found!r}"


# -- numbers -------------------------------------------------------------------------------------------------------

#: Bytes of padding in a record.
_FILL = 100

#: Digits of a number, at most: enough for a demo that runs for a century.
_DIGITS = 18


def value_of(number: int, name: str) -> bytes:
    """The value of a producer's ``number``-th record of a key.

    >>> value_of(7, "carts-writer")[:15]
    b'7 carts-writer '
    """
    return f"{number} {name} {'x' * _FILL}".encode()


def number_of(key: bytes | None, value: bytes | None) -> int | None:
    """The number of a record of the demo's producers; ``None`` for a stranger's record.

    The key of a producer's record is, or begins with, the producer's name, which is also in the value.

    >>> number_of(b"carts-writer/1700000000.000/3", value_of(7, "carts-writer"))
    7
    >>> number_of(b"till-0001", value_of(7, "till-0001"))
    7
    >>> strangers = [(b"x", b"hello"), (None, b"7"), (b"k", None), (b"k", b"7 carts-writer x")]
    >>> [number_of(key, value) for key, value in strangers]
    [None, None, None, None]
    """
    number, _, rest = (value or b"").partition(b" ")
    name, _, fill = rest.partition(b" ")
    ours = _is_number(number) and fill == b"x" * _FILL and (key or b"").split(b"/", 1)[0] == name
    return int(number) if ours else None


def plain_number_of(value: bytes | None) -> int | None:
    """As :func:`number_of`, for clients of other libraries, whose values are plain numbers.

    >>> plain_number_of(b"12"), plain_number_of(b"hello"), plain_number_of(None)
    (12, None, None)
    """
    return int(value) if value is not None and _is_number(value) else None


def _is_number(text: bytes) -> bool:
    return text.isdigit() and len(text) <= _DIGITS

"""Tagged fields that are unknown here (KIP-482): brokers skip them, kio refuses the message. Pure.

A newer client or broker may add a tagged field to an existing version, and librdkafka 2.16 ends a METADATA for all
Topics with bytes that read as one. :func:`without_unknown_tags` removes them, so that kio can read the rest.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

from hadash.gateway.protocol.cursor import Cursor

#: The size in bytes of the types with a fixed length, by kio's names.
_FIXED = {
    "bool": 1,
    "int8": 1,
    "uint8": 1,
    "int16": 2,
    "uint16": 2,
    "error_code": 2,
    "int32": 4,
    "uint32": 4,
    "timedelta_i32": 4,
    "int64": 8,
    "uint64": 8,
    "float64": 8,
    "timedelta_i64": 8,
    "datetime_i64": 8,
    "uuid": 16,
}


class _Field(NamedTuple):
    """The facts needed to step over a field. ``entity`` is the class of a nested message."""

    name: str
    kafka_type: str
    entity: Any
    is_array: bool
    is_optional: bool


def without_unknown_tags(entity: Any, data: bytes, at: int) -> bytes:
    """Return the bytes of one ``entity`` that begins at ``at``, without the tagged fields that it does not define.

    :raises MalformedFrame: ``data`` is not such a message.
    """
    walk = _Walk(data, at)
    walk.entity(entity)
    return b"".join(walk.kept)


@cache
def _layout(entity: Any) -> tuple[tuple[_Field, ...], frozenset[int]]:
    """Return the untagged fields in order, and the tags that the entity defines."""
    hints = get_type_hints(entity)
    plain, tags = [], set()
    for field in fields(entity):
        if "tag" in field.metadata:
            tags.add(int(field.metadata["tag"]))
            continue
        inner, optional = _inner(hints[field.name])
        is_array = get_origin(inner) is tuple
        if is_array:
            inner, _ = _inner(get_args(inner)[0])
        nested = inner if is_dataclass(inner) else None
        plain.append(_Field(field.name, field.metadata.get("kafka_type", ""), nested, is_array, optional))
    return tuple(plain), frozenset(tags)


def _inner(hint: Any) -> tuple[Any, bool]:
    """Return a type without its ``None``, and whether it had one."""
    if get_origin(hint) is UnionType:
        (inner,) = (part for part in get_args(hint) if part is not type(None))
        return inner, True
    return hint, False


class _Walk:
    """One pass over a flexible message; ``kept`` holds the bytes before ``start`` that stay."""

    def __init__(self, data: bytes, at: int) -> None:
        self.cursor = Cursor(data, at, flexible=True)
        self.start = at
        self.kept: list[bytes] = []

    def entity(self, entity: Any) -> None:
        plain, tags = _layout(entity)
        for field in plain:
            for _ in range(self.cursor.count() if field.is_array else 1):
                self._one(field)
        self._tags(tags)

    def _one(self, field: _Field) -> None:
        if field.entity is not None:
            if field.is_optional and not field.is_array and self._is_null():
                return
            self.entity(field.entity)
        elif field.kafka_type in _FIXED:
            self.cursor.skip(_FIXED[field.kafka_type])
        else:  # string, bytes, records
            self.cursor.sized()

    def _is_null(self) -> bool:
        """Read the byte in front of an optional nested message: -1 means null."""
        self.cursor.skip(1)
        return self.cursor.data[self.cursor.at - 1] == 0xFF

    def _tags(self, known: frozenset[int]) -> None:
        cursor, begin, kept = self.cursor, self.cursor.at, []
        for _ in range(cursor.varint()):
            first = cursor.at
            tag = cursor.varint()
            cursor.skip(cursor.varint())
            if tag in known:
                kept.append(cursor.data[first : cursor.at])
        # No message defines 128 tags or more, so their number takes one byte.
        self.kept += [cursor.data[self.start : begin], bytes([len(kept)]), *kept]
        self.start = cursor.at

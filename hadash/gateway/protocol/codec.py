"""Messages as values, through kio: decodes requests and responses, and builds answers in any version.

A kio entity is a frozen dataclass generated from Kafka's own schemas. Versions differ in their fields; :func:`build`
accepts all fields and keeps those that the version has.
"""

from __future__ import annotations

import io
import sys
from dataclasses import MISSING, fields
from datetime import timedelta
from functools import cache
from types import ModuleType
from typing import Any

from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType

from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.cursor import Cursor
from hadash.gateway.protocol.tagged import without_unknown_tags
from hadash.gateway.protocol.wire import MalformedFrame, Request, framed

NO_TIME = timedelta(0)

#: The first header version whose headers end with tagged fields.
_FLEXIBLE = {EntityType.request: 2, EntityType.response: 1}

__all__ = [
    "NO_TIME",
    "ErrorCode",
    "build",
    "decode_request",
    "decode_response",
    "encode_request",
    "encode_response",
    "nested_class",
    "request_class",
    "respond",
    "response_module",
]


@cache
def request_class(kind: int, version: int) -> Any:
    """Return kio's class for a request of this kind and version."""
    return load_request_schema(kind, version)


@cache
def _response_class(kind: int, version: int) -> Any:
    return load_response_schema(kind, version)


@cache
def response_module(kind: int, version: int) -> ModuleType:
    """Return the module that holds a response's classes, including the nested ones."""
    return sys.modules[_response_class(kind, version).__module__]


def nested_class(entity: Any, name: str) -> Any:
    """Return the class ``name`` of a part of ``entity``, in the same version."""
    return getattr(sys.modules[entity.__module__], name)


@cache
def _reader(entity: Any) -> Any:
    return entity_reader(entity)


@cache
def _writer(entity: Any) -> Any:
    return entity_writer(entity)


def decode_request(request: Request) -> Any:
    """Return the body of ``request``.

    :raises MalformedFrame: the body is not a message of that kind and version.
    """
    entity = request_class(request.kind, request.version)
    return _decode(entity, request.frame, request.body, f"{request.kind.name} version {request.version}")


def _decode(entity: Any, frame: bytes, at: int, what: str) -> Any:
    """Return the message in ``frame``; ``at`` is where the tagged fields of its header begin, if it has any."""
    try:
        header = Cursor(
            frame, at, flexible=entity.__header_schema__.__version__ >= _FLEXIBLE[entity.__type__]
        )
        header.tags()
        try:
            message, read = _reader(entity)(frame, header.at)
        except KeyError:  # a tagged field that kio does not know
            return _reader(entity)(without_unknown_tags(entity, frame, header.at), 0)[0]
    except Exception as error:  # kio raises many kinds, from EOFError to ValueError
        raise MalformedFrame(f"{what} cannot be read ({type(error).__name__}: {error})") from None
    if header.at + read > len(frame):
        raise MalformedFrame(f"{what} is cut off")
    return message


def encode_request(kind: ApiKey, version: int, correlation_id: int, client_id: str, message: Any) -> bytes:
    """Return a request with header and length."""
    entity = request_class(kind, version)
    header_class = entity.__header_schema__
    header = build(
        header_class,
        request_api_key=int(kind),
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    buffer = io.BytesIO()
    _writer(header_class)(buffer, header)
    _writer(entity)(buffer, message)
    return framed(buffer.getvalue())


def decode_response(kind: ApiKey, version: int, payload: bytes) -> Any:
    """Return the body of a response (``payload`` without the length).

    :raises MalformedFrame: ``payload`` is not a response of that kind and version.
    """
    entity = _response_class(kind, version)
    return _decode(entity, payload, 4, f"a {kind.name} version {version} response")


def encode_response(kind: ApiKey, version: int, correlation_id: int, message: Any) -> bytes:
    """Return a response with header and length."""
    entity: Any = type(message)
    header_class = entity.__header_schema__
    buffer = io.BytesIO()
    _writer(header_class)(buffer, build(header_class, correlation_id=correlation_id))
    _writer(entity)(buffer, message)
    return framed(buffer.getvalue())


@cache
def _known_fields(entity: Any) -> tuple[frozenset[str], bool]:
    names = frozenset(f.name for f in fields(entity))
    needs_time = any(f.name == "throttle_time" and f.default is MISSING for f in fields(entity))
    return names, needs_time


def build(entity: Any, **values: Any) -> Any:
    """Return an ``entity`` of those ``values`` that it has. ``throttle_time`` is zero by default."""
    names, needs_time = _known_fields(entity)
    if needs_time:
        values.setdefault("throttle_time", NO_TIME)
    return entity(**{name: value for name, value in values.items() if name in names})


def respond(kind: ApiKey, version: int, **values: Any) -> Any:
    """Return the response entity of ``kind`` and ``version`` of those ``values`` that it has."""
    return build(_response_class(kind, version), **values)

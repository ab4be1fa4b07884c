"""The ids of a thread's current work. They are in every log line, and go with a task to its worker.

>>> with bound(request="r1", person="olga"):
...     with bound(switch="sw-1"):
...         current()
{'request': 'r1', 'person': 'olga', 'switch': 'sw-1'}
>>> current()
{}
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

#: The names of ids. No others can be bound, so that the names are known for searching logs.
NAMES = ("request", "person", "task", "switch", "stage", "batch", "change", "run")

#: The form of ids that are accepted from others (``X-Request-ID``): as proxies make them, without characters
#: that could fake another log line or field.
_WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")

_ids: ContextVar[Mapping[str, str]] = ContextVar("hadash_ids", default={})  # noqa: B039 (it is never changed)


def current() -> dict[str, str]:
    """Return the ids of this thread or coroutine, by name."""
    return dict(_ids.get())


@contextmanager
def bound(**ids: str | None) -> Iterator[None]:
    """Bind ids for the block, in addition to the current ones. ``None`` and "" do not change a name.

    :raises KeyError: a name is not in :data:`NAMES`.
    """
    _check(ids)
    token = _ids.set({**_ids.get(), **{name: value for name, value in ids.items() if value}})
    try:
        yield
    finally:
        _ids.reset(token)


def add(**ids: str) -> None:
    """Bind ids until the end of the surrounding :func:`bound`, for ids that are known only later, such as the
    owner of a token.

    >>> with bound(request="r1"):
    ...     add(person="olga")
    ...     current()
    {'request': 'r1', 'person': 'olga'}
    >>> current()
    {}
    """
    _check(ids)
    _ids.set({**_ids.get(), **ids})


def _check(ids: Mapping[str, object]) -> None:
    unknown = set(ids) - set(NAMES)
    if unknown:
        raise KeyError(f"There are no ids of {', '.join(sorted(unknown))}.")


def new_request_id(sent: str = "") -> str:
    """Return the request id that a proxy has sent, if it is well-formed; otherwise a new one.

    >>> new_request_id("7f1c-22"), len(new_request_id("two\\nlines"))
    ('7f1c-22', 16)
    """
    return sent if _WELL_FORMED.fullmatch(sent) else secrets.token_hex(8)

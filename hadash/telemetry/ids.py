"""What this thread works on: ids that stand in every log line, and go along with a task to the worker that
carries it out.

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

#: What there are ids of. Others are not bound: whoever searches logs has to know the names.
NAMES = ("request", "person", "task", "switch", "stage", "batch", "change", "run")

#: Ids that others may send us (``X-Request-ID``): what a proxy makes, and nothing that could pass for another
#: line or field.
_WELL_FORMED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,99}")

_ids: ContextVar[Mapping[str, str]] = ContextVar("hadash_ids", default={})  # noqa: B039 (it is never changed)


def current() -> dict[str, str]:
    """The ids of this thread or coroutine, by name."""
    return dict(_ids.get())


@contextmanager
def bound(**ids: str | None) -> Iterator[None]:
    """These ids hold inside, besides those that hold already. ``None`` and "" leave a name as it is.

    :raises KeyError: for a name that is none of :data:`NAMES`.
    """
    _check(ids)
    token = _ids.set({**_ids.get(), **{name: value for name, value in ids.items() if value}})
    try:
        yield
    finally:
        _ids.reset(token)


def add(**ids: str) -> None:
    """These ids hold from here on, until what was bound around it ends: for what is known only later, such as
    whose token it is.

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
    """The id that whoever is before us gave the request, if it can be one; otherwise a new one.

    >>> new_request_id("7f1c-22"), len(new_request_id("two\\nlines"))
    ('7f1c-22', 16)
    """
    return sent if _WELL_FORMED.fullmatch(sent) else secrets.token_hex(8)

"""Actions on servers outside of PostgreSQL: no transaction holds both the action and its entry in the audit log."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hadash.audit.models import record


@contextmanager
def recorded_ahead(
    actor: Any, verb: str, subject: str, address: str | None = None, **details: Any
) -> Iterator[None]:
    """Record an action, then let it be done. If it raises, a second entry has the error as its ``outcome``.

    What cannot be recorded is not done. Called outside of a transaction, the entry is committed before the action: no
    other entry has to wait for the server (see :func:`~hadash.audit.models.record`), and a process that dies meanwhile
    leaves the entry. (A request of the API that has an idempotency key is one transaction as a whole.)
    """
    record(actor, verb, subject, address, **details)
    try:
        yield
    except Exception as error:
        record(actor, verb, subject, address, **details, outcome=str(error))
        raise

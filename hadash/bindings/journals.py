"""What ZooKeeper keeps for a switch: its journal (which token may write, which stage wrote last) and its stages' facts.

Both survive a failover of PostgreSQL to a replica without the last commits (docs/adr/0006).
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, KazooException, NodeExistsError, NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import reaching
from hadash.bindings.errors import BindingConflict, FactsTooLarge, StaleWriter
from hadash.bindings.model import Journal
from hadash.bindings.sizing import TRANSACTION_BYTES
from hadash.sentences import say

#: How often a write is tried again after another write in between: only another executor of the same switch can write.
MAX_CONFLICTS = 10

#: The most bytes that the facts of one switch may take, compressed: they are written in a transaction.
FACTS_BYTES = TRANSACTION_BYTES


def read(client: KazooClient, switch_id: str) -> Journal | None:
    """The journal of a switch, ``None`` when it has none."""
    try:
        with reaching():
            data, _ = client.get(layout.switch(switch_id))
    except NoNodeError:
        return None
    return Journal.from_bytes(data)


def take_over(client: KazooClient, switch_id: str, stage: str, token: int) -> Journal | None:
    """Make ``token`` the only one that may write for this switch, and return the journal as it was before.

    The journal keeps its stage, which only a change of bindings changes: it says how far the switch came.

    :param stage: the stage of a journal that does not exist yet.
    :raises StaleWriter: this token or a newer one has already taken over.
    """
    for _ in range(MAX_CONFLICTS):
        with reaching():
            tried = _try_to_take_over(client, switch_id, stage, token)
        if tried.is_taken:
            return tried.before
    raise BindingConflict(
        say(
            "The journal of switch %(switch)s changes faster than it can be taken over.",
            switch=switch_id,
        )
    )


class _Tried(NamedTuple):
    """What came of one try. ``before``: the journal that was there; ``None`` for none."""

    is_taken: bool
    before: Journal | None = None


def _try_to_take_over(client: KazooClient, switch_id: str, stage: str, token: int) -> _Tried:
    """Try once to take over a switch's journal; it is not taken when another writer was faster."""
    path = layout.switch(switch_id)
    try:
        data, stat = client.get(path)
    except NoNodeError:
        try:
            client.create(path, Journal(switch_id, stage, token).to_bytes())
        except NodeExistsError:
            return _Tried(is_taken=False)
        return _Tried(is_taken=True)
    held = Journal.from_bytes(data)
    if held is not None and held.token >= token:
        # (An equal one too: two executors have the same token when PostgreSQL has forgotten that it issued it.)
        raise StaleWriter(f"Executor {token} of switch {switch_id} was replaced by {held.token}.")
    journal = Journal(switch_id, stage, token) if held is None else replace(held, token=token)
    try:
        client.set(path, journal.to_bytes(), version=stat.version)
    except BadVersionError:
        return _Tried(is_taken=False)
    return _Tried(is_taken=True, before=held)


def version_of(client: KazooClient, journal: Journal) -> int:
    """Return the version of the journal's node, for a transaction.

    :raises StaleWriter: ``journal.token`` was replaced, or the switch has ended.
    """
    try:
        data, stat = client.get(layout.switch(journal.switch))
    except NoNodeError:
        raise StaleWriter(f"Switch {journal.switch} has no journal: it has ended.") from None
    held = Journal.from_bytes(data)
    if held is None or held.token != journal.token:
        newer = held.token if held else "unknown"
        raise StaleWriter(f"Executor {journal.token} of switch {journal.switch} was replaced by {newer}.")
    version: int = stat.version
    return version


# -- facts -------------------------------------------------------------------------------------------------------


def packed(values: Mapping[str, Any]) -> bytes:
    """Return facts in their stored form: compressed JSON."""
    return zlib.compress(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode())


def read_facts(client: KazooClient, switch_id: str) -> dict[str, Any]:
    """Return the facts that the stages of a switch keep for each other; empty when nothing was kept.

    :raises BindingConflict: the node cannot be read.
    """
    path = layout.facts(switch_id)
    try:
        with reaching():
            data, _ = client.get(path)
    except NoNodeError:
        return {}
    try:
        values = json.loads(zlib.decompress(data))
        return dict(values)
    except (ValueError, TypeError, zlib.error, RecursionError):
        raise BindingConflict(
            say(
                "What switch %(switch)s keeps in ZooKeeper cannot be read. Repair or delete %(path)s.",
                switch=switch_id,
                path=path,
            )
        ) from None


def write_facts(client: KazooClient, journal: Journal, values: Mapping[str, Any]) -> None:
    """Replace the facts of ``journal``'s switch. May be repeated.

    :raises StaleWriter: ``journal.token`` was replaced.
    :raises FactsTooLarge: the facts do not fit into a node.
    """
    data, path = packed(values), layout.facts(journal.switch)
    if len(data) > FACTS_BYTES:
        raise FactsTooLarge(
            say(
                "What switch %(switch)s keeps for its stages takes %(size)s bytes in ZooKeeper: at most %(most)s fit. "
                "Move fewer Topics at once.",
                switch=journal.switch,
                size=len(data),
                most=FACTS_BYTES,
            )
        )
    for _ in range(MAX_CONFLICTS):
        with reaching():
            version = version_of(client, journal)
            transaction = client.transaction()
            transaction.check(layout.switch(journal.switch), version)
            if client.exists(path) is None:
                transaction.create(path, data)
            else:
                transaction.set_data(path, data)
            results = transaction.commit()
        if not any(isinstance(result, KazooException) for result in results):
            return
    raise BindingConflict(
        say(
            "The journal of switch %(switch)s changes faster than its facts can be kept.",
            switch=journal.switch,
        )
    )

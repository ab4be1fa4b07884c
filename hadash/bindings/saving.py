"""What ZooKeeper holds of hadash, as one file, and back: ``hadash-manage backup_zookeeper`` and ``restore_zookeeper``.

Saved is what only ZooKeeper has: bindings, the journals of switches that run, clusters, pairs, the epoch, whose the chroot is. Not saved are
Gateways (they become members again by themselves), the notes of changes (who is behind reads everything) and who may come back of Gateways that
have gone (for seconds).

What is restored gets an epoch that is later than any that a process can have seen: a Gateway that ran on through the loss takes it for news,
and reads everything; without that it would say of changes that come later that it has them already.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import reaching

FORMAT = 1

#: The trees that are saved, without the epoch.
TREES = (layout.BINDINGS, layout.SWITCHES, layout.CLUSTERS, layout.PAIRS)

#: By how much the epoch is later than that of the file, or of what is there: more changes than an estate makes in years.
EPOCHS_LATER = 1_000_000

#: How often everything is read anew when bindings have changed meanwhile.
TRIES = 10
#: Nodes of one transaction: ZooKeeper takes a megabyte in one message.
AT_ONCE = 100


class NotSaved(Exception):
    """Why there is no backup, or why it cannot be restored; what to do."""


@dataclass(frozen=True, slots=True)
class Saved:
    """``nodes``: data by path, parents before children; ``installation``: whose they are."""

    epoch: int
    installation: str
    nodes: Mapping[str, bytes]

    @property
    def documents(self) -> int:
        """How many AppIDs have bindings."""
        return sum(path.startswith(f"{layout.BINDINGS}/") for path in self.nodes)

    def to_json(self) -> str:
        nodes = {path: base64.b64encode(data).decode() for path, data in self.nodes.items()}
        told: dict[str, Any] = {"hadash": FORMAT, "epoch": self.epoch, "installation": self.installation}
        return json.dumps({**told, "nodes": nodes}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Saved:
        """:raises NotSaved: it is no backup, or not a whole one."""
        try:
            told = json.loads(text)
            if told["hadash"] != FORMAT:
                raise NotSaved(f"The file has format {told['hadash']}, and this version reads {FORMAT}.")
            nodes = {str(path): base64.b64decode(data, validate=True) for path, data in told["nodes"].items()}
            found = cls(int(told["epoch"]), str(told["installation"]), nodes)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise NotSaved("The file is no backup of hadash's ZooKeeper, or only a part of one.") from None
        strange = [path for path in nodes if not _is_saved(path)]
        if strange:
            raise NotSaved(f"The file has what is never saved: {strange[0]}.")
        return found


def _is_saved(path: str) -> bool:
    return any(path == tree or path.startswith(f"{tree}/") for tree in TREES)


def save(client: KazooClient) -> Saved:
    """Everything as of one moment: read again when bindings change meanwhile.

    :raises NotSaved: they never stopped changing. :raises StoreUnavailable: ZooKeeper does not answer.
    """
    with reaching():
        for _ in range(TRIES):
            before, _stat = client.get(layout.EPOCH)
            nodes = {path: data for tree in TREES for path, data in _tree(client, tree)}
            client.sync(layout.EPOCH)
            after, _stat = client.get(layout.EPOCH)
            if before == after:
                return Saved(int(before or b"0"), _installation(client), nodes)
    raise NotSaved(
        f"Bindings have changed {TRIES} times while they were read. Try again when fewer switches run."
    )


def _tree(client: KazooClient, path: str) -> Iterator[tuple[str, bytes]]:
    """A node that goes meanwhile is left out, as if it had gone before."""
    try:
        data, stat = client.get(path)
        children = client.get_children(path) if stat.children_count else []
    except NoNodeError:
        return
    if stat.ephemeralOwner:
        return
    yield path, data
    for child in sorted(children):
        yield from _tree(client, f"{path}/{child}")


def _installation(client: KazooClient) -> str:
    try:
        return str(client.get(layout.INSTALLATION)[0].decode())
    except NoNodeError:
        return ""


def restore(client: KazooClient, saved: Saved, *, replace: bool = False) -> int:
    """Write what was saved; the new epoch. Repeated after it was interrupted, it goes on.

    :param replace: what is there is removed; otherwise it has to be empty, or the beginning of the same.
    :raises NotSaved: something else is there. :raises StoreUnavailable: ZooKeeper does not answer.
    """
    with reaching():
        there = {path: data for tree in TREES for path, data in _tree(client, tree)}
        others = sorted(
            path for path, data in there.items() if path not in TREES and saved.nodes.get(path) != data
        )
        if others and not replace:
            raise NotSaved(
                f"{len(others)} nodes are there that differ from the backup, such as {client.chroot}{others[0]}. With --replace they are "
                "removed; a backup of them first does no harm."
            )
        # Engines read when the epoch is later: it is written last, so that they find everything.
        for path in reversed([path for path in there if path not in TREES and path not in saved.nodes]):
            client.delete(path)
        held = int(client.get(layout.EPOCH)[0] or b"0")
        wanted = [(path, data) for path, data in saved.nodes.items() if there.get(path) != data]
        for first in range(0, len(wanted), AT_ONCE):
            transaction = client.transaction()
            for path, data in wanted[first : first + AT_ONCE]:
                if path in there or client.exists(path):
                    transaction.set_data(path, data)
                else:
                    transaction.create(path, data)
            for result in transaction.commit():
                if isinstance(result, Exception):
                    raise result
        epoch = max(saved.epoch, held) + EPOCHS_LATER
        transaction = client.transaction()
        transaction.set_data(layout.EPOCH, str(epoch).encode())
        # Whoever follows changes is told of one: it names nobody, and its epoch says that all have to be read.
        transaction.create(
            layout.CHANGE_PREFIX, json.dumps({"epoch": epoch, "restored": True}).encode(), sequence=True
        )
        for result in transaction.commit():
            if isinstance(result, Exception):
                raise result
        if saved.installation and not _installation(client):
            client.create(layout.INSTALLATION, saved.installation.encode())
    return epoch

"""What ZooKeeper holds of hadash, as one file, and back: ``hadash-manage backup_zookeeper`` and ``restore_zookeeper``.

Saved is what only ZooKeeper has: bindings, the journals of switches that run, clusters, pairs, the epoch,
whose the chroot is; and which Gateways there are, so that a switch waits for one that cannot say that it is
there. Not saved are what Gateways have in effect, the notes of changes (who is behind reads everything) and
who may come back of Gateways that have gone (for seconds).

What is restored gets an epoch that is later than any that a process can have seen: a Gateway that ran on
through the loss takes it for news, and reads everything; without that it would say of changes that come later
that it has them already.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import reaching
from hadash.bindings.watch import EPOCHS_LATER

FORMAT = 1

#: The trees that are saved, without the epoch.
TREES = (layout.BINDINGS, layout.SWITCHES, layout.CLUSTERS, layout.PAIRS)

#: Attempts at a consistent read; bindings that change during one make it start again.
TRIES = 10
#: Nodes that are asked for before the first answer is awaited.
READ_AT_ONCE = 500
#: Nodes and bytes of one transaction: ZooKeeper takes a megabyte in one message.
AT_ONCE, BYTES_AT_ONCE = 100, 512 * 1024


class NotSaved(Exception):
    """Why there is no backup, or why it cannot be restored; what to do."""


@dataclass(frozen=True, slots=True)
class Saved:
    """``nodes``: data by path, parents before children; ``gateways``: the records of members, by path;
    ``installation``: whose they are.
    """

    epoch: int
    installation: str
    nodes: Mapping[str, bytes]
    gateways: Mapping[str, bytes]

    @property
    def documents(self) -> int:
        """How many AppIDs have bindings."""
        return sum(path.startswith(f"{layout.BINDINGS}/") for path in self.nodes)

    def to_json(self) -> str:
        told: dict[str, Any] = {"hadash": FORMAT, "epoch": self.epoch, "installation": self.installation}
        return json.dumps({**told, "nodes": _text(self.nodes), "gateways": _text(self.gateways)}, indent=1)

    @classmethod
    def from_json(cls, text: str) -> Saved:
        """:raises NotSaved: it is no backup, or not a whole one."""
        try:
            told = json.loads(text)
            if told["hadash"] != FORMAT:
                raise NotSaved(f"The file has format {told['hadash']}, and this version reads {FORMAT}.")
            nodes, gateways = _bytes(told["nodes"]), _bytes(told["gateways"])
            found = cls(int(told["epoch"]), str(told["installation"]), nodes, gateways)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise NotSaved("The file is no backup of hadash's ZooKeeper, or only a part of one.") from None
        strange = [path for path in nodes if not any(_is_below(path, tree) for tree in TREES)]
        strange += [path for path in gateways if not _is_below(path, layout.GATEWAYS)]
        if strange:
            raise NotSaved(f"The file has what is never saved: {strange[0]}.")
        return found


def _text(nodes: Mapping[str, bytes]) -> dict[str, str]:
    return {path: base64.b64encode(data).decode() for path, data in nodes.items()}


def _bytes(told: Mapping[str, str]) -> dict[str, bytes]:
    return {str(path): base64.b64decode(data, validate=True) for path, data in told.items()}


def _is_below(path: str, tree: str) -> bool:
    return path == tree or path.startswith(f"{tree}/")


def save(client: KazooClient) -> Saved:
    """Everything as of one moment: read again when bindings change meanwhile.

    :raises NotSaved: they never stopped changing, or nothing is there. :raises StoreUnavailable: ZooKeeper
        does not answer.
    """
    try:
        with reaching():
            for _ in range(TRIES):
                before = _epoch(client)
                nodes = {path: data for tree in TREES for path, data in _tree(client, tree)}
                gateways = dict(_children(client, layout.GATEWAYS))
                client.sync(layout.EPOCH)
                if _epoch(client) == before:
                    return Saved(before, read_installation(client), nodes, gateways)
    except NoNodeError:
        raise NotSaved(f"There is nothing of hadash at {client.chroot or '/'} in ZooKeeper.") from None
    raise NotSaved(
        f"Bindings have changed {TRIES} times while they were read. Try again when fewer switches run."
    )


def _epoch(client: KazooClient) -> int:
    return int(client.get(layout.EPOCH)[0] or b"0")


def _tree(client: KazooClient, top: str) -> Iterator[tuple[str, bytes]]:
    """The nodes of a tree, parents first, without ephemeral ones. (Only the journals of switches have nodes
    of their own below them.)
    """
    yield top, client.get(top)[0]
    for path, data in _children(client, top):
        yield path, data
        if top == layout.SWITCHES:
            yield from _children(client, path)


def _children(client: KazooClient, path: str) -> Iterator[tuple[str, bytes]]:
    """Many are asked for before the first answer is awaited. One that goes meanwhile is left out, as if it
    had gone before.
    """
    try:
        names = sorted(client.get_children(path))
    except NoNodeError:
        return
    for first in range(0, len(names), READ_AT_ONCE):
        asked = [
            (f"{path}/{name}", client.get_async(f"{path}/{name}"))
            for name in names[first : first + READ_AT_ONCE]
        ]
        for child, answer in asked:
            try:
                data, stat = answer.get()
            except NoNodeError:
                continue
            if not stat.ephemeralOwner:
                yield child, data


def read_installation(client: KazooClient) -> str:
    """Whose the chroot is; empty when nobody has marked it."""
    try:
        return str(client.get(layout.INSTALLATION)[0].decode(errors="replace"))
    except NoNodeError:
        return ""


def restore(client: KazooClient, saved: Saved, *, replace: bool = False, seen: int = 0) -> int:
    """Write what was saved; the new epoch. Repeated after it was interrupted, it goes on.

    :param replace: what is there is removed; otherwise it has to be empty, or the beginning of the same.
        :param seen: the last epoch that anybody has noted elsewhere.
    :raises NotSaved: something else is there. :raises StoreUnavailable: ZooKeeper does not answer.
    """
    with reaching():
        there = {path: data for tree in TREES for path, data in _tree(client, tree)}
        others = sorted(
            path for path, data in there.items() if path not in TREES and saved.nodes.get(path) != data
        )
        if others and not replace:
            raise NotSaved(
                f"{len(others)} nodes are there that differ from the backup, such as "
                f"{client.chroot}{others[0]}. With --replace they are "
                "removed; a backup of them first does no harm."
            )
        for path in reversed([path for path in there if path not in TREES and path not in saved.nodes]):
            client.delete(path)
        for path, data in saved.gateways.items():
            try:
                client.create(path, data)
            except NodeExistsError:
                continue  # it has become a member again by itself
        for part in _parts((path, data) for path, data in saved.nodes.items() if there.get(path) != data):
            transaction = client.transaction()
            for path, data in part:
                if path in there:
                    transaction.set_data(path, data)
                else:
                    transaction.create(path, data)
            _commit(transaction)
        # Engines read when the epoch is later: it is written last, so that they find everything.
        epoch = begin_later(client, max(saved.epoch, seen))
        if saved.installation and not read_installation(client):
            client.create(layout.INSTALLATION, saved.installation.encode())
    return epoch


def begin_later(client: KazooClient, than: int) -> int:
    """Make the epoch later than any that a process can have seen, and tell those who follow changes to read
    everything; the new one.
    """
    epoch = max(than, _epoch(client)) + EPOCHS_LATER
    transaction = client.transaction()
    transaction.set_data(layout.EPOCH, str(epoch).encode())
    # It names nobody: who reads it reads all.
    told = json.dumps({"epoch": epoch, "restored": True}).encode()
    transaction.create(layout.CHANGE_PREFIX, told, sequence=True)
    _commit(transaction)
    return epoch


def _parts(nodes: Iterable[tuple[str, bytes]]) -> Iterator[list[tuple[str, bytes]]]:
    part: list[tuple[str, bytes]] = []
    size = 0
    for path, data in nodes:
        if part and (len(part) == AT_ONCE or size + len(data) > BYTES_AT_ONCE):
            yield part
            part, size = [], 0
        part.append((path, data))
        size += len(data)
    if part:
        yield part


def _commit(transaction: Any) -> None:
    """:raises KazooException: it failed; nothing of it was done."""
    for result in transaction.commit():
        if isinstance(result, Exception):
            raise result

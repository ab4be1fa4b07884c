"""hadash's content of ZooKeeper as one file, and back: ``hadash-manage backup_zookeeper`` and ``restore_zookeeper``.

A backup holds what exists only in ZooKeeper: bindings, the journals of running switches, clusters, pairs, consumer
pools, the epoch, and the installation that owns the chroot. It also holds which Gateways there are, so that a switch
waits for a Gateway that cannot report itself. It leaves out what Gateways have in effect, the change nodes (an engine
that is behind reads everything), the departures of Gateways (valid for seconds), and who decides about pools.

The restored content gets an epoch that is later than any that a process can have seen. A Gateway that kept running
through the loss then takes it as new and reads everything; otherwise it would report later changes as already in
effect.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kazoo.client import KazooClient
from kazoo.exceptions import NodeExistsError, NoNodeError, NotEmptyError

from hadash.bindings import layout
from hadash.bindings.client import reaching
from hadash.bindings.watch import EPOCHS_LATER

FORMAT = 1

#: The trees that are saved; the epoch is saved separately.
TREES = (layout.BINDINGS, layout.SWITCHES, layout.CLUSTERS, layout.PAIRS, layout.CONSUMERS)

#: Attempts at a consistent read; a read starts again when bindings change during it.
TRIES = 10
#: Nodes that are requested before the first answer is awaited.
READ_AT_ONCE = 500
#: Nodes and bytes in one transaction: ZooKeeper accepts a megabyte in one message.
AT_ONCE, BYTES_AT_ONCE = 100, 512 * 1024


class NotSaved(Exception):
    """There is no backup, or it cannot be restored. The message says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A backup.

    ``nodes`` holds the data by path, parents before children; ``gateways`` the records of members, by path;
    ``installation`` the installation that the chroot belongs to.
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
        """Parse a backup.

        :raises NotSaved: the text is not a backup, or not a complete one.
        """
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
    """Read everything as of one moment; start again when bindings change meanwhile.

    :raises NotSaved: the bindings never stopped changing, or the chroot holds nothing of hadash.
    :raises StoreUnavailable: ZooKeeper does not answer.
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
    """Yield the nodes of a tree, parents first, without ephemeral nodes.

    Only the journals of switches have child nodes, and consumer pools, whose folders have them, too.

    :raises NoNodeError: there is no such tree. (Without a pool there need be none of pools.)
    """
    if top == layout.CONSUMERS and client.exists(top) is None:
        return
    yield top, client.get(top)[0]
    for path, data in _children(client, top):
        if top == layout.CONSUMERS and layout.is_coordinators(path):
            continue
        yield path, data
        if top == layout.SWITCHES:
            yield from _children(client, path)
        if top == layout.CONSUMERS:
            for folder, content in _children(client, path):
                yield folder, content
                yield from _children(client, folder)


def _children(client: KazooClient, path: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and data of the children of ``path``.

    Many nodes are requested before the first answer is awaited. A node that is deleted meanwhile is left out, as if it
    had been deleted before.
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
    """The installation that the chroot belongs to; empty when the chroot is not marked."""
    try:
        return str(client.get(layout.INSTALLATION)[0].decode(errors="replace"))
    except NoNodeError:
        return ""


def restore(client: KazooClient, saved: Saved, *, replace: bool = False, seen: int = 0) -> int:
    """Write a backup, and return the new epoch. A repeated call completes an interrupted one.

    :param replace: whether to remove what is there; otherwise the chroot must be empty, or hold a part of this backup.
    :param seen: the last epoch that is recorded elsewhere.
    :raises NotSaved: the chroot holds something else.
    :raises StoreUnavailable: ZooKeeper does not answer.
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
            try:
                client.delete(path)
            except NotEmptyError:
                raise NotSaved(
                    f"Members of a consumer pool are there: {client.chroot}{path}. End their processes first."
                ) from None
        for path, data in saved.gateways.items():
            try:
                client.create(path, data)
            except NodeExistsError:
                continue  # the Gateway has become a member again by itself
        for part in _parts((path, data) for path, data in saved.nodes.items() if there.get(path) != data):
            transaction = client.transaction()
            for path, data in part:
                if path in there:
                    transaction.set_data(path, data)
                else:
                    transaction.create(path, data)
            _commit(transaction)
        # Engines read everything when the epoch is later. It is written last, so that they find everything.
        epoch = begin_later(client, max(saved.epoch, seen))
        if saved.installation and not read_installation(client):
            client.create(layout.INSTALLATION, saved.installation.encode())
    return epoch


def begin_later(client: KazooClient, than: int) -> int:
    """Set an epoch that is later than any that a process can have seen, tell the engines that follow changes to read
    everything, and return the epoch.
    """
    epoch = max(than, _epoch(client)) + EPOCHS_LATER
    transaction = client.transaction()
    transaction.set_data(layout.EPOCH, str(epoch).encode())
    # The change node names no AppID, so its readers read everything.
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
    """Commit a transaction.

    :raises KazooException: the commit failed; nothing of it was done.
    """
    for result in transaction.commit():
        if isinstance(result, Exception):
            raise result

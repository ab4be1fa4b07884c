"""A fleet of DiDi's engine: two clusters' ZooKeepers and the Gateway's, laid out as docs/didi-engine.md says."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from kazoo.client import KazooClient
from support import zookeeper as zk

from hadash.bindings import client as client_module
from hadash.bindings.didi.dialect import DidiDialect
from hadash.bindings.didi.fleet import Fleet
from hadash.bindings.didi.trees import Tree, tree_at
from hadash.bindings.native import NativeDialect

#: A user's node as Kafka's own tools leave it.
SCRAM = {
    "SCRAM-SHA-256": "salt=c2FsdA==,stored_key=a,server_key=b,iterations=8192",
    "producer_byte_rate": "1048576",
}
ACTIVE = "didi.ha.active.cluster"
TREES = ("east", "west", "gateway")
NUMBERS: Mapping[str, int | None] = {"east": 1, "west": 2, "gateway": None}


@dataclass
class Layout:
    """The bare trees, for tests to lay out and to look at, past the code under test."""

    root: KazooClient
    chroot: str
    hosts: dict[str, str]

    def path(self, tree: str, below: str) -> str:
        return f"{self.chroot}/{tree}{below}"

    def put(self, tree: str, below: str, value: Any = None) -> None:
        data = value if isinstance(value, bytes) else b"" if value is None else json.dumps(value).encode()
        path = self.path(tree, below)
        self.root.ensure_path(path)
        self.root.set(path, data)

    def raw(self, tree: str, below: str) -> bytes:
        data: bytes = self.root.get(self.path(tree, below))[0]
        return data

    def user(self, node: str, *trees: str, **config: str) -> None:
        """A user's node with SCRAM keys and a quota, in each of ``trees``."""
        for tree in trees or TREES:
            self.put(tree, f"/config/users/{node}", {"version": 1, "config": {**SCRAM, **config}})

    def bound(self, node: str, east: str | None, west: str | None, gateway: str | None = None) -> None:
        """The engine's key in each tree; ``None`` leaves it out."""
        for tree, value in zip(TREES, (east, west, gateway), strict=True):
            self.user(node, tree, **({} if value is None else {ACTIVE: value}))

    def config(self, tree: str, below: str) -> dict[str, str] | None:
        if self.root.exists(self.path(tree, below)) is None:
            return None
        value = json.loads(self.raw(tree, below) or b'{"config":{}}')["config"]
        assert isinstance(value, dict)
        return value

    def where(self, node: str) -> tuple[str | None, ...]:
        """What east's, west's and the Gateway's tree say of a user."""
        return tuple((self.config(tree, f"/config/users/{node}") or {}).get(ACTIVE) for tree in TREES)

    def notices(self, tree: str) -> list[Any]:
        """The notifications in the order in which they were written."""
        parent = self.path(tree, "/config/changes")
        names = sorted(self.root.get_children(parent))
        assert all(
            name.startswith("config_change_") and len(name) == len("config_change_") + 10 for name in names
        )
        return [json.loads(self.root.get(f"{parent}/{name}")[0]) for name in names]


@pytest.fixture
def layout(zookeeper_root: KazooClient, zookeeper_hosts: str, chroot: str) -> Layout:
    made = Layout(zookeeper_root, chroot, {tree: f"{zookeeper_hosts}{chroot}/{tree}" for tree in TREES})
    for tree in TREES:
        for folder in ("changes", "users", "topics", "brokers", "ha-topics", "ha-clusters"):
            made.put(tree, f"/config/{folder}")
        if NUMBERS[tree] is not None:
            made.put(tree, "/cluster/id", {"version": "1", "id": str(NUMBERS[tree])})
    return made


@pytest.fixture
def open_fleet(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Fleet]]:
    """Connect to the three trees; each call is somebody else."""
    monkeypatch.setattr(client_module, "SESSION_TIMEOUT_SECONDS", zk.SESSION_SECONDS)
    opened: list[Tree] = []

    def factory(**hosts: str) -> Fleet:
        trees = {name: tree_at(name, NUMBERS[name], {**layout.hosts, **hosts}[name]) for name in TREES}
        opened.extend(trees.values())
        return Fleet({name: trees[name] for name in ("east", "west")}, trees["gateway"])

    yield factory
    for tree in opened:
        if tree._client is not None:
            tree._client.stop()
            tree._client.close()


@pytest.fixture
def open_dialect(
    open_fleet: Callable[..., Fleet], connect_client: Callable[..., KazooClient]
) -> Callable[..., DidiDialect]:
    """A process of its own: with its own sessions, and nothing in its memory."""

    def factory(apply_seconds: float = 0.0, **options: Any) -> DidiDialect:
        record = NativeDialect(connect_client(bounded=True))
        return DidiDialect(record, open_fleet(), "east", apply_seconds, **options)

    return factory


@pytest.fixture
def dialect(open_dialect: Callable[..., DidiDialect]) -> DidiDialect:
    return open_dialect()


@pytest.fixture
def fleet(open_fleet: Callable[..., Fleet]) -> Fleet:
    return open_fleet()

"""Nodes of ZooKeeper that are read once, and again only when ZooKeeper says that they have changed.

What is kept may be a moment old. So a writer names the versions that the decision rests on, and forgets what is
kept when the write is refused.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from kazoo.protocol.states import WatchedEvent, ZnodeStat

#: The content of a node, and its versions.
Node: TypeAlias = tuple[bytes, ZnodeStat]


class Watched:
    """Keeps what was read, until it changes.

    :param on_change: called (by ZooKeeper's thread) when something that is kept has changed, and when the connection
        has: nothing is kept over that.
    """

    def __init__(self, client: KazooClient, on_change: Callable[[], object]) -> None:
        self._client = client
        self._on_change = on_change
        self._lock = threading.Lock()
        self._kept: dict[tuple[str, str], Any] = {}
        #: What is being read, and by which call: a change that comes before the answer is stored makes it too old to
        #: keep, also when another thread has asked again meanwhile.
        self._under_way: dict[tuple[str, str], object] = {}

    def nodes(self, paths: Iterable[str]) -> dict[str, Node]:
        """Return path → node; without those that do not exist. All that is not kept is requested in one go.

        :raises KazooException: ZooKeeper does not answer.
        """
        return self._read("node", paths, self._client.get_async)

    def node(self, path: str) -> Node:
        """:raises NoNodeError: it does not exist."""
        found = self.nodes([path])
        if path not in found:
            raise NoNodeError(path)
        return found[path]

    def children(self, path: str) -> list[str]:
        """The names of a node's children. :raises NoNodeError: it does not exist."""
        found = self._read("children", [path], self._client.get_children_async)
        if path not in found:
            raise NoNodeError(path)
        return list(found[path])

    def forget(self, *paths: str) -> None:
        """Read these nodes again when they are next asked for; all, when none is named."""
        with self._lock:
            for key in [*self._kept, *self._under_way]:
                if not paths or key[1] in paths:
                    self._kept.pop(key, None)
                    self._under_way.pop(key, None)

    def _read(self, kind: str, paths: Iterable[str], ask: Callable[..., Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        asked, this = [], object()
        for path in paths:
            key = (kind, path)
            with self._lock:
                if key in self._kept:
                    found[path] = self._kept[key]
                    continue
                self._under_way[key] = this
            asked.append((key, ask(path, watch=self._changed)))
        for key, answer in asked:
            try:
                value = answer.get()
            except NoNodeError:
                continue  # there is no watch on a node that is missing: it is asked for again
            found[key[1]] = value
            with self._lock:
                if self._under_way.get(key) is this:
                    self._kept[key] = value
                    del self._under_way[key]
        return found

    def _changed(self, event: WatchedEvent) -> None:
        if event.path is None:
            self.forget()
        else:
            self.forget(event.path)
        self._on_change()

"""Stores and faults on a real ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import ConnectionLoss

from hadash.bindings.store import BindingStore

#: Makes the replies of a client's next transactions get lost, after (or before) they happened.
LoseReply = Callable[..., None]
#: Calls something right before a client's next transactions are committed.
BeforeCommit = Callable[..., None]


@pytest.fixture
def store(zookeeper: KazooClient) -> BindingStore:
    return BindingStore(zookeeper)


@pytest.fixture
def other_store(connect_client: Callable[..., KazooClient]) -> BindingStore:
    """Somebody else, in a session of their own."""
    return BindingStore(connect_client())


def _wrap_commits(
    client: KazooClient, monkeypatch: pytest.MonkeyPatch, commit: Callable[[Callable[[], Any]], object]
) -> None:
    make = client.transaction

    def transaction() -> object:
        made = make()
        real = made.commit_async  # commit() is this one, and a wait for its answer
        made.commit_async = lambda: commit(real)
        return made

    monkeypatch.setattr(client, "transaction", transaction)


@pytest.fixture
def lose_reply(monkeypatch: pytest.MonkeyPatch) -> LoseReply:
    """``lose_reply(client, happened=True)``: ZooKeeper commits, its answer never arrives. Once, then all is well."""

    def arm(client: KazooClient, *, happened: bool, then: Callable[[], object] = lambda: None) -> None:
        armed = [True]

        def commit(real: Callable[[], Any]) -> object:
            if not armed:
                return real()
            armed.clear()
            if happened:
                real().get()
            then()
            raise ConnectionLoss

        _wrap_commits(client, monkeypatch, commit)

    return arm


@pytest.fixture
def before_commit(monkeypatch: pytest.MonkeyPatch) -> BeforeCommit:
    """``before_commit(client, action, times=1)``: somebody else acts between this client's reads and its commit."""

    def arm(client: KazooClient, action: Callable[[], object], times: int = 1) -> None:
        left = [times]

        def commit(real: Callable[[], Any]) -> object:
            if left[0] > 0:
                left[0] -= 1
                action()
            return real()

        _wrap_commits(client, monkeypatch, commit)

    return arm

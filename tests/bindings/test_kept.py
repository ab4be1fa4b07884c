"""All documents in memory, on a real ZooKeeper: what has changed is read, and nothing else."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from kazoo.client import KazooClient
from support.waiting import eventually

from hadash.bindings import kept, layout
from hadash.bindings import store as store_module
from hadash.bindings.kept import KeptDocuments, kept_documents
from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity

pytestmark = pytest.mark.stack

EAST, WEST = Binding("east"), Binding("west")


class Counting(BindingStore):
    """Counts what is read."""

    def __init__(self, client: KazooClient) -> None:
        super().__init__(client)
        self.read: list[str] = []

    def documents_of(self, names: Any) -> Any:
        self.read += names
        return super().documents_of(names)


@pytest.fixture
def counting(store: BindingStore) -> Counting:
    return Counting(store.client)


def bound(documents: kept.Documents) -> dict[str, str | None]:
    return {
        appid: None if document is None or document.default is None else document.default.cluster
        for appid, document in documents.items()
    }


def bind(store: BindingStore, *appids: str, to: Binding | None = EAST) -> None:
    store.change([Edit(Identity(appid), to) for appid in appids])


def test_only_what_has_changed_is_read(counting: Counting) -> None:
    bind(counting, "shop", "crm", "hr")
    known = KeptDocuments(counting)
    first = known.all()
    assert bound(first) == {"shop": "east", "crm": "east", "hr": "east"}
    counting.read.clear()
    assert known.all() is first and counting.read == []
    bind(counting, "shop", "new", to=WEST)
    assert bound(known.all()) == {"shop": "west", "crm": "east", "hr": "east", "new": "west"}
    assert counting.read == ["new", "shop"]
    assert bound(first)["shop"] == "east", "who reads the one of before is not disturbed"


def test_changes_that_were_trimmed_mean_that_all_are_read(
    counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    bind(counting, "shop", "crm")
    known = KeptDocuments(counting)
    known.all()
    monkeypatch.setattr(store_module, "CHANGES_KEPT", 1)
    for to in (WEST, EAST, WEST):
        bind(counting, "shop", to=to)
    bind(counting, "crm", to=WEST)
    assert bound(known.all()) == {"shop": "west", "crm": "west"}


def test_who_creates_or_deletes_one_by_hand_is_seen(counting: Counting) -> None:
    bind(counting, "shop", "crm")
    known = KeptDocuments(counting)
    known.all()
    counting.client.delete(layout.binding("crm"))
    assert bound(known.all()) == {"shop": "east"}


def test_one_that_cannot_be_read_is_read_again(counting: Counting) -> None:
    bind(counting, "shop")
    whole, _ = counting.client.get(layout.binding("shop"))
    counting.client.set(layout.binding("shop"), b"soon")
    known = KeptDocuments(counting)
    assert dict(known.all()) == {"shop": None}
    counting.client.set(layout.binding("shop"), whole)
    assert bound(known.all()) == {"shop": "east"}


def test_what_is_edited_past_hadash_is_seen_after_a_while(
    counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    bind(counting, "shop", "crm")
    known = KeptDocuments(counting)
    known.all()
    data, _ = counting.client.get(layout.binding("shop"))
    counting.client.set(layout.binding("shop"), data.replace(b"east", b"west"))
    assert bound(known.all())["shop"] == "east"
    monkeypatch.setattr(kept, "KEPT_SECONDS", 0.0)
    assert bound(known.all())["shop"] == "east", "all are read beside the one who looks"
    eventually(lambda: bound(known.all())["shop"] == "west", "what was edited")


def test_who_comes_back_after_long_waits_for_what_there_is_now(
    counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    bind(counting, "shop")
    known = KeptDocuments(counting)
    known.all()
    data, _ = counting.client.get(layout.binding("shop"))
    counting.client.set(layout.binding("shop"), data.replace(b"east", b"west"))
    monkeypatch.setattr(kept, "KEPT_SECONDS", 0.0)
    monkeypatch.setattr(kept, "WAITED_SECONDS", 0.0)
    assert bound(known.all())["shop"] == "west"


def test_what_changes_while_all_are_read_again_is_not_lost(
    counting: Counting, monkeypatch: pytest.MonkeyPatch
) -> None:
    bind(counting, "shop", "crm")
    known = KeptDocuments(counting)
    known.all()
    read, go_on = threading.Event(), threading.Event()
    all_documents = counting.all_documents

    def slowly() -> Any:
        found = all_documents()
        read.set()
        assert go_on.wait(20)
        return found

    monkeypatch.setattr(counting, "all_documents", slowly)
    monkeypatch.setattr(kept, "KEPT_SECONDS", 0.0)
    known.all()
    assert read.wait(20)
    bind(counting, "crm", to=WEST)
    assert bound(known.all())["crm"] == "west", "nobody waits for what is read beside"
    monkeypatch.setattr(kept, "KEPT_SECONDS", 600.0)
    go_on.set()
    known._reading.join(20)  # type: ignore[union-attr]
    assert bound(known.all()) == {"shop": "east", "crm": "west"}


def test_another_zookeeper_is_not_taken_for_the_same(counting: Counting) -> None:
    """Restored from nothing: its numbers begin again."""
    for to in (EAST, WEST, EAST):
        bind(counting, "shop", to=to)
    known = KeptDocuments(counting)
    known.all()
    client = counting.client
    client.delete(layout.CHANGES, recursive=True)
    client.create(layout.CHANGES)
    bind(counting, "shop", to=WEST)
    assert bound(known.all()) == {"shop": "west"}
    bind(counting, "shop", to=EAST)
    assert bound(known.all()) == {"shop": "east"}


def test_a_process_has_one_of_each_connection(store: BindingStore) -> None:
    assert kept_documents(store.client) is kept_documents(store.client)

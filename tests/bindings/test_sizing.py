"""What is said to fit into one ZooKeeper transaction does, and not much less than fits is refused."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from kazoo.protocol.serialization import Create, SetData, Transaction
from kazoo.security import OPEN_ACL_UNSAFE

from hadash.bindings import layout
from hadash.bindings.model import Binding, BindingDocument, BindingState, Journal
from hadash.bindings.sizing import TRANSACTION_BYTES, fits
from hadash.identity.identity import Identity

#: A Java property of every server, unless somebody has set it: ``jute.maxbuffer``.
ZOOKEEPER_BYTES = 0xFFFFF
BINDING = Binding("east", BindingState.FORWARD, switch="0123456789", stage="forward")


def tills(count: int, name: str = "till-{}") -> list[Identity]:
    return [Identity("shop", name.format(number)) for number in range(count)]


def serialized(documents: Sequence[BindingDocument], *, new: bool) -> int:
    """Bytes of the transaction as it goes over the wire (see ``BindingStore``)."""
    operations: list[object] = []
    for document in documents:
        path, data = "/hadash" + layout.binding(document.appid), document.to_bytes()
        operations.append(Create(path, data, OPEN_ACL_UNSAFE, 0) if new else SetData(path, data, 7))
    operations.append(SetData("/hadash" + layout.EPOCH, b"1000000", 7))
    names = ", ".join(f'"{document.appid}"' for document in documents)
    change = f'{{"epoch": 1000000, "appids": [{names}]}}'.encode()
    operations.append(Create("/hadash" + layout.CHANGE_PREFIX, change, OPEN_ACL_UNSAFE, 2))
    journal = Journal("0123456789", "forward", 100, 1000000).to_bytes()
    operations.append(SetData("/hadash" + layout.switch("0123456789"), journal, 7))
    return len(Transaction(operations).serialize())


def most(name: str = "till-{}") -> int:
    """The most InstanceIDs of one AppID that fit."""
    least, beyond = 1, 20_000
    while beyond - least > 1:
        middle = (least + beyond) // 2
        if fits(tills(middle, name), {}, BINDING):
            least = middle
        else:
            beyond = middle
    return least


@pytest.mark.parametrize("name", ["till-{}", "a long name that somebody gave it " * 5 + "{}", "收银台-{}"])
def test_of_one_appid(name: str) -> None:
    count = most(name)
    at = Binding("east", BindingState.FORWARD, 10**9, "0123456789", "forward", 10**9)
    document = BindingDocument("shop", instances={i.instance_id or "": at for i in tills(count, name)})
    assert 0.9 * TRANSACTION_BYTES < serialized([document], new=True) <= TRANSACTION_BYTES < ZOOKEEPER_BYTES


@pytest.mark.parametrize("name", ["app-{}", "应用-{}"])
def test_of_many_appids(name: str) -> None:
    count = 100
    while fits([Identity(name.format(n)) for n in range(count + 100)], {}, BINDING):
        count += 100
    at = Binding("east", BindingState.FORWARD, 10**9, "0123456789", "forward", 10**9)
    documents = [BindingDocument(name.format(n), at) for n in range(count)]
    assert 0.7 * TRANSACTION_BYTES < serialized(documents, new=True) <= TRANSACTION_BYTES


def test_what_is_bound_already_is_written_over() -> None:
    count = most()
    bound = BindingDocument("shop", instances={i.instance_id or "": BINDING for i in tills(count)})
    assert fits(tills(count), {"shop": bound}, BINDING)
    assert not fits([Identity("shop", "another"), *tills(count)], {"shop": bound}, BINDING)

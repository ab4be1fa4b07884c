"""When a trial takes a client for seen: a switch that is requested earlier would leave out what is missing."""

from __future__ import annotations

import pytest

from hadash_sandbox.trial import _is_seen
from hadash_sandbox.world import ClientSpec

WRITER = ClientSpec("writer", "produce", "shop", ("shop.carts",), "till")
READER = ClientSpec("reader", "consume", "shop", ("shop.carts",), "till", group="shop.carts.group")

WRITES = ("till", "produce", "shop.carts")
READS = ("till", "consume", "shop.carts")
MEMBER = ("till", "group", "shop.carts.group")


@pytest.mark.parametrize(
    ("spec", "uses", "seen"),
    [
        pytest.param(WRITER, {WRITES}, True, id="a writer, once it has written"),
        pytest.param(
            WRITER, {READS, MEMBER}, False, id="a group named as its Topic says nothing of a writer"
        ),
        pytest.param(WRITER, {("another", "produce", "shop.carts")}, False, id="another client's writing"),
        pytest.param(READER, {READS, MEMBER}, True, id="a reader, as a member that has read"),
        pytest.param(READER, {MEMBER}, False, id="a member that has not read yet"),
        pytest.param(READER, {READS}, False, id="a reader whose group is not known"),
        pytest.param(
            READER, {("another", "consume", "shop.carts"), MEMBER}, True, id="a member without a partition"
        ),
    ],
)
def test_a_client_is_seen(spec: ClientSpec, uses: set[tuple[str, str, str]], seen: bool) -> None:
    assert _is_seen(spec, uses) is seen


def test_a_client_without_an_own_name_is_seen_under_its_librarys() -> None:
    nameless = ClientSpec("writer", "produce", "shop", ("shop.carts",))
    assert _is_seen(nameless, {("rdkafka", "produce", "shop.carts")})

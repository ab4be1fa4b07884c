"""Who reads without being a member of a group."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from hadash.kafka.values import Partition
from hadash.switching.stages.self_assigned import self_assigned

from .world import WHOLE


def reader(client_id: str = "rdkafka", **values: Any) -> dict[str, Any]:
    known = {"appid": "shop", "client_id": client_id, "host": "10.0.0.1", "cluster": "east", "broker": 1}
    return known | {"topics": ["orders"], "partitions": {"orders": [0]}} | values


def found(
    readers: list[dict[str, Any]], members: list[dict[str, Any]], *assigned: int
) -> dict[str, frozenset[str]]:
    """``assigned``: partitions of orders that members called rdkafka on 10.0.0.1 have."""
    have = Counter(("rdkafka", "10.0.0.1", Partition("orders", index)) for index in assigned)
    return self_assigned(WHOLE, readers, members, have)


def member(client_id: str = "rdkafka", member_id: str = "m-1", **values: Any) -> dict[str, Any]:
    known = {
        "appid": "shop",
        "client_id": client_id,
        "host": "10.0.0.1",
        "cluster": "east",
        "connected": True,
    }
    return known | {"group": "billing", "member_id": member_id} | values


ALONE = {"rdkafka": frozenset({"orders"})}


def test_a_member_reads_as_a_member() -> None:
    assert found([reader()], [member()]) == {}


def test_a_client_that_has_not_joined() -> None:
    assert found([reader("flink", topics=["orders", "people"])], [member()]) == {
        "flink": frozenset({"orders"})
    }


def test_beside_a_member_of_its_name() -> None:
    """Which of both it is nobody can tell, so the name stands for both."""
    assert found([reader(), reader()], [member()]) == ALONE
    assert found([reader(), reader()], [member(), member(member_id="m-2")]) == {}
    assert found([reader(), reader(host="10.0.0.2")], [member()]) == ALONE


def test_what_a_member_of_its_name_was_given_on_another_host_excuses_nobody() -> None:
    assert found([reader(), reader(host="10.0.0.2")], [member()], 0) == ALONE


def test_a_member_that_has_just_come_back_is_one_member() -> None:
    """Its old connection may be there still, and its old row at another Gateway; that it is alone nobody can tell."""
    assert found([reader(), reader()], [member(), member()]) == ALONE


def test_one_connection_to_each_broker_is_one_client() -> None:
    assert found([reader(), reader(broker=2)], [member()]) == {}


class TestAConnectionForEachPartition:
    """As kafka-go reads."""

    READERS = (reader(), reader(partitions={"orders": [1], "people": [7]}))

    def test_is_one_member_that_has_these_partitions(self) -> None:
        assert found([*self.READERS], [member()], 0, 1) == {}

    def test_is_more_than_one_that_has_others(self) -> None:
        assert found([*self.READERS], [member()], 0, 2) == ALONE

    def test_is_more_than_one_where_a_partition_is_read_twice(self) -> None:
        assert found([*self.READERS, reader()], [member()], 0, 1) == ALONE

    def test_is_not_known_of_a_reader_of_too_many(self) -> None:
        assert found([reader(), reader(partitions=None)], [member()], 0, 1) == ALONE


@pytest.mark.parametrize(
    "row",
    [member(connected=False), member(group="another"), member(cluster="west"), member(appid="crm")],
    ids=["its connections have ended", "of another group", "on the other cluster", "of another AppID"],
)
def test_who_is_no_member_of_what_moves(row: dict[str, Any]) -> None:
    assert found([reader()], [row]) == ALONE


@pytest.mark.parametrize("row", [reader(topics=["people"]), reader(cluster="west"), reader(appid="crm")])
def test_who_reads_nothing_that_moves(row: dict[str, Any]) -> None:
    assert found([row], []) == {}

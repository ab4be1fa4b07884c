"""Who of the connected clients moves, and where each of them is, by what Gateways say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hadash.identity.identity import Identity
from hadash.switching.planning.connected import where_they_are

from .world import WHOLE

#: Orders moves with a binding of its own.
BY_TOPIC = replace(WHOLE, identities=(Identity("shop", topics=("orders",)),), topics=("orders",))


def connection(client_id: str, cluster: str) -> dict[str, Any]:
    return {"appid": "shop", "client_id": client_id, "cluster": cluster}


def use(
    client_id: str, cluster: str, at: float, idle: float | None = 0.5, resource: str = "orders"
) -> dict[str, Any]:
    entry = {"kind": "produce", "resource": resource, "used_at": at, "idle": idle}
    return connection(client_id, cluster) | entry


def test_who_moves_as_a_whole_is_where_it_is_connected() -> None:
    found = where_they_are(WHOLE, [connection("web-1", "east"), connection("web-1", "west")], [])
    assert found == {("shop", "web-1"): {"east", "west"}}


def test_who_moves_with_a_topic_is_where_it_used_that_last() -> None:
    """It is connected to both, for another Topic."""
    connections = [connection("web-1", "east"), connection("web-1", "west")]
    uses = [use("web-1", "west", 5.0, resource="carts"), use("web-1", "east", 4.0)]
    assert where_they_are(BY_TOPIC, connections, uses) == {("shop", "web-1"): {"east"}}
    uses.insert(0, use("web-1", "west", 6.0))
    assert where_they_are(BY_TOPIC, connections, uses) == {("shop", "web-1"): {"west"}}


def test_who_uses_another_topic_or_is_gone_does_not_count() -> None:
    uses = [use("web-1", "east", 4.0, resource="carts"), use("gone", "east", 4.0)]
    assert where_they_are(BY_TOPIC, [connection("web-1", "east")], uses) == {}


def test_an_idle_one_counts_only_when_nobody_asks_for_the_busy_ones() -> None:
    connections = [connection("web-1", "east"), connection("web-2", "east"), connection("web-3", "east")]
    uses = [use("web-1", "east", 4.0), use("web-2", "east", 4.0, 60.0), use("web-3", "east", 4.0, None)]
    assert set(where_they_are(BY_TOPIC, connections, uses, 5.0)) == {("shop", "web-1")}
    assert len(where_they_are(BY_TOPIC, connections, uses)) == 3


def test_an_appid_of_the_same_name_in_another_pair_is_somebody_else() -> None:
    theirs = [connection("web-1", "oslo")]
    assert where_they_are(WHOLE, theirs, []) == {}
    assert where_they_are(BY_TOPIC, theirs, [use("web-1", "oslo", 5.0)]) == {}

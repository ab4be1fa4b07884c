"""Who reads on while it rejoins its group."""

from __future__ import annotations

from typing import Any

import pytest

from hadash.switching.reading_on import GRACE_SECONDS, QUIET_SECONDS, ReadingOn, reading_on

from .world import WHOLE

#: Seconds since the members of most tests have begun to rejoin.
REJOINED = 2.0


def member(client_id: str = "bill-1", member_id: str = "m-1", **values: Any) -> dict[str, Any]:
    known = {
        "appid": "shop",
        "client_id": client_id,
        "host": "10.0.0.1",
        "cluster": "east",
        "group": "billing",
    }
    return known | {"member_id": member_id, "connected": True, "rejoined": REJOINED} | values


def reader(client_id: str = "bill-1", **values: Any) -> dict[str, Any]:
    """One that was answered when it had begun to rejoin, and has asked for nothing since then."""
    known = {"appid": "shop", "client_id": client_id, "host": "10.0.0.1", "cluster": "east"}
    return known | {"topics": ["orders"], "asked": 2.3, "answered": 1.9, "waits": False} | values


def found(members: list[dict[str, Any]], readers: list[dict[str, Any]]) -> ReadingOn:
    return reading_on(WHOLE, ["orders"], members, readers)


def reads_on(client: str = "bill-1", *members: str) -> ReadingOn:
    return ReadingOn({"billing": dict.fromkeys(members or ("m-1",), client)})


def test_who_has_stopped_asks_for_nothing() -> None:
    assert found([member()], [reader()]) == ReadingOn()


def test_who_asks_while_its_join_waits_reads_on() -> None:
    assert found([member()], [reader(asked=0.1)]) == reads_on()
    assert found([member()], [reader(asked=0.1, waits=True)]) == reads_on(), "also before it is answered"


def test_one_that_was_on_its_way_when_it_joined_is_none() -> None:
    just_after = REJOINED - GRACE_SECONDS
    assert found([member()], [reader(asked=just_after)]) == ReadingOn()
    assert found([member()], [reader(asked=just_after - 0.01)]) == reads_on()


def test_nobody_knows_before_it_could_ask_again() -> None:
    not_known = ReadingOn(not_known=("bill-1",))
    assert found([member()], [reader(waits=True)]) == not_known, "the broker keeps it until records come"
    assert found([member()], [reader(answered=QUIET_SECONDS - 0.01)]) == not_known
    assert found([member()], [reader(answered=QUIET_SECONDS)]) == ReadingOn()
    just_joined = [member(rejoined=QUIET_SECONDS - 0.01)]
    assert found(just_joined, [reader(asked=9.0, answered=8.0)]) == not_known


@pytest.mark.parametrize(
    ("members", "readers"),
    [
        ([member(rejoined=None)], [reader()]),
        ([member(), member(member_id="m-2", rejoined=None)], [reader()]),
        ([member()], [reader(asked=None)]),
    ],
    ids=["no Gateway has seen it join", "nor another of its name", "a Gateway that does not tell"],
)
def test_what_no_gateway_has_seen_is_not_known(
    members: list[dict[str, Any]], readers: list[dict[str, Any]]
) -> None:
    assert found(members, readers) == ReadingOn(not_known=("bill-1",))


def test_of_several_members_of_a_name_the_last_to_rejoin_counts() -> None:
    """Until then its reading is its own affair."""
    last = member(member_id="m-2", rejoined=1.0)
    assert found([member(), last], [reader(asked=0.9)]) == ReadingOn()
    assert found([member(), last], [reader(asked=0.1)]) == reads_on("bill-1", "m-1", "m-2")


def test_a_join_that_another_gateway_has_seen_counts() -> None:
    """The older one is of a rebalance before."""
    assert found([member(rejoined=3600.0), member(rejoined=None), member()], [reader()]) == ReadingOn()


@pytest.mark.parametrize(
    "other",
    [
        {"client_id": "bill-2"},
        {"host": "10.0.0.2"},
        {"appid": "audit"},
        {"cluster": "west"},
        {"topics": ["people"]},
    ],
    ids=str,
)
def test_reading_of_others_and_of_other_topics(other: dict[str, Any]) -> None:
    assert found([member()], [reader(), reader(asked=0.1, **other)]) == ReadingOn()


@pytest.mark.parametrize("other", [{"group": "reports"}, {"cluster": "west"}, {"connected": False}], ids=str)
def test_members_of_other_groups_do_not_count(other: dict[str, Any]) -> None:
    assert found([member(**other)], [reader(asked=0.1)]) == ReadingOn()

"""What a Gateway tells of uses: what a client that is connected has ever used, it uses now, where it is connected."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from hadash.gateway.admin.http import ENTRIES_AT_ONCE, access_entries, in_pieces
from hadash.gateway.reporting.traffic import AccessFact, AccessKey

NOW = 1000.0


def fact(
    cluster: str, at: float, resource: str = "orders", client_id: str = "web-1"
) -> tuple[AccessKey, AccessFact]:
    found = AccessFact(at - 10)
    found.note(at, 5, 500)
    return AccessKey(
        "shop", client_id, "produce", resource, cluster, "10.0.0.1", "librdkafka", "2.10.0"
    ), found


def entries(
    *facts: tuple[AccessKey, AccessFact], connected: dict[str, set[str]]
) -> dict[str, dict[str, Any]]:
    known = {("shop", client_id): clusters for client_id, clusters in connected.items()}
    found = access_entries(facts, known, NOW)
    assert len({entry["cluster"] for entry in found}) == len(found)
    return {entry["cluster"]: entry for entry in found}


def test_one_that_is_connected_uses_now_what_it_has_ever_used() -> None:
    told = entries(fact("east", 400.0), connected={"web-1": {"east"}})["east"]
    assert (told["first_seen"], told["used_at"], told["last_seen"], told["idle"]) == (
        390.0,
        400.0,
        NOW,
        600.0,
    )
    assert (told["records"], told["bytes"]) == (5, 500)


def test_one_that_has_left_was_seen_when_it_used_it_last() -> None:
    told = entries(fact("east", 400.0), connected={"web-2": {"east"}})["east"]
    assert told["last_seen"] == told["used_at"] == 400.0


def test_where_it_was_before_a_switch_it_was_seen_when_it_used_it_last() -> None:
    told = entries(fact("east", 400.0), fact("west", 990.0), connected={"web-1": {"west"}})
    assert (told["east"]["last_seen"], told["west"]["last_seen"]) == (400.0, NOW)


def test_a_quiet_one_that_has_moved_uses_it_where_it_is_connected_and_has_never_done_so() -> None:
    told = entries(fact("east", 400.0), connected={"web-1": {"west"}})
    assert told["east"]["last_seen"] == 400.0
    moved = told["west"]
    assert (moved["last_seen"], moved["used_at"], moved["idle"], moved["records"]) == (NOW, 0.0, None, 0)
    assert (moved["host"], moved["library"], moved["details"]) == ("10.0.0.1", "librdkafka", {})


def test_one_that_is_connected_to_both_uses_on_each_what_it_has_used_there() -> None:
    told = entries(fact("east", 400.0), fact("west", 500.0), connected={"web-1": {"east", "west"}})
    assert {entry["last_seen"] for entry in told.values()} == {NOW}


def pieces(*parts: int) -> list[bytes]:
    """The pieces of an answer whose parts have so many entries each."""

    async def collected() -> list[bytes]:
        entries = ([{"number": each} for each in range(count)] for count in parts)
        return [piece async for piece in in_pieces("access", entries)]

    return asyncio.run(collected())


@pytest.mark.parametrize(
    "parts", [(), (0,), (1,), (ENTRIES_AT_ONCE,), (3, ENTRIES_AT_ONCE, 0, 2), (1,) * 500]
)
def test_a_long_answer_in_pieces_is_the_same_json(parts: tuple[int, ...]) -> None:
    entries = [{"number": each} for count in parts for each in range(count)]
    assert json.loads(b"".join(pieces(*parts))) == {"access": entries}


def test_a_piece_has_no_more_entries_than_are_made_without_a_pause() -> None:
    most = max(piece.count(b"number") for piece in pieces(*((1,) * (5 * ENTRIES_AT_ONCE))))
    assert most == ENTRIES_AT_ONCE

"""Who is connected through the Gateways, as the overview counts them."""

from __future__ import annotations

from typing import Any

import pytest

from dashboard.parts import gateway
from hadash.presentation import engines
from hadash.presentation.engines import Connected, Engines


def answers(monkeypatch: pytest.MonkeyPatch, entries: list[list[Any]], silent: list[str]) -> None:
    monkeypatch.setattr(
        engines, "_gateways", engines.SharedLook(lambda: Engines({}, 7, (gateway("a"), gateway("b"))))
    )
    monkeypatch.setattr(engines, "ask_each", lambda gateways, path, key: (entries, silent))
    monkeypatch.setattr(engines, "_connected_now", engines.SharedLook(engines._look_at_connected))


def test_a_client_of_several_gateways_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    answers(
        monkeypatch,
        [["shop", "web", "east", 2, 0], ["shop", "web", "east", 1, 1], ["shop", "web", "west", 1, 0]],
        ["b"],
    )
    found = engines.look_at_connected()
    assert found.connections == {("shop", "web", "east"): 3, ("shop", "web", "west"): 1}
    assert found.parked == {("shop", "web", "east"): 1, ("shop", "web", "west"): 0}
    assert found.silent == ("b",)


def test_while_zookeeper_is_away_nothing_is_made_up(monkeypatch: pytest.MonkeyPatch) -> None:
    def look() -> Engines:
        raise engines.Unanswered("the connection is lost")

    answers(monkeypatch, [["shop", "web", "east", 2, 0]], [])
    monkeypatch.setattr(engines, "_gateways", engines.SharedLook(look))
    assert engines.look_at_connected() == Connected()

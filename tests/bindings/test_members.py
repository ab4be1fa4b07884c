"""For whom a switch waits: every member that has not applied the epoch, live or not, unless it was excluded
and does not live."""

from __future__ import annotations

from dataclasses import replace

from hadash.bindings.dialect import Waiting
from hadash.bindings.epochs import Report
from hadash.bindings.membership import not_applied, not_told
from hadash.bindings.model import GatewayMember
from hadash.bindings.native import waiting

GATEWAY = GatewayMember("gateway-1", "h:9092", "http://h:9093", "0.1.0", 1, 0.0, live=True, report=Report(7))


def test_a_member_that_is_behind_is_waited_for() -> None:
    assert not_applied([GATEWAY], 8) == [GATEWAY]
    assert not_applied([GATEWAY], 7) == []
    assert not_applied([GATEWAY], 6) == []


def test_a_silent_member_is_waited_for_too() -> None:
    """It may still be serving clients: only an operator can know that it does not."""
    silent = replace(GATEWAY, live=False)
    assert not_applied([silent], 8) == [silent]


def test_an_excluded_member_is_not() -> None:
    assert not_applied([replace(GATEWAY, excluded=True, live=False)], 8) == []


def test_one_that_lives_is_though_it_is_excluded() -> None:
    """Somebody has said that its process is gone, and it is not: it serves clients."""
    running = replace(GATEWAY, excluded=True)
    assert not_applied([running], 8) == not_told([running], 8) == [running]
    assert waiting([running], [running]) == Waiting(("gateway-1",), 1, ("gateway-1",))
    assert not_applied([running], 7) == []


def test_only_those_that_are_behind_are_named() -> None:
    behind = replace(GATEWAY, id="gateway-2", report=Report(3))
    assert not_applied([GATEWAY, behind, replace(GATEWAY, id="gateway-3")], 7) == [behind]

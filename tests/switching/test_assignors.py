"""How a group rebalances, from what its coordinator says and from what is known of its members."""

from __future__ import annotations

import pytest

from hadash.switching.stages.assignors import COOPERATIVE, EAGER, Rebalancing, rebalancing

TWO = ("a", "b")


@pytest.mark.parametrize("protocol", sorted(EAGER))
def test_an_eager_assignor_is_one_that_every_member_offers(protocol: str) -> None:
    """Also where nothing is known of its members: one that only rebalances cooperatively could not have
    agreed to it.
    """
    assert rebalancing(protocol, TWO, {}) is Rebalancing.EAGER


@pytest.mark.parametrize("protocol", sorted(COOPERATIVE))
def test_a_cooperative_assignor_without_anything_known(protocol: str) -> None:
    """What the guard forgot before: the connection that commits knows no assignors."""
    assert rebalancing(protocol, TWO, {}) is Rebalancing.COOPERATIVE


def test_a_cooperative_assignor_though_all_offer_an_eager_one_too() -> None:
    """Java's members are eager then, franz-go's are not."""
    offered = {"a": ["cooperative-sticky", "range"], "b": ["range", "cooperative-sticky"]}
    assert rebalancing("cooperative-sticky", TWO, offered) is Rebalancing.COOPERATIVE
    assert rebalancing("range", TWO, offered) is Rebalancing.EAGER


def test_members_that_offer_cooperative_assignors_only() -> None:
    assert rebalancing("", TWO, {"a": ["range"], "b": ["cooperative-sticky"]}) is Rebalancing.COOPERATIVE


@pytest.mark.parametrize("protocol", ["", "own-assignor", "sessioned"])
def test_unknown_is_not_fine(protocol: str) -> None:
    """While a group rebalances its coordinator names no assignor, and an application may have one of its own."""
    assert rebalancing(protocol, TWO, {}) is Rebalancing.UNKNOWN
    assert rebalancing(protocol, TWO, {"a": ["range"]}) is Rebalancing.UNKNOWN
    assert rebalancing(protocol, TWO, {"a": ["range"], "b": ["range"]}) is Rebalancing.EAGER


def test_an_operator_may_name_an_assignor_of_the_fleet() -> None:
    assert rebalancing("own-assignor", TWO, {}, EAGER | {"own-assignor"}) is Rebalancing.EAGER


def test_a_group_without_members_has_nobody_to_quiesce() -> None:
    assert rebalancing("", (), {}) is Rebalancing.EAGER

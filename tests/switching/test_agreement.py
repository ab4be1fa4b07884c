"""Bindings beside what switches and changes by hand have left: after a restore."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hadash.bindings.model import Binding, BindingDocument, BindingState
from hadash.identity.identity import Identity
from hadash.switching.recovery.agreement import Left, compare

BEGAN = datetime(2026, 11, 26, 12, 0, tzinfo=UTC)
SHOP, CARTS = Identity("shop"), Identity("shop", "shop-carts")


def left(minutes: int, identity: Identity, cluster: str | None, *, is_known: bool = True) -> Left:
    return Left(BEGAN + timedelta(minutes=minutes), f"switch sw-{minutes}", identity, cluster, is_known)


def document(default: str | None = None, **instances: str) -> BindingDocument:
    bound = {name.replace("_", "-"): Binding(cluster) for name, cluster in instances.items()}
    return BindingDocument("shop", Binding(default) if default else None, instances=bound)


def test_the_last_that_was_done_counts() -> None:
    history = [left(2, SHOP, "east"), left(1, SHOP, "west"), left(3, CARTS, "west")]
    assert compare(history, {"shop": document("east", shop_carts="west")}) == []


def test_an_older_zookeeper_is_told_by_identity() -> None:
    (found,) = compare([left(1, SHOP, "west"), left(2, SHOP, "east")], {"shop": document("west")})
    assert str(found) == "shop is bound to west; switch sw-2 bound it to east at 2026-11-26 12:02:00 UTC."


def test_an_empty_zookeeper_binds_nobody() -> None:
    (found,) = compare([left(1, CARTS, "west")], {})
    assert str(found).startswith("shop › shop-carts is not bound; switch sw-1 bound it to west")


def test_what_was_unbound_by_hand_is_not_bound() -> None:
    assert compare([left(1, SHOP, "west"), left(2, SHOP, None)], {}) == []
    (found,) = compare([left(1, SHOP, None)], {"shop": document("west")})
    assert "is bound to west; switch sw-1 unbound it" in str(found)


def test_what_only_a_person_knows_is_not_taken_for_right() -> None:
    (found,) = compare([left(1, SHOP, "west", is_known=False)], {"shop": document("west")})
    assert "has not ended where hadash could say" in str(found)


def test_a_document_that_cannot_be_read_disagrees() -> None:
    assert len(compare([left(1, SHOP, "west")], {"shop": None})) == 1


def test_what_nothing_is_known_of_is_no_disagreement() -> None:
    """Bindings from before hadash, or made by an engine's own tools."""
    assert compare([], {"shop": document("west")}) == []


def test_what_waits_in_the_middle_of_a_switch_is_not_where_it_was_left() -> None:
    blocked = BindingDocument("shop", Binding("west", BindingState.BLOCK))
    (found,) = compare([left(1, SHOP, "west")], {"shop": blocked})
    assert (
        str(found) == "shop is bound to west, and waits there for a switch: see hadash-manage stray_bindings."
    )

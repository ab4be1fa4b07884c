"""What was declared, beside what was seen and what ACLs allow, as plans take it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User

from hadash.inventory import declarations
from hadash.inventory.models import AppID
from hadash.radius.nodes import AccessEdge
from hadash.switching.planning import proposals

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def allowed(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """(AppID, Topic) that ACLs allow; there are no bindings."""
    rights: set[tuple[str, str]] = set()
    monkeypatch.setattr(proposals, "dialect_of", lambda pair: SimpleNamespace(all_documents=dict))
    monkeypatch.setattr(
        proposals.standby,
        "allowed_to_use",
        lambda pair, source, topics: {right for right in rights if right[1] in topics},
    )
    return rights


def uses(appid: AppID) -> set[AccessEdge]:
    return set(proposals.fleet_of(appid.pair, appid.pair.first).uses)


def test_what_was_declared_counts_where_it_was_not_seen(
    olga: User, shop: AppID, see: Any, allowed: set[tuple[str, str]]
) -> None:
    see("shop", "web-1", "produce", "orders")
    declarations.declare(olga, shop, "web-1", ["orders", "carts"], ["produce"], groups=["nightly"])
    declarations.declare(olga, shop, "", ["orders"], ["produce"])  # web-1 does so
    assert uses(shop) == {
        AccessEdge("shop", "web-1", "produce", "orders"),
        AccessEdge("shop", "web-1", "produce", "carts", declared=True),
        AccessEdge("shop", "web-1", "group", "nightly", declared=True),
    }


def test_what_was_seen_too_long_ago_counts_while_it_is_declared(
    olga: User, shop: AppID, see: Any, allowed: set[tuple[str, str]]
) -> None:
    see("shop", "monthly", "consume", "orders", days=25)
    assert uses(shop) == set()
    declarations.declare(olga, shop, "monthly", ["orders"], ["consume"])
    assert uses(shop) == {AccessEdge("shop", "monthly", "consume", "orders", declared=True)}


def test_an_appid_with_a_declaration_needs_no_acl_to_be_known(
    olga: User, shop: AppID, crm: AppID, allowed: set[tuple[str, str]]
) -> None:
    """It is the other way round, too: who may use what only a declaration names is found."""
    declarations.declare(olga, shop, "", ["orders"], ["produce"])
    allowed |= {("shop", "orders"), ("shop", "carts"), ("crm", "orders")}
    assert uses(shop) == {
        AccessEdge("shop", "", "produce", "orders", declared=True),
        AccessEdge("crm", "", "acl", "orders"),
    }

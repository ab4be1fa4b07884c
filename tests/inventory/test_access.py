"""What Gateways have observed, in the table."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from hadash.inventory.models import Access, Cluster, Pair
from hadash.inventory.services import store_access

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def fact(appid: str, kind: str, resource: str) -> dict[str, Any]:
    return {
        "cluster": "east",
        "appid": appid,
        "client_id": f"{appid}-1",
        "kind": kind,
        "resource": resource,
        "host": "10.0.0.1",
        "library": "librdkafka",
        "version": "2.0",
        "details": {},
        "first_seen": 1.0,
        "last_seen": 2.0,
    }


def test_rows_are_locked_in_one_order_whatever_the_order_in_which_gateways_tell_them() -> None:
    """Else two who store the same facts at once, told by Gateways in different orders, wait for each other."""
    east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west"), 1))
    pair = Pair.objects.create(name="main", first=east, second=west, default=east)
    named = itertools.product(("crm", "shop"), ("consume", "produce"), ("carts", "orders"))
    facts = [fact(*names) for names in named]
    assert store_access(reversed(facts), {"east": pair}) == len(facts)
    stored = Access.objects.order_by("pk").values_list("appid", "kind", "resource")
    assert list(stored) == [(f["appid"], f["kind"], f["resource"]) for f in facts]

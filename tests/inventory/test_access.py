"""What Gateways have observed, in the table."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from hadash.inventory.access import store
from hadash.inventory.models import Access, Cluster, Pair

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def pairs() -> dict[str, Pair]:
    """The pair of each cluster."""
    east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west"), 1))
    return {"east": Pair.objects.create(name="main", first=east, second=west, default=east)}


def fact(appid: str, kind: str, resource: str, **values: Any) -> dict[str, Any]:
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
        **values,
    }


def test_rows_are_locked_in_one_order_whatever_the_order_in_which_gateways_tell_them(
    pairs: dict[str, Pair],
) -> None:
    """Else two who store the same facts at once, told by Gateways in different orders, wait for each other."""
    named = itertools.product(("crm", "shop"), ("consume", "produce"), ("carts", "orders"))
    facts = [fact(*names) for names in named]
    assert store(reversed(facts), pairs) == len(facts)
    stored = Access.objects.order_by("pk").values_list("appid", "kind", "resource")
    assert list(stored) == [(f["appid"], f["kind"], f["resource"]) for f in facts]


#: What a JOIN_GROUP says of a client, and what is known of one whose JOIN_GROUP passed another Gateway, or
#: before this one started.
JOINED = {"assignors": ["cooperative-sticky"], "session_timeout_ms": 45_000, "member": True}
COMMITTED = {"member": True}


@pytest.mark.parametrize("at_once", [True, False], ids=["two Gateways say it", "it was known before"])
def test_a_commit_does_not_make_a_member_forgotten(pairs: dict[str, Pair], at_once: bool) -> None:
    """Libraries join on one connection and commit on another, of which a Gateway may not know who it is."""
    joined = fact("shop", "group", "billing", details=JOINED)
    committed = fact("shop", "group", "billing", details=COMMITTED, last_seen=3.0)
    for facts in [[committed, joined]] if at_once else [[joined], [committed]]:
        store(facts, pairs)
    row = Access.objects.get()
    assert row.details == JOINED
    assert row.last_seen.timestamp() == 3.0


def test_a_later_join_says_how_a_client_is_set_up_now(pairs: dict[str, Pair]) -> None:
    store([fact("shop", "group", "billing", details=JOINED)], pairs)
    eager = JOINED | {"assignors": ["range"]}
    store([fact("shop", "group", "billing", details=eager, last_seen=3.0)], pairs)
    assert Access.objects.get().details == eager


NAMELESS = {"library": "", "version": "", "last_seen": 3.0}


@pytest.mark.parametrize("at_once", [True, False], ids=["two Gateways say it", "it was known before"])
def test_a_member_that_does_not_say_its_library_again_keeps_it(pairs: dict[str, Pair], at_once: bool) -> None:
    """Some say it over their first connection only, and have others when a Gateway was started again."""
    told, silent = fact("shop", "group", "billing"), fact("shop", "group", "billing", **NAMELESS)
    for facts in [[silent, told]] if at_once else [[told], [silent]]:
        store(facts, pairs)
    row = Access.objects.get()
    assert (row.library, row.version) == ("librdkafka", "2.0")


def test_one_on_another_host_is_another_one(pairs: dict[str, Pair]) -> None:
    store([fact("shop", "group", "billing")], pairs)
    store([fact("shop", "group", "billing", host="10.0.0.2", **NAMELESS)], pairs)
    assert Access.objects.get().library == ""

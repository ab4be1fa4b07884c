"""A page of what is declared beside what was seen is a page of all differences: the question to the database
says the same as the rule.
"""

from __future__ import annotations

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from hadash.inventory import compared, selectors
from hadash.inventory.compared import Compared, Count
from hadash.inventory.differences import Difference, State, differences
from hadash.inventory.models import Access, AppID, Cluster, Declaration, Pair

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

NAMES = ("shop", "shop-old", "crm%1", "Ärger", "支付")


@pytest.fixture
def pair() -> Pair:
    east = Cluster.objects.create(name="east", number=1)
    west = Cluster.objects.create(name="west", number=2)
    return Pair.objects.create(name="main", first=east, second=west, default=east)


def fill(pair: Pair, seed: int) -> None:
    chance = random.Random(seed)
    for name in NAMES:
        AppID.objects.create(pair=pair, name=name)

    def use(appid: str) -> tuple[str, str, str]:
        client = chance.choice(("", f"{appid}-1", f"{appid}-2"))
        return client, chance.choice(("produce", "consume", "group")), chance.choice(("orders", "sales"))

    for _ in range(25):
        appid = chance.choice(NAMES)
        client, kind, resource = use(appid)
        at = timezone.now() - timedelta(days=chance.choice((0, 1, 60)))
        Access.objects.get_or_create(
            pair=pair, appid=appid, client_id=client, kind=kind, resource=resource,
            cluster=chance.choice(("east", "west")), defaults={"first_seen": at, "last_seen": at},
        )  # fmt: skip
    for _ in range(12):
        appid = chance.choice(NAMES)
        client, kind, resource = use(appid)
        Declaration.objects.get_or_create(
            appid=AppID.objects.get(name=appid),
            instance_id=client,
            kind=kind,
            resource=resource,
            defaults={"source": "hand"},
        )


def all_of(pair: Pair, query: str = "") -> list[Difference]:
    return differences(selectors.declared(pair, query=query), selectors.seen(pair, query=query))


def in_pages(found: Compared, size: int = 3) -> list[Difference]:
    pages, rows = [], found.page(0, size)
    while rows:
        pages += rows
        rows = found.page(len(pages), size)
    return pages


@pytest.mark.parametrize("seed", range(8))
def test_page_by_page_it_is_all_of_them(pair: Pair, seed: int) -> None:
    fill(pair, seed)
    expected = all_of(pair)
    assert in_pages(Compared(pair)) == expected and len(Compared(pair)) == len(expected)
    for state in State:
        of_it = [each for each in expected if each.state is state]
        assert in_pages(Compared(pair, state=state)) == of_it
        assert Compared(pair, state=state)[1:4] == of_it[1:4]
        assert Compared(pair).counts[state] == Count(len(of_it))


@pytest.mark.parametrize("order", [f"{sign}{name}" for name in compared.ORDERS for sign in ("", "-")])
def test_in_every_order_its_pages_do_not_overlap(pair: Pair, order: str) -> None:
    fill(pair, 2)
    found = in_pages(Compared(pair, order=order))
    assert sorted(found, key=str) == sorted(all_of(pair), key=str)
    name, back = order.removeprefix("-"), order.startswith("-")
    if name == "seen":
        seen = [each.last_seen for each in found if each.last_seen is not None]
        assert seen == sorted(seen, reverse=back) and all(
            each.last_seen is None for each in found[len(seen) :]
        )
    if name == "resource":
        names = [each.relation.resource for each in found]
        assert names == sorted(names, reverse=back)


@pytest.mark.parametrize("query", ["shop", "SHOP", "%", "_", "ärger", "支", "nobody"])
@pytest.mark.parametrize("named", [500, 0])
def test_of_appids_with_something_in_their_names(
    pair: Pair, query: str, named: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compared, "NAMED_APPIDS", named)
    fill(pair, 1)
    assert in_pages(Compared(pair, query)) == all_of(pair, query)


def test_of_one_appid(pair: Pair) -> None:
    fill(pair, 1)
    assert in_pages(Compared(pair, appid="shop")) == [
        each for each in all_of(pair) if each.relation.appid == "shop"
    ]
    assert in_pages(Compared(pair, "crm", "shop")) == []


def test_what_is_more_than_is_counted_says_so(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(pair, 1)
    monkeypatch.setattr(compared, "MOST_COUNTED", 2)
    found = Compared(pair)
    assert found.counts[State.UNDECLARED] == Count(2, at_least=True)
    assert len(found.first) < len(found) == len(all_of(pair))

"""The list of the clients that are connected through the Gateways."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from dashboard.parts import NASTY, PASSWORD, signed_in
from hadash.presentation.engines import Engines

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def listed(client: Client, **asked: str) -> list[tuple[str, str, str, int]]:
    rows = client.get(reverse("clients"), asked).context["rows"]
    return [(row.appid, row.client_id, row.cluster, row.parked) for row, _page in rows]


@pytest.fixture
def connected(engines: SimpleNamespace) -> SimpleNamespace:
    engines.clients = [
        {"appid": appid, "client_id": name, "cluster": cluster, "parked": parked}
        for appid, name, cluster, parked in (
            ("shop", "shop-carts", "east", ""),
            ("shop", "shop-carts", "west", "write"),
            ("crm", "", "east", ""),
            ("secret", "other", "north", ""),
        )
    ]
    return engines


def test_who_is_connected_to_which_cluster(
    as_arne: Client, fleet: SimpleNamespace, connected: SimpleNamespace
) -> None:
    assert listed(as_arne) == [
        ("crm", "", "east", 0), ("shop", "shop-carts", "east", 0), ("shop", "shop-carts", "west", 1),
    ], "not those of a cluster of no pair"  # fmt: skip
    page = as_arne.get(reverse("clients")).content.decode()
    assert "2 clients are connected." in page, "as the overview counts them: whatever cluster each is on"
    assert reverse("appid", args=[fleet.shop.pk]) in page and "without a name" in page


def test_they_are_searched_ordered_and_taken_along(
    as_arne: Client, fleet: SimpleNamespace, connected: SimpleNamespace
) -> None:
    assert [row[2] for row in listed(as_arne, q="SHOP", sort="-parked")] == ["west", "east"]
    assert "Nothing fits." in as_arne.get(reverse("clients"), {"q": "nobody"}).content.decode()
    answer = as_arne.get(reverse("clients"), {"q": "crm", "format": "csv"})
    lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    assert lines == ["appid,client_id,cluster,connections,parked", "crm,,east,1,0"]


def test_a_name_is_a_name_whatever_it_says(
    as_arne: Client, fleet: SimpleNamespace, engines: SimpleNamespace
) -> None:
    page = as_arne.get(reverse("clients")).content.decode()
    assert NASTY not in page and "购物车" in page


def test_a_gateway_that_does_not_say_is_named(
    as_arne: Client, fleet: SimpleNamespace, connected: SimpleNamespace
) -> None:
    connected.silent = ["gateway-2"]
    assert "do not say who is connected: gateway-2" in as_arne.get(reverse("clients")).content.decode()
    connected.clients = []
    assert "Not known: no Gateway says" in as_arne.get(reverse("clients")).content.decode()


def test_without_zookeeper_nothing_is_known(
    as_arne: Client, fleet: SimpleNamespace, connected: SimpleNamespace
) -> None:
    connected.look = Engines(fault="No server answers.")
    page = as_arne.get(reverse("clients")).content.decode()
    assert "Not known while ZooKeeper does not answer." in page and "crm" not in page


def test_who_has_no_role_sees_nobody(
    fleet: SimpleNamespace, people: SimpleNamespace, connected: SimpleNamespace
) -> None:
    nora = User.objects.create_user("nora", password=PASSWORD)
    page = signed_in(nora).get(reverse("clients")).content.decode()
    assert "You have no role yet" in page and "shop-carts" not in page


def test_the_overview_leads_to_those_it_counts(
    as_arne: Client, fleet: SimpleNamespace, connected: SimpleNamespace
) -> None:
    tiles: dict[str, Any] = {
        str(tile.word): tile for tile in as_arne.get(reverse("overview")).context["tiles"]
    }
    assert tiles["Clients at the Gateways"].href == reverse("clients")

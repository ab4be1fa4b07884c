"""A pair that is made up says so wherever somebody could take its figures for somebody's."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from hadash.inventory.models import Cluster, Pair

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

PAGES = (
    "overview",
    "appids",
    "mirrors",
    "clusters",
    "gateways",
    "switches",
    "findings",
    "graph",
    "groups",
    "pipeline",
    "audit",
)


@pytest.fixture
def generated(fleet: SimpleNamespace) -> Pair:
    """Beside a real pair."""
    first, second = (
        Cluster.objects.create(name=f"fleet-{side}", number=900 + place, generated=True)
        for place, side in enumerate(("east", "west"))
    )
    return Pair.objects.create(name="fleet", first=first, second=second, default=first)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_says_so(as_olga: Client, engines: SimpleNamespace, generated: Pair, page: str) -> None:
    assert "Pair fleet is generated" in as_olga.get(reverse(page)).content.decode()


def test_its_clusters_are_not_said_to_answer(
    as_olga: Client, engines: SimpleNamespace, generated: Pair
) -> None:
    page = as_olga.get(reverse("clusters")).content.decode()
    assert page.count("> generated<") >= 2 or page.count("generated") > 2


def test_who_may_not_see_it_hears_nothing_of_it(engines: SimpleNamespace, generated: Pair) -> None:
    stranger = Client()
    stranger.force_login(User.objects.create_user("stranger"))
    assert "fleet" not in stranger.get(reverse("appids")).content.decode()


def test_of_real_pairs_nothing_is_said(
    as_olga: Client, engines: SimpleNamespace, fleet: SimpleNamespace
) -> None:
    assert "generated" not in as_olga.get(reverse("appids")).content.decode()

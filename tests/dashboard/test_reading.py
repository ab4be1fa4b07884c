"""Rows of large tables: in their order, with what they are joined to, and counted in the same look."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client, RequestFactory
from django.urls import reverse

from hadash.dashboard.views.common import paged
from hadash.inventory.models import AppID
from hadash.presentation.paging import counted, first_of

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def appids(fleet: SimpleNamespace) -> list[str]:
    """Thirty AppIDs whose names hold "app"."""
    names = [f"app-{number:02d}" for number in range(30)]
    AppID.objects.bulk_create(AppID(name=name, pair=fleet.pair) for name in reversed(names))
    return names


def those() -> Any:
    return AppID.objects.filter(name__icontains="APP-").select_related("pair").order_by("name")


def test_the_first_in_their_order_with_what_they_are_joined_to(
    appids: list[str], django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(2):
        found = first_of(those(), 5)
        assert [(each.name, each.pair.name) for each in found] == [(name, "main") for name in appids[:5]]


def test_they_are_counted_in_the_same_look(appids: list[str], django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(2):
        found, of_all = counted(those(), 10, 20)
    assert ([each.name for each in found], of_all) == (appids[10:20], 30)
    assert counted(those(), 40, 50) == ([], None)
    assert counted(those().none(), 0, 10) == ([], None)


@pytest.mark.parametrize(
    ("asked", "number", "first"),
    [("", 1, 0), ("2", 2, 25), ("99", 2, 25), ("0", 2, 25), ("-1", 2, 25), ("nonsense", 1, 0), ("9" * 40, 2, 25)],
)  # fmt: skip
def test_a_page_of_what_was_searched_is_any_other_page(
    appids: list[str], asked: str, number: int, first: int
) -> None:
    """Also where the number does not exist, as of lists that are not searched."""
    request = RequestFactory().get("/", {"page": asked} if asked else {})
    page = paged(request, those(), 25, scans=True)
    plain = paged(request, those(), 25)
    assert (page.number, page.paginator.count) == (plain.number, plain.paginator.count)
    assert [each.name for each in page] == [each.name for each in plain]
    assert (page.number, page[0].name) == (number, appids[first])


def test_nothing_found_is_a_page_without_rows(as_arne: Client, fleet: Any, engines: Any) -> None:
    page = as_arne.get(reverse("appids"), {"q": "nobody"})
    assert page.status_code == 200 and len(page.context["page"]) == 0

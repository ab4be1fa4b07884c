"""Tables that stand on a page as a whole are ordered in the browser; what was chosen stands in the address."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from support.browser import Window

from dashboard.parts import PASSWORD
from hadash.accounts.models import ApiToken

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def page(
    browser: Browser, live_server: Any, people: SimpleNamespace, engines: SimpleNamespace
) -> Iterator[Page]:
    """Olga's tokens: three, of which one was never used."""
    now = timezone.now()
    for number, (name, used) in enumerate((("b10", now), ("a", None), ("b9", now - timedelta(days=3)))):
        ApiToken.objects.create(
            user=people.olga,
            name=name,
            digest=str(number),
            beginning="h",
            expires_at=now + timedelta(days=9),
            last_used_at=used,
        )
    window = Window(browser, f"{live_server.url}/")
    window.sign_in("olga", PASSWORD)
    yield window.open("tokens/")
    assert window.errors == []
    window.close()


def names(page: Page) -> Any:
    return page.locator("table[data-order=tokens] tbody td:first-child")


def test_a_click_orders_and_another_one_turns_it_round(page: Page) -> None:
    head = page.locator("th", has_text="Name")
    head.get_by_role("button").click()
    expect(names(page)).to_have_text(["a", "b9", "b10"])
    expect(head).to_have_attribute("aria-sort", "ascending")
    head.get_by_role("button").press("Enter")
    expect(names(page)).to_have_text(["b10", "b9", "a"])
    expect(head).to_have_attribute("aria-sort", "descending")


def test_what_has_no_value_comes_last_either_way(page: Page) -> None:
    button = page.locator("th", has_text="Last used").get_by_role("button")
    button.click()
    expect(names(page)).to_have_text(["b9", "b10", "a"])
    button.click()
    expect(names(page)).to_have_text(["b10", "b9", "a"])


def test_the_address_has_it(page: Page) -> None:
    page.locator("th", has_text="Name").get_by_role("button").click()
    page.reload()
    expect(names(page)).to_have_text(["a", "b9", "b10"])
    page.goto(page.url.replace("tokens-order=1", "tokens-order=-1"))
    expect(names(page)).to_have_text(["b10", "b9", "a"])
    for nonsense in ("0", "99", "-", "x", "%00"):
        page.goto(f"{page.url.split('?')[0]}?tokens-order={nonsense}")
        expect(names(page)).to_have_count(3)


def test_the_table_as_it_is_ordered_can_be_taken_along(page: Page) -> None:
    ApiToken.objects.filter(name="a").update(name='=1+1, "x"')
    page.reload()
    page.locator("th", has_text="Name").get_by_role("button").click()
    with page.expect_download() as csv:
        page.get_by_role("button", name="CSV").click()
    assert csv.value.suggested_filename == "hadash-tokens.csv"
    head, *rows = csv.value.path().read_text().splitlines()
    assert head.startswith("Name,") and "Last used" in head
    assert [row.split(",")[0] for row in rows] == ["\"'=1+1", "b9", "b10"], (
        "no formula for a program for tables"
    )
    assert re.search(r"\d{4}-\d{2}-\d{2}T", rows[1]), "a moment, and not how long ago"


def test_a_column_of_buttons_is_no_order(page: Page) -> None:
    expect(page.locator("th").last.get_by_role("button")).to_have_count(0)

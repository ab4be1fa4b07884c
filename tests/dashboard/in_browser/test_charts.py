"""What a chart leads to, says as a table, and gives along."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from django.urls import reverse
from playwright.sync_api import expect
from support.browser import Window

from dashboard.in_browser.parts import PAGES, drawn

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_bar_leads_to_its_appid(olga: Window, published: SimpleNamespace) -> None:
    page = olga.open(PAGES["sharing"])
    drawn(page, 3)
    # (Plotly draws bars from below: the last one is on top.)
    bar = page.locator("[data-chart='chart-data-ranking'] .bars .point path").last
    bar.scroll_into_view_if_needed()
    box = bar.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 40, box["y"] + box["height"] / 2, steps=3)
    page.mouse.click(box["x"] + 42, box["y"] + box["height"] / 2)
    page.wait_for_url(re.compile(r"/appids/\d+/"))
    assert page.url.endswith(reverse("appid", args=[published.pages["shop"]]))


def test_what_a_mark_leads_to_can_be_reached_with_keys_alone(
    olga: Window, published: SimpleNamespace
) -> None:
    page = olga.open(PAGES["sharing"])
    drawn(page, 3)
    card = page.locator("#ranking")
    card.locator("summary").press("Enter")
    card.get_by_role("link", name="shop", exact=True).press("Enter")
    page.wait_for_url(re.compile(reverse("appid", args=[published.pages["shop"]])))


def test_a_chart_can_be_taken_along_as_a_table_and_as_a_picture(olga: Window) -> None:
    page = olga.open(PAGES["sharing"])
    drawn(page, 3)
    with page.expect_download() as csv:
        page.get_by_role("link", name=re.compile("CSV.*Most clients")).click()
    text = csv.value.path().read_text()
    assert text.splitlines()[0] == "pair,appid,clients,applications,hosts"
    assert text.splitlines()[1] == "main,shop,301,34,2"
    with page.expect_download() as png:
        page.get_by_role("button", name=re.compile("PNG.*Most clients")).click()
    assert png.value.suggested_filename == "hadash-ranking.png"
    assert png.value.path().read_bytes().startswith(b"\x89PNG")
    assert olga.errors == []


def test_the_table_says_the_same(olga: Window) -> None:
    page = olga.open(PAGES["coverage"])
    page.locator("#coverage-map summary").click()
    row = page.locator("#coverage-map tbody tr", has_text="bypassing the Gateways").first
    expect(row).to_contain_text("app-003")


def test_colours_follow_the_theme(olga: Window) -> None:
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    colour = "document.querySelector('[data-chart]').layout.font.color"
    light = page.evaluate(colour)
    page.locator("[data-theme-toggle]").click()
    page.wait_for_function(f"{colour} !== {light!r}")

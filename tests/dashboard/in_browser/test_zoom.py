"""What somebody looks at closely: in the address, by keys, beside another order and another time."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import Browser, expect
from support.browser import Window

from dashboard.in_browser.parts import PAGES, drawn
from dashboard.parts import PASSWORD

pytestmark = [
    pytest.mark.stack,
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.in_turn,
]


def test_what_somebody_has_zoomed_into_stands_in_the_address(olga: Window) -> None:
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    box = page.locator("[data-chart] .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] - 20, steps=5)
    page.mouse.up()
    page.wait_for_url(re.compile("zoom-lag-by-day="))
    ends = "document.querySelector('[data-chart]').layout.xaxis.range.map((end) => Math.floor(new Date(end)))"
    shown = page.evaluate(ends)
    page.reload()
    drawn(page, 1)
    assert page.evaluate(ends) == shown
    page.get_by_role("button", name="Show all").click()
    page.wait_for_url(lambda url: "zoom" not in url)


def test_who_is_sent_an_address_looks_at_the_same_time_wherever_they_live(
    olga: Window, browser: Browser, live_server: Any
) -> None:
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    closer = page.get_by_role("button", name="Closer")
    closer.press("Enter")
    page.wait_for_url(re.compile("zoom-lag-by-day="))
    instants = (
        "document.querySelector('[data-chart]').layout.xaxis.range.map((end) => new Date(end).getTime())"
    )
    shown = page.evaluate(instants)
    elsewhere = Window(browser, f"{live_server.url}/", zone="America/New_York")
    try:
        elsewhere.sign_in("olga", PASSWORD)
        theirs = elsewhere.open(page.url.removeprefix(f"{live_server.url}/"))
        drawn(theirs, 1)
        assert theirs.evaluate(instants) == shown
        before = shown[1] - shown[0]
        theirs.get_by_role("button", name="Further away").press("Enter")
        theirs.wait_for_function(f"({instants}).reduce((from, to) => to - from) > {1.9 * before}")
    finally:
        elsewhere.close()


def test_another_language_shows_what_is_looked_at(olga: Window) -> None:
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    page.locator("[data-chart]").first.press("+")
    page.wait_for_url(re.compile("zoom-lag-by-day="))
    address = page.url
    page.get_by_role("button", name="简体中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    assert page.url == address


def test_an_address_leads_to_a_chart_that_comes_after_its_page(olga: Window) -> None:
    page = olga.open(f"{PAGES['mirror']}#partitions-over-time")
    expect(page.locator("#partitions-over-time")).to_be_in_viewport()
    assert page.evaluate("scrollY") > 0


def test_a_chart_is_moved_and_zoomed_with_keys(olga: Window) -> None:
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    ends = "document.querySelector('[data-chart]').layout.xaxis.range.map((end) => new Date(end).getTime())"
    first, last = page.evaluate(ends)
    chart = page.locator("[data-chart]").first
    chart.press("+")
    page.wait_for_url(re.compile("zoom-lag-by-day="))
    closer = page.evaluate(ends)
    assert closer[1] - closer[0] == pytest.approx((last - first) / 2, rel=0.01)
    chart.press("ArrowRight")
    page.wait_for_function(f"({ends})[0] > {closer[0]}")
    assert page.evaluate(ends)[0] - closer[0] == pytest.approx((closer[1] - closer[0]) / 5, rel=0.01)
    chart.press("ArrowDown")
    assert page.evaluate(ends)[0] > closer[0], "which moves maps alone"
    chart.press("0")
    page.wait_for_url(lambda url: "zoom" not in url)
    assert olga.errors == []


def test_what_is_looked_at_stays_in_another_order_and_goes_with_another_time(olga: Window) -> None:
    page = olga.open(PAGES["mirror"])
    drawn(page, 1)
    page.locator("[data-chart]").first.press("+")
    page.wait_for_url(re.compile("zoom-lag="))
    zoom = dict(parse_qsl(urlsplit(page.url).query))["zoom-lag"]
    page.locator("#part-incidents th", has_text="From").get_by_role("button").click()
    page.wait_for_url(re.compile("incidents-order="))
    page.locator("#part-topics").get_by_role("link", name="Records behind").click()
    page.wait_for_url(re.compile("topics-sort="))
    told = dict(parse_qsl(urlsplit(page.url).query))
    assert told["zoom-lag"] == zoom and "incidents-order" in told and told["window"] == "hour"
    page.get_by_role("link", name="24 hours").click()
    page.wait_for_url(re.compile("window=day"))
    assert "zoom-lag" not in page.url and "incidents-order" in page.url
    assert olga.errors == []

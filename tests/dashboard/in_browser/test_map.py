"""The map of all islands: moved, zoomed, opened, and as it was."""

from __future__ import annotations

import re

import pytest
from django.conf import settings
from playwright.sync_api import expect
from support.browser import Window

from dashboard.in_browser.parts import PAGES, drawn

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_map_is_moved_zoomed_and_opened(olga: Window) -> None:
    page = olga.open(PAGES["graph"])
    drawn(page, 1)
    area = page.locator("[data-chart] .nsewdrag").first
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.wheel(0, -240)
    page.wait_for_url(re.compile("zoom-map="))
    ends = (
        "(() => { const l = document.querySelector('[data-chart]').layout;"
        " return [...l.xaxis.range, ...l.yaxis.range]; })()"
    )
    shown = page.evaluate(ends)
    page.reload()
    drawn(page, 1)
    # (Both axes have the same scale: Plotly fits them to the room that there is.)
    assert page.evaluate(ends) == pytest.approx(shown, rel=0.05)
    page.get_by_role("button", name="Show all").click()
    page.wait_for_url(lambda url: "zoom" not in url)


def test_the_slider_shows_the_map_as_it_was(olga: Window) -> None:
    page = olga.open(PAGES["graph"])
    drawn(page, 1)
    expect(page.locator("#map")).to_contain_text("islands")
    page.get_by_label("As it was").press("ArrowLeft")
    page.wait_for_url(re.compile(r"run=\d+"))
    drawn(page, 1)
    page.get_by_label("As it was").press("ArrowRight")
    page.wait_for_load_state()
    drawn(page, 1)
    page.locator("#map summary").press("Enter")
    page.locator("#map tbody a.row").first.press("Enter")
    page.wait_for_url(re.compile(r"island=\d+"))
    drawn(page, 1)
    title = page.locator("h1").inner_text()
    page.get_by_label("As it was").press("ArrowLeft")
    page.wait_for_url(re.compile(r"run=\d+.*island=\d+"))
    drawn(page, 1)
    assert page.locator("h1").inner_text() == title, "the same island as it was"
    page.goto(page.url.split("?")[0])
    page.get_by_label("Differences since").select_option(index=1)
    page.wait_for_url(re.compile(r"since=\d+"))
    drawn(page, 1)
    expect(page.locator("#map")).to_contain_text(re.compile(r"\d+ new, \d+ gone, \d+ moved"))
    page.screenshot(path=settings.BASE_DIR / "var" / "pictures" / "graph-differences.png", full_page=True)
    assert olga.errors == []

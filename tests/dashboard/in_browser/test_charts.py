"""What a chart leads to, says as a table, and gives along."""

from __future__ import annotations

import re
from datetime import timedelta
from itertools import product
from types import SimpleNamespace

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect
from support.browser import Window

from dashboard.in_browser.parts import PAGES, drawn
from hadash.governance.models.published import LagDay
from hadash.governance.models.runs import Run

pytestmark = [
    pytest.mark.stack,
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.in_turn,
]


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


def test_of_many_lines_the_one_that_is_pointed_at_stands_out(
    olga: Window, published: SimpleNamespace
) -> None:
    run = Run.objects.get(job=Run.Job.LAG, state=Run.State.PUBLISHED)
    for age, number in product((1, 2, 3), range(4)):
        LagDay.objects.create(
            run=run, pair="main", mirror=f"mirror-{number}", date=(timezone.now() - timedelta(days=age)).date(),
            samples=9, unknown=0, over_rpo=0, seconds_p95=20.0 * number, seconds_most=99.0, records_most=9,
        )  # fmt: skip
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    place = """() => {
      const box = document.querySelector("[data-chart]"), { xaxis, yaxis } = box._fullLayout;
      const [line] = box._fullData.filter(({ name }) => name === "mirror-3");
      const { left, top } = box.getBoundingClientRect(), last = line.x.length - 2;
      return [left + xaxis._offset + xaxis.d2p(line.x[last]), top + yaxis._offset + yaxis.d2p(line.y[last])];
    }"""
    faded = """() => [...document.querySelectorAll("[data-chart] .scatterlayer > .trace")]
      .filter((line) => line.style.opacity === "0.25").length"""
    assert page.evaluate(faded) == 0
    page.mouse.move(*page.evaluate(place))
    page.wait_for_function(f"({faded})() > 2")
    shown = page.evaluate("""() => [...document.querySelectorAll("[data-chart] .scatterlayer > .trace")]
      .filter((line) => line.style.opacity === "1").map((line) => line.__data__[0].trace.name)""")
    assert shown == ["mirror-3"]
    # What is bold in a label is so, and nothing was forbidden for it.
    bold = page.locator(".hoverlayer tspan").filter(has_text="mirror-3").first
    expect(bold).to_have_css("font-weight", "700")
    page.mouse.move(5, 5)
    page.wait_for_function(f"({faded})() === 0")
    assert olga.errors == []


def test_colours_follow_the_theme(olga: Window) -> None:
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    colour = "document.querySelector('[data-chart]').layout.font.color"
    light = page.evaluate(colour)
    page.locator("[data-theme-toggle]").click()
    page.wait_for_function(f"{colour} !== {light!r}")

"""A switch that has ended: its record, each pause, and how it compares to earlier ones."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Browser, expect
from support.browser import Window

from dashboard.in_browser.parts import drawn
from dashboard.parts import PASSWORD
from dashboard.pictures import Screen, look_at
from hadash.switching.models.switches import StageRecord, Switch

pytestmark = [
    pytest.mark.stack,
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.in_turn,
]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "America/New_York"])
def test_a_pause_is_as_long_in_every_zone(
    browser: Browser, live_server: Any, people: SimpleNamespace, engines: Any, finished: Switch, zone: str
) -> None:
    began = (finished.started_at or timezone.now()) + timedelta(seconds=4)
    ends = began.timestamp(), (began + timedelta(seconds=2)).timestamp()
    Switch.objects.filter(pk=finished.pk).update(pauses=[["shop", "shop-carts", "produce", *ends]])
    window = Window(browser, f"{live_server.url}/", zone=zone)
    try:
        window.sign_in("olga", PASSWORD)
        page = window.open(f"switches/{finished.key}/record/")
        drawn(page, 2)
        bar = page.locator("#client-pauses .bars .point path").first.bounding_box()
        plot = page.locator("#client-pauses .nsewdrag").first.bounding_box()
        shown = page.evaluate(
            "(([from, to]) => (new Date(to) - new Date(from)) / 1000)"
            "(document.querySelector('#client-pauses [data-chart]').layout.xaxis.range)"
        )
        assert bar is not None and plot is not None
        assert bar["width"] / plot["width"] * shown == pytest.approx(2, rel=0.05)
    finally:
        window.close()


def test_the_record_of_a_switch_can_be_kept_as_a_pdf(olga: Window, finished: Switch) -> None:
    Switch.objects.filter(pk=finished.pk).update(
        facts={"drained": [["carts", n, 900 + n, 400 + n] for n in range(120)]}
    )
    page = olga.open(f"switches/{finished.key}/record/")
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    look_at(page, "record", Screen("en", "light", 1440))
    with page.expect_download() as png:
        page.get_by_role("button", name=re.compile("PNG.*What moved")).click()
    assert png.value.suggested_filename == f"hadash-{finished.key}-1.png"
    assert png.value.path().read_bytes().startswith(b"\x89PNG")
    pdf = settings.BASE_DIR / "var" / "pictures" / "record.pdf"
    page.pdf(path=pdf, format="A4")
    assert pdf.read_bytes().startswith(b"%PDF")
    with page.expect_download() as saved:
        page.get_by_role("link", name="PDF").click()
    assert saved.value.suggested_filename == f"hadash-switch-{finished.key}.pdf"
    assert saved.value.path().read_bytes().startswith(b"%PDF")
    page.emulate_media(media="print")
    expect(page.locator(".side")).to_be_hidden()
    expect(page.locator("[data-print]")).to_be_hidden()
    assert olga.errors == []


def test_printed_is_all_of_it_on_white_paper(olga: Window, finished: Switch) -> None:
    """Also with the colours of the dark, and charts that nobody has scrolled to."""
    began = (finished.started_at or timezone.now()).timestamp() + 4
    Switch.objects.filter(pk=finished.pk).update(
        pauses=[["shop", f"web-{n}", "produce", began, began + 1 + n / 10] for n in range(40)]
    )
    page = olga.open(f"switches/{finished.key}/record/")
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    page.evaluate("window.print = () => { window.printed = document.querySelectorAll('.main-svg').length; }")
    page.get_by_role("button", name="Print").click()
    page.wait_for_function("window.printed !== undefined")
    charts = page.locator("[data-chart]")
    assert charts.count() == 2
    for number in range(2):
        assert charts.nth(number).locator(".main-svg").count() > 0
    page.emulate_media(media="print", color_scheme="dark")
    ink, words = page.evaluate(
        "[getComputedStyle(document.querySelector('h1')).color,"
        " getComputedStyle(document.querySelector('[data-chart] .xtick text')).fill]"
    )
    for colour in ink, words:
        assert max(map(int, re.findall(r"\d+", colour)[:3])) < 128, f"{colour} is no ink on white paper"
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    assert olga.errors == []


def test_where_plotly_does_not_come_the_table_says_the_same(olga: Window, finished: Switch) -> None:
    olga.page.route("**/plotly*.js", lambda route: route.abort())
    page = olga.open(f"switches/{finished.key}/record/")
    page.locator("[data-chart]").first.scroll_into_view_if_needed()
    expect(page.get_by_text("The chart could not be drawn.").first).to_be_visible()
    expect(page.locator("details.twin").first.locator("table")).to_be_visible()


@pytest.fixture
def earlier(make_switch: Callable[..., Switch], finished: Switch) -> None:
    """Four switches before ``finished``, whose drain took half as long."""
    for number in range(4):
        start = finished.started_at - timedelta(days=1 + number)
        before = make_switch(
            "succeeded", started_at=start, ended_at=start + timedelta(seconds=9), stage="verify"
        )
        at = start
        for stage, seconds in (("precheck", 1.0), ("quiesce", 1.0 + number / 10), ("verify", 5.0)):
            StageRecord.objects.create(
                switch=before,
                stage=stage,
                token=1,
                result="done",
                started_at=at,
                ended_at=at + timedelta(seconds=seconds),
            )


def test_a_switch_that_has_ended_stands_beside_earlier_ones(
    olga: Window, earlier: None, finished: Switch
) -> None:
    page = olga.open(f"switches/{finished.key}/")
    drawn(page, 1)
    expect(page.locator("#stages-compared")).to_contain_text("Slower than usual: quiesce 3×.")
    look_at(page, "switch-beside-earlier", Screen("en", "light", 1440))
    with page.expect_download() as csv:
        page.get_by_role("link", name=re.compile("CSV.*Beside earlier")).click()
    assert "quiesce" in csv.value.path().read_text().casefold()
    assert olga.errors == []


def test_clients_of_the_live_picture_are_taken_along_as_a_table(olga: Window, finished: Switch) -> None:
    page = olga.open(f"switches/{finished.key}/")
    button = page.get_by_role("button", name=re.compile("CSV.*Clients, Gateways, clusters"))
    expect(button).to_have_count(1)
    with page.expect_download() as csv:
        button.click()
    assert csv.value.suggested_filename == "hadash-clients.csv"
    table = csv.value.path().read_text().splitlines()
    assert table[0] == "Client,Cluster,writes,reads,State"
    assert any(line.startswith("购物车,east,") for line in table)
    assert olga.errors == []

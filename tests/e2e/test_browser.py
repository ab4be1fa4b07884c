"""Two people in two browsers: one asks, the other approves, and both watch real clients move."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from support.browser import Window, chromium
from support.waiting import SLOWER, eventually

from hadash.bindings.store import BindingStore
from hadash_sandbox.demo import Demo
from hadash_sandbox.trial import Trial

pytestmark = [pytest.mark.stack, pytest.mark.browser]

#: Milliseconds for what a whole switch takes on a slow machine, and for what a page does by itself.
SWITCH_MS = 120_000 * SLOWER
PAGE_MS = 20_000 * SLOWER

APPID, INSTANCE = "shop", "shop-stock"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as running:
        yield running


@pytest.fixture
def olga(browser: Browser, demo: Demo, trial: Trial) -> Iterator[Window]:
    """The operator, in English."""
    window = Window(browser, demo.url)
    window.sign_in("olga", demo.password)
    yield window
    window.close()


@pytest.fixture
def arne(browser: Browser, demo: Demo, trial: Trial) -> Iterator[Window]:
    """The approver, in Chinese."""
    window = Window(browser, demo.url, "zh-CN")
    window.sign_in("arne", demo.password)
    yield window
    window.close()


def request_page(window: Window, trial: Trial) -> Page:
    return window.open(f"switches/request/?appid={trial.operator.appid(APPID)}")


def test_the_overview_shows_who_carries_out_switches(olga: Window) -> None:
    page = olga.open()
    worker = page.locator("#workers tbody tr").first
    expect(worker).to_contain_text("is there")
    expect(worker).to_contain_text("celery")
    expect(page.locator(".ready h2").first).to_contain_text("main can be switched now")


def test_what_cannot_move_is_told_before_it_is_asked_for(olga: Window, trial: Trial) -> None:
    page = request_page(olga, trial)
    page.check("input[value=topics]")
    page.fill("#id_topics", "shop.carts，shop.typo")  # with the comma of a Chinese keyboard
    expect(page.locator("#preview")).to_contain_text("No mirror carries shop.typo.", timeout=PAGE_MS)
    page.fill("#id_topics", "shop.carts")
    expect(page.locator("#preview")).not_to_contain_text("No mirror carries", timeout=PAGE_MS)
    expect(page.locator("#preview")).to_contain_text("shop › shop-carts")


def test_why_something_comes_along_is_told(olga: Window, trial: Trial) -> None:
    page = request_page(olga, trial)
    expect(page.locator("#preview .members")).to_contain_text("reads shop.clicks", timeout=PAGE_MS)
    row = page.locator("#preview .members tr", has_text="audit › audit-clicks")
    expect(row.locator("[title]").first).to_have_attribute(
        "title", "shop → shop.clicks → audit › audit-clicks"
    )
    page.click(f"[data-pick='{INSTANCE}']")
    expect(page.locator("#preview")).to_contain_text("shop.stock", timeout=PAGE_MS)
    expect(page.locator("#preview")).not_to_contain_text("audit")


def test_what_was_looked_at_stays_so_while_a_reason_is_typed(olga: Window, trial: Trial) -> None:
    page = request_page(olga, trial)
    page.click(f"[data-pick='{INSTANCE}']")
    expect(page.locator("#preview")).not_to_contain_text("audit", timeout=PAGE_MS)
    page.check("input[value=emergency]")
    expect(page.locator("#scope button.primary")).to_have_text("Run the emergency switch now")
    digest = page.locator("#preview [name=digest]")
    expect(digest).not_to_have_value("", timeout=PAGE_MS)
    shown = digest.input_value()
    for field in ("#id_confirmed", "#id_reason"):
        page.fill(field, "west")
        page.locator(field).blur()
    page.check("input[value=appid]")
    expect(page.locator("#preview")).to_contain_text("audit", timeout=PAGE_MS)
    expect(digest).not_to_have_value(shown)
    page.click(f"[data-pick='{INSTANCE}']")
    expect(digest).to_have_value(shown, timeout=PAGE_MS)
    page.fill("#id_reason", "another reason")
    page.locator("#id_reason").blur()
    expect(digest).to_have_value(shown)


def test_one_asks_the_other_approves_and_both_watch(
    olga: Window, arne: Window, trial: Trial, bindings: BindingStore
) -> None:
    page = request_page(olga, trial)
    page.click(f"[data-pick='{INSTANCE}']")
    page.fill("textarea[name=reason]", "升级 broker <b>now</b>")
    page.click("text=Request the switch")
    page.wait_for_url(re.compile(r"/switches/\w+/$"))
    address = page.url.removeprefix(olga.url)
    expect(page).to_have_title(re.compile(r"awaiting approval · hadash$"))
    expect(page.locator("q")).to_have_text("升级 broker <b>now</b>")  # as it was typed, and nothing more
    expect(page.locator("text=Approve and run")).to_have_count(0)
    expect(page.locator(".messages")).to_contain_text("Somebody else has to approve it.")

    other = arne.open(address)
    expect(other.locator("h1")).to_contain_text(INSTANCE)
    other.click("text=批准并执行")

    # Nobody touches the pages any more: they follow by themselves, each in its own language.
    expect(page).to_have_title(re.compile(r"succeeded · hadash$"), timeout=SWITCH_MS)
    expect(page.locator("#part-behind")).to_have_count(
        0, timeout=PAGE_MS
    )  # nothing of it is to be copied any more
    expect(page.locator("#part-result")).to_contain_text("no record was lost", timeout=PAGE_MS)
    expect(page.locator("#part-result")).to_contain_text("0 records")
    expect(page.locator("#part-rail")).to_contain_text("The mirror is drained")
    expect(page.locator("#log li").first).to_contain_text("Every client works on", timeout=PAGE_MS)
    expect(page.locator("#picture svg")).to_contain_text(INSTANCE)
    expect(page.locator("#chart .js-plotly-plot, #chart.js-plotly-plot")).to_have_count(1)
    # Each client's own pause, of those that wrote and of those that read.
    expect(page.locator("#client-pauses .main-svg").first).to_be_visible(timeout=PAGE_MS)
    paused = page.locator("#client-pauses tbody tr").all_text_contents()
    assert {re.sub(r"\s+", " ", row).split()[2] for row in paused} == {"writes", "reads"}
    assert all(INSTANCE in row for row in paused)
    expect(page.locator(".messages")).to_have_count(0)
    expect(page.locator("text=Switch back")).to_be_visible()
    expect(other.locator("#part-head")).to_contain_text("成功", timeout=PAGE_MS)
    expect(other.locator("#part-rail")).to_contain_text("镜像已排空")

    for window in (olga, arne):
        assert window.errors == []
        assert window.strangers == [], "pages work without the internet"


def test_a_mirror_is_watched_while_it_copies(olga: Window, trial: Trial) -> None:
    page = olga.open("mirrors/main/carts/")
    expect(page.locator("[data-chart='chart-data-lag'] .main-svg").first).to_be_visible(timeout=PAGE_MS)
    newest = "document.querySelector(\"[data-chart='chart-data-lag']\").data[1].x.at(-1)"
    shown = page.evaluate(newest)
    eventually(lambda: page.evaluate(newest) > shown, "a new point is drawn")
    expect(page.locator("#part-tasks")).to_contain_text("running")
    expect(page.locator("#part-topics")).to_contain_text("shop.carts")
    expect(page.locator("#part-state")).to_contain_text("RPO 30 s")
    page = olga.open("mirrors/")
    expect(page.locator("[data-chart='chart-data-pair-lag'] .main-svg").first).to_be_visible(timeout=PAGE_MS)
    newest = "document.querySelector(\"[data-chart='chart-data-pair-lag']\").data[0].x.at(-1)"
    shown = page.evaluate(newest)
    looked = page.locator("#part-rows tbody tr").first.locator("time").last.get_attribute("datetime")
    head = page.get_by_role("link", name="Lag, records")
    head.focus()
    eventually(lambda: page.evaluate(newest) > shown, "a new point of its pair is drawn")
    rows = page.locator("#part-rows tbody tr").first.locator("time").last
    eventually(lambda: rows.get_attribute("datetime") != looked, "the list says when it was looked at last")
    expect(head).to_be_focused()
    assert olga.errors == []

"""What is the same on every page: search and keys, sections that fold, what is shown while the server is away."""

from __future__ import annotations

import re
from types import SimpleNamespace

import pytest
from django.utils import timezone
from playwright.sync_api import expect
from support.browser import Window

from dashboard.in_browser.parts import PAGES
from dashboard.pictures import can_be_read
from hadash.inventory.models import Access, AppID

pytestmark = [
    pytest.mark.stack,
    pytest.mark.browser,
    pytest.mark.django_db(transaction=True),
    pytest.mark.in_turn,
]


def test_the_search_is_a_key_away_but_for_those_who_type(olga: Window, published: SimpleNamespace) -> None:
    page = olga.open("groups/")
    page.locator("main").press("/")
    page.keyboard.type("购物")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/search/|/appids/"))
    page.goto(f"{olga.url}search/?q=a/b&list=1")
    page.locator("main input[type=search]").press("/")
    expect(page.locator("main input[type=search]")).to_be_focused()


def test_the_keys_are_a_key_away_but_for_those_who_type(olga: Window) -> None:
    page = olga.open(PAGES["lag"])
    keys = page.locator("#keys")
    page.get_by_role("searchbox", name="Search everything").press("?")
    expect(keys).not_to_be_visible()
    page.locator("h1").press("?")
    expect(keys).to_contain_text("Move a chart that has the focus")
    page.keyboard.press("Escape")
    expect(keys).not_to_be_visible()
    page.get_by_role("button", name="Keys").click()
    expect(keys).to_be_visible()
    can_be_read(page, "keys")
    keys.get_by_role("button", name="Close").click()
    expect(keys).not_to_be_visible()
    assert olga.errors == []


def test_a_form_shows_what_its_choice_needs_and_nothing_else(
    olga: Window, published: SimpleNamespace
) -> None:
    page = olga.open(PAGES["appid"].format(**published.pages) + "bindings/change/")
    binding, unbinding = page.locator(".when-binding"), page.locator(".when-unbinding")
    expect(binding).to_be_visible()
    expect(unbinding).not_to_be_visible()
    page.get_by_label("Unbind").check()
    expect(unbinding).to_be_visible()
    expect(binding).not_to_be_visible()
    assert olga.errors == []


def test_a_section_that_was_folded_stays_so(olga: Window, published: SimpleNamespace) -> None:
    page = olga.open(PAGES["appid"].format(**published.pages))
    section = page.locator("[data-fold='appid-topics']")
    expect(section).to_have_attribute("open", "")
    section.locator("> summary").click()
    page.reload()
    expect(section).not_to_have_attribute("open", "")
    section.locator("> summary").click()
    page.reload()
    expect(section).to_have_attribute("open", "")


def test_a_section_that_refreshes_itself_stays_folded(olga: Window, published: SimpleNamespace) -> None:
    page = olga.open(PAGES["appid"].format(**published.pages))
    section = page.locator("[data-fold='appid-observed']")
    section.locator("> summary").click()
    expect(section).not_to_have_attribute("open", "")
    # Something is observed: the section is replaced. (What is shown and has not changed is not.)
    Access.objects.create(
        pair=AppID.objects.get(name="shop").pair,
        appid="shop",
        client_id="seen-just-now",
        kind="consume",
        resource="carts",
        cluster="east",
        first_seen=timezone.now(),
        last_seen=timezone.now(),
    )
    expect(section).to_contain_text("seen-just-now")
    expect(section).not_to_have_attribute("open", "")
    expect(page.locator("[data-fold='appid-connected']")).to_have_attribute("open", "")


def test_a_server_that_is_away_leaves_no_verdict_that_passes_for_todays(olga: Window) -> None:
    page = olga.open("")
    old = page.locator("#old")
    expect(old).to_be_hidden()
    page.route("**/*", lambda route: route.abort())
    expect(old).to_contain_text("What is shown is as of")
    expect(page.locator("[data-quiet].stale").first).to_be_visible()
    page.unroute("**/*")
    # Also when it says the same as before.
    expect(old).to_be_hidden()
    expect(page.locator("[data-quiet].stale")).to_have_count(0)

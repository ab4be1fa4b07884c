"""Working with pages that renew themselves, in a real browser: clicks, focus and what is typed stay."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from support.browser import PAGE_MS, STREAM, Window

from dashboard.parts import PASSWORD, gateway
from hadash.dashboard.views.stream import Parts, SwitchViewer
from hadash.governance.models.runs import Run
from hadash.pipeline import schedules
from hadash.pipeline.models import Schedule
from hadash.presentation import live
from hadash.presentation.engines import Engines
from hadash.presentation.labels import stage_word
from hadash.switching.machines.switches import Stage
from hadash.switching.models.switches import StageRecord, Switch

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HEAR = """([state, parts]) => {
  window.theStream.heard.state({ data: JSON.stringify(state) });
  window.theStream.heard.parts({ data: JSON.stringify(parts) });
}"""

ABORT = "form[action$='/abort/'] button"


@pytest.fixture(autouse=True)
def facts_stay_known(settings: Any) -> None:
    """What was found at the beginning of a test still counts at its end, also on a slow machine.

    Otherwise pages change by themselves, when the worker has said nothing for a while.
    """
    for every in ("WORKER_SILENT_SECONDS", "LAG_SAMPLE_SECONDS", "CLUSTER_LOOK_SECONDS"):
        setattr(settings, every, 3600)


@pytest.fixture
def olga(
    browser: Browser, live_server: Any, people: SimpleNamespace, engines: SimpleNamespace
) -> Iterator[Window]:
    window = Window(browser, f"{live_server.url}/")
    window.page.add_init_script(STREAM)
    window.sign_in("olga", PASSWORD)
    yield window
    window.close()


@pytest.fixture
def running(make_switch: Callable[..., Switch]) -> Switch:
    return make_switch("running", stage="precheck", started_at=timezone.now())


@pytest.fixture
def reaches(olga: Window, people: SimpleNamespace, running: Switch) -> Callable[[str], None]:
    """The switch comes to a stage, and the page hears of it."""

    def action(stage: str) -> None:
        Switch.objects.filter(pk=running.pk).update(stage=stage)
        StageRecord.objects.create(
            switch=running, stage=stage, token=1, result="running", started_at=timezone.now()
        )
        request = RequestFactory().get("/")
        request.user = people.olga
        cookies = {cookie["name"]: cookie["value"] for cookie in olga.page.context.cookies()}
        request.META["CSRF_COOKIE"] = cookies[settings.CSRF_COOKIE_NAME]
        switch = Switch.objects.get(pk=running.pk)
        viewer = SwitchViewer(request, running.key)
        state = live.state(switch, list(switch.stages.all()))
        [event] = Parts(switch, state["digest"]).of(viewer)
        olga.page.evaluate(HEAR, [{**state, "now": time.time()}, json.loads(event.split(b"data: ", 1)[1])])

    return action


def test_the_focus_stays_on_abort_while_stages_go_by(
    olga: Window, running: Switch, reaches: Callable[[str], None]
) -> None:
    page = olga.open(f"switches/{running.key}/")
    page.focus(ABORT)
    for stage in ("precheck", "quiesce", "block"):
        reaches(stage)
        expect(page.locator(".status b")).to_have_text(stage_word(Stage(stage)))
        expect(page.locator(ABORT)).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_load_state()
    expect(page.locator(ABORT)).to_be_disabled()
    assert Switch.objects.get(pk=running.pk).abort_requested_by is not None


def stop_the_clock(page: Page) -> None:
    """From here on the page's timers run only when the test lets them: a press counts as over after five seconds,
    which a busy machine can take for one answer.
    """
    page.clock.install()
    page.clock.pause_at(time.time() + 2)


def test_a_slow_click_aborts(olga: Window, running: Switch, reaches: Callable[[str], None]) -> None:
    page = olga.open(f"switches/{running.key}/")
    stop_the_clock(page)
    page.hover(ABORT)
    page.mouse.down()
    reaches("quiesce")
    reaches("block")
    page.mouse.up()
    page.clock.resume()
    expect(page.locator(ABORT)).to_be_disabled()
    assert Switch.objects.get(pk=running.pk).abort_requested_by is not None


def test_what_came_while_something_was_pressed_is_shown_afterwards(
    olga: Window, running: Switch, reaches: Callable[[str], None]
) -> None:
    page = olga.open(f"switches/{running.key}/")
    stop_the_clock(page)
    page.hover("#picture-at")
    page.mouse.down()
    reaches("quiesce")
    expect(page.locator(".status b")).to_have_text(stage_word(Stage.PRECHECK))
    page.mouse.up()
    page.clock.resume()
    expect(page.locator(".status b")).to_have_text(stage_word(Stage.QUIESCE))


def test_a_live_page_says_since_when_its_stream_is_interrupted_and_goes_on_by_itself(
    browser: Browser, live_server: Any, people: SimpleNamespace, engines: SimpleNamespace, running: Switch
) -> None:
    """(With the browser's own EventSource.)"""
    window = Window(browser, f"{live_server.url}/")
    try:
        window.sign_in("olga", PASSWORD)
        window.page.route("**/stream/**", lambda route: route.abort())
        page = window.open(f"switches/{running.key}/")
        told = page.locator("#stream-lost")
        expect(told).to_contain_text("is interrupted. What is shown is as of")
        page.unroute("**/stream/**")
        there_again = 'event: clients\ndata: {"clients": []}\n\n'
        page.route(
            "**/stream/**", lambda route: route.fulfill(content_type="text/event-stream", body=there_again)
        )
        expect(told).to_be_hidden()
    finally:
        window.close()


def test_a_stream_that_a_proxy_has_refused_is_asked_for_again(
    browser: Browser, live_server: Any, people: SimpleNamespace, engines: SimpleNamespace, running: Switch
) -> None:
    """A browser itself gives up for good when the answer is none of a stream."""
    window = Window(browser, f"{live_server.url}/")
    try:
        window.sign_in("olga", PASSWORD)
        window.page.route("**/stream/**", lambda route: route.fulfill(status=502, body="Bad gateway"))
        page = window.open(f"switches/{running.key}/")
        told = page.locator("#stream-lost")
        expect(told).to_contain_text("is interrupted. What is shown is as of")
        page.unroute("**/stream/**")
        there_again = 'event: clients\ndata: {"clients": []}\n\n'
        page.route(
            "**/stream/**", lambda route: route.fulfill(content_type="text/event-stream", body=there_again)
        )
        expect(told).to_be_hidden(timeout=PAGE_MS)
    finally:
        window.close()


def test_who_is_signed_out_meanwhile_is_asked_to_sign_in(
    browser: Browser, live_server: Any, people: SimpleNamespace, engines: SimpleNamespace, running: Switch
) -> None:
    window = Window(browser, f"{live_server.url}/")
    try:
        window.sign_in("olga", PASSWORD)
        window.page.route("**/stream/**", lambda route: route.fulfill(status=502, body="Bad gateway"))
        page = window.open(f"switches/{running.key}/")
        expect(page.locator("#stream-lost")).to_be_visible()
        page.context.clear_cookies(name="hadash_session")
        page.unroute("**/stream/**")
        page.wait_for_url("**/sign-in/**", timeout=PAGE_MS)
    finally:
        window.close()


def test_an_overview_that_has_not_changed_is_left_alone(
    olga: Window, fleet: SimpleNamespace, engines: SimpleNamespace
) -> None:
    engines.look = Engines({}, 7, (gateway(live=False, excluded=True),))
    page = olga.open()
    page.evaluate("addEventListener('htmx:afterSwap', () => { window.swaps = (window.swaps ?? 0) + 1; })")
    again = page.get_by_role("button", name="Wait for it again")
    again.focus()
    for _ in range(3):
        with page.expect_response(lambda answer: answer.url == olga.url, timeout=PAGE_MS):
            pass
    page.wait_for_timeout(300)
    expect(again).to_be_focused()
    assert page.evaluate("window.swaps") == 1, "the first answer is compared with nothing"


def test_retirement_leaves_the_rest_of_the_page_alone(olga: Window, finished: Switch) -> None:
    from hadash.switching.models.retirements import Retirement
    from hadash.switching.retirement.services import switch_ended

    finished.kind, finished.retire_after_days = "migration", 9
    finished.save()
    switch_ended(finished)
    Retirement.objects.update(status="running")
    page = olga.open(f"switches/{finished.key}/")
    page.fill("#id_text", "Half a sentence")
    address = reverse("switch", args=[finished.key])
    for _ in range(2):
        with page.expect_response(lambda answer: answer.url.endswith(address), timeout=PAGE_MS):
            pass
    page.wait_for_timeout(300)
    expect(page.locator("#id_text")).to_have_value("Half a sentence")
    expect(page.locator("#retirement")).to_have_count(1)


def test_a_schedule_that_is_being_changed_is_left_as_it_is(
    olga: Window, people: SimpleNamespace, fleet: SimpleNamespace, settings: Any, tmp_path: Path
) -> None:
    settings.LAKE = str(tmp_path)
    people.olga.groups.add(Group.objects.get(name="administrator"))
    schedules.known()
    Schedule.objects.update(cron="0 6 * * *")  # all alike: which one is open says its id alone
    page = olga.open("pipeline/")
    page.click("#schedule-risk")
    page.fill("#cron-risk", "0 7 * * mon")
    page.uncheck("#enabled-risk")
    Run.objects.create(job="risk", state="running", began_at=timezone.now())
    expect(page.locator("#live")).to_contain_text("running", timeout=PAGE_MS)
    expect(page.locator("#cron-risk")).to_have_value("0 7 * * mon")
    expect(page.locator("#cron-risk")).to_be_visible()
    expect(page.locator("#enabled-risk")).not_to_be_checked()
    expect(page.locator("#cron-facts")).to_be_hidden()


def test_a_running_switch_is_there_before_plotly_which_comes_for_its_traffic(
    olga: Window, running: Switch
) -> None:
    Switch.objects.filter(pk=running.pk).update(stage="block")
    StageRecord.objects.create(
        switch=running, stage="block", token=1, result="running", started_at=timezone.now()
    )
    page = olga.open(f"switches/{running.key}/")
    page.locator("#chart").scroll_into_view_if_needed()
    expect(page.locator("#chart .main-svg").first).to_be_visible()
    expect(page.locator("#chart")).to_contain_text("No records have passed a Gateway in this time.")
    expect(page.locator("#chart .shapelayer path")).to_have_count(0)  # nothing is shaded without a time axis
    # (No page waits for a script that it adds itself, as it does for one that stands in its head.)
    assert 'plotly.min.js" defer' not in page.request.get(page.url).text()
    assert olga.errors == []


def test_what_a_waiting_switch_would_move_is_drawn(olga: Window, make_switch: Callable[..., Switch]) -> None:
    page = olga.open(f"switches/{make_switch(appid='other').key}/")
    chart = page.locator("[data-chart]").first
    chart.scroll_into_view_if_needed()
    expect(chart.locator(".main-svg").first).to_be_visible()
    page.wait_for_load_state(
        "networkidle"
    )  # (what the page asks for besides, its database must still be there for)
    assert olga.errors == []

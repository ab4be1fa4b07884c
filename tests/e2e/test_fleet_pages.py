"""Every page beside a large generated fleet: names, counts and charts as an estate has them, not as the few rows of
other tests do. The data come by the same tables and jobs; see docs/demo.md.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from dashboard.pictures import Screen, look_at
from playwright.sync_api import Browser, Page, expect
from playwright.sync_api import Error as PlaywrightError
from support.browser import Window, chromium
from support.waiting import SLOWER

from hadash_sandbox.bench.web import pages
from hadash_sandbox.check import show_logs
from hadash_sandbox.demo import Demo

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.long]

#: AppIDs: enough for pages, cuts and an island that takes half of them.
FLEET = 1_000
#: The days ago on which jobs look at it: a difference of two runs needs two.
LOOKED_AT = (7, 0)


#: What pages load later, or scripts read.
NO_PAGES = ("quotas of a cluster", "what it says to scripts")


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    folder = Path(tempfile.mkdtemp(prefix="hadash-fleet-"))
    try:
        with Demo(folder, clients=False, fleet=FLEET, fleet_looked_at=LOOKED_AT) as running:
            yield running
    except BaseException:
        show_logs(folder)
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def addresses(demo: Demo) -> dict[str, str]:
    """Whole pages, by name: neither the API's lists, nor parts that pages load later, nor the administrator's."""
    found = pages.addresses(demo)
    return {
        name: str(each["path"])
        for name, each in found.items()
        if (
            not name.startswith("API")
            and each["who"] == pages.VIEWER
            and name not in NO_PAGES
            and ", " not in name.removeprefix("AppIDs, ").replace("change of bindings", "")
        )
        or name in ("mirror of most Topics, hour", "mirror of most Topics, month")
    }


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium() as found:
        yield found


def _complete(page: Page) -> None:
    """Wait until what comes after the page is there, and the charts in sight are drawn."""
    expect(page.locator("[hx-trigger='load']:has([data-failed])")).to_have_count(0, timeout=60_000 * SLOWER)
    for chart in page.locator("[data-chart]:not(details:not([open]) *)").all():
        chart.scroll_into_view_if_needed()
        expect(chart.locator(".main-svg").first).to_be_visible()
    page.evaluate("scrollTo(0, 0)")


@pytest.mark.parametrize("screen", [Screen("en", "light", 1440), Screen("zh-CN", "dark", 390)], ids=str)
def test_every_page_of_a_large_estate(
    demo: Demo, addresses: dict[str, str], browser: Browser, screen: Screen
) -> None:
    """Each fits on its screen, can be read by everybody, says that it is generated, and has no error in the console.
    All of them are looked at before the test fails: an estate takes minutes to make.
    """
    assert len(addresses) > 30
    window = Window(browser, demo.url, screen.language, width=screen.width, scheme=screen.scheme)
    try:
        window.sign_in(pages.VIEWER, demo.password)
        faults = [
            fault for name, path in addresses.items() if (fault := _fault_of(window.open(path), name, screen))
        ]
        assert not faults, "\n\n".join(faults)
        assert window.errors == [] and window.strangers == []
    finally:
        window.close()


def _fault_of(page: Page, name: str, screen: Screen) -> str:
    """Return what is wrong with a page; empty for nothing."""
    try:
        _complete(page)
        expect(page.locator(".generated").first).to_be_visible()
        look_at(page, f"fleet-{re.sub('[^A-Za-z]+', '-', name)}", screen)
    except (AssertionError, PlaywrightError) as fault:
        return f"{name}: {fault}"
    return ""

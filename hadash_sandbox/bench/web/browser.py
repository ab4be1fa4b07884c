"""Part ``browser``: measures when a page can be used in Chromium, and how smoothly the map of the fleet moves."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from playwright.sync_api import Page, sync_playwright

from hadash_sandbox.bench.report import Report, median
from hadash_sandbox.bench.web.pages import VIEWER
from hadash_sandbox.demo import Demo
from hadash_sandbox.errors import SandboxError

#: How often each page is opened. From the second time on, scripts and styles are in the browser's cache, as for a
#: regular user.
TURNS = 5
#: Goals: milliseconds until a page can be used, and frames a second while the map is moved.
GOAL_MS, GOAL_MAP_MS, GOAL_FRAMES = 1500.0, 3000.0, 30.0
MAP = "island map"
#: Milliseconds in which the map is moved, and pixels.
PAN_MS, PAN_PIXELS = 2000, 300

#: Options of Chromium on a machine without a screen: everything is drawn by the processor.
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
)

#: Milliseconds from the request of a page until it has loaded, the visible charts are drawn, and the browser is idle.
_USABLE = """() => new Promise((done) => {
  const seen = (box) => {
    const at = box.getBoundingClientRect();
    return at.top < innerHeight && at.bottom > 0 && at.height > 0;
  };
  const drawn = () => [...document.querySelectorAll("[data-chart]")].filter(seen)
    .every((box) => box.querySelector(".main-svg"));
  const look = () => document.readyState === "complete" && drawn()
    ? requestIdleCallback(() => done(performance.now())) : requestAnimationFrame(look);
  look();
})"""

#: Frames a second, counted within so many milliseconds.
_FRAMES = """(ms) => new Promise((done) => {
  const begin = performance.now();
  let frames = 0;
  const next = (now) => {
    frames += 1;
    if (now - begin < ms) requestAnimationFrame(next); else done(1000 * frames / (now - begin));
  };
  requestAnimationFrame(next);
})"""


@contextmanager
def signed_in(demo: Demo, username: str = VIEWER) -> Iterator[Page]:
    """A page of Chromium in which ``username`` is signed in.

    :raises SandboxError: Chromium is not installed.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        raise SandboxError("Chromium is not installed: make browser installs it.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_FLAGS))
        try:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(demo.url)
            page.fill("input[name=username]", username)
            page.fill("input[name=password]", demo.password)
            page.click("form button.primary")
            page.wait_for_url(demo.url)
            yield page
        finally:
            browser.close()


def measure(demo: Demo, report: Report, appids: int, paths: Mapping[str, str]) -> None:
    """Measure pages, and the moving of the map, at one size of the fleet.

    :param paths: addresses by the name of the page; one is :data:`MAP`.
    """
    with signed_in(demo) as page:
        for name, path in paths.items():
            took = []
            for _ in range(TURNS):
                page.goto(demo.url + path, wait_until="commit")
                took.append(float(page.evaluate(_USABLE)))
            report.row(
                f"browser at {appids:,} AppIDs",
                page=name,
                first_ms=round(took[0]),
                median_ms=round(median(took[1:])),
                slowest_ms=round(max(took[1:])),
            )
            goal = GOAL_MAP_MS if name == MAP else GOAL_MS
            report.at_most(
                f"{name} at {appids:,} AppIDs can be used after",
                goal,
                max(took),
                "ms",
                samples=len(took),
                needed=TURNS,
            )
        _pan(page, demo.url + paths[MAP], report, appids)


def _pan(page: Page, address: str, report: Report, appids: int) -> None:
    """Move the map with the mouse, and count the frames that are drawn meanwhile."""
    page.goto(address)
    page.evaluate(_USABLE)
    box = page.locator("[data-chart]").first.bounding_box()
    if box is None:
        raise SandboxError("The map is not drawn.")
    middle = (box["x"] + box["width"] / 2, box["y"] + min(box["height"], 600) / 2)
    page.mouse.move(*middle)
    page.mouse.down()
    page.evaluate(f"(ms) => {{ window.counted = ({_FRAMES})(ms); }}", PAN_MS)
    steps = 60
    for step in range(steps):
        page.mouse.move(middle[0] + PAN_PIXELS * step / steps, middle[1])
        page.wait_for_timeout(PAN_MS / steps / 2)
    frames = float(page.evaluate("() => window.counted"))
    page.mouse.up()
    report.row(
        f"browser at {appids:,} AppIDs", page="map while it is moved", frames_a_second=round(frames, 1)
    )
    report.at_least(f"frames while the map of {appids:,} AppIDs is moved", GOAL_FRAMES, frames, "a second")

"""Part ``live``: measures when the page of a running switch, with its picture of real clients, can be used, and when
the chart of its traffic is there as well.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import Page

from hadash_sandbox.bench.report import Report, median
from hadash_sandbox.bench.web.browser import GOAL_MS, signed_in
from hadash_sandbox.demo import Demo
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import Person

#: The switches that are watched, there and back.
APPID, INSTANCE, TARGETS = "shop", "shop-stock", ("west", "east")
#: How often the page has to be opened while a switch runs, at least. One switch takes some seconds.
NEEDED = 5

#: Milliseconds from the request of the page until it has loaded, the picture is drawn, and the browser is idle; an
#: error when the picture is not drawn.
_USABLE = """(limit) => new Promise((done, fail) => {
  const look = () => {
    if (document.readyState === "complete" && document.querySelector("#picture svg *"))
      requestIdleCallback(() => done(performance.now()), { timeout: 1000 });
    else if (performance.now() > limit) fail(new Error("The picture was not drawn."));
    else requestAnimationFrame(look);
  };
  look();
})"""
#: Milliseconds from the request of the page until its traffic, which is drawn when it comes into sight, is there.
_DRAWN = """(limit) => new Promise((done, fail) => {
  document.getElementById("chart").scrollIntoView();
  const look = () => {
    if (document.querySelector("#chart .main-svg")) done(performance.now());
    else if (performance.now() > limit) fail(new Error("The traffic was not drawn."));
    else requestAnimationFrame(look);
  };
  look();
})"""
#: Milliseconds after which a page counts as not drawn.
LIMIT_MS = 30_000


def measure(demo: Demo, report: Report) -> None:
    """Make two real switches, and open their page again and again from the approval to the end."""
    operator = Person(demo.url, "olga", demo.password)
    approver = Person(demo.url, "arne", demo.password)
    took: list[float] = []
    drawn: list[float] = []
    with signed_in(demo, "olga") as page, ThreadPoolExecutor(1) as aside:
        for target in TARGETS:
            key = operator.request(APPID, INSTANCE, target, "to be looked at")
            _open(page, demo, key)  # (puts scripts and styles into the cache, as for a regular user)
            approval = aside.submit(approver.approve, key)
            while (status := _status(operator, key)) in ("awaiting_approval", "approved", "running"):
                ms = _open(page, demo, key)
                if status == "running":
                    took.append(ms)
                    drawn.append(float(page.evaluate(_DRAWN, LIMIT_MS)))
            approval.result().raise_for_status()
            if status != "succeeded":
                raise SandboxError(f"Switch {key} is {status}.")
    report.row(
        "page of a switch that runs",
        times=len(took),
        median_ms=round(median(took)) if took else None,
        slowest_ms=round(max(took, default=0)),
        traffic_median_ms=round(median(drawn)) if drawn else None,
    )
    report.at_most(
        "live switch can be used after",
        GOAL_MS,
        max(took, default=None),
        "ms",
        samples=len(took),
        needed=NEEDED,
    )


def _open(page: Page, demo: Demo, key: str) -> float:
    page.goto(f"{demo.url}switches/{key}/", wait_until="commit")
    return float(page.evaluate(_USABLE, LIMIT_MS))


def _status(person: Person, key: str) -> str:
    return str(person.call("GET", f"switches/{key}/")["status"])

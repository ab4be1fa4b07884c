"""Part ``plans``: measures previews, from the click until they are drawn, and requests, in a large real pair."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from urllib.parse import urlencode

import psutil

from hadash_sandbox.bench.report import Report, median, quantile
from hadash_sandbox.bench.web.browser import signed_in
from hadash_sandbox.bench.web.rest import await_rest
from hadash_sandbox.demo import ROOT, Demo
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import Person

#: Number of previews, of random AppIDs, each right after a change of the AppID; and number of requests.
PREVIEWS, REQUESTS = 60, 40
GOAL_SECONDS, GOAL_GIB = 1.0, 1.0
#: Milliseconds after which the checks of a preview count as not answered: their own time limit is shorter.
CHECKED_MS = 60_000
#: The switch of the demo's world, with clients, that is requested and cancelled in the same pair.
APPID, INSTANCE, TARGET = "shop", "shop-stock", "west"

#: Milliseconds after which a preview counts as not drawn.
DRAWN_MS = 60_000

#: Milliseconds from the request of the preview until it is on the page with its picture. An error has the text that is
#: on the page instead.
_DRAWN = """([path, limit]) => new Promise((done, failed) => {
  const begin = performance.now();
  const part = document.createElement("div");
  document.getElementById("main").append(part);
  htmx.ajax("GET", path, { target: part, swap: "innerHTML" });
  const look = () => {
    const boxes = [...part.querySelectorAll("[data-chart]")];
    // A chart is drawn when it comes into sight.
    boxes.find((box) => !box.querySelector(".main-svg"))?.scrollIntoView();
    if (part.innerHTML && boxes.every((box) => box.querySelector(".main-svg"))) {
      done(performance.now() - begin);
      part.remove();
    } else if (performance.now() - begin > limit)
      failed(new Error(`not drawn: ${part.innerText.slice(0, 500) || "nothing came"}`));
    else requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
})"""


def fill(demo: Demo, appids: int) -> None:
    """Make the demo's pair large, see :mod:`hadash_sandbox.bench.web.crowd`.

    :raises SandboxError: it failed.
    """
    command = [sys.executable, "-m", "hadash_sandbox.bench.web.crowd", "--appids", str(appids)]
    done = subprocess.run(
        command, env={**demo.environment()}, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SandboxError(f"The pair could not be filled: {done.stderr[-1500:]}")


def measure(demo: Demo, report: Report, appids: int) -> None:
    """Measure previews, their checks, requests, and the memory of the web process.

    :param appids: the AppIDs of the pair, for the names of tables and goals.
    """
    operator = Person(demo.url, "olga", demo.password)
    known = [each["id"] for each in _appids(operator)]
    chance = random.Random(5)
    table = f"plans in a pair of {appids:,} AppIDs"
    with signed_in(demo, "olga") as page:
        took, checked, too_many = [], [], 0
        page.goto(f"{demo.url}switches/request/?{urlencode({'appid': operator.appid(APPID)})}")
        # After its start the web process reads every binding once; from then on, only changed ones.
        report.row(table, what="waited for rest", median_s=round(await_rest(), 1))
        began = time.perf_counter()
        page.evaluate(_DRAWN, [_preview(known[0]), DRAWN_MS])
        report.row(
            table, what="first preview since the start", median_s=round(time.perf_counter() - began, 2)
        )
        for number in range(PREVIEWS):
            appid = chance.choice(known)
            _change(operator, appid, number)
            path = _preview(appid)
            took.append(float(page.evaluate(_DRAWN, [path, DRAWN_MS])) / 1000)
            began = time.perf_counter()
            page.request.get(
                demo.url + path.removeprefix("/").replace("/preview/", "/checks/"), timeout=CHECKED_MS
            )
            checked.append(time.perf_counter() - began)
            too_many += (
                "more than ZooKeeper takes" in page.request.get(demo.url + path.removeprefix("/")).text()
            )
    _judge(report, appids, "preview right after a change", took, PREVIEWS)
    _judge(report, appids, "checks of a preview", checked, PREVIEWS)
    report.row(table, what="previews of more than one switch can move", times=too_many)
    asked = []
    for _ in range(REQUESTS):
        began = time.perf_counter()
        key = operator.request(APPID, INSTANCE, TARGET, "to be measured")
        asked.append(time.perf_counter() - began)
        operator.post(f"switches/{key}/cancel/", reason="measured").raise_for_status()
    _judge(report, appids, "request of a real switch", asked, REQUESTS)
    if demo.web is None or demo.web.pid is None:
        raise SandboxError("There is no web process.")
    gib = psutil.Process(demo.web.pid).memory_info().rss / 2**30
    report.row(table, what="memory of the web process", gib=round(gib, 2))
    report.at_most(f"memory of the web process at {appids:,} AppIDs", GOAL_GIB, gib, "GiB")


def _preview(appid: int) -> str:
    return f"/switches/request/preview/?{urlencode({'appid': appid, 'scope': 'appid', 'target': TARGET})}"


def _judge(report: Report, appids: int, what: str, took: list[float], needed: int) -> None:
    """Add a row and a goal.

    :param took: seconds from the click to the result.
    """
    p95 = quantile(took, 0.95)
    report.row(
        f"plans in a pair of {appids:,} AppIDs",
        what=what,
        times=len(took),
        median_s=round(median(took), 2),
        p95_s=round(p95, 2),
        slowest_s=round(max(took), 2),
    )
    report.at_most(
        f"{what} at {appids:,} AppIDs, p95", GOAL_SECONDS, p95, "s", samples=len(took), needed=needed
    )


def _appids(person: Person) -> list[dict[str, int]]:
    """The first thousand AppIDs of the pair, at most."""
    found: list[dict[str, int]] = []
    for page in range(1, 11):
        answer = person.call("GET", f"appids/?{urlencode({'pair': 'main', 'page': page, 'page_size': 100})}")
        found += answer["results"]
    return found


def _change(person: Person, appid: int, number: int) -> None:
    """Register one more InstanceID, which changes the graph."""
    person.call("POST", f"appids/{appid}/instances/", {"name": f"measured-{number}"})

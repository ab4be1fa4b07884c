"""Pages with charts in a real browser, in both languages, light and dark, on a desk and on a telephone.

Pictures are kept in ``var/pictures``: look at them after each change of a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, Page, expect
from support.browser import Window

from dashboard.graph_parts import FLEET, publish_graph, uses_of
from dashboard.parts import PASSWORD
from dashboard.pictures import SCREENS, Screen, can_be_read, look_at
from dashboard.test_clusters import TABLES
from dashboard.test_gateways import STATUS
from hadash.dashboard.groups.looking import Lag, Look
from hadash.dashboard.views import clusters, groups
from hadash.governance.models.posture import Posture
from hadash.governance.models.published import AdviceStep, Coverage, CoverageCell, LagDay, Sharing
from hadash.governance.models.runs import Run
from hadash.inventory import sampling
from hadash.inventory.models import Access, AppID, Cluster, ClusterSample, ClusterState, Pair
from hadash.kafka.values import GroupInfo, GroupMember, Partition, QuotaEntity
from hadash.lake import snapshots
from hadash.lake.store import Store
from hadash.mirroring.models import LagSample, Mirror, PairLag
from hadash.switching.models.switches import StageRecord, Switch

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.django_db(transaction=True)]

PAGES = {
    "overview": "",
    "coverage": "governance/tables/coverage/",
    "sharing": "governance/tables/sharing/",
    "advice": "governance/tables/advice/",
    "lag": "governance/tables/lag/",
    "uncovered": "governance/uncovered/",
    "search": "search/?q=sho",
    "appid": "appids/{shop}/",
    "clusters": "clusters/",
    "cluster": "clusters/east/",
    "gateways": "gateways/",
    "gateway": "gateways/gateway-1/",
    "mirrors": "mirrors/?window=hour",
    "mirror": "mirrors/main/shop/?window=hour",
    "graph": "graph/",
    "island": "graph/?island=0",
    "focus": "graph/focus/?appid=shop",
    "differences": "graph/?since={before}",
    "groups": "groups/",
    "group": "groups/east/readers/?change=more",
}

#: How many charts each of them has.
CHARTS = {
    "overview": 0,
    "coverage": 2,
    "sharing": 4,
    "advice": 1,
    "lag": 1,
    "uncovered": 0,
    "search": 0,
    "appid": 2,
    "clusters": 0,
    "cluster": 2,
    "gateways": 0,
    "gateway": 8,
    "mirrors": 1,
    "mirror": 5,
    "graph": 1,
    "island": 1,
    "focus": 1,
    "differences": 1,
    "groups": 0,
    "group": 1,
}

APPIDS, DAYS = 500, 30


@pytest.fixture
def published(
    fleet: SimpleNamespace, engines: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> SimpleNamespace:
    """What runs have published of 500 AppIDs, and how the pair has stood for thirty days."""
    now = timezone.now()
    runs = {
        job: Run.objects.create(job=job, state=Run.State.PUBLISHED, began_at=now, ended_at=now)
        for job in (Run.Job.TOPOLOGY, Run.Job.COVERAGE, Run.Job.ADVICE, Run.Job.LAG)
    }
    names = ["shop", "购物", *(f"app-{number:03d}" for number in range(APPIDS - 2))]
    AppID.objects.bulk_create(AppID(name=name, pair=fleet.pair) for name in names[1:])
    clients = [1 + 300 // (number + 1) for number in range(APPIDS)]
    Sharing.objects.bulk_create(
        Sharing(
            run=runs[Run.Job.TOPOLOGY], pair="main", appid=name, clients=many, hosts=2, libraries=1, groups=1, topics=3,
            applications=1 + many // 9, radius=2 + number % 40 * many // 3, radius_by_appid=60,
        )
        for number, (name, many) in enumerate(zip(names, clients, strict=True))
    )  # fmt: skip
    Coverage.objects.bulk_create(
        Coverage(
            run=runs[Run.Job.COVERAGE], pair="main", appid=name, clients=many, registered=many // 2, nameless=0,
            new_clients=1, days=7, duplicates=0, bypassing=0, topics=3, mirrored=3,
        )
        for name, many in zip(names, clients, strict=True)
    )  # fmt: skip
    CoverageCell.objects.bulk_create(
        CoverageCell(
            run=runs[Run.Job.COVERAGE],
            pair="main",
            appid=name,
            topic=f"{name}.topic-{topic}",
            clients=4,
            registered=4 if (number + topic) % 3 else 1,
            nameless=0,
            changing=int(number == 3),
            duplicates=int(number == 4),
            bypassing=int(number == 5),
        )
        for number, name in enumerate(names[:20])
        for topic in range(3)
    )
    AdviceStep.objects.bulk_create(
        AdviceStep(
            run=runs[Run.Job.ADVICE], pair="main", place=place, appid=names[place], before=90 - 8 * place,
            after=80 - 8 * place, island=1, clients=["web-1", "web-2"], hosts=["10.0.0.1"],
        )
        for place in range(1, 9)
    )  # fmt: skip
    today = now.date()
    for age in range(DAYS):
        day = today - timedelta(days=age)
        Posture.objects.create(
            pair="main",
            day=day,
            appids=500,
            mirrored_appids=500 - age,
            clients=2000,
            registered=1600 - 25 * age,
            shared_appids=300 + age,
            largest_radius=90 + age,
            largest_radius_by_appid=250,
            high=age // 5,
            medium=10,
            low=4,
        )
        for mirror in ("carts", "stock"):
            if age in (11, 12):
                continue  # nobody has sampled
            LagDay.objects.create(
                run=runs[Run.Job.LAG],
                pair="main",
                mirror=mirror,
                date=day,
                samples=1000,
                unknown=0,
                over_rpo=int(age == 20),
                seconds_p50=0.4,
                seconds_p95=1.5 + age % 4,
                seconds_most=45.0 if age == 20 else 8.0,
                records_most=900,
            )
    _samples(fleet.mirror)
    _graph(fleet.pair)
    _groups(monkeypatch, tmp_path)
    _gateways_and_clusters(fleet.east, monkeypatch)
    before = Run.objects.filter(job=Run.Job.TOPOLOGY, rows__has_key="edges").order_by("pk").first()
    return SimpleNamespace(
        pages={appid.name: appid.pk for appid in AppID.objects.all()} | {"before": before and before.pk}
    )


def _samples(mirror: Mirror) -> None:
    """Ten minutes of lag: late for one of them, not known for another, and one without samples. A task has
    failed and runs again.
    """
    now = timezone.now()
    LagSample.objects.all().delete()
    for minutes in range(50, 0, -1):
        at, seconds = now - timedelta(minutes=minutes), 41.0 if 20 < minutes < 25 else 0.4 * (minutes % 5)
        PairLag.objects.create(pair=mirror.pair, at=at, seconds=seconds, unknown=0)
    for place in range(300):
        at = now - timedelta(seconds=2 * (300 - place))
        if 60 <= place < 90:
            continue
        known = not 200 <= place < 230
        late = 120 <= place < 150
        LagSample.objects.create(
            mirror=mirror, at=at, records=(4000 if late else place % 7) if known else None,
            seconds=(41.0 if late else 0.3 * (place % 7)) if known else None, state="running" if known else "unknown",
            partitions={"carts-0": place % 7, "carts-1": 0, "carts-2": 12},
            partition_seconds={"carts-0": 0.3 * (place % 7), "carts-2": 41.0 if late else 1.5},
        )  # fmt: skip
    task = {
        "connector": "c",
        "id": 0,
        "state": "RUNNING",
        "worker": "10.0.0.7:8083",
        "since": now.isoformat(),
    }
    error = {
        "error": "org.apache.kafka.common.errors.TimeoutException: 磁盘已满",
        "error_at": now.isoformat(),
    }
    mirror.tasks = [{**task, **error, "restarts": 2, "counted_since": now.isoformat()}]
    mirror.known_ends = [["carts", number, 9000 + number] for number in range(4)]
    mirror.save()


def _gateways_and_clusters(east: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour of a Gateway that was restarted, a day of a cluster that was away, and a month of its partitions."""
    now = timezone.now()
    for place in range(240):
        at = now - timedelta(seconds=15 * (239 - place))
        since_start = place if place < 160 else place - 160
        fetched = 900 * since_start
        status = {
            **STATUS,
            "started": (
                now - timedelta(hours=2 if place < 160 else 0, minutes=0 if place < 160 else 20)
            ).timestamp(),
            "connections_by_cluster": {"east": 23 if place < 200 else 4, "west": 0 if place < 200 else 19},
            "requests": [
                ["FETCH", "east", fetched, 60 * fetched, 900 * fetched],
                ["PRODUCE", "east", 300 * since_start, 0, 0],
            ],
            "refused": {"unknown user": since_start // 30},
            "parked": 14 if place == 200 else 0,
            "cpu_seconds": 0.6 * since_start,
        }
        sampling.sample_of("gateway-1", status, at).save()
        ClusterSample.objects.create(
            cluster=east, at=at, milliseconds=None if 90 <= place < 100 else 3 + place % 5
        )
    for day in range(30):
        at = now - timedelta(days=29 - day)
        ClusterState.objects.create(
            cluster=east,
            at=at,
            controller=1 + (day > 12),
            controller_epoch=5 + (day > 12),
            mode="kraft",
            version="3.9",
            brokers=3,
            topics=9,
            partitions=33,
            leaderless=int(day == 13),
            under_replicated=4 if day in (13, 14) else 0,
            under_min_isr=int(day == 13),
        )
    limits = {QuotaEntity(user="购物"): {"producer_byte_rate": 1024.0}}
    monkeypatch.setattr(
        clusters,
        "cluster_client",
        lambda cluster: SimpleNamespace(quotas=lambda: limits if cluster == east else {}),
    )


def _graph(pair: Pair) -> None:
    """Two runs of many islands; the newest is the one whose table of sharing is shown."""
    crowd = [
        use
        for number in range(60)
        for use in uses_of(
            f"app-{number:03d}",
            produce=[f"topic-{number}"],
            consume=[f"topic-{number // 9}"],
            group=f"group-{number}",
        )
    ]
    publish_graph(pair, [*FLEET, *crowd], at=timezone.now() - timedelta(days=1))
    now = publish_graph(pair, [*FLEET, *crowd[:-8], *uses_of("购物", consume=["orders"])], west=["bookings"])
    Sharing.objects.update(run=now)


def _groups(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A snapshot with groups, and one that its cluster tells of."""
    monkeypatch.setattr(settings, "LAKE", str(folder / "lake"))
    rows = [
        {
            "cluster": "east",
            "group": f"readers-{number:02d}",
            "state": "Stable",
            "protocol": "range",
            "coordinator": 1,
        }
        for number in range(60)
    ]
    snapshots.write(Store(settings.LAKE), timezone.now(), {**TABLES, "groups": rows})
    members = tuple(
        GroupMember(
            f"reader-{number}-7f3c", f"reader-{number}", f"10.0.0.{number}",
            tuple(Partition("orders", index) for index in range(number, 12, 3)), ("orders",),
        )
        for number in range(3)
    )  # fmt: skip
    lags = [
        Lag("orders", index, f"reader-{index % 3}", 90, 100 + index if index else None) for index in range(12)
    ]
    look = Look(
        GroupInfo("readers", "Stable", 1, members, "cooperative-sticky"), {"orders": 12}, frozenset(), lags
    )
    monkeypatch.setattr(groups, "look_at", lambda cluster, name: look)


@pytest.fixture
def olga(browser: Browser, live_server: Any, people: SimpleNamespace, published: Any) -> Iterator[Window]:
    window = Window(browser, f"{live_server.url}/")
    window.sign_in("olga", PASSWORD)
    yield window
    window.close()


def drawn(page: Page, charts: int) -> None:
    """Wait until all charts are drawn: they are when they come into sight, and some are on parts that come
    after the page.
    """
    expect(page.locator("[data-failed]")).to_have_count(0)
    for number in range(charts):
        chart = page.locator("[data-chart]").nth(number)
        # (By the page itself: a part that renews itself may take the chart away between two steps of Playwright's.)
        chart.evaluate("element => element.scrollIntoView({ block: 'center' })")
        expect(chart.locator(".main-svg").first).to_be_visible()
    page.evaluate("scrollTo(0, 0)")


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_every_page_loads_only_what_it_may_and_can_be_read_by_everybody(
    browser: Browser,
    live_server: Any,
    people: SimpleNamespace,
    published: Any,
    screen: Screen,
) -> None:
    window = Window(browser, f"{live_server.url}/", screen.language, width=screen.width, scheme=screen.scheme)
    try:
        window.sign_in("olga", PASSWORD)
        for name, address in screen.pages(PAGES).items():
            page = window.open(address.format(**published.pages))
            drawn(page, CHARTS[name])
            look_at(page, name, screen)
        assert window.errors == [] and window.strangers == []
    finally:
        window.close()


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


def test_what_somebody_has_zoomed_into_stands_in_the_address(olga: Window) -> None:
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    box = page.locator("[data-chart] .nsewdrag").first.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.5, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.9, box["y"] + box["height"] - 20, steps=5)
    page.mouse.up()
    page.wait_for_url(re.compile("zoom-lag-by-day="))
    ends = "document.querySelector('[data-chart]').layout.xaxis.range.map((end) => Math.floor(new Date(end)))"
    shown = page.evaluate(ends)
    page.reload()
    drawn(page, 1)
    assert page.evaluate(ends) == shown
    page.get_by_role("button", name="Show all").click()
    page.wait_for_url(lambda url: "zoom" not in url)


def test_who_is_sent_an_address_looks_at_the_same_time_wherever_they_live(
    olga: Window, browser: Browser, live_server: Any
) -> None:
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    closer = page.get_by_role("button", name="Closer")
    closer.press("Enter")
    page.wait_for_url(re.compile("zoom-lag-by-day="))
    instants = (
        "document.querySelector('[data-chart]').layout.xaxis.range.map((end) => new Date(end).getTime())"
    )
    shown = page.evaluate(instants)
    elsewhere = Window(browser, f"{live_server.url}/", zone="America/New_York")
    try:
        elsewhere.sign_in("olga", PASSWORD)
        theirs = elsewhere.open(page.url.removeprefix(f"{live_server.url}/"))
        drawn(theirs, 1)
        assert theirs.evaluate(instants) == shown
        before = shown[1] - shown[0]
        theirs.get_by_role("button", name="Further away").press("Enter")
        theirs.wait_for_function(f"({instants}).reduce((from, to) => to - from) > {1.9 * before}")
    finally:
        elsewhere.close()


def test_what_a_mark_leads_to_can_be_reached_with_keys_alone(
    olga: Window, published: SimpleNamespace
) -> None:
    page = olga.open(PAGES["sharing"])
    drawn(page, 3)
    card = page.locator("#ranking")
    card.locator("summary").press("Enter")
    card.get_by_role("link", name="shop", exact=True).press("Enter")
    page.wait_for_url(re.compile(reverse("appid", args=[published.pages["shop"]])))


def test_a_chart_is_moved_and_zoomed_with_keys(olga: Window) -> None:
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    ends = "document.querySelector('[data-chart]').layout.xaxis.range.map((end) => new Date(end).getTime())"
    first, last = page.evaluate(ends)
    chart = page.locator("[data-chart]").first
    chart.press("+")
    page.wait_for_url(re.compile("zoom-lag-by-day="))
    closer = page.evaluate(ends)
    assert closer[1] - closer[0] == pytest.approx((last - first) / 2, rel=0.01)
    chart.press("ArrowRight")
    page.wait_for_function(f"({ends})[0] > {closer[0]}")
    assert page.evaluate(ends)[0] - closer[0] == pytest.approx((closer[1] - closer[0]) / 5, rel=0.01)
    chart.press("ArrowDown")
    assert page.evaluate(ends)[0] > closer[0], "which moves maps alone"
    chart.press("0")
    page.wait_for_url(lambda url: "zoom" not in url)
    assert olga.errors == []


def test_what_is_looked_at_stays_in_another_order_and_goes_with_another_time(olga: Window) -> None:
    page = olga.open(PAGES["mirror"])
    drawn(page, 1)
    page.locator("[data-chart]").first.press("+")
    page.wait_for_url(re.compile("zoom-lag="))
    zoom = dict(parse_qsl(urlsplit(page.url).query))["zoom-lag"]
    page.locator("#part-incidents th", has_text="From").get_by_role("button").click()
    page.wait_for_url(re.compile("incidents-order="))
    page.locator("#part-topics").get_by_role("link", name="Records behind").click()
    page.wait_for_url(re.compile("topics-sort="))
    told = dict(parse_qsl(urlsplit(page.url).query))
    assert told["zoom-lag"] == zoom and "incidents-order" in told and told["window"] == "hour"
    page.get_by_role("link", name="24 hours").click()
    page.wait_for_url(re.compile("window=day"))
    assert "zoom-lag" not in page.url and "incidents-order" in page.url
    assert olga.errors == []


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


def test_colours_follow_the_theme(olga: Window) -> None:
    page = olga.open(PAGES["lag"])
    drawn(page, 1)
    colour = "document.querySelector('[data-chart]').layout.font.color"
    light = page.evaluate(colour)
    page.locator("[data-theme-toggle]").click()
    page.wait_for_function(f"{colour} !== {light!r}")


def test_the_record_of_a_switch_can_be_kept_as_a_pdf(olga: Window, finished: Switch) -> None:
    Switch.objects.filter(pk=finished.pk).update(
        facts={"drained": [["carts", n, 900 + n, 400 + n] for n in range(120)]}
    )
    page = olga.open(f"switches/{finished.key}/record/")
    expect(page.get_by_role("button", name="Print")).to_be_visible()
    look_at(page, "record", Screen("en", "light", 1440))
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


def test_the_search_is_a_key_away_but_for_those_who_type(olga: Window, published: SimpleNamespace) -> None:
    page = olga.open("groups/")
    page.locator("main").press("/")
    page.keyboard.type("购物")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/search/|/appids/"))
    page.goto(f"{olga.url}search/?q=a/b&list=1")
    page.locator("main input[type=search]").press("/")
    expect(page.locator("main input[type=search]")).to_be_focused()


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

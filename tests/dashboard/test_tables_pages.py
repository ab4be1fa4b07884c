"""What the runs have published, as tables: of which run, in which order, with which filters."""

from __future__ import annotations

import csv
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from support.html import squeezed

from hadash.audit.models import Entry
from hadash.dashboard.charts.coverage_map import APPIDS as APPIDS_DRAWN
from hadash.dashboard.charts.of_tables import charts_of
from hadash.governance import selectors
from hadash.governance.models.published import AdviceStep, Coverage, CoverageCell, Edge, LagDay, Node, Sharing
from hadash.governance.models.runs import Run

from .parts import page, run_of

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def tables(fleet: SimpleNamespace) -> None:
    now = timezone.now()
    topology, coverage, advice, lag = (
        run_of(job) for job in (Run.Job.TOPOLOGY, Run.Job.COVERAGE, Run.Job.ADVICE, Run.Job.LAG)
    )
    counts = {"hosts": 2, "requests": 10, "records": 1234567, "bytes": 1}
    Edge.objects.create(
        run=topology, pair="main", appid="shop", client_id=None, kind="produce", resource="carts",
        cluster="east", first_seen=now, last_seen=now, **counts,
    )  # fmt: skip
    for names, radius in ((["carts"], 3), (["a", "b", "c", "d", "e", "购物车"], 9)):
        Node.objects.create(
            run=topology, pair="main", kind="topic", names=names, cluster="east", island=1,
            radius_instance=radius, radius_appid=radius + 1,
        )  # fmt: skip
    Sharing.objects.create(
        run=topology, pair="main", appid="shop", clients=4, hosts=2, libraries=1, groups=1, topics=1
    )
    old = Run.objects.create(job=Run.Job.COVERAGE, state=Run.State.FAILED, ended_at=now)
    for run, appid, clients in ((coverage, "shop", 4), (coverage, "billing", 40), (old, "never", 1)):
        numbers = dict.fromkeys(
            ("registered", "nameless", "new_clients", "days", "duplicates", "bypassing"), 0
        )
        Coverage.objects.create(run=run, pair="main", appid=appid, clients=clients, **numbers)
    AdviceStep.objects.create(
        run=advice,
        pair="main",
        place=1,
        appid="shop",
        before=9,
        after=3,
        island=1,
        clients=["x"],
        hosts=["h"],
    )
    LagDay.objects.create(
        run=lag, pair="main", mirror="carts", date=now.date(), samples=10, unknown=1, over_rpo=2,
        seconds_p50=0.5, seconds_p95=None, seconds_most=12.5, records_most=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("coverage", "billing"),
        ("radii", "购物车"),
        ("sharing", "shop"),
        ("edges", "1,234,567"),
        ("advice", "shop"),
        ("lag", "12.5 s"),
    ],
)
def test_each_table(as_vera: Client, tables: None, name: str, shown: str) -> None:
    assert shown in page(as_vera, "table", name)
    answer = as_vera.get(reverse("table", args=[name]), {"format": "csv"})
    assert len(b"".join(answer.streaming_content).decode().splitlines()) >= 2


@pytest.mark.parametrize(
    ("name", "show", "shown"),
    [
        ("coverage", "under-ha", {"billing"}),
        ("coverage", "not-mirrored", {"shop"}),
        ("coverage", "unregistered", {"shop", "billing"}),
        ("coverage", "bypassing", set()),
        ("coverage", "no such filter", {"shop", "billing"}),
        ("sharing", "shared", {"shop"}),
    ],
)
def test_a_table_shows_what_a_figure_counts(
    as_vera: Client, tables: None, name: str, show: str, shown: set[str]
) -> None:
    Coverage.objects.filter(appid="shop").update(topics=3, mirrored=2)
    text = page_with(as_vera, name, show=show)
    rows = text.split('id="rows"', 1)[1].split("</section>", 1)[0]
    assert {appid for appid in ("shop", "billing") if appid in rows} == shown
    answer = as_vera.get(reverse("table", args=[name]), {"format": "csv", "show": show})
    lines = b"".join(answer.streaming_content).decode().splitlines()[1:]  # type: ignore[attr-defined]
    assert {line.split(",")[1] for line in lines} == shown
    asked = as_vera.get(f"/api/v1/tables/{name}/", {"show": show})
    if show == "no such filter":
        assert asked.status_code == 400 and "under-ha" in asked.json()["errors"]["show"][0]
    else:
        assert {row["appid"] for row in asked.json()["results"]} == shown


def page_with(client: Client, name: str, **asked: str) -> str:
    return client.get(reverse("table", args=[name]), asked).content.decode()


def test_all_of_an_island_is_a_table(as_vera: Client, tables: None) -> None:
    run = Run.objects.filter(job=Run.Job.TOPOLOGY, state=Run.State.PUBLISHED).latest("pk")
    Node.objects.filter(run=run).update(island=7)
    rows = page_with(as_vera, "radii", island="7").split("<tbody", 1)[1]
    assert "购物车" in rows
    assert "Nothing fits." in page_with(as_vera, "radii", island="8")
    assert "购物车" in page_with(as_vera, "radii", island="seven"), "what is no number is no filter"


def test_only_what_is_published_is_shown(as_vera: Client, tables: None) -> None:
    assert "never" not in page(as_vera, "table", "coverage").split("<tbody", 1)[1]


def test_coverage_of_a_pair_over_time(as_vera: Client, tables: None) -> None:
    later = run_of(Run.Job.COVERAGE)
    numbers = dict.fromkeys(("nameless", "new_clients", "days", "duplicates", "bypassing"), 0)
    Coverage.objects.create(run=later, pair="main", appid="shop", clients=8, registered=6, **numbers)
    first, second = selectors.coverage_over_time(["main"])
    assert (first["run"], first["clients"], first["registered"]) == (later.pk, 8, 6)
    assert (second["clients"], second["registered"]) == (44, 0)  # both AppIDs, and no run that has failed
    assert "75 %" in page(as_vera, "table", "coverage")


def test_coverage_of_one_appid_over_time(as_vera: Client, tables: None, fleet: Any) -> None:
    later = run_of(Run.Job.COVERAGE)
    numbers = dict.fromkeys(("nameless", "new_clients", "days", "duplicates", "bypassing"), 0)
    for appid, clients in (("shop", 8), ("billing", 50)):
        Coverage.objects.create(run=later, pair="main", appid=appid, clients=clients, registered=6, **numbers)
    text = page(as_vera, "appid", fleet.shop.pk).split("Coverage over time", 1)[1]
    assert "75 %" in text and '<td class="num">8</td>' in text
    assert '<td class="num">58</td>' not in text, "clients of all AppIDs"
    found = as_vera.get("/api/v1/tables/coverage/over-time/", {"appid": "shop"}).json()
    assert (found[0]["run"], found[0]["clients"], found[0]["registered"]) == (later.pk, 8, 6)
    assert as_vera.get("/api/v1/tables/coverage/over-time/").json()[0]["clients"] == 58
    assert as_vera.get("/api/v1/tables/coverage/over-time/", {"pair": "other"}).json() == []


def test_order_and_search_stand_in_the_address(as_vera: Client, tables: None) -> None:
    text = squeezed(page(as_vera, "table", "coverage", sort="clients"))
    assert text.index(">shop<") < text.index(">billing<")
    text = squeezed(page(as_vera, "table", "coverage", sort="-clients"))
    assert text.index(">billing<") < text.index(">shop<")
    assert 'aria-sort="descending"' in text
    assert "+2" in page(as_vera, "table", "radii", q="购物")
    assert "Nothing fits" in page(as_vera, "table", "radii", q="nowhere")


def test_the_map_of_coverage_shows_what_is_looked_for(as_vera: Client, fleet: Any) -> None:
    """Of many AppIDs a few are drawn: a search finds the others, by their Topics, too."""
    run = run_of(Run.Job.COVERAGE)
    CoverageCell.objects.bulk_create(
        CoverageCell(
            run=run, pair="main", appid=f"app-{number:03d}", topic=f"topic-{number}", clients=5, registered=number % 2,
            nameless=0, changing=0, duplicates=0, bypassing=int(number == 99),
        )
        for number in range(100)
    )  # fmt: skip
    _trend, whole = charts_of("coverage", run, ["main"])
    assert len(whole.traces[0]["y"]) == APPIDS_DRAWN and f"{APPIDS_DRAWN} of 100 AppIDs" in str(whole.says)
    assert all("app-001" not in name for name in whole.traces[0]["y"]), "half of them have less to do"
    _trend, one = charts_of("coverage", run, ["main"], "APP-001")
    assert [row[1] for row in one.rows] == ["app-001"]
    _trend, by_topic = charts_of("coverage", run, ["main"], "topic-99")
    assert [row[1] for row in by_topic.rows] == ["app-099"]
    answer = as_vera.get(reverse("table", args=["coverage"]), {"csv": "coverage-map"})
    head, *rows = csv.reader(b"".join(answer.streaming_content).decode().splitlines())  # type: ignore[attr-defined]
    appids = [row[head.index("appid")] for row in rows]
    assert sorted(appids) == [f"app-{number:03d}" for number in range(100)], (
        "the CSV has those that are not drawn"
    )
    assert appids[:2] == ["app-099", "app-000"], "the worst states first, then by name"
    text = page(as_vera, "table", "coverage", q="nobody")
    assert "No AppID and no Topic of the map has “nobody” in its name." in text


def test_there_is_no_such_table(as_vera: Client) -> None:
    assert as_vera.get(reverse("table", args=["secrets"])).status_code == 404


@pytest.mark.parametrize("name", ["coverage", "radii", "sharing", "edges", "advice", "lag"])
def test_a_table_that_no_run_has_made_says_so(as_vera: Client, fleet: Any, name: str) -> None:
    assert "has not run yet" in page(as_vera, "table", name)


def test_an_operator_calls_an_appid_critical_and_takes_it_back(
    as_olga: Client, as_vera: Client, fleet: SimpleNamespace
) -> None:
    address = reverse("mark-critical", args=[fleet.shop.pk])
    tag = '<span class="tag">critical</span>'
    assert tag not in page(as_olga, "appid", fleet.shop.pk)
    for _ in range(2):  # a double click
        assert as_olga.post(address, {"critical": "yes"}).status_code == 302
    assert tag in page(as_olga, "appid", fleet.shop.pk) and tag in page(as_vera, "appids")
    assert "Not critical any more" in page(as_olga, "appid", fleet.shop.pk)
    assert "Not critical any more" not in page(as_vera, "appid", fleet.shop.pk)
    assert as_vera.post(address, {"critical": "no"}).status_code == 403
    answer = as_olga.patch(
        f"/api/v1/appids/{fleet.shop.pk}/",
        {"critical": False},
        "application/json",
        HTTP_IDEMPOTENCY_KEY="k-1",
    )
    assert (answer.status_code, answer.json()["critical"]) == (200, False)
    said = Entry.objects.filter(verb__startswith="mark").order_by("number")
    assert [(entry.verb, entry.subject, entry.actor_name) for entry in said] == [
        ("mark critical", "AppID shop of pair main", "olga"),
        ("mark not critical", "AppID shop of pair main", "olga"),
    ]


def test_the_work_list_tells_both_radii_or_that_nobody_is_critical(as_vera: Client, tables: None) -> None:
    cells = page(as_vera, "table", "advice").split("<tbody", 1)[1]
    assert cells.count('<span class="quiet">–</span>') == 2
    AdviceStep.objects.update(critical_before=777, critical_after=555)
    cells = page(as_vera, "table", "advice").split("<tbody", 1)[1]
    assert "777" in cells and "555" in cells


class TestRanges:
    """What a chart draws as one mark, its table lists."""

    @pytest.fixture
    def shared(self, fleet: SimpleNamespace) -> list[tuple[int, int]]:
        """AppIDs with every number of clients up to 40, and radii from 0 on."""
        topology = run_of(Run.Job.TOPOLOGY)
        found = [(clients, clients * step) for clients in range(1, 41) for step in (0, 1, 3)]
        Sharing.objects.bulk_create(
            Sharing(
                run=topology, pair="main", appid=f"app-{clients}-{radius}", clients=clients, hosts=1, libraries=1,
                groups=0, topics=1, radius=radius,
            )
            for clients, radius in found
        )  # fmt: skip
        return found

    def test_each_disc_and_each_bar_leads_to_as_many_rows_as_it_counts(
        self, as_vera: Client, shared: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hadash.dashboard.charts.sharing.NAMED", 0)  # (all are in discs)
        distribution, _, against_radius, _ = as_vera.get(reverse("table", args=["sharing"])).context["charts"]
        marks = [row[-1] for chart in (distribution, against_radius) for row in chart.rows]
        assert len(marks) > 20 and sum(marks) == 2 * len(shared)
        for mark in marks:
            listed = as_vera.get(mark.href.partition("#")[0]).context["page"].paginator.count
            assert listed == mark, mark.href

    def test_the_page_says_which_and_leads_back(self, as_vera: Client, shared: list[tuple[int, int]]) -> None:
        address = reverse("table", args=["sharing"])
        text = page(as_vera, "table", "sharing", clients="4-7", radius="12-12", sort="-clients")
        assert "Clients: <b>4–7</b>" in text and "Moves, by InstanceIDs: <b>12</b>" in text
        rows = text.split("<tbody", 1)[1].rsplit("</tbody>", 1)[0].rsplit("<tbody", 1)[-1]
        assert "app-4-12" in rows and "app-5-15" not in rows and "app-12-12" not in rows
        answer = as_vera.get(address, {"clients": "4-7", "radius": "12-12"})
        assert [each["without"] for each in answer.context["ranges"]] == ["?radius=12-12", "?clients=4-7"]

    def test_a_csv_has_these_rows_only(self, as_vera: Client, shared: list[tuple[int, int]]) -> None:
        answer = as_vera.get(reverse("table", args=["sharing"]), {"clients": "40-99", "format": "csv"})
        rows = list(csv.DictReader(b"".join(answer).decode("utf-8-sig").splitlines()))
        assert {row["clients"] for row in rows} == {"40"} and len(rows) == 3

    @pytest.mark.parametrize(
        "nonsense", ["", "7-4", "four", "4", "-4", "4-", "٤-٧", "1-9999999999999999999", "<b>"]
    )
    def test_what_is_no_range_is_ignored(
        self, as_vera: Client, shared: list[tuple[int, int]], nonsense: str
    ) -> None:
        answer = as_vera.get(reverse("table", args=["sharing"]), {"clients": nonsense})
        assert answer.context["page"].paginator.count == len(shared) and answer.context["ranges"] == []

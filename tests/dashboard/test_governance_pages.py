"""Findings, acceptances, rules and tables as people see them."""

from __future__ import annotations

import csv
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from support.html import squeezed

from hadash.accounts.roles import ensure_user
from hadash.audit.models import Entry
from hadash.dashboard.charts.coverage_map import APPIDS as APPIDS_DRAWN
from hadash.dashboard.charts.of_tables import charts_of
from hadash.governance import selectors
from hadash.governance.catalogue import CATALOGUE, About, Code
from hadash.governance.models.findings import Acceptance, Finding
from hadash.governance.models.published import AdviceStep, Coverage, CoverageCell, Edge, LagDay, Node, Sharing
from hadash.governance.models.runs import Run
from hadash.inventory.models import Access, Pair

from .parts import cluster, signed_in

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def found(code: Code, appid: str = "", name: str = "", pair: str = "main", **more: Any) -> Finding:
    now = timezone.now()
    values = {"weight": CATALOGUE[code].weight, "first_at": now, "opened_at": now, "last_run": 1}
    return Finding.objects.create(pair=pair, code=code.value, appid=appid, name=name, **{**values, **more})


def run_of(job: Run.Job) -> Run:
    now = timezone.now()
    return Run.objects.create(job=job, state=Run.State.PUBLISHED, began_at=now, ended_at=now)


@pytest.fixture
def findings(fleet: SimpleNamespace) -> SimpleNamespace:
    run_of(Run.Job.RISK)
    evidence = {"appid": "shop", "client": "购物车", "acks": "1", "topics": "carts", "count": "2"}
    return SimpleNamespace(
        acks=found(Code.ACKS, "shop", "购物车", evidence=evidence),
        idempotent=found(Code.IDEMPOTENT, "shop", "shop-carts", evidence=evidence),
        leaderless=found(Code.LEADERLESS, name="carts", evidence={"mirror": "carts", "count": "1"}),
        resolved=found(Code.KAFKA_10793, "shop", "old", state="resolved", resolved_at=timezone.now()),
    )


def page(client: Client, name: str, *args: Any, **query: Any) -> str:
    answer = client.get(reverse(name, args=args), query)
    assert answer.status_code == 200
    return answer.content.decode()


def accept(client: Client, finding: Finding, days: int = 7, reason: str = "替换中") -> Any:
    until = timezone.now().date() + timedelta(days=days)
    return client.post(
        reverse("accept-finding", args=[finding.pk]), {"until": until.isoformat(), "reason": reason}
    )


# -- findings ------------------------------------------------------------------------------------------------------


def test_the_gravest_stand_first_with_their_evidence(as_vera: Client, findings: SimpleNamespace) -> None:
    text = page(as_vera, "findings")
    assert "购物车" in text
    titles = [str(CATALOGUE[code].title) for code in (Code.LEADERLESS, Code.IDEMPOTENT)]
    assert text.index(titles[0] + "</b>") < text.index(titles[1] + "</b>")
    assert str(CATALOGUE[Code.KAFKA_10793].title) + "</b>" not in text  # it is resolved


def test_a_score_is_what_a_person_adds_up(as_vera: Client, findings: SimpleNamespace) -> None:
    expected = sum(CATALOGUE[code].weight for code in (Code.ACKS, Code.IDEMPOTENT, Code.LEADERLESS))
    score = selectors.score(selectors.counting(["main"]))
    assert score.score == expected == 10 * score.high + 4 * score.medium + score.low
    assert f"<b>{expected}</b>" in page(as_vera, "findings")


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ({"q": "购物"}, {"acks"}),
        ({"severity": "high"}, {"acks", "leaderless"}),
        ({"code": "idempotent-producer"}, {"idempotent"}),
        ({"show": "resolved"}, {"resolved"}),
        ({"show": "all"}, {"acks", "idempotent", "leaderless", "resolved"}),
        ({"show": "accepted"}, set()),
        ({"pair": "nowhere"}, {"acks", "idempotent", "leaderless"}),
    ],
)
def test_filters(as_vera: Client, findings: SimpleNamespace, query: dict[str, str], shown: set[str]) -> None:
    text = page(as_vera, "findings", **query)
    assert {n for n, f in vars(findings).items() if reverse("finding", args=[f.pk]) in text} == shown


def test_csv_has_what_is_filtered_and_no_formulas(as_vera: Client, findings: SimpleNamespace) -> None:
    found(Code.ACKS, "=cmd", "x", evidence={})
    answer = as_vera.get(reverse("findings"), {"format": "csv", "severity": "high"})
    text = b"".join(answer.streaming_content).decode()
    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert len(text.splitlines()) == 1 + 3
    assert "'=cmd" in text
    assert "idempotent-producer" not in text


def test_whoever_may_accepts_it_and_it_does_not_count(
    as_olga: Client, findings: SimpleNamespace, people: SimpleNamespace
) -> None:
    before = selectors.score(selectors.counting(["main"])).score
    assert accept(as_olga, findings.acks).status_code == 302
    assert selectors.score(selectors.counting(["main"])).score == before - 10
    text = page(as_olga, "finding", findings.acks.pk)
    assert "替换中" in text and "Olga Operator" in text
    assert reverse("finding", args=[findings.acks.pk]) in page(as_olga, "findings", show="accepted")
    entry = Entry.objects.get(verb="accept")
    assert entry.actor == people.olga
    assert entry.subject == "finding acks-not-all of pair main: shop › 购物车"
    as_olga.post(reverse("withdraw-acceptance", args=[findings.acks.pk]))
    assert selectors.score(selectors.counting(["main"])).score == before
    assert Entry.objects.filter(verb="acceptance withdrawn").count() == 1


def test_when_its_day_is_over_it_counts_again(findings: SimpleNamespace, people: SimpleNamespace) -> None:
    yesterday = timezone.now().date() - timedelta(days=1)
    Acceptance.objects.create(finding=findings.acks, until=yesterday, reason="x", accepted_by=people.olga)
    assert findings.acks in selectors.counting(["main"])


def test_it_is_accepted_anew_in_place_of_before(as_olga: Client, findings: SimpleNamespace) -> None:
    accept(as_olga, findings.acks, 1)
    accept(as_olga, findings.acks, 30, "longer")
    first, second = findings.acks.acceptances.order_by("pk")
    assert first.withdrawn_at is not None
    assert (second.withdrawn_at, second.reason) == (None, "longer")


@pytest.mark.parametrize(
    ("days", "reason", "said"),
    [(-1, "x", "This day is over"), (400, "x", "At most 366 days"), (7, "  ", "Say why it is accepted")],
)
def test_what_makes_no_sense_is_refused_and_what_was_typed_stays(
    as_olga: Client, findings: SimpleNamespace, days: int, reason: str, said: str
) -> None:
    answer = accept(as_olga, findings.acks, days, reason)
    assert answer.status_code == 409
    text = answer.content.decode()
    assert said in text
    assert f'value="{(timezone.now().date() + timedelta(days=days)).isoformat()}"' in text
    assert not Acceptance.objects.exists()


def test_others_are_told_whom_to_ask(as_vera: Client, findings: SimpleNamespace) -> None:
    answer = accept(as_vera, findings.acks)
    assert answer.status_code == 403
    assert "Olga Operator" in answer.content.decode()
    assert reverse("accept-finding", args=[findings.acks.pk]) not in page(
        as_vera, "finding", findings.acks.pk
    )


def test_what_is_resolved_is_not_accepted(as_olga: Client, findings: SimpleNamespace) -> None:
    assert accept(as_olga, findings.resolved).status_code == 409


def test_a_role_on_one_pair_shows_nothing_of_another(
    findings: SimpleNamespace, django_user_model: Any
) -> None:
    from django.contrib.auth.models import Group

    from hadash.accounts.models import PairRole

    north = cluster("north", 3)
    other = Pair.objects.create(name="other", first=north, second=cluster("south", 4), default=north)
    theirs = found(Code.ACKS, "crm", "crm-1", pair="other")
    mara = django_user_model.objects.create_user("mara")
    PairRole.objects.create(user=mara, group=Group.objects.get(name="operator"), pair=other)
    client = signed_in(mara)
    text = page(client, "findings")
    assert "crm-1" in text or reverse("finding", args=[theirs.pk]) in text
    assert "购物车" not in text
    assert client.get(reverse("finding", args=[findings.acks.pk])).status_code == 404


def test_a_rule_that_is_not_known_any_more_is_shown_by_its_code(as_olga: Client, fleet: Any) -> None:
    now = timezone.now()
    old = Finding.objects.create(
        pair="main", code="gone-rule", weight=4, first_at=now, opened_at=now, last_run=1
    )
    assert "gone-rule" in page(as_olga, "finding", old.pk)
    assert "gone-rule" in page(as_olga, "findings")


def test_before_the_first_run_it_says_where_to_begin(as_olga: Client, fleet: Any) -> None:
    assert reverse("pipeline") in page(as_olga, "findings").split("<main", 1)[1]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_page_of_rules_has_every_rule(
    people: SimpleNamespace, findings: SimpleNamespace, language: str
) -> None:
    text = page(signed_in(people.vera, language), "catalogue")
    for code in Code:
        assert f'id="{code.value}"' in text
    assert ("规则" in text) is (language == "zh-hans")


# -- tables --------------------------------------------------------------------------------------------------------


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


def test_an_appids_page_has_its_score(as_vera: Client, findings: SimpleNamespace, fleet: Any) -> None:
    text = page(as_vera, "appid", fleet.shop.pk)
    assert "Risk score 11" in text
    assert "1 high, 0 medium, 1 low" in text


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


def test_administrators_may_accept_too(findings: SimpleNamespace) -> None:
    ada = signed_in(ensure_user("ada", "a-long-password", "administrator"))
    assert accept(ada, findings.acks).status_code == 302


# -- critical AppIDs -----------------------------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    ("language", "said"), [("en", "is used for produce, consume, sarama"), ("zh-hans", "生产, 消费, sarama")]
)
def test_kinds_of_clients_are_told_in_the_viewers_words(
    people: SimpleNamespace, fleet: SimpleNamespace, language: str, said: str
) -> None:
    run_of(Run.Job.RISK)
    evidence = {"appid": "shop", "client": "web", "kinds": "produce, consume, sarama"}
    found(Code.SEVERAL_KINDS, "shop", "web", evidence=evidence)
    assert said in page(signed_in(people.vera, language), "findings")


@pytest.mark.parametrize(
    ("about", "name", "leads_to"),
    [
        (About.GROUP, "cart-readers", "/groups/east/cart-readers/"),
        (About.MIRROR, "shop", "/mirrors/main/shop/"),
        (About.CLUSTER, "east", "/clusters/east/"),
        (About.TOPIC, "carts", "/graph/focus/?pair=main&amp;kind=topic&amp;name=carts"),
        (
            About.CLIENT,
            "shop-carts",
            "/graph/focus/?pair=main&amp;kind=instance&amp;appid=shop&amp;name=shop-carts",
        ),
        (About.MIRROR, "no-such-mirror", None),
    ],
)
def test_a_finding_leads_to_the_very_thing(
    as_vera: Client, fleet: Any, about: About, name: str, leads_to: str | None
) -> None:
    """And not to a list in which it stands somewhere."""
    now = timezone.now()
    Access.objects.update_or_create(
        pair=fleet.pair, appid="shop", client_id="shop-carts", kind="group", resource="cart-readers", cluster="east",
        defaults={"first_seen": now, "last_seen": now},
    )  # fmt: skip
    code = next(code for code, entry in CATALOGUE.items() if entry.about is about)
    shown = page(as_vera, "finding", found(code, "shop" if about is About.CLIENT else "", name).pk)
    assert (f'<a href="{leads_to}">{name}</a>' in shown) is (leads_to is not None)

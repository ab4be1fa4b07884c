"""Findings, acceptances and rules as people see them."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from hadash.accounts.roles import ensure_user
from hadash.audit.models import Entry
from hadash.governance import selectors
from hadash.governance.catalogue import CATALOGUE, About, Code
from hadash.governance.models.findings import Acceptance, Finding
from hadash.governance.models.runs import Run
from hadash.inventory.models import Access, Pair

from .parts import cluster, page, run_of, signed_in

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def found(code: Code, appid: str = "", name: str = "", pair: str = "main", **more: Any) -> Finding:
    now = timezone.now()
    values = {"weight": CATALOGUE[code].weight, "first_at": now, "opened_at": now, "last_run": 1}
    return Finding.objects.create(pair=pair, code=code.value, appid=appid, name=name, **{**values, **more})


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


def accept(client: Client, finding: Finding, days: int = 7, reason: str = "替换中") -> Any:
    until = timezone.now().date() + timedelta(days=days)
    return client.post(
        reverse("accept-finding", args=[finding.pk]), {"until": until.isoformat(), "reason": reason}
    )


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


def test_the_rules_are_taken_along_as_a_table(as_vera: Client, findings: SimpleNamespace) -> None:
    text = as_vera.get(reverse("catalogue"), {"format": "csv"}).getvalue().decode()
    rows = {row["code"]: row for row in csv.DictReader(io.StringIO(text))}
    assert set(rows) == {code.value for code in Code}
    assert all(row["title"] and row["remedy"] and int(row["weight"]) >= 0 for row in rows.values())
    assert rows[Code.ACKS.value]["open"] == "1"
    assert rows[Code.KAFKA_10793.value]["open"] == "0"  # it is resolved


def test_an_appids_page_has_its_score(as_vera: Client, findings: SimpleNamespace, fleet: Any) -> None:
    text = page(as_vera, "appid", fleet.shop.pk)
    assert "Risk score 11" in text
    assert "1 high, 0 medium, 1 low" in text


def test_administrators_may_accept_too(findings: SimpleNamespace) -> None:
    ada = signed_in(ensure_user("ada", "a-long-password", "administrator"))
    assert accept(ada, findings.acks).status_code == 302


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

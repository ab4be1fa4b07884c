"""Every page without charts in a real browser, in both languages, light and dark, on a desk and on a
telephone; those with charts are in ``test_pages_with_charts.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Browser, expect
from pools.parts import requested, show_moving
from support.browser import STREAM, Window

from dashboard.parts import PASSWORD
from dashboard.pictures import SCREENS, Screen, look_at
from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.audit.models import record
from hadash.auditing.findings import Kind
from hadash.auditing.whole import Compared, as_json
from hadash.auditors import versions
from hadash.auditors.models import AuditDifference, AuditedPartition
from hadash.dashboard.views import request_previews, switches
from hadash.full_audits.models import FullAudit
from hadash.governance.models.findings import Finding
from hadash.governance.models.published import Coverage
from hadash.governance.models.runs import Run
from hadash.kafka import one_record
from hadash.outbox.models import Content, Delivery
from hadash.presentation.engines import Engines
from hadash.sentences import say
from hadash.switching import checking
from hadash.switching.machines.switches import Stage
from hadash.switching.models.switches import StageRecord, Switch
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal

#: Pages that have nothing to show at first.
EMPTY = {
    "overview": "",
    "appids": "appids/",
    "switches": "switches/",
    "batches": "batches/",
    "mirrors": "mirrors/",
    "clusters": "clusters/",
    "gateways": "gateways/",
    "clients": "clients/",
    "groups": "groups/",
    "pools": "pools/",
    "graph": "graph/",
    "risks": "governance/risks/",
    "coverage": "governance/tables/coverage/",
    "uncovered": "governance/uncovered/",
    "pipeline": "pipeline/",
    "reports": "reports/",
}

pytestmark = [pytest.mark.stack, pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def in_other_states(make_switch: Callable[..., Switch]) -> dict[str, Switch]:
    """Switches of which people see other forms and words than of those that wait, run or are well."""
    now = timezone.now()
    stuck = make_switch(
        "needs_attention",
        appid="stuck",
        stage=Stage.VERIFY.value,
        started_at=now,
        outcome=say("%(count)s clients do not work on %(cluster)s.", count=2, cluster="west").to_json(),
    )
    for stage, result in (("block", "done"), ("drain", "done"), ("forward", "done"), ("verify", "failed")):
        StageRecord.objects.create(
            switch=stuck, stage=stage, token=1, result=result, started_at=now, ended_at=now
        )
    forced = make_switch(
        "succeeded",
        appid="forced",
        kind="forced",
        started_at=now - timedelta(minutes=2),
        ended_at=now,
        facts={"loss": {"records": [["orders", 0, 3]], "age": 12.0, "proved": []}},
    )
    StageRecord.objects.create(
        switch=forced, stage="forward", token=1, result="done", started_at=now, ended_at=now
    )
    Unreplicated.objects.create(
        switch=forced, points=[], status="reported", found=[["orders", 0, 57, 61]], reported_at=now
    )
    later = now + timedelta(hours=3)
    return {
        "needs-attention": stuck,
        "forced": forced,
        "paused": make_switch("paused", appid="paused", stage="precheck", started_at=now, paused_at=now),
        "scheduled": make_switch("approved", appid="later", start_at=later, start_until=later),
        "declined": make_switch("declined", appid="declined", decision_note="今天不行", decided_at=now),
    }


@pytest.fixture
def pages(
    fleet: SimpleNamespace,
    people: SimpleNamespace,
    engines: SimpleNamespace,
    plan: Plan,
    monkeypatch: pytest.MonkeyPatch,
    finished: Switch,
    make_switch: Callable[..., Switch],
    make_batch: Callable[..., Any],
    make_change: Callable[..., Any],
) -> dict[str, str]:
    """The address of each, by name, with something on it; Olga may do everything there."""
    monkeypatch.setattr(request_previews, "proposal_for", lambda *_: PlanProposal(plan))
    changed = replace(plan, topics=(*plan.topics, "payments"))
    broken = say(
        "%(error)s", error=f"Cluster west could not be asked: {'w' * 200}.example:9092 is not known."
    )
    monkeypatch.setattr(switches, "proposal_for", lambda *_: PlanProposal(changed, (broken,)))
    monkeypatch.setattr(checking, "check_now", lambda _: None)
    now = timezone.now()
    people.olga.groups.set(Group.objects.filter(name__in=("operator", "approver", "administrator")))
    waiting = make_switch(reason="升级 broker；原集群将停机", requested_by=people.arne)
    running = make_switch("running", appid="running", stage=Stage.DRAIN.value, started_at=now)
    for stage, result in ((Stage.PRECHECK, "done"), (Stage.BLOCK, "done"), (Stage.DRAIN, "running")):
        StageRecord.objects.create(
            switch=running,
            stage=stage.value,
            token=1,
            result=result,
            started_at=now,
            ended_at=now if result == "done" else None,
            sentence=say("Waiting for the mirror: %(records)s records to go.", records=12).to_json(),
        )
    before, run = (
        Run.objects.create(
            job=Run.Job.COVERAGE, state=Run.State.PUBLISHED, began_at=now, ended_at=now, rows={"coverage": 2}
        )
        for _ in range(2)
    )
    for number, clients in ((before, 4), (run, 9)):
        Coverage.objects.create(
            run=number,
            pair="main",
            appid="购物",
            clients=clients,
            registered=3,
            nameless=0,
            new_clients=1,
            days=7,
            duplicates=0,
            bypassing=0,
        )
    finding = Finding.objects.create(
        pair="main", appid="shop", name="购物车", code="acks-not-all", weight=10, first_at=now, opened_at=now,
        last_run=run.pk, evidence={"appid": "shop", "client": "购物车", "acks": "1", "topics": "carts"},
    )  # fmt: skip
    record(people.olga, "switch.requested", "shop", "10.0.0.7", reason="升级")
    appid = fleet.shop.pk
    show_moving(monkeypatch)
    held = {
        "east": one_record.Content(
            812, b"key", "购物车".encode(), (("trace", b"\xff\x01"),), 1_700_000_000_000
        ),
        "west": one_record.Content(812, b"key", b"another" * 90, (), 1_700_000_000_000),
    }
    monkeypatch.setattr(versions, "read_one", lambda access, *_: held[access.name])
    audited = AuditedPartition.objects.create(
        pair=fleet.pair, topic="carts", partition=0, source=fleet.east, begun=True, source_begin=0, target_begin=0,
        source_next=900, target_next=900, different=1, updated_at=now,
    )  # fmt: skip
    difference = AuditDifference.objects.create(
        audited=audited, kind="different", source=fleet.east, source_offset=812, target_offset=812,
        parts=["value", "headers"], found_at=now,
    )  # fmt: skip
    mail = Delivery.objects.create(
        asked_as="report 1", content=Content.objects.create(subject="每日 posture", text="…"), topic="schedule 1",
        address="arne@bank.example", due_at=now,
    )  # fmt: skip
    compared = FullAudit.objects.create(
        mirror=fleet.mirror, topic="carts", asked_by=people.olga, status="done", began_at=now, read_at=now,
        ended_at=now, source=fleet.east, offsets=8_012, equal=7_999, different=1,
        partitions=[
            as_json(0, Compared((1_000, 9_000), (1_003, 9_003), 7_999, (1_000, 0), 12, {Kind.HEADERS: 1})),
            as_json(1, Compared()),
        ],
    )  # fmt: skip
    runs = FullAudit.objects.create(
        mirror=fleet.mirror, topic="orders", asked_by=people.olga, status="running", began_at=now,
        progress={"step": "comparing", "done": 3, "total": 8},
    )  # fmt: skip
    return {
        "full-audit": compared.get_absolute_url(),
        "full-audit-running": runs.get_absolute_url(),
        "difference": reverse("mirror-difference", args=["main", "shop", difference.pk]),
        "unsubscribe": reverse("unsubscribe", args=[mail.unsubscribe_token]),
        "pools": reverse("pools"),
        "pool-new": reverse("new-pool"),
        "pool-topic": reverse("add-pool-topic", args=["readers"]),
        "pool-isolate": f"{reverse('change-pool', args=['readers'])}?action=isolate&member=reader-2",
        "pool-strategy": f"{reverse('change-pool', args=['readers'])}?action=strategy",
        "pool-change": reverse("pool-change", args=[requested(people.arne, fleet.pair).key]),
        "appids": reverse("appids"),
        "bind": reverse("bind", args=[appid]),
        "unregister": reverse("unregister-instance", args=[appid, fleet.shop.instances.first().pk]),
        "binding-change": reverse("binding-change", args=[make_change().key]),
        "declarations": reverse("declarations", args=[fleet.pair.pk]),
        "rules": reverse("rules", args=[fleet.pair.pk]),
        "switches": reverse("switches"),
        "inbox": f"{reverse('switches')}?inbox=waiting",
        "request": f"{reverse('request-switch')}?appid={appid}",
        "switch-waiting": reverse("switch", args=[waiting.key]),
        "switch-running": reverse("switch", args=[running.key]),
        "switch-ended": reverse("switch", args=[finished.key]),
        **{
            f"switch-{name}": reverse("switch", args=[each.key])
            for name, each in in_other_states(make_switch).items()
        },
        "record": reverse("switch-record", args=[finished.key]),
        "batches": reverse("batches"),
        "batch-request": reverse("request-batch"),
        "batch": reverse("batch", args=[make_batch().key]),
        "exclude": f"{reverse('exclude-gateway')}?gateway=gateway-1",
        "risks": reverse("findings"),
        "risk": reverse("finding", args=[finding.pk]),
        "catalogue": reverse("catalogue"),
        "edges": reverse("table", args=["edges"]),
        "pipeline": reverse("pipeline"),
        "run": reverse("run", args=[run.pk]),
        "compare": f"{reverse('compare-runs', args=[run.pk])}?with={before.pk}",
        "tokens": reverse("tokens"),
        "password": reverse("password"),
        "people": reverse("people"),
        "audit": reverse("audit"),
        "about": reverse("about"),
    }


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_every_page_loads_only_what_it_may_and_can_be_read_by_everybody(
    browser: Browser,
    live_server: Any,
    pages: dict[str, str],
    screen: Screen,
) -> None:
    window = Window(browser, f"{live_server.url}/", screen.language, width=screen.width, scheme=screen.scheme)
    try:
        window.page.add_init_script(STREAM)
        look_at(window.open(), "sign-in", screen)
        window.sign_in("olga", PASSWORD)
        for name, address in screen.pages(pages).items():
            page = window.open(address.lstrip("/"))
            page.wait_for_load_state("networkidle")
            look_at(page, name, screen)
        assert window.errors == [] and window.strangers == []
        # (The browser itself says in its console that it was answered 404.)
        look_at(window.open("switches/nothing/"), "not-found", screen)
    finally:
        window.close()


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_an_installation_without_anything_says_what_to_do(
    browser: Browser, live_server: Any, engines: SimpleNamespace, screen: Screen
) -> None:
    """No pair, no switch, no run: as it is right after it was installed."""
    engines.look, engines.clients, engines.samples = Engines({}, 0, ()), [], []
    ensure_roles()
    ensure_user("ada", PASSWORD, "administrator")
    window = Window(browser, f"{live_server.url}/", screen.language, width=screen.width, scheme=screen.scheme)
    try:
        window.page.add_init_script(STREAM)
        window.sign_in("ada", PASSWORD)
        for name, address in screen.pages(EMPTY).items():
            page = window.open(address)
            page.wait_for_load_state("networkidle")
            expect(page.locator("main :is(.empty, .notice, .why):visible").first).to_be_visible()
            look_at(page, f"empty-{name}", screen)
        assert window.errors == [] and window.strangers == []
    finally:
        window.close()


@pytest.mark.parametrize("screen", SCREENS, ids=str)
def test_what_went_wrong_can_be_read_by_everybody(
    browser: Browser,
    live_server: Any,
    people: SimpleNamespace,
    engines: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    screen: Screen,
) -> None:
    """What is not allowed, a button's address that is visited, a form that was open for too long, and a fault
    of hadash's own.
    """

    def fail(*_: Any) -> None:
        raise RuntimeError("on purpose")

    monkeypatch.setattr("hadash.dashboard.views.search.searched", fail)
    window = Window(browser, f"{live_server.url}/", screen.language, width=screen.width, scheme=screen.scheme)
    try:
        window.sign_in("vera", PASSWORD)
        for name, address, status in [
            ("not-allowed", "people/", 403),
            ("for-a-button", "appids/owners/", 405),
            ("fault", "search/?q=shop", 500),
        ]:
            answer = window.page.goto(window.url + address)
            assert answer is not None and answer.status == status
            look_at(window.page, name, screen)
        page = window.open()
        page.context.clear_cookies(name="hadash_csrf")
        page.locator("form[action$='/sign-out/']").evaluate("(form) => form.requestSubmit()")
        page.wait_for_selector(".eyebrow >> text=403")
        look_at(page, "form-too-old", screen)
        assert window.strangers == []
    finally:
        window.close()

"""Three named people, a small fleet, and engines that answer without ZooKeeper."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import connections
from django.test import Client, override_settings
from django.utils import timezone
from kazoo.client import KazooClient
from playwright.sync_api import Browser
from support.browser import chromium

from dashboard.parts import NASTY, PASSWORD, cluster, gateway, signed_in
from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.bindings.model import Binding, BindingDocument
from hadash.bindings.native import NativeDialect
from hadash.dashboard.views import request_previews, streaming
from hadash.identity.identity import Identity
from hadash.inventory.models import Access, AppID, InstanceID, Pair, Worker
from hadash.mirroring.models import LagSample, Mirror
from hadash.presentation import engines as engines_module
from hadash.presentation import live
from hadash.presentation.engines import Engines
from hadash.radius.scope import Member, Scope, ScopeKind
from hadash.sentences import say
from hadash.switching import checking
from hadash.switching import requests as switch_requests
from hadash.switching.approvals import decisions
from hadash.switching.binding_changes import applier, requests, unregistering
from hadash.switching.handovers import handing_over
from hadash.switching.models.batches import Batch, BatchItem, tell
from hadash.switching.models.batches import digest_of as digest_of_batch
from hadash.switching.models.binding_changes import BindingChange, digest_of
from hadash.switching.models.switches import StageRecord, Switch, log_event
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal


@pytest.fixture(autouse=True)
def quick(settings: Any, tmp_path: Path) -> None:
    """Passwords that cost nothing, and a folder for collected static files, which WhiteNoise asks for."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    settings.STATIC_ROOT = tmp_path


@pytest.fixture
def people(db: None) -> SimpleNamespace:
    """Olga operates, Arne approves, Vera views."""
    ensure_roles()
    return SimpleNamespace(
        olga=ensure_user("olga", PASSWORD, "operator", "Olga Operator"),
        arne=ensure_user("arne", PASSWORD, "approver", "Arne Approver"),
        vera=ensure_user("vera", PASSWORD, "viewer", "Vera Viewer"),
    )


@pytest.fixture
def as_olga(people: SimpleNamespace) -> Client:
    return signed_in(people.olga)


@pytest.fixture
def as_arne(people: SimpleNamespace) -> Client:
    return signed_in(people.arne)


@pytest.fixture
def as_vera(people: SimpleNamespace) -> Client:
    return signed_in(people.vera)


@pytest.fixture
def fleet(db: None) -> SimpleNamespace:
    """A pair, an AppID with four client.ids (one of them nasty, one Chinese), and a mirror."""
    east, west = cluster("east", 1), cluster("west", 2)
    pair = Pair.objects.create(name="main", first=east, second=west, default=east)
    shop = AppID.objects.create(name="shop", pair=pair, owner="Checkout")
    InstanceID.objects.create(appid=shop, name="shop-carts")
    InstanceID.objects.create(appid=shop, name="购物车")
    now = timezone.now()
    for client_id, kind, resource in [
        ("shop-carts", "produce", "carts"),
        ("购物车", "consume", "carts"),
        ("购物车", "group", "readers"),
        (NASTY, "consume", "carts"),
        ("", "consume", "carts"),
    ]:
        Access.objects.create(
            pair=pair,
            appid="shop",
            client_id=client_id,
            kind=kind,
            resource=resource,
            cluster="east",
            library="librdkafka",
            version="2.3.0",
            first_seen=now,
            last_seen=now,
        )
    Worker.objects.create(
        name="celery@here", queues=["celery", "pipeline"], version="1", began_at=now, seen_at=now
    )
    mirror = Mirror.objects.create(
        pair=pair, name="shop", topics=["carts"], source=east, state="running", lag_records=7, looked_at=now
    )
    for index, records in enumerate([5, None, 9]):
        LagSample.objects.create(mirror=mirror, at=now - timedelta(seconds=20 - index), records=records)
    return SimpleNamespace(east=east, west=west, pair=pair, shop=shop, mirror=mirror)


@pytest.fixture
def plan() -> Plan:
    shop, carts = Identity("shop"), Identity("shop", "shop-carts")
    return Plan(
        "main",
        Scope.of(shop),
        "east",
        "west",
        (shop, carts),
        ("carts",),
        ("readers",),
        ("shop",),
        members=(Member("appid:shop"), Member("topic:carts", "appid:shop", "produce")),
    )


@pytest.fixture
def make_switch(fleet: SimpleNamespace, people: SimpleNamespace, plan: Plan) -> Callable[..., Switch]:
    """A switch of the whole AppID, asked for by Olga."""

    def make(status: str = "awaiting_approval", **values: Any) -> Switch:
        switch = Switch.objects.create(
            **{
                "pair": fleet.pair,
                "appid": "shop",
                "source": fleet.east,
                "target": fleet.west,
                "asked": plan.scope.to_json(),
                "plan": plan.to_json(),
                "plan_digest": plan.digest,
                "reason": "Upgrade of the brokers",
                "requested_by": people.olga,
                "expires_at": timezone.now() + timedelta(hours=1),
                "status": status,
                **values,
            }
        )
        log_event(switch, say("%(user)s requested the switch.", user="olga"), actor=people.olga)
        return switch

    return make


@pytest.fixture
def make_batch(fleet: SimpleNamespace, people: SimpleNamespace) -> Callable[..., Batch]:
    """A batch of Topics that share nothing, asked for by Olga: four of them, two in each wave."""

    def make(status: str = "awaiting_approval", count: int = 4, **values: Any) -> Batch:
        def a_plan(number: int) -> Plan:
            scope = Scope(ScopeKind.TOPICS, topics=(f"topic-{number}",))
            return Plan(
                "main", scope, "east", "west", (Identity(f"app-{number}"),), scope.topics, (), ("shop",)
            )

        plans = [a_plan(number) for number in range(1, count + 1)]
        items = [
            BatchItem(
                wave=(position + 1) // 2,
                position=position,
                asked=found.scope.to_json(),
                plan=found.approved(),
                plan_digest=found.digest,
                clients=position,
            )
            for position, found in enumerate(plans, start=1)
        ]
        batch = Batch.objects.create(
            **{
                "pair": fleet.pair,
                "source": fleet.east,
                "target": fleet.west,
                "reason": "Leaving the old cluster",
                "parallelism": 2,
                "digest": digest_of_batch("east", "west", 2, items),
                "requested_by": people.olga,
                "expires_at": timezone.now() + timedelta(hours=1),
                "status": status,
                **values,
            }
        )
        for item in items:
            item.batch = batch
            item.save()
        tell(
            batch,
            say(
                "%(user)s requested the batch (radii: %(count)s, waves: %(waves)s).",
                user="olga",
                count=count,
                waves=count // 2,
            ),
        )
        return batch

    return make


@pytest.fixture
def finished(make_switch: Callable[..., Switch], people: SimpleNamespace) -> Switch:
    """A switch that went well: blocked for 0.3 s."""
    start = timezone.now() - timedelta(minutes=5)
    switch = make_switch(
        "succeeded",
        decided_by=people.arne,
        decided_at=start,
        started_at=start,
        ended_at=start + timedelta(seconds=12),
        stage="verify",
        outcome=say(
            "Every client works on %(cluster)s (%(count)s in all).", count=2, cluster="west"
        ).to_json(),
        traffic=[
            {"at": start.timestamp() + i / 2, "parked": 0, "clusters": {"east": [5, 5]}} for i in range(10)
        ],
    )
    at = start
    for stage, seconds in {
        "precheck": 1,
        "quiesce": 3,
        "block": 0.1,
        "drain": 0.1,
        "translate": 0.05,
        "forward": 0.05,
        "reverse": 2,
        "verify": 5,
    }.items():
        end = at + timedelta(seconds=seconds)
        StageRecord.objects.create(
            switch=switch, stage=stage, token=1, result="done", started_at=at, ended_at=end
        )
        at = end
    return switch


@pytest.fixture
def dialect(zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> NativeDialect:
    """The bindings in a real ZooKeeper, for what is bound by hand."""
    found = NativeDialect(zookeeper)
    for module in (requests, applier, unregistering):
        monkeypatch.setattr(module, "dialect_of", lambda pair: found)
    return found


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the changes that were handed to the workers."""

    keys: list[str] = []
    monkeypatch.setattr(handing_over, "start_change", lambda change: keys.append(change.key))
    return keys


@pytest.fixture
def make_change(fleet: SimpleNamespace, people: SimpleNamespace) -> Callable[..., BindingChange]:
    """Olga asks to bind shop-carts to where it is."""

    def make(status: str = "awaiting_approval", **values: Any) -> BindingChange:
        edits: dict[Identity, str | None] = {Identity("shop", "shop-carts"): "east"}
        return BindingChange.objects.create(
            **{
                "pair": fleet.pair,
                "appid": "shop",
                "edits": {identity.key: cluster for identity, cluster in edits.items()},
                "digest": digest_of("main", "shop", edits),
                "reason": "It is one known client",
                "requested_by": people.olga,
                "expires_at": timezone.now() + timedelta(hours=1),
                "status": status,
                **values,
            }
        )

    return make


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """What ZooKeeper and the Gateways say; change ``look``, ``clients`` or ``samples`` to have them say
    something else.
    """
    said = SimpleNamespace(
        look=Engines(
            {"shop": BindingDocument("shop", None, {"shop-carts": Binding("east", epoch=3)})}, 7, (gateway(),)
        ),
        clients=[
            {"appid": "shop", "client_id": name, "cluster": "east", "parked": "", "library": "x", "host": "h"}
            for name in ("shop-carts", "购物车", NASTY)
        ],
        samples=[{"at": 1.0, "parked": 0, "clusters": {"east": [4, 2]}}],
        silent=[],
    )

    def ask_each(gateways: Any, path: str, key: str, **query: Any) -> Any:
        if not list(gateways):
            return [], []
        return list(getattr(said, key)), list(said.silent)

    def look_at_connected() -> engines_module.Connected:
        found = [(c["appid"], c["client_id"], c["cluster"]) for c in said.clients if said.look.answering]
        parked = {who: int(bool(c["parked"])) for who, c in zip(found, said.clients, strict=False)}
        return engines_module.Connected(dict.fromkeys(found, 1), parked, tuple(said.silent))

    monkeypatch.setattr(engines_module, "look", lambda: said.look)
    monkeypatch.setattr(engines_module, "look_at_gateways", lambda: said.look)
    monkeypatch.setattr(engines_module, "ask_each", ask_each)
    monkeypatch.setattr(engines_module, "look_at_connected", look_at_connected)
    live._rate_cache.clear()
    return said


# -- a real browser ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A folder for collected static files, before the server of the session asks for it."""
    with override_settings(STATIC_ROOT=tmp_path_factory.mktemp("static")):
        yield


@pytest.fixture(scope="module")
def browser(collected: None) -> Iterator[Browser]:
    # Playwright keeps a loop in this thread, which Django takes for a reason not to reach its database.
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
    try:
        with chromium() as running:
            yield running
    finally:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A thread for the stream whose database connection is closed in the end."""
    pool = ThreadPoolExecutor(max_workers=1)
    monkeypatch.setattr(streaming, "pool", pool)
    yield
    pool.submit(connections.close_all).result()
    pool.shutdown()


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, plan: Plan) -> None:
    """Planning and checking without ZooKeeper and Kafka."""
    for module in (switch_requests, decisions):
        monkeypatch.setattr(module, "plan_for", lambda *_: plan)
    monkeypatch.setattr(request_previews, "proposal_for", lambda *_: PlanProposal(plan))
    monkeypatch.setattr(checking, "check_now", lambda plan: None)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the switches that were handed to the workers."""

    keys: list[str] = []
    monkeypatch.setattr(handing_over, "start_switch", lambda switch: keys.append(switch.key))
    return keys

"""The fleet of the pages, five people with one role each, and programs that come with their tokens."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.conftest import (
    dialect,
    engines,
    finished,
    fleet,
    handed,
    make_batch,
    make_change,
    make_switch,
    plan,
    quick,
)
from dashboard.parts import PASSWORD, cluster, gateway
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from notices.parts import channel
from pools.parts import requested, show
from reports.parts import sent
from switching.batches.parts import World

from hadash.accounts import tokens
from hadash.accounts.roles import ROLES, SCOPES, ensure_user
from hadash.dashboard.groups.live import Look
from hadash.full_audits.models import FullAudit
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.inventory.models import Declaration, InstanceID, Pair
from hadash.kafka.values import GroupInfo
from hadash.mirroring.models import Mirror
from hadash.pools import applier
from hadash.pools import decisions as pool_decisions
from hadash.switching import checking
from hadash.switching import requests as switch_requests
from hadash.switching.approvals import decisions
from hadash.switching.handovers import handing_over
from hadash.switching.models.policies import Blackout
from hadash.switching.plan import Plan
from hadash.switching.planning.radius import PlanProposal

NAMES = {
    "vera": "viewer",
    "reka": "requester",
    "arne": "approver",
    "olga": "operator",
    "rita": "rescuer",
    "ada": "administrator",
}


class Program:
    """A program with a token of ``user``."""

    def __init__(self, user: User, scopes: list[str], **limits: Any) -> None:
        _, secret = tokens.issue(user, "test", scopes, 1, **limits)
        self._client = Client(headers={"Authorization": f"Bearer {secret}"})

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """The answer, with what it says as ``.json()``."""
        data = json.dumps(body) if body is not None else ""
        return self._client.generic(
            method,
            f"/api/v1/{path}",
            data,
            "application/json",
            headers={k.replace("_", "-"): v for k, v in headers.items()},
        )

    def get(self, path: str, **headers: str) -> Any:
        return self.send("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self.send("POST", path, {} if body is None else body, **headers)


@pytest.fixture
def people(db: None) -> SimpleNamespace:
    assert {*NAMES.values()} == {*ROLES}
    return SimpleNamespace(**{name: ensure_user(name, PASSWORD, role) for name, role in NAMES.items()})


@pytest.fixture
def program(people: SimpleNamespace) -> Callable[..., Program]:
    """A program of one of the people, that may do all that they may."""

    def make(name: str, scopes: list[str] | None = None, **limits: Any) -> Program:
        return Program(getattr(people, name), list(SCOPES) if scopes is None else scopes, **limits)

    return make


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch, plan: Plan) -> None:
    """Planning and checking without ZooKeeper and Kafka."""
    from hadash.api.views import switches
    from hadash.dashboard.views import request_previews
    from hadash.dashboard.views import switches as pages

    for module in (switch_requests, decisions):
        monkeypatch.setattr(module, "plan_for", lambda *_: plan)
    for view in (switches, request_previews, pages):
        monkeypatch.setattr(view, "proposal_for", lambda *_: PlanProposal(plan))
    monkeypatch.setattr(checking, "check_now", lambda plan: None)
    # A batch is planned from a fleet in which five AppIDs share nothing.
    World().take_over(monkeypatch)
    monkeypatch.setattr("hadash.switching.batches.decisions.changed", lambda batch: [])


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Keys of the switches that were handed to the workers."""

    keys: list[str] = []
    monkeypatch.setattr(handing_over, "wake", lambda batch: keys.append(batch.key))
    monkeypatch.setattr(handing_over, "start_switch", lambda switch: keys.append(switch.key))
    return keys


@pytest.fixture
def wanted(plan: Plan) -> dict[str, Any]:
    """A request for a switch of the whole AppID."""
    return {
        "pair": "main",
        "scope": {"kind": "appid", "appid": "shop"},
        "target": "west",
        "reason": "Upgrade of the brokers",
    }


@pytest.fixture
def things(
    fleet: Any,
    people: SimpleNamespace,
    engines: Any,
    planned: None,
    started: list[str],
    make_switch: Any,
    make_change: Any,
    make_batch: Any,
    dialect: Any,
    handed: list[str],
    plan: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Any]:
    """What the places of the addresses stand for, and bodies that are as described."""
    from hadash.api.views import gateways as gateways_api
    from hadash.auditors import versions
    from hadash.auditors.models import AuditAcceptance, AuditDifference, AuditedPartition
    from hadash.dashboard.views import clusters, groups
    from hadash.switching.recovery import gateways

    monkeypatch.setattr(
        groups, "look_at", lambda cluster, name: Look(GroupInfo(name, "Empty", 0, ()), {}, frozenset(), [])
    )
    monkeypatch.setattr(clusters, "cluster_client", lambda cluster: SimpleNamespace(quotas=dict))
    monkeypatch.setattr(gateways_api, "gateway_members", lambda: [])
    monkeypatch.setattr(gateways, "gateway_members", lambda: [gateway("gateway-9", live=False)])
    monkeypatch.setattr(gateways, "set_excluded", lambda client, gateway, excluded: None)
    monkeypatch.setattr(gateways, "zookeeper", lambda: None)
    monkeypatch.setattr(gateways, "claimed", lambda client: client)
    switch, change, batch = make_switch(), make_change(), make_batch()
    blackout = Blackout.objects.create(
        pair=fleet.pair, begins="2030-01-01T00:00Z", ends="2030-01-02T00:00Z", reason="Holiday"
    )
    declaration = Declaration.objects.create(
        appid=fleet.shop, kind="produce", resource="orders", source="hand"
    )
    somebody = ensure_user("somebody", PASSWORD, "viewer")
    now = timezone.now()
    finding = Finding.objects.create(
        pair="main",
        code="acks-not-all",
        appid="shop",
        name="web",
        weight=10,
        first_at=now,
        opened_at=now,
        last_run=1,
    )
    edition, delivery = sent()
    audited = AuditedPartition.objects.create(
        pair=fleet.pair, topic="carts", partition=0, source=fleet.east, source_begin=0, target_begin=0,
        source_next=9, target_next=9, different=1,
    )  # fmt: skip
    monkeypatch.setattr(versions, "read_one", lambda *_: None)
    difference = AuditDifference.objects.create(
        audited=audited, kind="headers", source=fleet.east, source_offset=3, target_offset=3, found_at=now
    )
    pool = show(monkeypatch)
    monkeypatch.setattr(pool_decisions, "view_of", lambda *_: pool)
    for module in (pool_decisions, applier):
        monkeypatch.setattr(module, "zookeeper", lambda: None)
    monkeypatch.setattr(applier, "write", lambda *_: None)
    pool_change = requested(somebody, fleet.pair)
    acceptance = AuditAcceptance.objects.create(pair=fleet.pair, by=somebody, reason="known", counts={})
    return {
        "acceptance": acceptance.pk,
        "pool": "readers",
        "pool_change": pool_change.key,
        "pool_digest": pool_change.digest,
        "difference": difference.pk,
        "full_audit": FullAudit.objects.create(
            mirror=Mirror.objects.get(name="shop"), topic="carts", asked_by=somebody
        ).pk,
        "channel": channel().pk,
        "schedule": edition.issue.schedule_id,
        "issue": edition.issue_id,
        "edition": edition.pk,
        "delivery": delivery.pk,
        "file": "risks.csv",
        "finding": finding.pk,
        "cluster": "east",
        "mirror": "shop",
        "member": "gateway-1",
        "group": "readers",
        "table": "coverage",
        "job": "risk",
        "run": Run.objects.create(job="risk", state="published", began_at=now, ended_at=now).pk,
        "switch": switch.key,
        "change": change.key,
        "batch": batch.key,
        "batch_digest": batch.digest,
        "way": f"{fleet.pair.pk}:west",
        "change_digest": change.digest,
        "instance": InstanceID.objects.get(name="shop-carts").pk,
        "appid": fleet.shop.pk,
        "pair": "main",
        "pair_pk": fleet.pair.pk,
        "blackout": blackout.pk,
        "declaration": declaration.pk,
        "gateway": "gateway-9",
        "username": "somebody",
        "user_pk": somebody.pk,
        "digest": plan.digest,
        "draft": 0,
    }


@pytest.fixture
def json_fleet(db: None) -> dict[str, Any]:
    """Another pair beside the one of ``things``."""
    north, south = cluster("north", 3), cluster("south", 4)
    return {"pair": Pair.objects.create(name="other", first=north, second=south, default=north)}

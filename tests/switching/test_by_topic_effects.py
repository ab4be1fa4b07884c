"""Clients that move with a Topic's own binding: what a switch and a batch make of them, with faked Gateways."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from hadash.identity.identity import Identity
from hadash.inventory.models import Access, Cluster, Pair
from hadash.mirroring.models import Mirror
from hadash.radius.nodes import AccessEdge
from hadash.switching.batches.plans import _clients
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.execution.handlers import bindings
from hadash.switching.execution.lost_source import users
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.stages import commands as do
from hadash.switching.stages.context import StageContext

from .test_radius import fleet_of
from .world import WHOLE

BY_TOPIC = replace(WHOLE, identities=(Identity("shop", topics=("orders",)),), topics=("orders",), groups=())


@pytest.fixture
def pair(db: None) -> Pair:
    east, west = (
        Cluster.objects.create(name=name, number=number) for number, name in enumerate(("east", "west"), 1)
    )
    found = Pair.objects.create(name="main", first=east, second=west, default=east)
    Mirror.objects.create(
        pair=found, name="shop", topics=["orders"], source=east, known_ends_at=timezone.now()
    )
    return found


@pytest.mark.stack
def test_verify_hears_of_them(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    client = {"appid": "shop", "client_id": "web-1", "cluster": "east"}
    use = client | {"kind": "produce", "resource": "orders", "used_at": 5.0, "idle": 60.0}
    said: dict[str, list[dict[str, Any]]] = {"clients": [client], "access": [use]}
    monkeypatch.setattr(bindings, "ask_every", lambda path, key, **query: said[key])
    hands = CommandHandler(BY_TOPIC, None, StageContext(), lambda sentence: None)
    assert hands.carry_out(do.ReadClients()) == {"web-1": {"east"}}
    assert hands.carry_out(do.ReadClients(5.0)) == {}


@pytest.mark.stack
def test_they_are_expected_when_the_source_is_lost(pair: Pair) -> None:
    now = timezone.now()
    for client_id, topic in (("web-1", "orders"), ("web-2", "carts")):
        Access.objects.create(
            pair=pair,
            appid="shop",
            client_id=client_id,
            kind="produce",
            resource=topic,
            cluster="east",
            first_seen=now,
            last_seen=now,
        )
    assert users(pair, pair.first, BY_TOPIC) == (["web-1"], [])


@pytest.mark.stack
def test_a_group_in_which_a_client_only_commits_is_not_expected_to_have_members(pair: Pair) -> None:
    now = timezone.now()
    for group, member in (("billing", True), ("offsets-only", False)):
        Access.objects.create(
            pair=pair,
            appid="shop",
            client_id="web-1",
            kind=Access.Kind.GROUP,
            resource=group,
            cluster="east",
            details={"member": member},
            first_seen=now,
            last_seen=now,
        )
    both = replace(BY_TOPIC, identities=(Identity("shop"),), groups=("billing", "offsets-only"))
    assert users(pair, pair.first, both)[1] == ["billing"]


def test_they_are_counted_in_a_batch() -> None:
    uses = [
        AccessEdge("shop", "web-1", "produce", "orders"),
        AccessEdge("shop", "web-1", "produce", "carts"),
        AccessEdge("shop", "web-2", "consume", "orders"),
        AccessEdge("shop", "web-3", "consume", "carts"),
    ]
    assert _clients(fleet_of(uses), [PlanProposal(BY_TOPIC), PlanProposal(WHOLE)]) == [2, 3]

"""The batch benchmark's parts: its world moves as one, and what ZooKeeper saw of a change is read from ZooKeeper."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from kazoo.client import KazooClient
from support.waiting import eventually

from hadash.bindings.epochs import Report
from hadash.bindings.member import Member
from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity
from hadash.radius.fleet import Fleet, MirrorOf
from hadash.radius.nodes import AccessEdge
from hadash.radius.scope import Scope, ScopeKind
from hadash.switching.planning.radius import build_plan
from hadash_sandbox.bench.propagation import Changes
from hadash_sandbox.world import batch, till
from hadash_sandbox.worlds import world_named


def settings(config: tuple[str, ...]) -> dict[str, str]:
    return dict(setting.split("=", 1) for setting in config)


@pytest.mark.parametrize("instances", [14, 50, 1000])
def test_each_instance_id_is_one_client(instances: int) -> None:
    world = world_named(f"batch-{instances}")
    assert world == batch(instances)
    own = [spec.client_id for spec in world.clients if spec.library != "fleet"]
    fleets = [settings(spec.config) for spec in world.clients if spec.library == "fleet"]
    tills = [till(n) for fleet in fleets for n in range(int(fleet["first"]), int(fleet["last"]) + 1)]
    assert sorted(own + tills) == sorted(world.instances["shop"]) == [till(n + 1) for n in range(instances)]


def test_none_moves_without_all_others() -> None:
    world = batch(50)
    uses = [
        AccessEdge("shop", spec.client_id, spec.role, topic)
        for spec in world.clients
        for topic in spec.topics
        if spec.client_id
    ]
    uses += [AccessEdge("shop", spec.client_id, "group", spec.group) for spec in world.clients if spec.group]
    uses += [
        AccessEdge("shop", till(number), "produce", fleet.topics[0])
        for fleet in world.clients
        if fleet.library == "fleet"
        for number in range(int(settings(fleet.config)["first"]), int(settings(fleet.config)["last"]) + 1)
    ]
    mirrors = tuple(MirrorOf(name, "east", frozenset(topics)) for name, topics in world.mirrors.items())
    instances = {appid: frozenset(names) for appid, names in world.instances.items()}
    fleet = Fleet("main", ("east", "west"), "east", tuple(uses), {}, instances, mirrors)
    draft = build_plan(Scope(ScopeKind.INSTANCE, "shop", till(50)), "east", "west", fleet)
    assert draft.blockers == ()
    assert [i.instance_id for i in draft.plan.identities] == list(world.instances["shop"])


@pytest.mark.stack
def test_when_each_gateway_has_applied_a_change(connect_client: Callable[..., KazooClient]) -> None:
    client, store = connect_client(), BindingStore(connect_client())
    gateways = [Member(client, name, "127.0.0.1:1", "http://127.0.0.1:2", "0", 1) for name in ("a", "b")]
    for gateway in gateways:
        gateway.join(Report(0))
    changes, began = Changes(connect_client()), time.time() - 1
    epochs = [store.change([Edit(Identity("shop", till(n)), Binding("west"))]) for n in (1, 2)]
    gateways[0].report_applied(Report(epochs[0]))
    gateways[0].report_applied(Report(epochs[1]))
    gateways[1].report_applied(Report(epochs[1]))  # reported once for both

    def all_seen() -> bool:
        found = changes.between(began, time.time() + 1)
        return [c.epoch for c in found] == epochs and all(len(changes.applied(c)) == 2 for c in found)

    eventually(all_seen)
    first, second = changes.between(began, time.time() + 1)
    assert second.size > len(store.document("shop").to_bytes())
    assert first.size < second.size  # 0 when the second one came before it was looked at
    assert all(
        0 <= seconds < 60 for change in (first, second) for seconds in changes.applied(change).values()
    )

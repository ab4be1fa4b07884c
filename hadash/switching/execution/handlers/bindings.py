"""Commands to ZooKeeper and Gateways: bindings, the engines that obey them, connected clients."""

from __future__ import annotations

from typing import Any

from hadash.bindings import catalogue
from hadash.bindings.client import reaching
from hadash.bindings.dialect import Waiting
from hadash.bindings.model import Binding, BindingState, Placement
from hadash.bindings.pending_retries import ExpectedBack
from hadash.bindings.store import Edit
from hadash.inventory.dialects import dialect_of
from hadash.inventory.gateways import ask_all, ask_every, gateway_members, zookeeper
from hadash.switching.execution.connections import ask_about, connected
from hadash.switching.execution.handlers.context import HandlerContext
from hadash.switching.execution.handlers.registry import handles
from hadash.switching.execution.quiesced import furthest_quiesced
from hadash.switching.planning.current_bindings import bound_to
from hadash.switching.stages import commands as do


@handles(do.ReadBindings)
def read_bindings(
    hand: HandlerContext, command: do.ReadBindings
) -> dict[str, tuple[str, BindingState] | None]:
    found = bound_to(hand.pair, hand.plan)
    return {str(identity): (binding.cluster, binding.state) for identity, binding in found.items()}


@handles(do.WriteBindings)
def write_bindings(hand: HandlerContext, command: do.WriteBindings) -> int:
    assert hand.journal is not None
    binding = Binding(command.cluster, command.state, switch=hand.journal.switch, stage=hand.journal.stage)
    edits = [Edit(identity, binding) for identity in hand.plan.identities]
    return dialect_of(hand.pair).change(edits, hand.journal)


@handles(do.ReadGateways)
def read_gateways(hand: HandlerContext, command: do.ReadGateways) -> Any:
    return gateway_members()


@handles(do.ReadWaiting)
def read_waiting(hand: HandlerContext, command: do.ReadWaiting) -> Waiting:
    return dialect_of(hand.pair).waiting_for(command.epoch)


@handles(do.ReadNotTold)
def read_not_told(hand: HandlerContext, command: do.ReadNotTold) -> Waiting:
    return dialect_of(hand.pair).not_told(command.epoch)


@handles(do.PublishPlacement)
def publish_placement(hand: HandlerContext, command: do.PublishPlacement) -> None:
    assert hand.journal is not None
    groups = hand.client(hand.plan.target).groups(hand.plan.groups)
    placement = Placement(
        hand.plan.target,
        dict(command.leaders),
        {name: group.coordinator for name, group in groups.items() if group.coordinator >= 0},
    )
    with reaching():
        catalogue.publish_placement(zookeeper(), hand.journal.switch, placement)


@handles(do.ReadQuiesced)
def read_quiesced(hand: HandlerContext, command: do.ReadQuiesced) -> dict[tuple[str, str], str]:
    groups = set(hand.plan.groups)
    found = ask_about(hand.plan, ask_all, "/members", "members")
    return furthest_quiesced(m for m in found if m["group"] in groups)


@handles(do.ReadClients)
def read_clients(hand: HandlerContext, command: do.ReadClients) -> dict[str, set[str]]:
    found = connected(hand.plan, ask_every, command.lately)
    return {hand.plan.who(*name): clusters for name, clusters in found.items()}


@handles(do.ReadActivity)
def read_activity(hand: HandlerContext, command: do.ReadActivity) -> set[tuple[str, str]]:
    found = ask_about(hand.plan, ask_every, "/access", "access")
    topics = set(hand.plan.topics)
    if hand.plan.kind.spec.readers_only:  # other clients of the same AppID stay, and may read the same Topics
        found = [a for a in found if hand.plan.covers(a["appid"], a["client_id"])]
    return {
        (a["kind"], a["resource"])
        for a in found
        if a["cluster"] == command.cluster and a["resource"] in topics
        if a["idle"] is not None and a["idle"] < command.seconds
        if a["kind"] in ("produce", "consume")
    }


@handles(do.ReadExpectedBack)
def read_expected_back(hand: HandlerContext, command: do.ReadExpectedBack) -> list[ExpectedBack]:
    return dialect_of(hand.pair).expected_back(hand.plan.appids, hand.plan.source)

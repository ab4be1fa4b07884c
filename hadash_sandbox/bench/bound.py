"""Finds the most InstanceIDs of one switch: their bindings have to fit into one ZooKeeper transaction.

The largest plan that hadash does not refuse is searched for. Its bindings are then written, to check that ZooKeeper
accepts them.
"""

from __future__ import annotations

import time

from kazoo.client import KazooClient

from hadash.bindings import layout
from hadash.bindings.model import Binding, BindingDocument, BindingState, Journal
from hadash.bindings.store import BindingStore, Edit
from hadash.radius.fleet import Fleet, MirrorOf
from hadash.radius.nodes import AccessEdge
from hadash.radius.scope import Scope, ScopeKind
from hadash.switching.planning.radius import PlanProposal, build_plan
from hadash_sandbox.bench.report import Report
from hadash_sandbox.world import till
from hadash_sandbox.zookeeper import ZooKeeper

#: A chroot beside hadash's own.
CHROOT = "/hadash-bench"
APPID, TOPIC = "shop", "shop.sales"
#: Upper limit of the search: no installation has as many.
MOST = 20_000
#: A key as long as a real one: twelve hexadecimal digits.
SWITCH = "0123456789ab"


def bench_bound(report: Report, zookeeper: ZooKeeper) -> None:
    """Find the largest batch for InstanceIDs without a binding, and for InstanceIDs that have moved before."""
    client = zookeeper.connect(CHROOT)
    try:
        for bound in (False, True):
            most = _largest(bound)
            refused = _draft(most + 1, bound).blockers
            epoch, seconds = _write(client, most, bound)
            stat = client.exists(layout.binding(APPID))
            report.row(
                "batch: the largest in one transaction",
                bindings="had before" if bound else "new",
                largest=most,
                document_bytes=stat.dataLength if stat is not None else 0,
                written_in_s=round(seconds, 2),
                epoch=epoch,
                beyond_it=" ".join(str(reason) for reason in refused),
            )
            client.delete(layout.binding(APPID))
    finally:
        client.delete("/", recursive=True)
        client.stop()
        client.close()


def _largest(bound: bool) -> int:
    """The number of InstanceIDs in the largest plan without blockers."""
    least, most = 1, MOST
    while most - least > 1:
        middle = (least + most) // 2
        if _draft(middle, bound).blockers:
            most = middle
        else:
            least = middle
    return least


def _draft(count: int, bound: bool) -> PlanProposal:
    """The plan of ``count`` InstanceIDs that write to one Topic."""
    names = [till(number) for number in range(1, count + 1)]
    document = _document(names)
    fleet = Fleet(
        pair="main",
        clusters=("east", "west"),
        default="east",
        uses=tuple(AccessEdge(APPID, name, "produce", TOPIC) for name in names),
        documents={APPID: document} if bound else {},
        instances={APPID: frozenset(names)},
        mirrors=(MirrorOf("shop", "east", frozenset({TOPIC})),),
    )
    return build_plan(Scope(ScopeKind.INSTANCE, APPID, names[0]), "east", "west", fleet)


def _document(names: list[str]) -> BindingDocument:
    binding = Binding("east", epoch=100, since=50, switch=SWITCH, stage="forward")
    return BindingDocument(APPID, instances=dict.fromkeys(names, binding))


def _write(client: KazooClient, count: int, bound: bool) -> tuple[int, float]:
    """Write the bindings of a plan of ``count`` InstanceIDs, as its block would; return (epoch, seconds)."""
    plan, store = _draft(count, bound).plan, BindingStore(client)
    if bound:
        client.create(layout.binding(APPID), _document([till(n) for n in range(1, count + 1)]).to_bytes())
    # (The second one takes the switch over from the first: no two executors have the same token.)
    journal = Journal(SWITCH, "block", 2 if bound else 1)
    store.take_over(journal.switch, journal.stage, journal.token)
    blocked = Binding("east", BindingState.BLOCK, switch=SWITCH, stage="block")
    began = time.perf_counter()
    epoch = store.change([Edit(identity, blocked) for identity in plan.identities], journal)
    return epoch, time.perf_counter() - began

"""Read the facts for :mod:`hadash.switching.retirement.checks`: bindings, access, groups, mirrors, ends."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping

from django.conf import settings

from hadash.inventory import access
from hadash.inventory.gateways import ask_every
from hadash.inventory.models import Access
from hadash.inventory.selectors import access_since
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.values import Partition
from hadash.mirroring import probe
from hadash.mirroring import services as mirroring
from hadash.mirroring.models import Mirror
from hadash.radius.fleet import bound_on, used_on
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan
from hadash.switching.planning import overlaps
from hadash.switching.planning.current_bindings import bound_to
from hadash.switching.planning.proposals import fleet_of
from hadash.switching.retirement.checks import MirrorState, OldClusterFacts


def read_now(
    switch: Switch, written: Mapping[Partition, int], *, stopping: bool, retired: Collection[str] = ()
) -> OldClusterFacts:
    """Read everything that is known now of what would be removed after ``switch``.

    :param written: where the mirrors' writing has ended, as far as they are stopped.
    :param stopping: whether the mirrors need not run any more. :param retired: names of mirrors that need not exist
        any more.
    :raises GatewaySilent, BindingError, KafkaError, ConnectError, EnginesAway: a server does not answer.
    """
    plan, pair = switch.the_plan(), switch.pair
    access.collect(every=True)
    fleet = fleet_of(pair, switch.source)
    old = mirroring.cluster_client(switch.source)
    holder = overlaps.overlapping(plan)
    left = mirrors_of(plan, switch)
    return OldClusterFacts(
        bindings=bound_to(pair, plan),
        open_switch=holder.key if holder is not None else "",
        bound=tuple(bound_on(fleet, plan.source, plan.topics, plan.groups)),
        users=tuple(used_on(fleet, plan.source, plan.topics, plan.groups)),
        seen=tuple(_seen(switch, plan)),
        members={
            name: tuple(member.client_id for member in group.members)
            for name, group in old.groups(plan.groups).items()
        },
        elsewhere={
            name: tuple(sorted({p.topic for p in offsets} - set(plan.topics)))
            for name, offsets in old.group_offsets(plan.groups).items()
        },
        mirrors=_looked_at(left, stopping),
        missing=tuple(sorted(set(plan.mirrors) - {mirror.name for mirror in left} - set(retired))),
        grown=_grown(old, written),
    )


def mirrors_of(plan: Plan, switch: Switch) -> list[Mirror]:
    """The mirrors of a plan that still exist."""
    found = Mirror.objects.filter(pair=switch.pair, name__in=plan.mirrors)
    return list(found.select_related("source", "pair__first", "pair__second"))


def existing(client: ClusterClient, topics: tuple[str, ...]) -> list[str]:
    """Which of ``topics`` the cluster has. All of its Topics are listed, because asking for one by name can create it.

    A Topic counts as missing only if two lists, ``RETIREMENT_MISSING_SECONDS`` apart, both lack it: see there.
    """
    wanted = set(topics)
    found = wanted & set(client.topics())
    if found != wanted:
        time.sleep(settings.RETIREMENT_MISSING_SECONDS)
        found |= wanted & set(client.topics())
    return sorted(found)


def _looked_at(found: list[Mirror], stopping: bool) -> tuple[MirrorState, ...]:
    if not stopping:
        for mirror in found:
            probe.look(mirror)
    return tuple(
        MirrorState(m.name, "" if stopping else str(m.state), m.fault, m.source.name, frozenset(m.topics))
        for m in found
    )


def _seen(switch: Switch, plan: Plan) -> list[str]:
    """What the Gateways have seen on the old cluster since the switch succeeded (until then the switch itself was
    watching), as far back as observed access counts as use.

    :func:`used_on` reports clients that still belong there, from the access table. That table cannot say when a client
    that has moved was last there: everything that a connected client has ever used counts in it as used now.
    """
    since = max(switch.ended_at or switch.requested_at, access_since()).timestamp()
    topics, groups = set(plan.topics), set(plan.groups)
    return [
        f"{fact['appid']} › {fact['client_id'] or '?'} {fact['kind']} {fact['resource']}"
        for fact in ask_every("/access", "access")
        if fact["cluster"] == plan.source and fact["used_at"] > since
        if fact["resource"] in (groups if fact["kind"] == Access.Kind.GROUP else topics)
    ]


def _grown(client: ClusterClient, written: Mapping[Partition, int]) -> dict[Partition, tuple[int, int]]:
    """Partitions that do not end where the mirror's writing ended. Deleted ones have not grown."""
    there = set(existing(client, tuple({p.topic for p in written})))
    ends = client.end_offsets([p for p in written if p.topic in there])
    return {p: (end, written[p]) for p, end in ends.items() if end != written[p]}

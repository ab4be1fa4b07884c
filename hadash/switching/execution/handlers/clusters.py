"""Commands to the two clusters: Topics, offsets, groups, ACLs, quotas."""

from __future__ import annotations

import ipaddress
import logging
from collections.abc import Set
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings

from hadash.inventory.gateways import ask_every
from hadash.kafka.errors import KafkaError
from hadash.kafka.values import Acl, Committed, Partition
from hadash.mirroring import acls as acl_rules
from hadash.mirroring import standby
from hadash.mirroring.acls import Denied
from hadash.mirroring.offsets import to_try
from hadash.sentences import Sentence
from hadash.switching.execution import quotas
from hadash.switching.execution.connections import ask_about
from hadash.switching.execution.handlers.context import HandlerContext
from hadash.switching.execution.handlers.mirrors import read_offset_syncs
from hadash.switching.execution.handlers.registry import handles
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import (
    Assigned,
    QuotaCheck,
    QuotasFound,
    Reader,
    RightsCheck,
    RightsFound,
)

log = logging.getLogger(__name__)

#: The state of a group whose coordinator tells the assignments.
STABLE = "Stable"


@handles(do.CheckCluster)
def check_cluster(hand: HandlerContext, command: do.CheckCluster) -> Sentence | None:
    try:
        hand.client(command.cluster).brokers()
    except KafkaError as error:
        return error.sentence
    return None


@handles(do.ReadTopics)
def read_topics(hand: HandlerContext, command: do.ReadTopics) -> dict[str, tuple[int, ...]]:
    return {
        name: info.leaders for name, info in hand.client(command.cluster).topics(hand.plan.topics).items()
    }


@handles(do.CopyAcls)
def copy_acls(hand: HandlerContext, command: do.CopyAcls) -> int:
    source, target = hand.clusters[hand.plan.source], hand.clusters[hand.plan.target]
    mirrored = {topic for m in hand.mirrors() if m.source_id == source.pk for topic in m.topics}
    closed = sorted(mirrored & set(hand.plan.topics))
    return standby.copy_acls(hand.pair, source, target, hand.plan.appids, closed)


@handles(do.ReadRights)
def read_rights(hand: HandlerContext, command: do.ReadRights) -> RightsFound:
    both = [hand.clusters[hand.plan.source], hand.clusters[hand.plan.target]]
    return RightsFound(*standby.rights(both, hand.plan.appids))


@handles(do.CheckRights)
def check_rights(hand: HandlerContext, command: do.CheckRights) -> RightsCheck:
    plan, target = hand.plan, hand.clusters[hand.plan.target]
    if plan.kind.spec.source_lost:  # it cannot be asked
        (alone,) = standby.rights([target], plan.appids)
        return RightsCheck(by_host=_depending_on_hosts(plan, alone))
    here, there = command.found or read_rights(hand, do.ReadRights())
    own = standby.own_denials(target)
    denied = acl_rules.denied_beyond(here, there, plan.appids, plan.topics, plan.groups, own)
    return RightsCheck(
        tuple(sorted(f"{a.principal} {a.operation} {a.resource_type.lower()} {a.resource}" for a in denied)),
        # (The ACLs of both clusters count as one set: what the target lacks is copied to it.)
        _depending_on_hosts(plan, here | there),
    )


def _depending_on_hosts(plan: Plan, rules: Set[Acl]) -> tuple[str, ...]:
    seen = [ipaddress.ip_network(host) for host in settings.SWITCH_ACL_HOSTS]
    depending = acl_rules.by_host(rules, plan.appids, plan.topics, plan.groups)
    return tuple(
        sorted(
            f"{a.permission} {a.principal} {a.operation} {a.resource_type.lower()} {a.resource} host {a.host}"
            for a in depending
            if not acl_rules.is_one_of(a.host, seen)
        )
    )


@handles(do.CheckQuotas)
def check_quotas(hand: HandlerContext, command: do.CheckQuotas) -> QuotaCheck:
    return quotas.check(hand.pair, hand.plan, hand.client(hand.plan.source), hand.client(hand.plan.target))


@handles(do.CopyQuotas)
def copy_quotas(hand: HandlerContext, command: do.CopyQuotas) -> list[str]:
    return quotas.copy(hand.pair, hand.plan, hand.client(hand.plan.source), hand.client(hand.plan.target))


@handles(do.ReadQuotas)
def read_quotas(hand: HandlerContext, command: do.ReadQuotas) -> QuotasFound:
    return quotas.read(hand.pair, hand.plan, hand.client(hand.plan.target))


@handles(do.CheckSignIn)
def check_sign_in(hand: HandlerContext, command: do.CheckSignIn) -> dict[str, tuple[set[str], set[str]]]:
    source = hand.client(hand.plan.source).scram_users()
    target = hand.client(hand.plan.target).scram_users()
    return {appid: (source.get(appid, set()), target.get(appid, set())) for appid in hand.plan.appids}


@handles(do.AllowWrites)
def allow_writes(hand: HandlerContext, command: do.AllowWrites) -> int:
    return standby.allow_writes(hand.clusters[command.cluster], hand.plan.topics)


@handles(do.ReadLateBrokers)
def read_late_brokers(hand: HandlerContext, command: do.ReadLateBrokers) -> list[int]:
    return standby.late_brokers(hand.clusters[command.cluster], hand.plan.topics, hand.plan.appids)


@handles(do.DenyWrites)
def deny_writes(hand: HandlerContext, command: do.DenyWrites) -> int:
    made = hand.context.denied(command.cluster)
    cluster = hand.clusters[command.cluster]

    def keep(rules: list[Denied]) -> None:
        """Note the denials in ZooKeeper, too: a PostgreSQL that loses its notes would otherwise leave ACLs that nobody
        removes.
        """
        if not hand.context.keep_denied(command.cluster, rules):
            log.warning(
                "switch %s: ZooKeeper has no room to note %d write denials", hand.plan.scope, len(rules)
            )

    return standby.deny_writes(hand.pair, cluster, hand.plan.topics, made, keep)


@handles(do.WarmUp)
def warm_up(hand: HandlerContext, command: do.WarmUp) -> None:
    partitions = hand.all_partitions()
    read_offset_syncs(hand, do.ReadOffsetSyncs())
    with ThreadPoolExecutor(max_workers=2) as beside:
        for done in [
            beside.submit(_warm_up, hand, c, partitions) for c in (hand.plan.source, hand.plan.target)
        ]:
            done.result()
    _try_group_offsets(hand, partitions)


def _warm_up(hand: HandlerContext, cluster: str, partitions: list[Partition]) -> None:
    client = hand.client(cluster)
    starts = client.start_offsets(partitions)
    for count in (1, settings.SWITCH_LAST_RECORDS):
        client.tail(client.end_offsets(partitions), starts, count)
    client.group_offsets(hand.plan.groups)


def _try_group_offsets(hand: HandlerContext, partitions: list[Partition]) -> None:
    """Write offsets that translate will overwrite, so that a failure to write them shows before clients wait."""
    source, target = hand.client(hand.plan.source), hand.client(hand.plan.target)
    committed = source.group_commits(hand.plan.groups)
    tried = to_try(committed, target.group_commits(hand.plan.groups), target.start_offsets(partitions))
    # (The fence: if reading took long, an executor that was replaced would overwrite what its successor has
    # translated.)
    target.set_group_offsets(tried, hand.fence)


@handles(do.ReadMembers)
def read_members(hand: HandlerContext, command: do.ReadMembers) -> dict[str, set[str]]:
    groups = hand.client(command.cluster).groups(hand.plan.groups)
    return {name: {member.member_id for member in group.members} for name, group in groups.items()}


@handles(do.ReadEnds)
def read_ends(hand: HandlerContext, command: do.ReadEnds) -> dict[Partition, int]:
    return hand.client(command.cluster).end_offsets(hand.all_partitions())


@handles(do.ReadStarts)
def read_starts(hand: HandlerContext, command: do.ReadStarts) -> dict[Partition, int]:
    return hand.client(command.cluster).start_offsets(hand.all_partitions())


@handles(do.ReadGroupOffsets)
def read_group_offsets(hand: HandlerContext, command: do.ReadGroupOffsets) -> dict[str, dict[Partition, int]]:
    return hand.client(command.cluster).group_offsets(hand.plan.groups)


@handles(do.ReadCommits)
def read_commits(hand: HandlerContext, command: do.ReadCommits) -> dict[str, dict[Partition, Committed]]:
    return hand.client(command.cluster).group_commits(hand.plan.groups)


@handles(do.ReadAssigned)
def read_assigned(hand: HandlerContext, command: do.ReadAssigned) -> Assigned:
    topics = set(hand.plan.topics)
    hosts = _hosts(hand)
    found: dict[str, dict[Partition, frozenset[Reader]] | None] = {}
    for name, group in hand.client(command.cluster).groups(hand.plan.groups).items():
        if group.members and group.state != STABLE:
            found[name] = None
            continue
        given: dict[Partition, frozenset[Reader]] = {}
        for member in group.members:
            reader = Reader(member.client_id, hosts.get((name, member.member_id), ""))
            for partition in member.partitions:
                if partition.topic in topics:
                    given[partition] = given.get(partition, frozenset()) | {reader}
        found[name] = given
    return found


def _hosts(hand: HandlerContext) -> dict[tuple[str, str], str]:
    """The hosts of group members, by group and member id, as the Gateways see them. (A coordinator sees the
    Gateway.)
    """
    members = ask_about(hand.plan, ask_every, "/members", "members")
    return {(m["group"], m["member_id"]): m["host"] for m in members}


@handles(do.ReadPositions)
def read_positions(hand: HandlerContext, command: do.ReadPositions) -> list[tuple[Reader, Partition, int]]:
    topics = set(hand.plan.topics)
    # Every Gateway is needed: the lowest of only some positions could skip records.
    found = ask_about(hand.plan, ask_every, "/positions", "positions")
    return [
        (Reader(entry["client_id"], entry["host"]), Partition(topic, index), offset)
        for entry in found
        if entry["cluster"] == hand.plan.source and entry["client_id"] in command.client_ids
        for topic, index, offset in entry["offsets"]
        if topic in topics
    ]


@handles(do.WriteGroupOffsets)
def write_group_offsets(hand: HandlerContext, command: do.WriteGroupOffsets) -> None:
    hand.client(hand.plan.target).set_group_offsets(command.offsets, hand.fence)


@handles(do.RemoveGroupOffsets)
def remove_group_offsets(hand: HandlerContext, command: do.RemoveGroupOffsets) -> None:
    hand.client(hand.plan.target).remove_group_offsets(command.partitions, hand.fence)

"""Commands to mirrors (check, compare, stop, turn round), and checks of the current plan and its clients."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings

from hadash.auditors import selectors
from hadash.auditors.proofs import Proof
from hadash.governance.client_risks import has_joined
from hadash.governance.findings import Circumstances, acks
from hadash.inventory import access
from hadash.inventory.gateways import ask_every
from hadash.inventory.models import Access
from hadash.inventory.selectors import access_since
from hadash.kafka.values import Partition, Record
from hadash.mirroring import catching_up, probe, proof, turning
from hadash.mirroring import services as mirroring
from hadash.mirroring.models import Mirror
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.proof import same_next
from hadash.refusals import Refused
from hadash.sentences import Sentence
from hadash.switching.execution.connections import ask_about
from hadash.switching.execution.handlers.context import HandlerContext
from hadash.switching.execution.handlers.registry import handles
from hadash.switching.plan import Plan
from hadash.switching.planning.proposals import plan_for
from hadash.switching.planning.risks import replicated, uses_of
from hadash.switching.policy import limits_of
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import AuditFound, LastRecordsCompared, MirrorFound, UsedAssignors
from hadash.switching.stages.assignors import EAGER, Rebalancing, rebalancing
from hadash.switching.stages.reading_on import READING_ON, reads_on
from hadash.switching.stages.self_assigned import self_assigned


@handles(do.ComputePlan)
def compute_plan(hand: HandlerContext, command: do.ComputePlan) -> Plan | list[Sentence]:
    access.collect(every=True)
    try:
        return plan_for(hand.pair, hand.plan.scope, hand.clusters[hand.plan.target], hand.plan.kind)
    except Refused as refused:
        return refused.reasons


@handles(do.CheckAcks)
def check_acks(hand: HandlerContext, command: do.CheckAcks) -> Sentence | None:
    found = acks(
        uses_of(hand.plan, hand.pair), Circumstances(replicated(hand.clusters[hand.plan.source], hand.plan))
    )
    return found.sentence if found is not None else None


@handles(do.CheckAssignors)
def check_assignors(hand: HandlerContext, command: do.CheckAssignors) -> UsedAssignors:
    groups = hand.client(hand.plan.source).groups(hand.plan.groups)
    eager = EAGER | frozenset(settings.SWITCH_EAGER_ASSIGNORS)
    joined = {
        (m["group"], m["member_id"]): m["assignors"]
        for m in ask_about(hand.plan, ask_every, "/members", "members")
        if m["assignors"] is not None
    }
    found: dict[Rebalancing, list[str]] = {each: [] for each in Rebalancing}
    for name, group in sorted(groups.items()):
        members = {member.member_id: member.client_id for member in group.members}
        offered = {member: joined[name, member] for member in members if (name, member) in joined}
        how = rebalancing(group.protocol, members, offered, eager)
        who = ", ".join(sorted(set(members.values())))
        found[how].append(f"{name} ({group.protocol or group.state}: {who})")
    return UsedAssignors(tuple(found[Rebalancing.COOPERATIVE]), tuple(found[Rebalancing.UNKNOWN]))


@handles(do.CheckMirrors)
def check_mirrors(hand: HandlerContext, command: do.CheckMirrors) -> list[MirrorFound]:
    found = []
    mirrors = [m for m in hand.mirrors() if command.copying_from in ("", m.source.name)]
    held = catching_up.held_now(mirrors) if command.thorough else {}
    for mirror in mirrors:
        sample = probe.look(mirror, command.thorough, held.get(mirror), limits_of(mirror.pair).max_lag)
        found.append(MirrorFound(mirror.name, str(mirror.state), mirror.fault, sample.records))
    return found


@handles(do.CheckAudits)
def check_audits(hand: HandlerContext, command: do.CheckAudits) -> list[AuditFound]:
    found = []
    for mirror in hand.mirrors():
        audit = selectors.standing(mirror)
        differs = audit.proof is Proof.DIFFERENT and selectors.stops_switches(mirror)
        found.append(AuditFound(mirror.name, audit.proof is Proof.EQUAL, differs, audit.sentence))
    return found


@handles(do.ReadWritten)
def read_written(hand: HandlerContext, command: do.ReadWritten) -> dict[str, str]:
    return {topic: mirror.source.name for mirror in hand.mirrors() for topic in mirror.topics}


@handles(do.CheckSelfAssigned)
def check_self_assigned(hand: HandlerContext, command: do.CheckSelfAssigned) -> dict[str, frozenset[str]]:
    readers = ask_about(hand.plan, ask_every, "/readers", "readers")
    # Read last: a client that joined meanwhile is a member.
    members = ask_about(hand.plan, ask_every, "/members", "members")
    groups = hand.client(hand.plan.source).groups(hand.plan.groups)
    hosts = {(m["group"], m["member_id"]): m["host"] for m in members}
    assigned = Counter(
        (member.client_id, hosts.get((group.name, member.member_id), ""), partition)
        for group in groups.values()
        for member in group.members
        for partition in member.partitions
    )
    return self_assigned(hand.plan, readers, members, assigned)


@handles(do.CheckReadingOn)
def check_reading_on(hand: HandlerContext, command: do.CheckReadingOn) -> list[str]:
    members = Access.objects.filter(
        pair=hand.pair,
        appid__in=hand.plan.appids,
        kind=Access.Kind.GROUP,
        resource__in=hand.plan.groups,
        library__in={*READING_ON, *settings.SWITCH_READING_ON},
        last_seen__gte=access_since(),
    )
    names = {
        (row.appid, row.client_id)
        for row in members
        if has_joined(row.details) and reads_on(row.library, row.version, settings.SWITCH_READING_ON)
    }
    return sorted(hand.plan.who(*name) for name in names if hand.plan.covers(*name))


@handles(do.ReadOffsetSyncs)
def read_offset_syncs(hand: HandlerContext, command: do.ReadOffsetSyncs) -> dict[Partition, OffsetSync]:
    mirrors = Mirror.objects.filter(pair=hand.pair, name__in=hand.plan.mirrors)
    return mirroring.offset_syncs_of_topics(mirrors, hand.plan.topics)


@handles(do.CompareLastRecords)
def compare_last_records(hand: HandlerContext, command: do.CompareLastRecords) -> LastRecordsCompared:
    count = settings.SWITCH_LAST_RECORDS
    source_ends = {p: point.source for p, point in command.ends.items()}
    target_ends = {p: point.target for p, point in command.ends.items()}

    def read(
        cluster: str, ends: dict[Partition, int]
    ) -> tuple[dict[Partition, list[Record]], dict[Partition, int]]:
        client = hand.client(cluster)
        starts = client.start_offsets(ends)
        return client.tail(ends, starts, count), starts

    # Both sides at once, because clients wait.
    with ThreadPoolExecutor(max_workers=1) as beside:
        other = beside.submit(read, hand.plan.target, target_ends)
        ours, our_starts = read(hand.plan.source, source_ends)
        theirs, their_starts = other.result()
    return LastRecordsCompared(
        proof.compare_last_records(ours, theirs),
        proof.shared_last_records(ours, theirs),
        {p: OffsetSync(our_starts[p], their_starts[p]) for p in command.ends},
    )


@handles(do.CompareNext)
def compare_next(hand: HandlerContext, command: do.CompareNext) -> dict[Partition, bool]:
    count = settings.SWITCH_LAST_RECORDS

    def read(cluster: str, spans: dict[Partition, tuple[int, int]]) -> dict[Partition, list[Record]]:
        client = hand.client(cluster)
        ends = {p: min(first + count, end) for p, (first, end) in spans.items()}
        found = client.tail(ends, client.start_offsets(ends), count)
        return {p: [r for r in records if r.offset >= spans[p][0]] for p, records in found.items()}

    points, ends = command.points, command.ends
    there = {p: (point.target, ends[p].target) for p, point in points.items()}
    # Both sides at once, because clients wait.
    with ThreadPoolExecutor(max_workers=1) as beside:
        other = beside.submit(read, hand.plan.target, there)
        ours = read(hand.plan.source, {p: (point.source, ends[p].source) for p, point in points.items()})
        theirs = other.result()
    return {p: same_next(ours.get(p, []), theirs.get(p, [])) for p in points}


@handles(do.PauseMirrors)
def pause_mirrors(hand: HandlerContext, command: do.PauseMirrors) -> None:
    turning.pause_before_turning(hand.mirrors(), hand.fence)


@handles(do.ResumeMirrors)
def resume_mirrors(hand: HandlerContext, command: do.ResumeMirrors) -> None:
    for mirror in hand.mirrors():
        turning.resume_unturned(mirror, hand.fence)


@handles(do.ReverseMirrors)
def reverse_mirrors(hand: HandlerContext, command: do.ReverseMirrors) -> None:
    target = hand.clusters[hand.plan.target]
    for mirror in hand.mirrors():
        if mirror.source_id == target.pk:
            continue  # an earlier attempt has turned it round
        ends = {p: point for p, point in command.ends.items() if p.topic in mirror.topics}
        turning.reverse(mirror, ends, hand.fence)


@handles(do.HoldMirrors)
def hold_mirrors(hand: HandlerContext, command: do.HoldMirrors) -> None:
    turning.hold(hand.mirrors(), hand.clusters[hand.plan.target], hand.fence)


@handles(do.ReadCopied)
def read_copied(hand: HandlerContext, command: do.ReadCopied) -> dict[Partition, int]:
    return {p: last for mirror in hand.mirrors() for p, last in mirroring.copied_by(mirror).items()}


@handles(do.ReadRepeated)
def read_repeated(hand: HandlerContext, command: do.ReadRepeated) -> dict[Partition, int]:
    return {p: count for mirror in hand.mirrors() for p, count in mirroring.repeated_in(mirror).items()}

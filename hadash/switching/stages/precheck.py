"""Precheck: everything that must hold before a client notices anything. Pure; see ``ways.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import NamedTuple

from hadash.bindings.model import BindingState
from hadash.kafka.values import Partition
from hadash.sentences import say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import MirrorFound, QuotaCheck, RightsFound
from hadash.switching.stages.audits import check_audits
from hadash.switching.stages.catch_up import check_mirror, check_mirrors_read_from, check_readers
from hadash.switching.stages.command import Step, ask, ask_together
from hadash.switching.stages.pools import check_pools
from hadash.switching.stages.positions import together, uncommitted_positions
from hadash.switching.stages.quota_checks import check_quotas, copy_quotas
from hadash.switching.stages.reading_on import check_reading_on
from hadash.switching.stages.run import Limits, StageFailed, StageRun
from hadash.switching.stages.self_assigned import check_self_assigned
from hadash.switching.stages.steps import excluded_and_running
from hadash.switching.stages.translation import nothing_is_lost
from hadash.switching.stages.waiting import NotYet, wait_until


def precheck(plan: Plan, limits: Limits) -> StageRun:
    """Everything that must hold before a client notices anything. Changes nothing but missing ACLs
    and quotas, and what Gateways know of where partitions lead."""
    yield from check_plan(plan)
    leaders, quotas = yield from _checks(plan, limits)
    copied = yield from ask(do.CopyAcls())
    if copied:
        yield from ask(
            do.Say(
                say(
                    "Copied %(count)s ACLs of %(appid)s to %(cluster)s.",
                    count=copied,
                    appid=plan.appids,
                    cluster=plan.target,
                )
            )
        )
    yield from copy_quotas(plan, quotas)
    yield from ask(do.PublishPlacement(leaders))
    clients = yield from ask(do.ReadClients(limits.active))
    members = yield from ask(do.ReadMembers(plan.source))
    activity = yield from ask(do.ReadActivity(plan.source, limits.active))
    yield from ask(
        do.RecordSeen(
            tuple(sorted(clients)),
            tuple(sorted(g for g, ids in members.items() if ids)),
            tuple(sorted(activity)),
        )
    )
    return say(
        "All checks hold (Topics: %(topics)s, groups: %(groups)s, clients: %(clients)s).",
        topics=len(plan.topics),
        groups=len(plan.groups),
        clients=len(clients),
    )


def precheck_only(plan: Plan, limits: Limits) -> StageRun:
    """The precheck of a rehearsal: the same checks, and not even ACLs are copied."""
    yield from check_plan(plan)
    _, quotas = yield from _checks(plan, limits)
    if quotas.missing:
        yield from ask(
            do.Say(
                say(
                    "A switch would copy quotas to %(cluster)s: %(quotas)s.",
                    cluster=plan.target,
                    quotas=quotas.missing,
                )
            )
        )
    return say(
        "All checks hold (Topics: %(topics)s, groups: %(groups)s).",
        topics=len(plan.topics),
        groups=len(plan.groups),
    )


def preflight(plan: Plan, limits: Limits) -> StageRun:
    """The read-only checks of :func:`precheck`, made when the switch is requested, so that faults show at once."""
    yield from _checks(plan, limits)
    return say("All checks hold.")


def _checks(plan: Plan, limits: Limits) -> Step[tuple[dict[str, tuple[int, ...]], QuotaCheck]]:
    """(the leaders of the Topics on the target, the comparison of the quotas)."""
    for cluster in (plan.source, plan.target):
        fault = yield from ask(do.CheckCluster(cluster))
        if fault:
            raise StageFailed(
                say("Cluster %(cluster)s does not answer: %(fault)s", cluster=cluster, fault=fault)
            )
    yield from check_bindings(plan)
    yield from check_gateways()
    split = plan.kind.spec.readers_only
    read = yield from _read_at_once(plan)
    if split:
        yield from check_mirrors_read_from(plan, limits)
    else:
        _check_mirrors(plan, limits, read.mirrors)
    yield from check_audits(plan, limits)
    yield from check_pools(plan)
    leaders = yield from _check_topics(plan, read)
    yield from check_assignors(plan, limits)
    yield from _check_groups(plan, limits)
    points = yield from ask(do.ReadOffsetSyncs())
    if split:
        yield from check_readers(plan, limits)
    else:
        yield from check_self_assigned(plan, limits, points)
    yield from check_reading_on(plan, limits, points)
    yield from _check_sign_in(plan, read)
    yield from _check_rights(plan, read)
    quotas = yield from check_quotas(plan, limits)
    if not (split or limits.accept_acks_1):
        yield from _check_acks(plan)
    return leaders, quotas


class _Read(NamedTuple):
    """What was read of both clusters at the same time; ``mirrors`` only for a way that turns them round."""

    source: Mapping[str, tuple[int, ...]]
    target: Mapping[str, tuple[int, ...]]
    sign_in: Mapping[str, tuple[Set[str], Set[str]]]
    rights: RightsFound
    mirrors: Sequence[MirrorFound] = ()


def _read_at_once(plan: Plan) -> Step[_Read]:
    """Ask both clusters for what does not depend on each other: a person waits for the checks, and looking at the
    mirrors takes as long as all the rest.
    """
    always = do.ReadTopics(plan.source), do.ReadTopics(plan.target), do.CheckSignIn(), do.ReadRights()
    if plan.kind.spec.readers_only:
        return _Read(*(yield from ask_together(*always)))
    return _Read(*(yield from ask_together(*always, do.CheckMirrors(thorough=True))))


def check_plan(plan: Plan) -> Step[None]:
    """The plan is still what it was: other clients may have begun to use what moves since the approval."""
    current = yield from ask(do.ComputePlan())
    if isinstance(current, list):
        raise StageFailed(current[0])
    if current != plan:
        raise StageFailed(
            say(
                "What would move has changed since the approval (now: %(topics)s; groups: %(groups)s). "
                "Request the switch again.",
                topics=current.topics,
                groups=current.groups,
            )
        )


def check_bindings(plan: Plan) -> Step[None]:
    """Every identity of the plan is on the source, and no other switch moves it."""
    found = yield from ask(do.ReadBindings(before=True))
    for identity in plan.identities:
        cluster, state = found[str(identity)] or (plan.source, BindingState.FORWARD)
        if state is not BindingState.FORWARD:
            raise StageFailed(say("%(who)s is being moved by another switch.", who=identity))
        if cluster != plan.source:
            raise StageFailed(
                say(
                    "%(who)s is on %(cluster)s now, not on %(source)s: the plan is out of date. Request it again.",
                    who=identity,
                    cluster=cluster,
                    source=plan.source,
                )
            )


def check_gateways() -> Step[None]:
    """At least one Gateway runs, none is silent, and no excluded one runs."""
    found = yield from ask(do.ReadGateways())
    contradicting = [m.id for m in found if m.excluded and m.live]
    if contradicting:
        raise StageFailed(excluded_and_running(contradicting))
    members = [m for m in found if not m.excluded]
    if not any(m.live for m in members):
        raise StageFailed(say("No Gateway is running: clients could not be moved. Start one."))
    silent = [m.id for m in members if not m.live]
    if silent:
        raise StageFailed(
            say(
                "Gateway %(gateways)s does not answer, so nobody knows what it lets through. Start it again.",
                gateways=silent,
            )
        )


def _check_mirrors(plan: Plan, limits: Limits, found: Sequence[MirrorFound]) -> None:
    gone = sorted(set(plan.mirrors) - {mirror for mirror, *_ in found})
    if gone:
        raise StageFailed(
            say("Mirror %(mirrors)s does not exist any more. Request the switch again.", mirrors=gone)
        )
    for mirror, state, fault, lag in found:
        check_mirror(mirror, state, fault, lag, limits)


def _check_topics(plan: Plan, read: _Read) -> Step[dict[str, tuple[int, ...]]]:
    source, target = read.source, read.target
    for topic in plan.topics:
        for cluster, found in ((plan.source, source), (plan.target, target)):
            if topic not in found:
                raise StageFailed(
                    say("Topic %(topic)s does not exist on %(cluster)s.", topic=topic, cluster=cluster)
                )
            if -1 in found[topic]:
                raise StageFailed(
                    say(
                        "A partition of %(topic)s on %(cluster)s has no leader.", topic=topic, cluster=cluster
                    )
                )
        if len(source[topic]) != len(target[topic]):
            raise StageFailed(
                say(
                    "Topic %(topic)s has %(here)s partitions on %(source)s and %(there)s on %(target)s.",
                    topic=topic,
                    here=len(source[topic]),
                    there=len(target[topic]),
                    source=plan.source,
                    target=plan.target,
                )
            )
    syncs = yield from ask(do.ReadOffsetSyncs())
    unknown = sorted(
        p
        for topic in plan.topics
        for p in (Partition(topic, index) for index in range(len(source[topic])))
        if p not in syncs
    )
    if unknown:
        raise StageFailed(
            say(
                "Of %(partitions)s it is not known which records of both sides correspond: a partition that was added "
                "counts as soon as its mirror has been looked at.",
                partitions=unknown,
            )
        )
    return {topic: target[topic] for topic in plan.topics}


def _check_groups(plan: Plan, limits: Limits) -> Step[None]:
    committed = yield from ask(do.ReadGroupOffsets(plan.source))
    for group, offsets in committed.items():
        others = sorted({p.topic for p in offsets} - set(plan.topics))
        if others:
            raise StageFailed(
                say(
                    "Group %(group)s has offsets on %(topics)s too, which would not move: it would begin again there. "
                    "Let its clients use them through a Gateway, or delete these offsets if nobody needs them.",
                    group=group,
                    topics=others,
                )
            )
    if not plan.kind.spec.readers_only:  # there the source may be the mirror: see :func:`check_readers`
        syncs = yield from ask(do.ReadOffsetSyncs())
        positions = yield from uncommitted_positions(plan, limits, committed, syncs.keys())
        yield from nothing_is_lost(plan, together(committed, positions), syncs)
    yield from check_unused_groups(plan)


def check_unused_groups(plan: Plan) -> Step[None]:
    """No group has members on the target: the offsets of such a group cannot be written."""
    members = yield from ask(do.ReadMembers(plan.target))
    used = sorted(group for group, ids in members.items() if ids)
    if used:
        raise StageFailed(
            say(
                "Group %(groups)s has members on %(cluster)s already: its offsets could not be written. "
                "Stop them, or wait until their sessions end.",
                groups=used,
                cluster=plan.target,
            )
        )


def _check_sign_in(plan: Plan, read: _Read) -> Step[None]:
    for appid, (here, there) in sorted(read.sign_in.items()):
        yield from _check_sign_in_of(plan, appid, here, there)


def _check_sign_in_of(plan: Plan, appid: str, here: Iterable[str], there: Iterable[str]) -> Step[None]:
    lacking = sorted(set(here) - set(there))
    if lacking:
        raise StageFailed(
            say(
                "%(appid)s can sign in to %(source)s with %(mechanisms)s, but not to %(target)s. "
                "Create the user there with the same password: hadash-manage create_user does.",
                appid=appid,
                source=plan.source,
                target=plan.target,
                mechanisms=lacking,
            )
        )
    if not here:
        yield from ask(
            do.Say(
                say(
                    "%(appid)s has no SCRAM password; whether it can sign in to %(target)s with PLAIN "
                    "cannot be checked.",
                    appid=appid,
                    target=plan.target,
                )
            )
        )


def _check_rights(plan: Plan, read: _Read) -> Step[None]:
    """The target denies nothing that the source allows, and no ACL depends on an address: it is not known from which
    address the target's brokers will see these clients.
    """
    found = yield from ask(do.CheckRights(read.rights))
    if found.denied:
        raise StageFailed(
            say(
                "%(target)s denies what %(source)s allows (%(rules)s): clients could not work there. "
                "Remove the rule, or make it on both clusters.",
                target=plan.target,
                source=plan.source,
                rules=found.denied,
            )
        )
    if found.by_host:
        raise StageFailed(
            say(
                "What these clients may do depends on their address (%(rules)s), and brokers see the Gateway's. "
                "Make these rules for every host (*), or name the addresses that brokers see in "
                "HADASH_SWITCH_ACL_HOSTS.",
                rules=found.by_host,
            )
        )


def _check_acks(plan: Plan) -> Step[None]:
    """Records that only one replica has acknowledged are not visible yet: neither a mirror nor a proof can see
    them.
    """
    against = yield from ask(do.CheckAcks())
    if against is not None:
        raise StageFailed(against)


def check_assignors(plan: Plan, limits: Limits) -> Step[None]:
    """No group rebalances cooperatively: its members read on while they rejoin and keep their positions, so they could
    not quiesce and would continue at the source's offsets.
    """

    def look() -> Step[NotYet | None]:
        used = yield from ask(do.CheckAssignors())
        if used.cooperative:
            raise StageFailed(
                say(
                    "Cooperative rebalancing cannot be moved yet: %(groups)s. Let these consumers use an "
                    "eager assignor "
                    "(range, roundrobin, sticky).",
                    groups=used.cooperative,
                )
            )
        if not used.unknown:
            return None
        # (A group that is rebalancing has no assignor for a second or two.)
        return NotYet(
            say(
                "It is not known how these groups rebalance: %(groups)s. Their members may read on while "
                "they rejoin. Wait until "
                "the groups are stable; if their assignor is eager, name it in HADASH_SWITCH_EAGER_ASSIGNORS.",
                groups=used.unknown,
            )
        )

    yield from wait_until(look, limits.active, limits.poll)

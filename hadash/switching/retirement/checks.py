"""The blockers for removing the old Topics of a migration. Pure: facts come in, reasons come out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from hadash.bindings.model import Binding, BindingState
from hadash.identity.identity import Identity
from hadash.kafka.values import Partition
from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan

#: The most names in one sentence; a person who clears them away sees the others next.
LISTED = 5


@dataclass(frozen=True, slots=True)
class MirrorState:
    """The reverse mirror. ``state`` is empty if it was stopped for the removal; ``topics`` are all that it carries."""

    name: str
    state: str
    fault: Sentence
    source: str
    topics: frozenset[str]


@dataclass(frozen=True, slots=True)
class OldClusterFacts:
    """Everything that is known now of the old cluster (``plan.source``) and of the clients that belong to it.

    :param bindings: of the plan's identities.
    :param open_switch: the key of a switch that holds part of the radius.
    :param bound: texts of bindings that keep a Topic or group of the plan on the old cluster.
    :param users: uses of such a Topic or group by clients on the old cluster: observed, declared or allowed.
    :param seen: uses of such a Topic or group there since the switch, as texts.
    :param members: client.ids in each group, there.
    :param elsewhere: other Topics of which a group has offsets there.
    :param mirrors: those that are not deleted yet. :param missing: names of those that were deleted by others.
    :param grown: partitions whose end there is not where the mirror's writing ended: (found, written).
    """

    bindings: Mapping[Identity, Binding]
    open_switch: str = ""
    bound: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    members: Mapping[str, tuple[str, ...]] | None = None
    elsewhere: Mapping[str, tuple[str, ...]] | None = None
    mirrors: tuple[MirrorState, ...] = ()
    missing: tuple[str, ...] = ()
    grown: Mapping[Partition, tuple[int, int]] | None = None


def blockers(plan: Plan, facts: OldClusterFacts) -> list[Sentence]:
    """Every reason why the old Topics must stay for now, each with what to do about it."""
    return [
        *_moved(plan, facts.bindings),
        *_held(facts.open_switch),
        *_others(plan, facts),
        *_members(plan, facts.members or {}),
        *_elsewhere(plan, facts.elsewhere or {}),
        *_missing(plan, facts.missing),
        *(reason for mirror in facts.mirrors for reason in _mirror(plan, mirror)),
        *_grown(plan, facts.grown or {}),
    ]


def _moved(plan: Plan, bindings: Mapping[Identity, Binding]) -> Iterable[Sentence]:
    for identity in plan.identities:
        binding = bindings.get(identity)
        if binding is None or binding.cluster != plan.target or binding.state is not BindingState.FORWARD:
            yield say(
                "%(who)s does not work on %(cluster)s (now: %(now)s, %(state)s). Keep the old Topics, or move it "
                "there first.",
                who=identity,
                cluster=plan.target,
                now=binding.cluster if binding is not None else "?",
                state=binding.state.value if binding is not None else "?",
            )
            return


def _held(key: str) -> Iterable[Sentence]:
    if key:
        yield say("Switch %(key)s holds part of this radius. Wait for its end or cancel it.", key=key)


def _others(plan: Plan, facts: OldClusterFacts) -> Iterable[Sentence]:
    if facts.bound:
        yield say(
            "%(who)s is bound to %(cluster)s. Move it first, or remove its binding.",
            who=_some(facts.bound),
            cluster=plan.source,
        )
    if facts.users:
        yield say(
            "%(who)s is on %(cluster)s and uses what would be removed there. Move it first, or withdraw "
            "what was declared or "
            "allowed.",
            who=_some(facts.users),
            cluster=plan.source,
        )
    if facts.seen:
        yield say(
            "On %(cluster)s somebody has used it since the switch: %(who)s. Move them, then put the "
            "removal off until what was "
            "seen does not count any more (HADASH_ACCESS_WINDOW_DAYS).",
            cluster=plan.source,
            who=_some(facts.seen),
        )


def _members(plan: Plan, members: Mapping[str, tuple[str, ...]]) -> Iterable[Sentence]:
    for group, clients in sorted(members.items()):
        if clients:
            yield say(
                "Group %(group)s has members on %(cluster)s: %(clients)s. Stop them or move them, or wait until their "
                "sessions end.",
                group=group,
                cluster=plan.source,
                clients=_some(clients),
            )


def _elsewhere(plan: Plan, elsewhere: Mapping[str, tuple[str, ...]]) -> Iterable[Sentence]:
    for group, topics in sorted(elsewhere.items()):
        if topics:
            yield say(
                "Group %(group)s has offsets of other Topics on %(cluster)s: %(topics)s. It is used there; "
                "move it, or delete "
                "these offsets if nobody needs them.",
                group=group,
                cluster=plan.source,
                topics=_some(topics),
            )


def _missing(plan: Plan, missing: tuple[str, ...]) -> Iterable[Sentence]:
    if missing:
        yield say(
            "Mirror %(mirrors)s does not exist any more, so it is not known who wrote to its Topics on "
            "%(cluster)s. Keep the old Topics; if nobody needs them, delete them there by hand.",
            mirrors=_some(missing),
            cluster=plan.source,
        )


def _mirror(plan: Plan, mirror: MirrorState) -> Iterable[Sentence]:
    beyond = mirror.topics - set(plan.topics)
    if beyond:
        yield say(
            "Mirror %(mirror)s also carries %(topics)s, which was not migrated. Keep the old Topics, or mirror "
            "them separately.",
            mirror=mirror.name,
            topics=_some(beyond),
        )
    if mirror.source != plan.target:
        yield say(
            "Mirror %(mirror)s copies from %(actual)s, not from %(cluster)s: the clients went back. Keep the "
            "old Topics.",
            mirror=mirror.name,
            actual=mirror.source,
            cluster=plan.target,
        )
    elif mirror.state not in ("running", ""):
        yield say(
            "Mirror %(mirror)s is not running (%(state)s), so it is not known who wrote to %(cluster)s. %(fault)s",
            mirror=mirror.name,
            state=mirror.state,
            cluster=plan.source,
            fault=mirror.fault,
        )


def _grown(plan: Plan, grown: Mapping[Partition, tuple[int, int]]) -> Iterable[Sentence]:
    for partition, (found, written) in sorted(grown.items())[:1]:
        yield say(
            "%(partition)s on %(cluster)s ends at %(found)s, and its mirror has written up to %(written)s: "
            "somebody else writes to "
            "it. Find out who, and keep the old Topics until then.",
            partition=partition,
            cluster=plan.source,
            found=found,
            written=written,
        )


def _some(names: Iterable[str]) -> list[str]:
    found = sorted(set(names))
    return found if len(found) <= LISTED else [*found[:LISTED], f"… (+{len(found) - LISTED})"]

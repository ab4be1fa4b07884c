"""Which Topics, groups and mirrors move with an AppID or InstanceID, and whether that is closed. Pure.

A radius is closed when nobody outside uses its Topics and no consumer group would be split. One that is not is
refused with the reason; the full plan, which widens it, comes on top of this.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from hadash.identity.identity import Identity
from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan


@dataclass(frozen=True, slots=True, order=True)
class Use:
    """An observed access. ``kind`` is produce or consume (of a Topic) or group (membership)."""

    appid: str
    client_id: str
    kind: str
    resource: str

    @property
    def who(self) -> str:
        return f"{self.appid} › {self.client_id}" if self.client_id else self.appid


@dataclass(frozen=True, slots=True)
class MirrorOf:
    """A mirror and the Topics that it carries; ``source`` is the cluster that is written to."""

    name: str
    source: str
    topics: frozenset[str]


class NotClosed(Exception):
    """The radius cannot move as asked. ``reasons`` say why, each a sentence."""

    def __init__(self, reasons: Sequence[Sentence]) -> None:
        super().__init__(" ".join(str(reason) for reason in reasons))
        self.reasons = list(reasons)


def close(
    scope: Identity,
    pair: str,
    source: str,
    target: str,
    uses: Iterable[Use],
    mirrors: Iterable[MirrorOf],
    bound_instances: Mapping[str, str],
) -> Plan:
    """The plan that moves ``scope`` from ``source`` to ``target``.

    :param uses: what was observed of the whole pair.
    :param bound_instances: the AppID's InstanceIDs that have a binding, and to which cluster.
    :raises NotClosed: with every reason, not just the first.
    """
    known = sorted(set(uses))

    def moves(use: Use) -> bool:
        if use.appid != scope.appid:
            return False
        return scope.instance_id is None or use.client_id == scope.instance_id

    inside = [use for use in known if moves(use)]
    outside = [use for use in known if not moves(use)]
    topics = {use.resource for use in inside if use.kind != "group"}
    groups = {use.resource for use in inside if use.kind == "group"}
    reasons: list[Sentence] = []
    if not topics:
        reasons.append(
            say(
                "%(scope)s has not used any Topic through a Gateway: there is nothing to move. "
                "Start its clients at the Gateway first.",
                scope=scope,
            )
        )
    reasons += _shared(outside, topics, groups)
    reasons += _elsewhere(scope, source, bound_instances)
    carrying, mirror_reasons = _mirrors(topics, source, mirrors)
    reasons += mirror_reasons
    if reasons:
        raise NotClosed(reasons)
    instances = (scope.instance_id,) if scope.instance_id is not None else tuple(sorted(bound_instances))
    return Plan(
        pair=pair,
        appid=scope.appid,
        instance_id=scope.instance_id,
        source=source,
        target=target,
        topics=tuple(sorted(topics)),
        groups=tuple(sorted(groups)),
        mirrors=tuple(sorted(carrying)),
        instances=instances,
    )


def _shared(outside: Iterable[Use], topics: set[str], groups: set[str]) -> list[Sentence]:
    reasons = []
    for use in outside:
        if use.kind == "group" and use.resource in groups:
            reasons.append(
                say(
                    "Group %(group)s would be split: %(who)s is a member too and would stay.",
                    group=use.resource,
                    who=use.who,
                )
            )
        elif use.kind != "group" and use.resource in topics:
            verb = (
                "%(who)s writes to Topic %(topic)s too and would stay."
                if use.kind == "produce"
                else "%(who)s reads Topic %(topic)s too and would stay."
            )
            reasons.append(say(verb, who=use.who, topic=use.resource))
    return reasons


def _elsewhere(scope: Identity, source: str, bound_instances: Mapping[str, str]) -> list[Sentence]:
    """A whole AppID moves from one cluster: InstanceIDs that are on the other one already stand against it."""
    if scope.instance_id is not None:
        return []
    return [
        say(
            "%(who)s is on %(cluster)s already. Switch it back first, then move the whole AppID.",
            who=Identity(scope.appid, instance),
            cluster=cluster,
        )
        for instance, cluster in sorted(bound_instances.items())
        if cluster != source
    ]


def _mirrors(topics: set[str], source: str, mirrors: Iterable[MirrorOf]) -> tuple[set[str], list[Sentence]]:
    carrying: set[str] = set()
    carried: set[str] = set()
    reasons: list[Sentence] = []
    for mirror in mirrors:
        shared = mirror.topics & topics
        if not shared:
            continue
        carrying.add(mirror.name)
        carried |= shared
        if mirror.source != source:
            reasons.append(
                say(
                    "Mirror %(mirror)s copies from %(actual)s, but the switch would start on %(source)s.",
                    mirror=mirror.name,
                    actual=mirror.source,
                    source=source,
                )
            )
        left_behind = mirror.topics - topics
        if left_behind:
            reasons.append(
                say(
                    "Mirror %(mirror)s also carries %(topics)s, which would not move. Mirror them separately.",
                    mirror=mirror.name,
                    topics=sorted(left_behind),
                )
            )
    if topics - carried:
        reasons.append(
            say("No mirror carries %(topics)s. Create one first.", topics=sorted(topics - carried))
        )
    return carrying, reasons

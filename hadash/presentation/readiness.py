"""Whether clients of a pair can be switched now, in one sentence with its reasons. Pure.

These are the checks that every plan has to pass, whatever it moves; reasons that concern only some clients (a Topic
without a mirror, a finding) are notices. Unknown facts never count as good.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from urllib.parse import urlencode

from hadash.sentences import Sentence, say


class Grade(IntEnum):
    """The weight of a reason, the gravest last. ``NOTICE``: look at it first, a switch is not refused; ``UNKNOWN``:
    it could not be found out.
    """

    READY = 0
    NOTICE = 1
    UNKNOWN = 2
    REFUSED = 3

    @property
    def look(self) -> str:
        """The look and icon of :class:`hadash.presentation.badges.State`."""
        return {Grade.READY: "fine", Grade.NOTICE: "waiting", Grade.UNKNOWN: "unknown", Grade.REFUSED: "bad"}[
            self
        ]


class MirrorShow(StrEnum):
    """What the list of mirrors can be narrowed to (``?show=``): what reasons are about."""

    DOWN = "down"
    LATE = "late"
    UNKNOWN = "unknown"
    TURNING = "turning"
    DIFFERING = "differing"


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason. ``page``: the name of the page that shows more, with its ``arguments``; ``query`` is appended to
    the page's address.
    """

    grade: Grade
    sentence: Sentence
    page: str
    query: str = ""
    arguments: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterFacts:
    """The facts about a cluster. ``answers``: ``None`` when no worker has looked lately."""

    name: str
    answers: bool | None


@dataclass(frozen=True, slots=True)
class GatewayFacts:
    """The facts about a Gateway that is not excluded. ``applied``: whether it has the newest bindings in effect.
    ``silent``: whether it did not report its connected clients.
    """

    id: str
    live: bool
    applied: bool
    silent: bool = False


@dataclass(frozen=True, slots=True)
class MirrorFacts:
    """The facts about mirrors in the same condition, which are also on the same side of the RPO.

    :param name: the mirror of them that is furthest behind.
    :param fine: ``None`` when no worker has looked lately.
    :param seconds: how late that mirror is; ``None`` when that is not known.
    :param turning: a switch is turning them round.
    :param count: how many mirrors there are in this condition.
    """

    name: str
    fine: bool | None
    seconds: float | None
    turning: bool = False
    count: int = 1

    @property
    def is_unknown(self) -> bool:
        """Whether nobody knows how late they are; a mirror that is being turned round copies nothing that is late."""
        return not self.turning and (self.fine is None or (self.fine and self.seconds is None))

    @property
    def is_down(self) -> bool:
        """Whether they copy nothing although no switch is turning them round: how late they are grows."""
        return not self.turning and self.fine is False


@dataclass(frozen=True, slots=True)
class PairFacts:
    """The facts about a pair now.

    :param key: its primary key, for the address of its rules.
    :param generated: whether no clients and servers are behind it; then nobody looks at them, either.
    :param zookeeper_fault: why ZooKeeper does not answer; empty when it does.
    :param workers: the number of workers that carry out switches.
    :param blackout: why nothing may be switched now; ``None`` without a blackout.
    :param switching: the number of running switches.
    :param unmirrored: AppIDs out of ``appids`` that use a Topic which no mirror copies; ``None`` when no run has
        counted them.
    :param high: the number of open findings of high severity that nobody has accepted.
    :param differences: the number of differences between mirrors and their sources that auditors have found.
    """

    pair: str
    rpo_seconds: float
    generated: bool = False
    zookeeper_fault: str = ""
    clusters: Sequence[ClusterFacts] = ()
    gateways: Sequence[GatewayFacts] = ()
    workers: int = 0
    mirrors: Sequence[MirrorFacts] = ()
    blackout: str | None = None
    switching: int = 0
    appids: int | None = None
    unmirrored: int | None = None
    high: int | None = None
    differences: int = 0
    key: int = 0


@dataclass(frozen=True, slots=True)
class Readiness:
    """The verdict on a pair. ``grade``: that of the gravest reason."""

    grade: Grade
    sentence: Sentence
    reasons: Sequence[Reason] = field(default_factory=tuple)


def readiness(facts: PairFacts) -> Readiness:
    """Return the verdict on a pair, the gravest reasons first."""
    servers = (
        _nothing(facts)
        if facts.generated
        else [*_engine(facts), *_workers(facts), *_clusters(facts), *_mirrors(facts)]
    )
    found = [*servers, *_people(facts), *_some_clients(facts)]
    found.sort(key=lambda reason: -reason.grade)
    grade = found[0].grade if found else Grade.READY
    return Readiness(grade, _verdict(grade, facts, found), tuple(found))


def _verdict(grade: Grade, facts: PairFacts, reasons: Sequence[Reason]) -> Sentence:
    against = sum(reason.grade is grade for reason in reasons)
    match grade:
        case Grade.REFUSED if against == 1:
            return say("Not now: a switch of %(pair)s would be refused.", pair=facts.pair)
        case Grade.REFUSED:
            return say(
                "Not now: a switch of %(pair)s would be refused, for %(count)s reasons.",
                pair=facts.pair,
                count=against,
            )
        case Grade.UNKNOWN:
            return say("Not known whether %(pair)s can be switched now.", pair=facts.pair)
        case Grade.NOTICE:
            return say("%(pair)s can be switched now, but look at this first.", pair=facts.pair)
        case _:
            return say("%(pair)s can be switched now.", pair=facts.pair)


def _nothing(facts: PairFacts) -> list[Reason]:
    why = say(
        "Pair %(pair)s is generated: there are no clients and no servers behind it that could move.",
        pair=facts.pair,
    )
    return [Reason(Grade.REFUSED, why, "clusters")]


def _engine(facts: PairFacts) -> list[Reason]:
    if facts.zookeeper_fault:
        why = say(
            "ZooKeeper does not answer (%(fault)s): nobody knows who is bound where.",
            fault=facts.zookeeper_fault,
        )
        return [Reason(Grade.UNKNOWN, why, "gateways")]
    if not facts.gateways:
        return [
            Reason(
                Grade.REFUSED,
                say("No Gateway is a member: clients reach no cluster."),
                "overview",
                "#gateways",
            )
        ]
    found = []
    for gateway in facts.gateways:
        if not gateway.live:
            why = say(
                "Gateway %(gateway)s does not answer. Start it, or exclude it once it serves nobody.",
                gateway=gateway.id,
            )
        elif not gateway.applied:
            why = say("Gateway %(gateway)s has not put the newest bindings into effect.", gateway=gateway.id)
        elif gateway.silent:
            why = say("Gateway %(gateway)s does not say who is connected.", gateway=gateway.id)
        else:
            continue
        grade = Grade.UNKNOWN if gateway.live and gateway.applied else Grade.REFUSED
        found.append(Reason(grade, why, "gateways"))
    return found


def _workers(facts: PairFacts) -> list[Reason]:
    if facts.workers:
        return []
    why = say("No worker is there: nothing that is approved would begin. Start one.")
    return [Reason(Grade.REFUSED, why, "overview", "#workers")]


def _clusters(facts: PairFacts) -> list[Reason]:
    found = []
    for cluster in facts.clusters:
        if cluster.answers is None:
            why = say(
                "Nobody has looked at %(cluster)s lately: do beat and a worker run?", cluster=cluster.name
            )
            found.append(Reason(Grade.UNKNOWN, why, "clusters"))
        elif not cluster.answers:
            why = say("Cluster %(cluster)s does not answer.", cluster=cluster.name)
            found.append(Reason(Grade.REFUSED, why, "clusters"))
    return found


def _mirrors(facts: PairFacts) -> list[Reason]:
    if not facts.mirrors:
        why = say("There is no mirror: nothing is copied to the other cluster.")
        return [Reason(Grade.REFUSED, why, "mirrors", _query(pair=facts.pair))]
    found = []
    turning = [mirror for mirror in facts.mirrors if mirror.turning]
    at_rest = [mirror for mirror in facts.mirrors if not mirror.turning]
    stopped = [mirror for mirror in at_rest if mirror.fine is False]
    unknown = [mirror for mirror in at_rest if mirror.is_unknown]
    late = [
        mirror
        for mirror in at_rest
        if mirror.fine and mirror.seconds is not None and mirror.seconds > facts.rpo_seconds
    ]
    of, down, behind, unseen = map(_counted, (facts.mirrors, stopped, late, unknown))
    if stopped:
        why = (
            say("Mirror %(mirror)s does not run.", mirror=stopped[0].name)
            if down == 1
            else say(
                "%(count)s of %(all)s mirrors do not run, %(mirror)s among them.",
                count=down,
                all=of,
                mirror=stopped[0].name,
            )
        )
        found.append(_of_mirrors(Grade.REFUSED, why, facts, stopped, MirrorShow.DOWN))
    if late:
        seconds, name = max((mirror.seconds or 0.0, mirror.name) for mirror in late)
        why = (
            say("Mirror %(mirror)s is %(seconds)s s behind (RPO "
                "%(rpo)s s).", mirror=name, seconds=round(seconds), rpo=f"{facts.rpo_seconds:g}")
            if behind == 1
            else say(
                "%(count)s of %(all)s mirrors are further behind than the RPO of %(rpo)s s, %(mirror)s most: "
                "%(seconds)s s.",
                count=behind, all=of, rpo=f"{facts.rpo_seconds:g}", mirror=name, seconds=round(seconds),
            )
        )  # fmt: skip
        found.append(_of_mirrors(Grade.REFUSED, why, facts, late, MirrorShow.LATE))
    if turning:
        why = say("Mirror %(mirror)s is being turned round.", mirror=turning[0].name)
        found.append(_of_mirrors(Grade.NOTICE, why, facts, turning, MirrorShow.TURNING))
    if unknown:
        why = (
            say("Nobody knows how far mirror %(mirror)s is behind.", mirror=unknown[0].name)
            if unseen == 1
            else say(
                "Of %(count)s of %(all)s mirrors nobody knows how far they are behind.",
                count=unseen,
                all=of,
            )
        )
        found.append(_of_mirrors(Grade.UNKNOWN, why, facts, unknown, MirrorShow.UNKNOWN))
    return found


def _of_mirrors(
    grade: Grade, why: Sentence, facts: PairFacts, mirrors: Sequence[MirrorFacts], show: MirrorShow
) -> Reason:
    """Return a reason that leads to the mirror that it is about, or to the list of them."""
    if _counted(mirrors) == 1:
        return Reason(grade, why, "mirror", arguments=(facts.pair, mirrors[0].name))
    return Reason(grade, why, "mirrors", _query(show=show.value, pair=facts.pair))


def _query(**values: str) -> str:
    return f"?{urlencode(values)}"


def _counted(mirrors: Sequence[MirrorFacts]) -> int:
    return sum(mirror.count for mirror in mirrors)


def _people(facts: PairFacts) -> list[Reason]:
    found = []
    if facts.blackout is not None:
        why = say("Nothing may be switched now: %(reason)s", reason=facts.blackout)
        found.append(Reason(Grade.REFUSED, why, "rules", arguments=(str(facts.key),)))
    if facts.switching:
        why = (
            say("A switch is running.")
            if facts.switching == 1
            else say("%(count)s switches are running.", count=facts.switching)
        )
        found.append(Reason(Grade.NOTICE, why, "switches", _query(status="running")))
    return found


def _some_clients(facts: PairFacts) -> list[Reason]:
    found = []
    if facts.unmirrored is None:
        why = say("No run has counted yet which AppIDs use Topics that no mirror copies.")
        found.append(Reason(Grade.NOTICE, why, "pipeline"))
    elif facts.unmirrored:
        why = say(
            "%(count)s of %(all)s AppIDs use a Topic that no mirror copies: their switches would be refused.",
            count=facts.unmirrored,
            all=facts.appids,
        )
        query = _query(show="not-mirrored", pair=facts.pair)
        found.append(Reason(Grade.NOTICE, why, "table", query, ("coverage",)))
    if facts.differences:
        why = say(
            "Auditors have found that mirrors differ from their sources (differences: %(count)s).",
            count=facts.differences,
        )
        query = _query(show=MirrorShow.DIFFERING.value, pair=facts.pair)
        found.append(Reason(Grade.NOTICE, why, "mirrors", query))
    if facts.high is None:
        why = say("No run has looked for risks yet: findings of high severity may be there.")
        found.append(Reason(Grade.NOTICE, why, "pipeline"))
    elif facts.high:
        why = (
            say("A finding of high severity is open.")
            if facts.high == 1
            else say("%(count)s findings of high severity are open.", count=facts.high)
        )
        found.append(Reason(Grade.NOTICE, why, "findings", _query(severity="high", pair=facts.pair)))
    return found

"""A plan for people to read: its members with the reasons, the expected pause, and the records at risk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from django.utils.translation import gettext as _

from hadash.identity.identity import parse
from hadash.inventory.models import Pair
from hadash.mirroring.models import Mirror
from hadash.presentation import badges
from hadash.presentation.member_facts import Facts, facts_of
from hadash.radius.nodes import GROUP, TOPIC
from hadash.radius.scope import Member
from hadash.sentences import Sentence, say
from hadash.switching.machines.switches import KINDS, STAGES, WAY, Kind, Status
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan

#: Most members that a page lists; a radius can have thousands.
SHOWN_MEMBERS = 200


#: Most names that a form carries back (a few hundred kilobytes); for a larger radius the page only says that it
#: has changed.
CARRIED_NAMES = 2000


#: Most names in a sentence about what has changed.
NAMED_CHANGES = 20


#: A pair's last switches whose pauses predict the next one's.
RECENT_SWITCHES = 20


@dataclass(frozen=True, slots=True)
class Row:
    """One member of a plan, the chain of names from what was asked for to it, and what is known of it."""

    kind: str
    name: str
    why: str
    already: bool
    chain: tuple[str, ...]
    facts: Facts


def rows(plan: Plan) -> list[Row]:
    """Return the members of a plan, nearest first; at most :data:`SHOWN_MEMBERS`."""
    members = plan.members[:SHOWN_MEMBERS]
    return [
        Row(
            kind_of(member.key),
            name_of(member.key),
            why_it_moves(member),
            member.already,
            chain_to(member, plan.by_key),
            facts,
        )
        for member, facts in zip(members, facts_of(plan, members), strict=True)
    ]


def kind_of(key: str) -> str:
    """Return the word for the kind of a member's node, in the viewer's language.

    :raises ValueError: the key names no kind of node.
    """
    # (Not a dictionary: a radius has thousands of members, and it would translate every word for each of them.)
    match key.partition(":")[0]:
        case "topic":
            return _("Topic")
        case "group":
            return _("Group")
        case "appid":
            return _("AppID")
        case "instance":
            return _("InstanceID")
        case "bound topics":
            return _("Topics bound by themselves")
        case "bound group":
            return _("Group bound by itself")
        case unknown:
            raise ValueError(f"{unknown!r} is no kind of node.")


def name_of(key: str) -> str:
    """Return the name of a member's node."""
    kind, _colon, rest = key.partition(":")
    return rest if kind in (TOPIC, GROUP) else str(parse(rest))


def why_it_moves(member: Member) -> str:
    """Return why a member moves, in the viewer's language."""
    if not member.because:
        return _("asked for")
    name = name_of(member.because)
    belongs = member.because.partition(":")[0] in (TOPIC, GROUP)
    if belongs:  # the member uses something that moves
        texts = {
            "produce": _("writes to %(name)s"),
            "consume": _("reads %(name)s"),
            "group": _("is a member of group %(name)s"),
            "declared": _("is declared to use %(name)s"),
            "acl": _("may use %(name)s, and was never seen"),
        }
        return texts.get(member.use, _("belongs to %(name)s")) % {"name": name}
    texts = {
        "produce": _("%(name)s writes to it"),
        "consume": _("%(name)s reads it"),
        "group": _("%(name)s is a member"),
        "declared": _("%(name)s is declared to use it"),
        "acl": _("%(name)s may use it"),
    }
    return texts.get(member.use, _("belongs to %(name)s")) % {"name": name}


def chain_to(member: Member, by_key: Mapping[str, Member]) -> tuple[str, ...]:
    """Return the names from what was asked for to a member."""
    found = [member]
    while found[-1].because and found[-1].because in by_key:
        found.append(by_key[found[-1].because])
    return tuple(name_of(one.key) for one in reversed(found))


def carried(plan: Plan) -> str:
    """Return what a plan moves, one node per line, for the request form to carry: if it has changed when the form
    is sent, the page says how. Empty for more than :data:`CARRIED_NAMES`.
    """
    names = sorted(_moved(plan))
    return "\n".join(names) if len(names) <= CARRIED_NAMES else ""


def changes(shown: str, plan: Plan) -> list[Sentence]:
    """Return how ``plan`` differs from the earlier one whose :func:`carried` is ``shown``; nothing without one."""
    if not shown:
        return []
    return _changes(
        set(shown.replace("\r\n", "\n").split("\n")), _moved(plan)
    )  # (a browser ends lines with both)


def changed(before: Plan, now: Plan) -> list[Sentence]:
    """Return how a plan differs from an earlier one; nothing when an approval of the one also holds for the other."""
    return _changes(_moved(before), _moved(now))


def _changes(before: set[str], now: set[str]) -> list[Sentence]:
    told = [
        ("It moves now, too: %(names)s.", now - before),
        ("It does not move any more: %(names)s.", before - now),
    ]
    return [say(text, names=_some(names)) for text, names in told if names]


def _moved(plan: Plan) -> set[str]:
    """Return what an approval of a plan covers, each name with its kind before it."""
    return {
        *(f"identity:{identity}" for identity in plan.identities),
        *(f"topic:{name}" for name in plan.topics),
        *(f"group:{name}" for name in plan.groups),
        *(f"mirror:{name}" for name in plan.mirrors),
        *(f"pool:{each}" for each in plan.pools),
    }


def _some(keys: set[str]) -> list[str]:
    names = sorted({key.partition(":")[2] for key in keys})
    return [*names[:NAMED_CHANGES], "…"] if len(names) > NAMED_CHANGES else names


def expected_pause(pair: Pair, kind: Kind = Kind.PLANNED) -> float:
    """Return the seconds for which clients will wait: the median of the pair's last switches with the same stages,
    or the stages' default times when there are none.
    """
    way = (
        WAY if kind.spec.changes_nothing else kind.spec.way
    )  # a rehearsal predicts the pause of the real switch
    alike = [other.value for other, spec in KINDS.items() if spec.way == way]
    done = Switch.objects.filter(pair=pair, kind__in=alike, status=Status.SUCCEEDED.value).order_by(
        "-ended_at"
    )
    pauses = [
        sum(record.seconds or 0.0 for record in switch.stages.all() if STAGES_BLOCKED.get(record.stage))
        for switch in done.prefetch_related("stages")[:RECENT_SWITCHES]
    ]
    if pauses:
        return round(median(pauses), 2)
    return round(sum(STAGES[stage].expected_seconds for stage in way if STAGES[stage].writes_blocked), 2)


#: Whether clients wait in a stage, by its name.
STAGES_BLOCKED = {stage.value: rule.writes_blocked for stage, rule in STAGES.items()}


def reads_from_mirrors(plan: Plan) -> bool:
    """Whether the plan is a read split after which readers are on the mirrors; otherwise a read split brings them
    home, to the cluster with the writers.
    """
    return (
        plan.kind.spec.readers_only
        and Mirror.objects.filter(
            pair__name=plan.pair, name__in=plan.mirrors, source__name=plan.source
        ).exists()
    )


def records_at_risk(mirrors: Iterable[Mirror]) -> int | None:
    """Return how many records only the source has now; ``None`` when a mirror does not run or its lag is unknown."""
    total = 0
    for mirror in mirrors:
        if badges.of_mirror(mirror).look != "fine" or mirror.lag_records is None:
            return None
        total += mirror.lag_records
    return total

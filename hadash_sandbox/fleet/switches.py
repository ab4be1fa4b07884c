"""Writes the switches that a generated fleet has behind it.

Whatever is on its second cluster was switched there, mirror by mirror; some switches came back, and some requests were
declined, cancelled or had expired. The audit log, which nobody may write into, does not have them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice

import numpy as np
from django.contrib.auth.models import User

from hadash.identity.identity import Identity
from hadash.inventory.models import Pair
from hadash.radius.nodes import group, node_of, topic
from hadash.radius.scope import Member, Scope, ScopeKind, member_key
from hadash.sentences import Sentence, say
from hadash.switching.execution.pauses import Pause
from hadash.switching.machines.switches import Kind, Stage, Status
from hadash.switching.models.switches import Approval, StageRecord, Switch, SwitchEvent
from hadash.switching.plan import Plan
from hadash_sandbox.fleet.model import DAYS, GROUP, KINDS, Fleet, Side

#: Of the mirrors that are on the first cluster, the share of which a switch has failed and come back, and the share
#: of which a request came to nothing.
CAME_BACK, CAME_TO_NOTHING = 0.06, 0.06
#: The usual seconds of each stage; and how unequal they are (the sigma of a lognormal distribution).
USUAL_SECONDS = {
    Stage.PRECHECK: 2.4,
    Stage.QUIESCE: 1.6,
    Stage.BLOCK: 0.3,
    Stage.DRAIN: 1.1,
    Stage.TRANSLATE: 0.7,
    Stage.FORWARD: 0.4,
    Stage.REVERSE: 2.0,
    Stage.VERIFY: 3.5,
    Stage.RETURN: 0.8,
}
UNEQUAL = 0.4
#: Clients of one switch whose pauses are written, at most.
MOST_PAUSES = 60
#: The time from a request to its approval, and how long a request was good for.
UNTIL_APPROVED, GOOD_FOR = timedelta(minutes=25), timedelta(days=3)
#: Rows that are written at once.
AT_ONCE = 500

REASONS = (
    "Upgrade of the brokers",
    "机房搬迁，第三批",
    "Disks of east are being replaced",
    "演练：每季度一次",
    "Moves to the new data centre",
)
#: The name of a mirror, and what became of its switch.
Fate = tuple[str, Status]


@dataclass
class Story:
    """One switch and all that is known of it; nothing is written yet."""

    switch: Switch
    stages: list[StageRecord] = field(default_factory=list)
    #: Lines of its log, with their times.
    events: list[tuple[datetime, SwitchEvent]] = field(default_factory=list)

    def tell(self, at: datetime, sentence: Sentence, stage: str = "", actor: User | None = None) -> None:
        line = SwitchEvent(switch=self.switch, stage=stage, sentence=sentence.to_json(), actor=actor)
        self.events.append((at, line))


def add_switches(fleet: Fleet, names: Side, now: datetime) -> int:
    """Write the switches of the last days; return their number.

    They were requested and approved by two accounts that cannot sign in.
    """
    pair = Pair.objects.select_related("first", "second").get(name=names.pair)
    operator, approver = (_account(name) for name in ("generated-operator", "generated-approver"))
    random = np.random.default_rng(fleet.size.seed + 4)
    found = fates(fleet, random)
    ages = np.sort(random.uniform(3600, (DAYS - 1) * 86_400, len(found)))[::-1]
    stories = [
        _story(fleet, pair, (operator, approver), random, fate, now - timedelta(seconds=float(age)))
        for fate, age in zip(found, ages, strict=True)
    ]
    _write(stories)
    return len(stories)


def fates(fleet: Fleet, random: np.random.Generator) -> list[Fate]:
    """The mirrors that were to be switched, in a random order, and what became of it. Pure."""
    found: list[Fate] = []
    for name, (_, side) in fleet.mirrors.items():
        chance = random.random()
        if side == 1:
            found.append((name, Status.SUCCEEDED))
        elif chance < CAME_BACK:
            found.append((name, Status.ROLLED_BACK))
        elif chance < CAME_BACK + CAME_TO_NOTHING:
            nothing = (Status.DECLINED, Status.CANCELLED, Status.EXPIRED)
            found.append((name, nothing[int(random.integers(len(nothing)))]))
    return [found[place] for place in random.permutation(len(found))]


def plan_of(fleet: Fleet, names: Side, mirror: str) -> Plan:
    """Everything that moves with a mirror's Topics, from the first cluster to the second. Pure."""
    topics, _ = fleet.mirrors[mirror]
    appids = np.unique(np.searchsorted(fleet.first_topic, topics, side="right") - 1)
    identities = tuple(Identity(fleet.appid_names[n]) for n in appids)
    roots = {identity.appid: member_key(node_of(identity)) for identity in identities}
    scope = (
        Scope.of(identities[0])
        if len(identities) == 1
        else Scope(ScopeKind.SEVERAL, roots=tuple(sorted(roots.values())))
    )
    members = {key: Member(key) for key in roots.values()}
    groups: set[str] = set()
    for place in (place for appid in appids for place in fleet.uses_of(int(appid))):
        name = fleet.appid_names[fleet.appid[place]]
        resource, kind = int(fleet.resource[place]), int(fleet.kind[place])
        if kind == GROUP:
            groups.add(fleet.group_names[resource])
        node = group(fleet.group_names[resource]) if kind == GROUP else topic(fleet.topic_names[resource])
        members.setdefault(member_key(node), Member(member_key(node), roots[name], KINDS[kind]))
    return Plan(
        names.pair,
        scope,
        names.first,
        names.second,
        identities,
        tuple(sorted(fleet.topic_names[n] for n in topics)),
        tuple(sorted(groups)),
        (mirror,),
        tuple(members.values()),
    )


def _account(name: str) -> User:
    found, is_new = User.objects.get_or_create(username=name, defaults={"is_active": False})
    if is_new:
        found.set_unusable_password()
        found.save(update_fields=["password"])
    return found


def _story(
    fleet: Fleet,
    pair: Pair,
    people: tuple[User, User],
    random: np.random.Generator,
    fate: Fate,
    decided: datetime,
) -> Story:
    mirror, status = fate
    operator, approver = people
    plan = plan_of(fleet, Side(pair.name, pair.first.name, pair.second.name), mirror)
    identity = plan.scope.identity
    is_approved = status in (Status.SUCCEEDED, Status.ROLLED_BACK)
    requested = decided - (GOOD_FOR if status is Status.EXPIRED else UNTIL_APPROVED)
    story = Story(
        Switch(
            kind=Kind.PLANNED.value,
            pair=pair,
            appid=identity.appid if identity is not None else "",
            source=pair.first,
            target=pair.second,
            asked=plan.scope.to_json(),
            plan=plan.to_json(),
            plan_digest=plan.digest,
            status=status.value,
            reason=REASONS[int(random.integers(len(REASONS)))],
            requested_by=operator,
            requested_at=requested,
            expires_at=requested + GOOD_FOR,
            decided_by=approver if is_approved or status is Status.DECLINED else None,
            decided_at=decided if is_approved or status is Status.DECLINED else None,
            ended_at=decided,
        )
    )
    if is_approved:
        story.tell(decided, say("%(user)s approved it.", user=approver.username), actor=approver)
        _carry_out(story, plan, fleet, random, decided + timedelta(seconds=2))
    else:
        _came_to_nothing(story, decided, operator, approver)
    return story


def _came_to_nothing(story: Story, at: datetime, operator: User, approver: User) -> None:
    """A request that was declined, cancelled, or on which nobody decided. (All sentences here are hadash's own.)"""
    status, because = story.switch.status, "Not in the week of the sale"
    if status == Status.DECLINED:
        story.switch.decision_note = because
        said = say("%(user)s declined it: %(reason)s", user=approver.username, reason=because)
        story.tell(at, said, actor=approver)
    elif status == Status.CANCELLED:
        left = say("Nothing was changed.")
        story.switch.outcome = say(
            "%(user)s cancelled it: %(reason)s %(left)s", user=operator.username, reason=because, left=left
        ).to_json()
        said = say("%(user)s cancelled the request: %(reason)s", user=operator.username, reason=because)
        story.tell(at, said, actor=operator)
    else:
        said = say("Nobody decided in time: the request has expired.")
        story.switch.outcome = said.to_json()
        story.tell(at, said)


def _carry_out(story: Story, plan: Plan, fleet: Fleet, random: np.random.Generator, began: datetime) -> None:
    """Add its stages, the pauses of its clients, and its end."""
    switch = story.switch
    switch.started_at = began
    way: Sequence[Stage] = Kind.PLANNED.spec.way
    is_back = switch.status == Status.ROLLED_BACK
    if is_back:
        way = (*way[: way.index(Stage.DRAIN) + 1], Stage.RETURN)
    clients = sum(int(fleet.clients[fleet.appid_numbers[name]]) for name in plan.appids)
    said = outcomes(plan, int(random.integers(2, 400)), clients)
    at, begins = began, {}
    for stage in way:
        begins[stage] = at
        seconds = USUAL_SECONDS[stage] * float(random.lognormal(0.0, UNEQUAL))
        has_failed = is_back and stage is Stage.DRAIN
        sentence = grew(plan) if has_failed else said[stage]
        result = StageRecord.Result.FAILED if has_failed else StageRecord.Result.DONE
        until = at + timedelta(seconds=seconds)
        story.stages.append(
            StageRecord(
                switch=switch, stage=stage.value, token=1, result=result, started_at=at, ended_at=until,
                sentence=sentence.to_json(), audited=True,
            )
        )  # fmt: skip
        story.tell(until, sentence, stage.value)
        at = until
    last = Stage.DRAIN if is_back else Stage.VERIFY
    switch.outcome = (grew(plan) if is_back else said[last]).to_json()
    switch.stage, switch.ended_at, switch.recorded_at, switch.token = way[-1].value, at, at, 1
    begin = begins[Stage.BLOCK].timestamp()
    end = (at if is_back else begins[Stage.REVERSE]).timestamp()
    switch.pauses = [pause.to_json() for pause in _pauses(plan, fleet, random, begin, end)]


# -- what it says -------------------------------------------------------------------------------------------------


def grew(plan: Plan) -> Sentence:
    """Why a switch came back."""
    return say(
        "%(cluster)s still grows although its writes are blocked: somebody writes past the Gateway.",
        cluster=plan.source,
    )


def outcomes(plan: Plan, epoch: int, clients: int) -> dict[Stage, Sentence]:
    """What each stage says when it is done."""
    source, target = plan.source, plan.target
    topics, groups = len(plan.topics), len(plan.groups)
    return {
        Stage.PRECHECK: say(
            "All checks hold (Topics: %(topics)s, groups: %(groups)s, clients: %(clients)s).",
            topics=topics,
            groups=groups,
            clients=clients,
        ),
        Stage.QUIESCE: say(
            "Every group member has committed and waits to rejoin (%(count)s in all).", count=groups
        ),
        Stage.BLOCK: say(
            "Writes to %(cluster)s are blocked, nothing is in flight (epoch %(epoch)s).",
            cluster=source,
            epoch=epoch,
        ),
        Stage.DRAIN: say(
            "The mirror is drained: every partition ends with the same records on both sides (%(count)s in all).",
            count=topics,
        ),
        Stage.TRANSLATE: say(
            "Group offsets are set on %(cluster)s and read back (%(count)s in all).",
            cluster=target,
            count=groups,
        ),
        Stage.FORWARD: say(
            "%(scope)s is on %(cluster)s (epoch %(epoch)s).",
            scope=plan.scope,
            cluster=target,
            epoch=epoch + 1,
        ),
        Stage.REVERSE: say("The mirror copies from %(source)s to %(target)s.", source=target, target=source),
        Stage.VERIFY: say(
            "Every client works on %(cluster)s (%(count)s in all).", cluster=target, count=clients
        ),
        Stage.RETURN: say("%(scope)s works on %(cluster)s as before.", scope=plan.scope, cluster=source),
    }


# -- what is written ----------------------------------------------------------------------------------------------


def _pauses(
    plan: Plan, fleet: Fleet, random: np.random.Generator, begin: float, end: float
) -> Iterator[Pause]:
    """The pauses of its first clients: from a little before the block to a little after the way is free again."""
    found: dict[int, str] = {}
    for number in (fleet.appid_numbers[name] for name in plan.appids):
        for place in fleet.uses_of(number):
            if fleet.kind[place] != GROUP:
                found.setdefault(int(fleet.client[place]), KINDS[fleet.kind[place]])
    for client, doing in islice(found.items(), MOST_PAUSES):
        since = begin - float(random.uniform(0.0, 0.3))
        until = end + float(random.exponential(0.4))
        yield Pause(
            fleet.appid_names[fleet.owner_of[client]], fleet.client_names[client], doing, since, until
        )


def _write(stories: Sequence[Story]) -> None:
    """Write all rows. The database notes when some of them were created: they are set back."""
    switches = [story.switch for story in stories]
    requested = [switch.requested_at for switch in switches]
    Switch.objects.bulk_create(switches, AT_ONCE)
    for switch, at in zip(switches, requested, strict=True):
        switch.requested_at = at
    Switch.objects.bulk_update(switches, ["requested_at"], AT_ONCE)
    approvals = [
        Approval(switch=switch, user=switch.decided_by, digest=switch.plan_digest)
        for switch in switches
        if switch.started_at is not None
    ]
    Approval.objects.bulk_create(approvals, AT_ONCE)
    for approval in approvals:
        approval.at = approval.switch.decided_at or approval.at
    Approval.objects.bulk_update(approvals, ["at"], AT_ONCE)
    StageRecord.objects.bulk_create([row for story in stories for row in story.stages], AT_ONCE)
    lines = [line for story in stories for line in story.events]
    SwitchEvent.objects.bulk_create([event for _, event in lines], AT_ONCE)
    for at, event in lines:
        event.at = at
    SwitchEvent.objects.bulk_update([event for _, event in lines], ["at"], AT_ONCE)

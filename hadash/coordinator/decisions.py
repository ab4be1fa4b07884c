"""What follows from what is known of a Topic's assignment. Pure: facts come in, the next step comes out.

A partition is given to another member only when the one that has read it is gone, or has confirmed that it stopped. A
confirmation counts only for the assignment as it is now: a member that has not read the newest one could still start
what an older one gave it. What is not known is waited for. The program takes no partition away from a member that does
not answer: a person or the discovery isolates it.

This holds if members do two things: read ZooKeeper as it is now (``sync``) when they begin, and register with the
discovery only when they have put the assignments as they are then into effect (in the transaction that registers them).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hadash.coordinator.documents import NOBODY, AssignmentDocument, Partitions, StateDocument, by_member
from hadash.coordinator.holding import Hold
from hadash.coordinator.states import MACHINE, Event, State
from hadash.sentences import Sentence, say

#: Members, and partition → who has it (or :data:`NOBODY`) → partition → who is to have it.
Strategy: TypeAlias = Callable[[Collection[str], Mapping[int, str]], Mapping[int, str]]


@dataclass(frozen=True, slots=True)
class Report:
    """What a member says of itself.

    :param token: the assignment that it has put into effect (:attr:`View.token`).
    :param running: the partitions that it reads.
    """

    token: int
    running: frozenset[int]


@dataclass(frozen=True, slots=True)
class View:
    """What is known of a Topic now.

    :param token: the transaction of ZooKeeper (``mzxid``) that has written ``document``.
    :param membership: the version of the list of members. A step may be written only while it is the same: somebody who
        comes back meanwhile still reads what it had. (A discovery without versions: always 0.)
    :param members: the members that the discovery lists and nobody has isolated; ``None``: it does not answer.
    :param reports: the last report of each member that has ever answered: what a member has put into effect stays so
        until it reads another assignment.
    :param is_stopped: somebody has stopped all members: they read nothing, and keep what is theirs.
    :param hold: a switch moves the Topic to another cluster; ``None``: none does.
    """

    document: AssignmentDocument
    token: int
    standing: StateDocument
    members: frozenset[str] | None
    reports: Mapping[str, Report] = field(default_factory=dict)
    membership: int = 0
    is_stopped: bool = False
    hold: Hold | None = None

    @property
    def is_emptied(self) -> bool:
        """Whether no partition has a member."""
        return not any(self.document.members.values())

    def has_closed(self, member: str, partitions: frozenset[int]) -> bool:
        """Whether a member reads none of the partitions, and will not begin to; one that is gone counts as closed."""
        if self.members is not None and member not in self.members:
            return True
        report = self.reports.get(member)
        return report is not None and report.token == self.token and report.running.isdisjoint(partitions)

    def obeys(self, member: str) -> bool:
        """Whether a member has put the assignments as they are now into effect, and reads nothing else."""
        report = self.reports.get(member)
        return (
            report is not None and report.token == self.token and report.running <= self.document.of(member)
        )

    def has_started(self, member: str, partitions: frozenset[int]) -> bool:
        """Whether a member reads all of the partitions."""
        report = self.reports.get(member)
        return report is not None and report.token == self.token and partitions <= report.running


@dataclass(frozen=True, slots=True)
class Step:
    """A step to take: both documents are written in one transaction. ``document``: ``None`` when it stays.
    ``releases``: the switch's hold ends with it.
    """

    event: Event
    standing: StateDocument
    document: AssignmentDocument | None = None
    releases: bool = False


@dataclass(frozen=True, slots=True)
class Waiting:
    """Nothing is to be done now.

    :param partitions: the partitions that are waited for, by member. :param why: NOTHING when all is as it is to be.
    """

    why: Sentence
    partitions: Partitions = field(default_factory=dict)


def next_step(view: View, strategy: Strategy) -> Step | Waiting:
    """Return what is to be done for a Topic."""
    if view.is_stopped:
        return Waiting(say("All members of the pool are stopped."))
    if view.members is None:
        return Waiting(say("The service discovery does not answer: everything stays as it is."))
    if not view.members:
        return Waiting(say("No member is there."))
    match view.standing.state:
        case State.INITIAL:
            return _assigned(view, view.members, strategy)
        case State.STARTING:
            return _started(view, view.members)
        case State.STABLE:
            return _held(view) if view.hold is not None else _balanced(view, view.members, strategy)
        case State.CLOSING:
            return _closed(view, view.members)


def _assigned(view: View, members: frozenset[str], strategy: Strategy) -> Step | Waiting:
    """Assign what nobody has. What members have already stays theirs: the state may have been lost while they read.
    So each of them is asked before, and has to have stopped what is not its own.
    """
    unknown = {member: view.document.of(member) for member in members if not view.obeys(member)}
    if unknown:
        return Waiting(
            say(
                "Before anything is assigned, members have to say that they read nothing but what is theirs: "
                "%(members)s.",
                members=sorted(unknown),
            ),
            unknown,
        )
    # (The state may have been lost while a switch held the Topic.)
    hold = view.hold if view.is_emptied else None
    if hold is not None and hold.consumer is None:
        return _waiting_for_switch(hold)
    kept = _kept(view.document.members, members)
    wanted = strategy(members, kept) if not any(kept.values()) else filled(members, kept)
    return _opened(_start(Event.ASSIGN, view, members, wanted), hold)


def _started(view: View, members: frozenset[str]) -> Step | Waiting:
    kept = _kept(view.document.members, members)
    if kept != view.document.members or NOBODY in kept.values():
        return _start(Event.REASSIGN, view, members, filled(members, kept))
    # (A person may have changed the assignments meanwhile: only what is still a member's own is waited for.)
    to_start = {member: own & view.document.of(member) for member, own in view.standing.to_start.items()}
    waited_for = {
        member: own for member, own in to_start.items() if own and not view.has_started(member, own)
    }
    if waited_for:
        return Waiting(
            _awaited("Waiting for members to start partitions: %(members)s.", waited_for), waited_for
        )
    return Step(Event.CONFIRM_START, _standing(view, Event.CONFIRM_START))


def _balanced(view: View, members: frozenset[str], strategy: Strategy) -> Step | Waiting:
    now = view.document.members
    kept = _kept(now, members)
    wanted = strategy(members, kept)
    moved = [partition for partition, who in kept.items() if who and wanted[partition] != who]
    if moved:
        # (What belongs to members that are gone waits for the others, too: it starts with them.)
        to_start = by_member(
            wanted, [partition for partition in wanted if wanted[partition] != kept[partition]]
        )
        left = {partition: NOBODY if wanted[partition] != who else who for partition, who in kept.items()}
        standing = _standing(view, Event.MOVE, to_start, by_member(kept, moved))
        return Step(Event.MOVE, standing, view.document.assigned(left))
    if wanted == now:
        return Waiting(Sentence(""))
    return _start(Event.ADD, view, members, wanted)


def _held(view: View) -> Step:
    """Have every partition stopped for a switch. Who had it is to start it again afterwards."""
    assert view.hold is not None
    if view.hold.is_open(view.document.consumer):
        return Step(Event.RELEASE, _standing(view, Event.RELEASE), releases=True)
    own = by_member(view.document.members, view.document.members)
    nobody = view.document.assigned(dict.fromkeys(view.document.members, NOBODY))
    return Step(Event.MOVE, _standing(view, Event.MOVE, own, own), nobody)


def _closed(view: View, members: frozenset[str]) -> Step | Waiting:
    to_close = {member: own - view.document.of(member) for member, own in view.standing.to_close.items()}
    waited_for = {member: own for member, own in to_close.items() if own and not view.has_closed(member, own)}
    if waited_for:
        return Waiting(
            _awaited("Waiting for members to stop partitions: %(members)s.", waited_for), waited_for
        )
    # (A hold that came while partitions moved waits until these are started.)
    hold = view.hold if view.is_emptied else None
    if hold is not None and hold.consumer is None:
        if view.standing.to_close:
            return Step(Event.HOLD, _standing(view, Event.HOLD, view.standing.to_start))
        return _waiting_for_switch(hold)
    wanted = _kept(view.document.members, members)
    for member, own in view.standing.to_start.items():
        if member in members:
            wanted |= {
                partition: member for partition in own if partition in wanted and not wanted[partition]
            }
    return _opened(_start(Event.CONFIRM_CLOSE, view, members, filled(members, wanted)), hold)


def _waiting_for_switch(hold: Hold) -> Waiting:
    return Waiting(say("Nothing is read until switch %(switch)s goes on.", switch=hold.switch))


def _opened(found: Step | Waiting, hold: Hold | None) -> Step | Waiting:
    """Let a step that starts partitions start them where a switch wants them, and end its hold."""
    if hold is None or isinstance(found, Waiting) or found.document is None:
        return found
    consumer = {**found.document.consumer, **(hold.consumer or {})}
    return replace(found, document=replace(found.document, consumer=consumer), releases=True)


def filled(members: Collection[str], kept: Mapping[int, str]) -> dict[int, str]:
    """Give each partition that nobody has to the member that has the fewest, in the order of names. Nothing moves.

    >>> filled(["b", "a"], {0: "a", 1: "", 2: ""})
    {0: 'a', 1: 'b', 2: 'a'}
    >>> filled([], {0: ""})
    {0: ''}
    """
    counts = dict.fromkeys(members, 0)
    for who in kept.values():
        if who in counts:
            counts[who] += 1
    fewest = [(count, member) for member, count in counts.items()]
    heapq.heapify(fewest)
    wanted = dict(kept)
    for partition in sorted(partition for partition, who in kept.items() if not who) if fewest else ():
        count, wanted[partition] = fewest[0]
        heapq.heapreplace(fewest, (count + 1, wanted[partition]))
    return wanted


def _kept(assigned: Mapping[int, str], members: Collection[str]) -> dict[int, str]:
    return {partition: who if who in members else NOBODY for partition, who in assigned.items()}


def _start(event: Event, view: View, members: frozenset[str], wanted: Mapping[int, str]) -> Step | Waiting:
    """Give partitions to members, when no member that is there reads them or may yet begin to: one that had gone may
    have come back with what it had, and a person may have taken a partition away that somebody still reads.

    In the state Starting, those that were to be started before still are.
    """
    now = view.document.members
    given = frozenset(partition for partition, who in wanted.items() if who and who != now[partition])
    unknown = {member: given for member in members if given and not view.has_closed(member, given)}
    if unknown:
        text = "Before partitions are given to others, every member has to say that it does not read them: %(members)s."
        return Waiting(say(text, members=sorted(unknown)), unknown)
    pending = {partition for own in view.standing.to_start.values() for partition in own}
    changed = [
        partition
        for partition, who in wanted.items()
        if who != now[partition] or (view.standing.state is not State.STABLE and partition in pending)
    ]
    return Step(event, _standing(view, event, by_member(wanted, changed)), view.document.assigned(wanted))


def _standing(
    view: View, event: Event, to_start: Partitions | None = None, to_close: Partitions | None = None
) -> StateDocument:
    return StateDocument(MACHINE.after(view.standing.state, event), to_start or {}, to_close or {})


def _awaited(text: str, waited_for: Partitions) -> Sentence:
    return say(text, members=[f"{member} ({len(own)})" for member, own in sorted(waited_for.items())])

"""What-if questions about a group: one member more or fewer, another assignor, or more partitions of a Topic. The
question is in an address, the answer in sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from hadash.assignment import (
    ASSIGNORS,
    AddMember,
    ChangeAssignor,
    Group,
    NotKnown,
    Outcome,
    Protocol,
    RemoveMember,
    SetPartitions,
    UnknownName,
    what_if,
    what_if_by_id,
)
from hadash.dashboard.groups.live import Look, as_assignor_sees_it
from hadash.sentences import Sentence, say

#: The questions, by the value of ``?change=``.
MORE, FEWER, ASSIGNOR, PARTITIONS = "more", "fewer", "assignor", "partitions"

#: Most partitions of a Topic that can be asked about: a larger number is a typing error.
MOST_PARTITIONS = 10_000

__all__ = ["ASSIGNOR", "ASSIGNORS", "FEWER", "MORE", "PARTITIONS", "Answer", "answer"]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question. ``outcome``: ``None`` when it is unknown or the question makes no sense: then
    ``refused`` says so, and ``why`` gives the reason. ``said``: the answer in sentences.
    """

    outcome: Outcome | None = None
    said: list[Sentence] = field(default_factory=list)
    refused: Sentence | None = None
    why: Sentence | None = None


def answer(look: Look, asked: Mapping[str, str]) -> Answer | None:
    """Return the answer; ``None`` when nothing is asked.

    :param asked: ``change``, with ``member``, ``assignor``, ``topic`` and ``count`` as that question needs them.
    """
    change = asked.get("change", "")
    if change not in (MORE, FEWER, ASSIGNOR, PARTITIONS):
        return None
    if not look.info.members:
        return Answer(refused=say("The group has no members now: there is nothing to assign."))
    try:
        group = as_assignor_sees_it(look)
        outcome = what_if(group, _change(change, group, asked))
        return Answer(outcome, _said(outcome) + (_by_id(group, asked) if change == MORE else []))
    except NotKnown as error:
        return Answer(refused=say("Nobody knows what would come of it."), why=error.sentence)
    except UnknownName as error:
        return Answer(
            refused=say("The group has no %(name)s (any more). Choose another one.", name=str(error))
        )
    except _Refused as error:
        return Answer(refused=error.sentence)


class _Refused(Exception):
    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


def _change(
    change: str, group: Group, asked: Mapping[str, str]
) -> AddMember | RemoveMember | ChangeAssignor | SetPartitions:
    if change == MORE:
        return AddMember(_model(group, asked))
    if change == FEWER:
        return RemoveMember(asked.get("member", ""))
    if change == ASSIGNOR:
        return ChangeAssignor(asked.get("assignor", ""))
    count = asked.get("count", "")
    if not count.isdecimal() or not 0 < int(count[:9]) <= MOST_PARTITIONS:
        raise _Refused(say("A Topic has from 1 to %(most)s partitions.", most=MOST_PARTITIONS))
    topic = asked.get("topic", "")
    if topic in group.topics and int(count) < group.topics[topic]:
        raise _Refused(
            say(
                "%(topic)s has %(count)s partitions already: Kafka can only add some.",
                topic=topic,
                count=group.topics[topic],
            )
        )
    return SetPartitions(topic, int(count))


def _model(group: Group, asked: Mapping[str, str]) -> str:
    """Return the member that the new one resembles: the first one, if none is named."""
    return asked.get("member") or min(member.id for member in group.members)


def _said(outcome: Outcome) -> list[Sentence]:
    partitions = sum(len(mine) for mine in outcome.after.values())
    found = [
        say(
            "%(moved)s of %(all)s partitions would go from one member to another.",
            moved=outcome.moved,
            all=partitions,
        )
    ]
    if outcome.rebalance.protocol is Protocol.EAGER:
        found.append(
            say("All members would stop reading until they have joined again: %(assignor)s "
                "rebalances eagerly.", assignor=outcome.group.assignor)
        )  # fmt: skip
    else:
        found.append(
            say("%(stopped)s partitions would not be read for a moment, all "
                "others go on.", stopped=len(outcome.rebalance.stopped))
        )  # fmt: skip
    after = outcome.balance_after
    if after.idle:
        found.append(
            say(
                "%(idle)s of %(members)s members would have nothing to read.",
                idle=after.idle,
                members=after.members,
            )
        )
    return found


def _by_id(group: Group, asked: Mapping[str, str]) -> list[Sentence]:
    """Return a sentence about the new member's id, if the result depends on it: an id has a random part, and some
    assignors sort by it.
    """
    moved = sorted({outcome.moved for outcome in what_if_by_id(group, _model(group, asked)).values()})
    if len(moved) < 2:
        return []
    return [
        say(
            "It depends on the new member's id, which nobody knows beforehand: between %(least)s and %(most)s "
            "partitions move.",
            least=moved[0],
            most=moved[-1],
        )
    ]

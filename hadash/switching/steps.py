"""Steps that several stages take. Pure; see ``stages.py``."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import Corresponding, stale_offsets
from hadash.sentences import say
from hadash.switching import commands as do
from hadash.switching.plan import Plan
from hadash.switching.stage_run import StageFailed


def in_effect(epoch: int, seconds: float, poll: float) -> Generator[do.Command, Any, None]:
    """Wait until every engine has put ``epoch`` into effect: nothing of before it is in flight."""
    return _everywhere(do.ReadWaiting(epoch), epoch, seconds, poll)


def obeyed(epoch: int, seconds: float, poll: float) -> Generator[do.Command, Any, None]:
    """Wait until every engine obeys ``epoch``, whatever of before it is still in flight to a cluster that is lost."""
    return _everywhere(do.ReadNotTold(epoch), epoch, seconds, poll)


def _everywhere(
    question: do.ReadWaiting | do.ReadNotTold, epoch: int, seconds: float, poll: float
) -> Generator[do.Command, Any, None]:
    began = yield do.Pause(0)
    told = False
    while True:
        waiting = yield question
        if not waiting.late:
            return
        elapsed = (yield do.Pause(poll)) - began
        sentence = say(
            "Waiting for %(gateways)s to apply epoch %(epoch)s (%(done)s of %(all)s have).",
            gateways=waiting.late,
            epoch=epoch,
            done=waiting.engines - len(waiting.late),
            all=waiting.engines,
        )
        if elapsed > seconds:
            raise StageFailed(
                say(
                    "%(gateways)s did not put epoch %(epoch)s into effect within %(seconds)s s.",
                    gateways=waiting.late,
                    epoch=epoch,
                    seconds=seconds,
                )
            )
        if elapsed > 1 and not told:
            told = True
            yield do.Say(sentence)


def set_offsets(
    plan: Plan, wanted: Mapping[str, Mapping[Partition, int]], ends: Mapping[Partition, Corresponding]
) -> Generator[do.Command, Any, int]:
    """Set the groups' offsets on the target, remove what an earlier stay has left there, and read all of it back; how many
    were set. :raises StageFailed: something else stands there."""
    standing = yield do.ReadGroupOffsets(plan.target)
    stale = stale_offsets(standing, wanted, ends)
    if stale:
        yield do.RemoveGroupOffsets(stale)
    yield do.WriteGroupOffsets(wanted)
    written = yield do.ReadGroupOffsets(plan.target)
    for group, offsets in wanted.items():
        for partition, offset in offsets.items():
            found = written.get(group, {}).get(partition)
            if found != offset:
                raise StageFailed(
                    say(
                        "Group %(group)s on %(cluster)s stands at %(found)s on %(partition)s instead of %(offset)s.",
                        group=group,
                        cluster=plan.target,
                        partition=partition,
                        found="?" if found is None else found,
                        offset=offset,
                    )
                )
    left = stale_offsets(written, wanted, ends)
    if left:
        raise StageFailed(
            say(
                "Group %(group)s still has offsets of an earlier stay on %(cluster)s that could not be removed.",
                group=min(left),
                cluster=plan.target,
            )
        )
    return sum(len(offsets) for offsets in wanted.values())

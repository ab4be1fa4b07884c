"""Where a switch goes on when PostgreSQL has forgotten how far it came. Pure.

PostgreSQL may fail over to a replica that lacks the last commits; ZooKeeper acknowledges nothing that it can forget. So
what ZooKeeper shows to have been written outranks the stage in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hadash.switching.machines.switches import Kind, Stage

#: In a switch's facts: how often they were written. Of two copies the one with the larger number is newer.
NUMBER = "number"


def resumed_at(kind: Kind, stage: Stage, written: Collection[str]) -> Stage:
    """The stage in which a switch goes on.

    - Once forward was written there is no way back: clients may have written to the target. All from forward on is
      idempotent, and PostgreSQL may lack what any of it has noted there (the mirror's direction, for one).
    - Once the return was written clients write to the source again: what was drained is true no more.
    - Else the later of both: each stage that has written bindings was begun when the one before it had ended.

    :param stage: what PostgreSQL says.
    :param written: the stages that have changed bindings for this switch, as its journal and the plan's
        bindings name them. Names that are no stage of its way are of older journals, and say nothing.
    """
    way = kind.spec.way
    reached = [known for known in way if known.value in written]
    if Stage.FORWARD in way:
        after = way[way.index(Stage.FORWARD) :]
        if any(known in after for known in reached):
            return stage if stage in after else Stage.FORWARD
        if Stage.RETURN.value in written:
            return Stage.RETURN
    if stage not in way or not reached:
        return stage
    return max(stage, reached[-1], key=way.index)


def newer(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The newer of two copies of a switch's facts; ``ours`` if they are equally old.

    >>> newer({"number": 1}, {"number": 2, "drained": []})
    {'number': 2, 'drained': []}
    """
    return theirs if theirs.get(NUMBER, 0) > ours.get(NUMBER, 0) else ours

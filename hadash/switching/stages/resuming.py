"""Where a switch continues when PostgreSQL has lost how far it came. Pure.

PostgreSQL may fail over to a replica that lacks the last commits; ZooKeeper never loses what it has acknowledged. So
what was written to ZooKeeper takes precedence over the stage in PostgreSQL.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from hadash.switching.machines.switches import Kind, Stage

#: The key of a counter in a switch's facts: it counts their writes, and the larger one of two copies is newer.
NUMBER = "number"


def resumed_at(kind: Kind, stage: Stage, written: Collection[str]) -> Stage:
    """The stage in which a switch continues.

    - Once forward was written there is no way back: clients may have written to the target. All stages from forward
      on are idempotent, and PostgreSQL may lack what they have noted there (the mirror's direction, for one).
    - Once the return was written clients write to the source again: the drained point no longer holds.
    - Otherwise it is the later of both: a stage that has written bindings began when the one before it had ended.

    :param stage: what PostgreSQL says.
    :param written: the stages that have changed bindings for this switch, as its journal and the plan's bindings
        name them. Names that are no stage of its way come from older journals, and are ignored.
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

"""Where a switch goes on, for everything that PostgreSQL and ZooKeeper can say of it."""

from __future__ import annotations

from itertools import chain, combinations

import pytest

from hadash.switching.machines.switches import KINDS, Kind, Stage
from hadash.switching.stages.resuming import newer, resumed_at

#: Kinds that change bindings.
MOVING = [kind for kind, way in ((kind, spec.way) for kind, spec in KINDS.items()) if Stage.FORWARD in way]

#: The stages that write bindings; a journal can name more if an older hadash has written it.
WRITING = (Stage.QUIESCE, Stage.BLOCK, Stage.FORWARD, Stage.RETURN)

#: (what PostgreSQL says, what ZooKeeper shows, where the switch goes on), for the way of a planned switch.
PLANNED = [
    # Nothing was forgotten.
    ("precheck", "", "precheck"),
    ("quiesce", "quiesce", "quiesce"),
    ("drain", "block", "drain"),
    ("forward", "block", "forward"),
    ("reverse", "forward", "reverse"),
    ("verify", "forward", "verify"),
    ("return", "block", "return"),
    ("return", "return", "return"),
    # The clients are on the target, or may be.
    ("precheck", "forward", "forward"),
    ("block", "forward", "forward"),
    ("translate", "forward", "forward"),
    ("return", "forward", "forward"),
    ("block", "reverse", "forward"),
    ("block", "verify", "forward"),
    # They are back on the source.
    ("quiesce", "return", "return"),
    ("translate", "return", "return"),
    ("forward", "return", "return"),
    # They wait, and PostgreSQL says that nobody has noticed anything.
    ("precheck", "quiesce", "quiesce"),
    ("precheck", "block", "block"),
    ("quiesce", "block", "block"),
]


@pytest.mark.parametrize(("said", "written", "resumed"), PLANNED)
def test_a_planned_switch(said: str, written: str, resumed: str) -> None:
    assert resumed_at(Kind.PLANNED, Stage(said), {written} - {""}) == resumed


@pytest.mark.parametrize("kind", MOVING)
def test_everything_that_can_be_said(kind: Kind) -> None:
    """Whatever is forgotten: no way leads back behind forward, none to it from a return, and none before a block."""
    way = kind.spec.way
    after = way[way.index(Stage.FORWARD) :]
    sets = chain.from_iterable(combinations(list(Stage), n) for n in range(len(Stage) + 1))
    for written in map(set, sets):
        names = {stage.value for stage in written}
        for said in (*way, Stage.RETURN):
            resumed = resumed_at(kind, said, names)
            if written & set(after):
                assert resumed == (said if said in after else Stage.FORWARD)
            elif Stage.RETURN in written or said is Stage.RETURN:
                assert resumed is Stage.RETURN
            else:
                assert resumed in (said, *written)
                assert way.index(resumed) == max(way.index(s) for s in (said, *written) if s in way)


@pytest.mark.parametrize("kind", MOVING)
def test_what_is_resumed_is_stable(kind: Kind) -> None:
    """A worker that dies again finds the same: nothing swings to and fro."""
    for said in (*kind.spec.way, Stage.RETURN):
        for stage in WRITING:
            once = resumed_at(kind, said, {stage.value})
            assert resumed_at(kind, once, {stage.value}) is once


@pytest.mark.parametrize("written", [[], ["precheck"], ["by hand"], ["stage"]])
def test_names_that_are_no_stage_say_nothing(written: list[str]) -> None:
    assert resumed_at(Kind.PLANNED, Stage.QUIESCE, written) is Stage.QUIESCE
    assert resumed_at(Kind.REHEARSAL, Stage.REHEARSE, written) is Stage.REHEARSE


def test_of_two_copies_of_the_facts_the_newer_one() -> None:
    older, later = {"number": 2, "seen": []}, {"number": 3, "drained": []}
    assert newer(older, later) == newer(later, older) == later
    assert newer(older, {}) == older
    assert newer({}, {}) == {}
    assert newer({"seen": 1}, {"seen": 2}) == {"seen": 1}, "as old: what people have changed stays"

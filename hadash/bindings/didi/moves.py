"""The value of a user's node in each tree, and the order in which the values are written. Pure.

A broker takes the writes of an identity when its own tree names its own cluster, *or nothing at all*
(docs/didi-engine.md 1.4: an identity that is not found is served by the local cluster). There are two trees and no
transaction across them, so only the order keeps two clusters from taking one identity's writes: **a cluster that may
be open is closed before another is opened**.

To block, with X active and Y the other:

1. Y names X. Not ``None``: an engine under ``None`` still handles OFFSET_COMMIT (section 2), which the standby must
   not. If nothing was bound before, this closes Y.
2. X says ``None``: it no longer serves a client's PRODUCE or FETCH, and answers METADATA itself. Y refuses writes
   because it names another cluster, X because it names none, so neither cluster accepts them. The Gateway's tree does
   not change: it routes and serves nothing, and under ``None`` the Gateway would only close connections
   (CLUSTER_ID_ERROR).

To forward to X:

1. Y says ``None`` if it might accept writes. After a block it already says so; then the node is written again
   unchanged, so that an older writer's compare-and-set cannot open it unnoticed.
2. X names X: now X alone is open.
3. Y names X: from now on its brokers forward METADATA to X. Before step 2 the two would forward to each other.
4. The Gateway names X.

This is DiDi's own order (1.3, 3.1: new active, new standby, Gateway), with the closing made certain.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from hadash.bindings.didi.nodes import BLOCKED
from hadash.bindings.model import BindingState

#: The states that DiDi's engine knows. It cannot hold heartbeats or quiesce: in these states its clients continue as
#: before.
PROJECTED = frozenset({BindingState.FORWARD, BindingState.BLOCK})


class Role(Enum):
    """The role of a tree in a move."""

    ACTIVE = "active"
    OTHER = "other"
    GATEWAY = "gateway"


class Step(NamedTuple):
    """One write: ``value`` is the tree's new value; ``None`` means :data:`BLOCKED` if it might accept writes, else no
    change."""

    role: Role
    value: str | None


@dataclass(frozen=True, slots=True)
class Goal:
    """The goal for one identity: ``active`` and ``other`` are cluster ids as text."""

    active: str
    other: str
    blocked: bool = False

    def steps(self) -> tuple[Step, ...]:
        """The writes in their order.

        >>> [(step.role.value, step.value) for step in Goal("1", "2", blocked=True).steps()]
        [('other', '1'), ('active', 'None')]
        """
        if self.blocked:
            return Step(Role.OTHER, self.active), Step(Role.ACTIVE, BLOCKED)
        return (
            Step(Role.OTHER, None),
            Step(Role.ACTIVE, self.active),
            Step(Role.OTHER, self.active),
            Step(Role.GATEWAY, self.active),
        )

    def finally_in(self) -> dict[Role, str]:
        """Return the final value of each tree; a role that is missing may have any value.

        >>> {role.value: value for role, value in Goal("2", "1").finally_in().items()}
        {'active': '2', 'other': '2', 'gateway': '2'}
        """
        return {step.role: step.value for step in self.steps() if step.value is not None}

    def contradicted_by(self, in_active: str | None, in_other: str | None) -> bool:
        """Whether the trees say that the *other* cluster serves the identity.

        No step of hadash leads there, so somebody has moved the identity past hadash. The values are those that the
        cluster's brokers obey, ``None`` for none.

        >>> Goal("1", "2").contradicted_by("1", "1"), Goal("1", "2").contradicted_by("2", "2")
        (False, True)
        """
        return in_other == self.other or (in_other is None and in_active == self.other)


def value_after(step: Step, held: str | None, own_id: str) -> str | None:
    """Return the value in the tree of cluster ``own_id`` after ``step``, if it was ``held`` before.

    >>> value_after(Step(Role.OTHER, None), None, "2"), value_after(Step(Role.OTHER, None), "1", "2")
    ('None', '1')
    """
    if step.value is not None:
        return step.value
    return BLOCKED if held in (None, own_id) else held

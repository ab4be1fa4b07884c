"""Which value a user's node has in which tree, and in which order they are written. Pure.

A broker takes the writes of an identity when its own tree names its own cluster, *or nothing at all*
(docs/didi-engine.md 1.4: what is not found is served by the local cluster). There are two trees and no
transaction over both, so the order is what keeps two clusters from taking one identity's writes: **whoever
may be open is closed before another is opened**.

To block, with X active and Y the other:

1. Y names X. Not ``None``: an engine under ``None`` still handles OFFSET_COMMIT (section 2), and the standby
   must not. Where nothing was bound before, this is what closes Y.
2. X says ``None``: no PRODUCE or FETCH of a client is served any more, METADATA is answered by X itself. Y
   refuses because it names another cluster, X because it names none: nobody accepts writes. The Gateway's
   tree stays as it is: it routes and serves nothing, and under ``None`` it would only close connections
   (CLUSTER_ID_ERROR).

To forward to X:

1. Y says ``None`` if it might accept. After a block it says so already; then the node is written once more as it is, so
   that no older writer's compare-and-set can open it behind our back.
2. X names X: the only one that is open.
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

#: States that DiDi's engine knows. It has nothing like holding heartbeats and quiescing: under them clients go on as before.
PROJECTED = frozenset({BindingState.FORWARD, BindingState.BLOCK})


class Role(Enum):
    """Whose tree."""

    ACTIVE = "active"
    OTHER = "other"
    GATEWAY = "gateway"


class Step(NamedTuple):
    """``value`` is what the tree gets; ``None`` means: :data:`BLOCKED` if it might accept writes, else as it is."""

    role: Role
    value: str | None


@dataclass(frozen=True, slots=True)
class Goal:
    """What the engines shall do with one identity: ``active`` and ``other`` are cluster ids as text."""

    active: str
    other: str
    blocked: bool = False

    def steps(self) -> tuple[Step, ...]:
        """In the order in which they are written.

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
        """What each tree says in the end; a role that is missing may say anything.

        >>> {role.value: value for role, value in Goal("2", "1").finally_in().items()}
        {'active': '2', 'other': '2', 'gateway': '2'}
        """
        return {step.role: step.value for step in self.steps() if step.value is not None}

    def contradicted_by(self, in_active: str | None, in_other: str | None) -> bool:
        """Whether the trees say that the *other* cluster serves the identity, which no step of hadash leads
        to: somebody has moved it past hadash. Values are those that its brokers go by, ``None`` for nothing.

        >>> Goal("1", "2").contradicted_by("1", "1"), Goal("1", "2").contradicted_by("2", "2")
        (False, True)
        """
        return in_other == self.other or (in_other is None and in_active == self.other)


def value_after(step: Step, held: str | None, own_id: str) -> str | None:
    """What a tree of cluster ``own_id`` says after ``step``, with ``held`` before.

    >>> value_after(Step(Role.OTHER, None), None, "2"), value_after(Step(Role.OTHER, None), "1", "2")
    ('None', '1')
    """
    if step.value is not None:
        return step.value
    return BLOCKED if held in (None, own_id) else held

"""One document while the edits of a transaction are made: in place, so that a thousand take a thousand times
as long as one.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from hadash.bindings.errors import AlreadyForwarded, NotBlocked
from hadash.bindings.model import (
    Binding,
    BindingDocument,
    BindingState,
    Journal,
    place_of,
    refuse_two_lists,
)
from hadash.bindings.since import stamped, unbound_at
from hadash.identity.identity import Identity

#: The stage in which a switch sends its clients to the target, as bindings and journals name it.
FORWARD_STAGE = "forward"
#: What stands there of a change by hand: it moves nobody, which is made sure of before it is written.
BY_HAND_STAGE = "by hand"

_PARTS = ("instances", "topics", "topic_lists", "groups")


class Editing:
    """Each edit sees what the ones before it have made. The document that it began with does not change."""

    def __init__(self, document: BindingDocument) -> None:
        self._parts: dict[str, dict[Any, Binding]] = {part: dict(getattr(document, part)) for part in _PARTS}
        views: dict[str, Any] = {part: MappingProxyType(named) for part, named in self._parts.items()}
        self._document = replace(document, **views)

    @property
    def document(self) -> BindingDocument:
        """As it is by now. It changes with further edits: who has read it makes none."""
        return self._document

    def bind(self, identity: Identity, binding: Binding, epoch: int, *, stays: bool = False) -> None:
        """:raises TopicInTwoLists: a Topic of a list is in another list already."""
        refuse_two_lists(self._document.topic_lists, identity)
        self.put(identity, stamped(self._document, identity, binding, epoch, stays=stays))

    def unbind(self, identity: Identity, epoch: int, *, stays: bool = False) -> None:
        """Of one without a binding of its own, nothing changes."""
        unbound = unbound_at(self._document, identity, epoch, stays=stays)
        self._document = replace(self._document, unbound=unbound)
        self.put(identity, None)

    def put(self, identity: Identity, binding: Binding | None) -> None:
        """Bind an identity to exactly ``binding``, with the epochs that it has; ``None`` removes its binding."""
        part, name = place_of(identity)
        if part == "default":
            self._document = replace(self._document, default=binding)
        elif binding is None:
            self._parts[part].pop(name, None)
        else:
            self._parts[part][name] = binding


def refuse_wrong_turn(
    held: Binding | None, identity: Identity, wanted: Binding | None, journal: Journal
) -> None:
    """Nobody goes to another cluster but out of a block, and nobody comes back behind a forward of the same switch.

    Tokens keep an executor from writing that was replaced. This keeps the newest one from it, which may go by what a
    PostgreSQL says that has lost its last commits: clients have written to the target since, and nothing is drained.

    :param held: the binding of ``identity`` now. :param wanted: what the switch of ``journal`` makes of it.
    :raises AlreadyForwarded: the same switch has sent ``identity`` to the other cluster.
    :raises NotBlocked: its forward would take ``identity`` away from where it is not blocked by the same switch, or
        another of its stages from where another switch or a change by hand has bound it.
    """
    if held is not None and wanted is not None and held.cluster == wanted.cluster:
        return
    own = held is not None and held.switch == journal.switch
    if held is not None and own and held.stage == FORWARD_STAGE:
        raise AlreadyForwarded(
            f"Switch {journal.switch} has sent {identity} to {held.cluster} already: it cannot take it back."
        )
    blocked = held is not None and own and held.state is BindingState.BLOCK
    if journal.stage == FORWARD_STAGE and wanted is not None and not blocked:
        raise NotBlocked(
            f"Switch {journal.switch} does not block {identity} (any more): it cannot send it to {wanted.cluster}."
        )
    # Every other stage of a switch leaves its identities where they are. One that finds them elsewhere goes
    # by what is true no more: its return, say, would take clients back that a later switch has sent over.
    if held is not None and wanted is not None and not own and journal.stage != BY_HAND_STAGE:
        raise NotBlocked(
            f"Switch {journal.switch} has not bound {identity} to {held.cluster}: it cannot take it to "
            f"{wanted.cluster}."
        )

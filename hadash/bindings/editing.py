"""One document during the edits of a transaction, changed in place: a thousand edits take a thousand times as long as
one, not a million times.
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
from hadash.sentences import say

#: The stage in which a switch sends its clients to the target, as written in bindings and journals.
FORWARD_STAGE = "forward"
#: The stage written for a change by hand. Such a change moves no client; that is checked before it is written.
BY_HAND_STAGE = "by hand"

_PARTS = ("instances", "topics", "topic_lists", "groups")


class Editing:
    """A document under edit. Each edit sees the result of the previous ones. The original document does not change."""

    def __init__(self, document: BindingDocument) -> None:
        self._parts: dict[str, dict[Any, Binding]] = {part: dict(getattr(document, part)) for part in _PARTS}
        views: dict[str, Any] = {part: MappingProxyType(named) for part, named in self._parts.items()}
        self._document = replace(document, **views)

    @property
    def document(self) -> BindingDocument:
        """The current state. It changes with further edits; its readers must not modify it."""
        return self._document

    def bind(self, identity: Identity, binding: Binding, epoch: int, *, stays: bool = False) -> None:
        """Bind an identity in ``epoch``.

        :raises TopicInTwoLists: a Topic of the list is already in another list.
        """
        refuse_two_lists(self._document.topic_lists, identity)
        self.put(identity, stamped(self._document, identity, binding, epoch, stays=stays))

    def unbind(self, identity: Identity, epoch: int, *, stays: bool = False) -> None:
        """Remove the binding of an identity in ``epoch``. Nothing changes for one that has none."""
        unbound = unbound_at(self._document, identity, epoch, stays=stays)
        self._document = replace(self._document, unbound=unbound)
        self.put(identity, None)

    def put(self, identity: Identity, binding: Binding | None) -> None:
        """Bind an identity to exactly ``binding``, with the epochs that it holds; ``None`` removes its binding."""
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
    """Refuse to move an identity to another cluster except out of a block, and to move it back after a forward of the
    same switch.

    Fencing tokens stop an executor that was replaced. This check stops the newest one, which may rely on a PostgreSQL
    that has lost its last commits: clients have written to the target since, and nothing is drained.

    :param held: the current binding of ``identity``.
    :param wanted: the binding that the switch of ``journal`` writes.
    :raises AlreadyForwarded: the same switch has already sent ``identity`` to the other cluster.
    :raises NotBlocked: the switch's forward would move ``identity``, which the switch does not block; or another of its
        stages would move it away from where another switch or a change by hand has bound it.
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
            say(
                "Switch %(switch)s does not block %(identity)s (any more): it cannot send it to %(cluster)s.",
                switch=journal.switch,
                identity=identity,
                cluster=wanted.cluster,
            )
        )
    # Every other stage of a switch leaves its identities where they are. A stage that finds them elsewhere relies on
    # outdated facts: its return, for example, would take back clients that a later switch has sent over.
    if held is not None and wanted is not None and not own and journal.stage != BY_HAND_STAGE:
        raise NotBlocked(
            say(
                "Switch %(switch)s has not bound %(identity)s to %(cluster)s: it cannot take it to %(target)s.",
                switch=journal.switch,
                identity=identity,
                cluster=held.cluster,
                target=wanted.cluster,
            )
        )

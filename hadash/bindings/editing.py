"""One document while the edits of a transaction are made: in place, so that a thousand take a thousand times as long as one."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Any

from hadash.bindings.model import Binding, BindingDocument, place_of, refuse_two_lists
from hadash.bindings.since import stamped, unbound_at
from hadash.identity.identity import Identity

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

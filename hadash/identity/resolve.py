"""From an identity to its binding: the first rule that matches wins.

Of the rules in DESIGN section 2, those that need the AppID and the client.id alone: 1 (AppID + InstanceID),
5 (AppID) and 6 (the pair's default cluster).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeVar

B_co = TypeVar("B_co", covariant=True)


class Document(Protocol[B_co]):
    """What resolution needs of an AppID's binding document."""

    @property
    def default(self) -> B_co | None: ...

    @property
    def instances(self) -> Mapping[str, B_co]: ...


B = TypeVar("B")


def resolve(document: Document[B] | None, client_id: str, pair_default: B) -> B:
    """The binding that governs a client.

    :param document: the AppID's binding document, or ``None`` when it has none.
    :param client_id: the client.id of the request, ``""`` when the client sent none.
    :param pair_default: the binding of everybody who has none (rule 6).
    """
    if document is None:
        return pair_default
    instance = document.instances.get(client_id)
    if instance is not None:
        return instance
    return document.default if document.default is not None else pair_default

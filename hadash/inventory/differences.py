"""Compares declared relations with seen ones, and with those of a file. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hadash.inventory.relations import Relation


class State(StrEnum):
    """Whether a relation is only seen, only declared, or both."""

    UNDECLARED = "undeclared"
    UNSEEN = "unseen"
    AGREED = "agreed"


@dataclass(frozen=True, slots=True)
class Difference:
    """One relation with its state. ``last_seen`` is when a client was last seen to use it, or ``None``."""

    relation: Relation
    state: State
    last_seen: datetime | None = None


def differences(declared: Iterable[Relation], seen: Mapping[Relation, datetime]) -> list[Difference]:
    """Return every declaration, and every seen relation that no declaration covers; sorted.

    A declaration of an AppID as a whole covers the same use by any of its clients, and counts as seen when one
    of them was. A declaration of an InstanceID covers only that one.

    :param seen: when each relation was last seen, within the access window.
    """
    said = set(declared)
    # (An optimization: most AppIDs have no such declaration, and there may be very many relations.)
    with_whole = {relation.appid for relation in said if not relation.instance_id}
    last_of_any: dict[Relation, datetime] = {}
    for relation, at in seen.items():
        if relation.appid in with_whole:
            whole = relation.whole
            last_of_any[whole] = max(at, last_of_any.get(whole, at))
    found = [
        Difference(relation, State.UNSEEN if at is None else State.AGREED, at)
        for relation in said
        for at in [seen.get(relation) if relation.instance_id else last_of_any.get(relation)]
    ]
    found += [
        Difference(relation, State.UNDECLARED, at)
        for relation, at in seen.items()
        if relation not in said and not (relation.appid in with_whole and relation.whole in said)
    ]
    return sorted(found, key=lambda difference: difference.relation)


def never_seen(declared: Iterable[Relation], seen: Iterable[Relation]) -> list[Relation]:
    """Return the declarations that were not seen; sorted."""
    known = set(seen)
    known |= {relation.whole for relation in known}
    return sorted(set(declared) - known)


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes that a file would make. ``noted`` are declared already, with another note."""

    added: tuple[Relation, ...] = ()
    noted: tuple[Relation, ...] = ()
    withdrawn: tuple[Relation, ...] = ()
    #: How many relations are declared as the file says.
    same: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.noted or self.withdrawn)


NO_CHANGES = Changes()


def changes(wanted: Mapping[Relation, str], declared: Mapping[Relation, str], *, whole: bool) -> Changes:
    """Return the changes from the declarations to the content of a file; both with their notes.

    :param whole: the file is complete for the AppIDs that it names: declarations that it leaves out are
        withdrawn.
    """
    named = {relation.appid for relation in wanted} if whole else set()
    there = wanted.keys() & declared.keys()
    noted = {relation for relation in there if wanted[relation] != declared[relation]}
    left_out = {relation for relation in declared.keys() - wanted.keys() if relation.appid in named}
    return Changes(
        tuple(sorted(wanted.keys() - declared.keys())),
        tuple(sorted(noted)),
        tuple(sorted(left_out)),
        len(there) - len(noted),
    )

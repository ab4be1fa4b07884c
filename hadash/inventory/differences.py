"""What is declared beside what is seen, and what a file would change. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from hadash.inventory.relations import Relation


class State(StrEnum):
    """How declaration and observation stand to each other."""

    UNDECLARED = "undeclared"
    UNSEEN = "unseen"
    AGREED = "agreed"


@dataclass(frozen=True, slots=True)
class Difference:
    """One relation. ``last_seen`` is when a client was last seen to do so, or ``None``."""

    relation: Relation
    state: State
    last_seen: datetime | None = None


def differences(declared: Iterable[Relation], seen: Mapping[Relation, datetime]) -> list[Difference]:
    """Every declaration, and everything seen that none of them covers; sorted.

    What is declared of an AppID as a whole covers the same use by any of its clients, and is seen when one of
    them does it. What is declared of an InstanceID is about that one.

    :param seen: when each relation was last seen, within the time that counts.
    """
    said = set(declared)
    # (Most AppIDs have no such declaration, and there may be very many relations.)
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
    """The declarations that add to what was seen; sorted."""
    known = set(seen)
    known |= {relation.whole for relation in known}
    return sorted(set(declared) - known)


@dataclass(frozen=True, slots=True)
class Changes:
    """What a file would change. ``noted`` are declared already, with another note."""

    added: tuple[Relation, ...] = ()
    noted: tuple[Relation, ...] = ()
    withdrawn: tuple[Relation, ...] = ()
    #: How many relations are declared as the file says.
    same: int = 0

    def __bool__(self) -> bool:
        return bool(self.added or self.noted or self.withdrawn)


NO_CHANGES = Changes()


def changes(wanted: Mapping[Relation, str], declared: Mapping[Relation, str], *, whole: bool) -> Changes:
    """From what is declared to what a file says; both with their notes.

    :param whole: whether the file says all there is about the AppIDs that it names: what it leaves out of
        them is withdrawn.
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

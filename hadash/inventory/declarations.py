"""The only place that changes declarations: by hand, from seen uses, from a file, and by withdrawing them.

Each change is one transaction with its entry in the audit log. Changes in the same pair wait for each other, so
that a comparison is still true when its result is written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction

from hadash.accounts.roles import REGISTER, may
from hadash.audit.models import record
from hadash.inventory import selectors
from hadash.inventory.declaration_rows import told, unregistered, write
from hadash.inventory.differences import NO_CHANGES, Changes, State, changes, differences
from hadash.inventory.models import AppID, Declaration, Pair
from hadash.inventory.relations import (
    GROUP,
    Relation,
    fault_of,
    fault_of_note,
    new_instance_ids,
    one_line,
)
from hadash.inventory.relations_csv import Fault, parse
from hadash.sentences import Sentence, say

Source = Declaration.Source


class NotDeclared(Exception):
    """A declaration is not possible; nothing was changed. ``reasons`` are for the user."""

    def __init__(self, *reasons: Sentence) -> None:
        super().__init__(" ".join(str(reason) for reason in reasons))
        self.reasons = list(reasons)


@dataclass(frozen=True)
class Declared:
    """The result of declaring. ``registered``: new InstanceIDs; ``left``: why some relations cannot be declared."""

    added: tuple[Relation, ...]
    registered: tuple[str, ...]
    left: tuple[Sentence, ...] = ()


def may_declare(user: Any, pair: Pair) -> bool:
    """Return whether ``user`` may change declarations in ``pair``. The only place that decides this."""
    return may(user, REGISTER, pair)


# -- by hand, and from seen uses -------------------------------------------------------------------------------


def declare(
    user: Any,
    appid: AppID,
    instance_id: str,
    topics: Collection[str],
    kinds: Collection[str],
    note: str = "",
    address: str | None = None,
    *,
    groups: Collection[str] = (),
    each: bool = False,
) -> Declared:
    """Declare that an InstanceID uses ``topics`` in every way of ``kinds`` (produce, consume) and is a member
    of ``groups``.

    Existing declarations stay, with the new note if there is one. An InstanceID that is not registered is
    registered.

    :param instance_id: empty for the AppID as a whole.
    :param each: give every Topic a new InstanceID of its own, named after AppID and Topic.
    :raises NotDeclared: with all reasons.
    """
    instance_id, note = instance_id.strip(), one_line(note)
    if each and (instance_id or groups):
        raise NotDeclared(
            say(
                "With a new InstanceID for each Topic no InstanceID and no group can be named. Leave them out."
            )
        )
    with _changing(user, appid.pair):
        relations = [Relation(appid.name, instance_id, kind, topic) for topic in topics for kind in kinds]
        relations += [Relation(appid.name, instance_id, GROUP, group) for group in groups]
        _refuse(fault_of_note(note), *map(fault_of, relations))
        if not relations:
            raise NotDeclared(say("Say which Topics it writes or reads, or which groups it is in."))
        if each:
            names = new_instance_ids(appid.name, dict.fromkeys(topics), taken_names(appid))
            relations = [relation._replace(instance_id=names[relation.resource]) for relation in relations]
        return _declare(user, appid, relations, note, Source.HAND, address)


def adopt(
    user: Any,
    appid: AppID,
    chosen: Iterable[Relation] | None = None,
    *,
    whole: bool = False,
    address: str | None = None,
) -> Declared:
    """Declare seen uses that are not declared: those in ``chosen``, or all. Uses that cannot be declared are
    listed in the result.

    :param whole: declare them of the AppID as a whole; else of each client, whose client.id is registered then.
    :raises NotDeclared: none of them can be declared.
    """
    with _changing(user, appid.pair):
        found = differences(selectors.declared(appid.pair, appid), selectors.seen(appid.pair, appid))
        wanted = [d.relation for d in found if d.state is State.UNDECLARED]
        if chosen is not None:
            among = set(chosen)
            wanted = [relation for relation in wanted if relation in among]
        if not wanted:
            raise NotDeclared(say("Nothing of it was seen lately and is not declared. Choose again."))
        relations = dict.fromkeys(relation.whole if whole else relation for relation in wanted)
        faults = {relation: fault_of(relation) for relation in relations}
        left = tuple(fault for fault in faults.values() if fault is not None)
        if len(left) == len(relations):
            raise NotDeclared(*left)
        fit = [relation for relation, fault in faults.items() if fault is None]
        return replace(_declare(user, appid, fit, "", Source.ACCESS, address), left=left)


def withdraw(user: Any, appid: AppID, row: int, address: str | None = None) -> None:
    """Withdraw the declaration with the primary key ``row``, if ``appid`` still has it. The InstanceID stays
    registered.
    """
    with _changing(user, appid.pair):
        declaration = appid.declarations.filter(pk=row).first()
        if declaration is not None:
            declaration.delete()
            record(user, "withdraw", str(declaration), address, note=declaration.note)


def _declare(
    user: Any, appid: AppID, relations: Iterable[Relation], note: str, source: str, address: str | None
) -> Declared:
    held = selectors.declared(appid.pair, appid)
    found = changes({relation: note or held.get(relation, "") for relation in relations}, held, whole=False)
    registered = write(
        user, {appid.name: appid}, found, dict.fromkeys(found.added + found.noted, note), source
    )
    if found:
        record(
            user,
            "declare",
            f"AppID {appid.name}",
            address,
            source=source,
            note=note,
            **told(found, registered),
        )
    return Declared(found.added, tuple(registered))


def taken_names(appid: AppID) -> set[str]:
    """Return the names that a new client.id of an AppID must not have."""
    registered = set(appid.instances.values_list("name", flat=True))
    known = (*selectors.declared(appid.pair, appid), *selectors.seen(appid.pair, appid))
    return registered | {relation.instance_id for relation in known}


# -- from a file ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Import:
    """The content of a file with the changes that it would make or has made; or its faults."""

    relations: Mapping[Relation, str]
    faults: tuple[Fault, ...] = ()
    changes: Changes = NO_CHANGES
    #: InstanceIDs that it registers, as (AppID, InstanceID).
    registers: tuple[tuple[str, str], ...] = ()
    #: The digest of the file and its changes, so that only a comparison that was looked at is imported.
    digest: str = ""
    done: bool = False


def import_csv(
    user: Any,
    pair: Pair,
    content: bytes,
    *,
    whole: bool = False,
    dry_run: bool = True,
    expected: str = "",
    address: str | None = None,
) -> Import:
    """Compare a file with the declarations and, unless it is a ``dry_run``, apply it as a whole.

    :param whole: the file is complete for the AppIDs that it names: declarations that it leaves out are
        withdrawn.
    :param expected: the digest of the comparison that the user has looked at. If it differs now, nothing is
        changed and the new comparison is returned.
    """
    with _changing(user, pair):
        appids = {appid.name: appid for appid in AppID.objects.filter(pair=pair)}
        parsed = parse(content, appids)
        if parsed.faults:
            return Import(parsed.relations, tuple(parsed.faults))
        found = changes(parsed.relations, selectors.declared(pair), whole=whole)
        registers = unregistered(appids, found.added)
        digest = _digest(parsed.relations, found, whole)
        compared = Import(parsed.relations, (), found, tuple(registers), digest)
        if dry_run or expected != digest:
            return compared
        write(user, appids, found, parsed.relations, Source.IMPORT)
        if found:
            registered = [name for _appid, name in registers]
            record(
                user,
                "import",
                f"pair {pair.name}",
                address,
                whole=whole,
                digest=digest,
                **told(found, registered),
            )
        return replace(compared, done=True)


def _digest(relations: Mapping[Relation, str], found: Changes, whole: bool) -> str:
    said = [sorted(relations.items()), found.added, found.noted, found.withdrawn, whole]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


# -- shared -----------------------------------------------------------------------------------------------


@contextmanager
def _changing(user: Any, pair: Pair) -> Iterator[None]:
    """Open the transaction of one change, with a lock on its pair.

    :raises PermissionDenied: ``user`` may not declare.
    """
    if not may_declare(user, pair):
        raise PermissionDenied("You may not declare relations.")
    with transaction.atomic():
        # (Rows that refer to the pair can be added meanwhile.)
        Pair.objects.select_for_update(no_key=True).get(pk=pair.pk)
        yield


def _refuse(*faults: Sentence | None) -> None:
    reasons = {str(fault): fault for fault in faults if fault is not None}  # without duplicates
    if reasons:
        raise NotDeclared(*reasons.values())

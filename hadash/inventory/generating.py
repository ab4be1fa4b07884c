"""Generates InstanceIDs: readable, unique, and registered at once, with their Topics declared on request."""

from __future__ import annotations

import secrets
from collections.abc import Collection, Mapping
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction

from hadash.accounts.roles import REGISTER, may
from hadash.inventory import declarations
from hadash.inventory.models import AppID, Pair
from hadash.inventory.relations import PRODUCE, Relation, fault_of, generated_ids, one_line
from hadash.inventory.services import NotRegistered, register_instance
from hadash.sentences import say

#: Topics that InstanceIDs are generated for at once, at most: for more there is the import of a file.
MAX_TOPICS = 200

#: Random characters at the end of a name: a billion endings, of characters that are not easily confused
#: (Crockford's base32).
ENDING_LENGTH = 6
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def ending() -> str:
    """Return a random ending that makes a generated name unique."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(ENDING_LENGTH))


def generate(
    user: Any,
    appid: AppID,
    topics: Collection[str],
    *,
    one: bool = False,
    kinds: Collection[str] = (),
    note: str = "",
    address: str | None = None,
) -> Mapping[str, tuple[str, ...]]:
    """Generate and register new InstanceIDs of an AppID; return each name with its Topics.

    :param one: generate one for all ``topics``; else one for each.
    :param kinds: the uses of the Topics to declare: produce, consume; empty: declare none.
    :raises PermissionDenied: ``user`` may not register.
    :raises NotRegistered: no Topic is given, too many are, or a name is not one of a Topic.
    :raises NotDeclared: the relations cannot be declared.
    """
    if not may(user, REGISTER, appid.pair):
        raise PermissionDenied("You may not register InstanceIDs.")
    wanted = list(dict.fromkeys(topics))
    if not wanted:
        raise NotRegistered(say("Say for which Topics."))
    if len(wanted) > MAX_TOPICS:
        raise NotRegistered(
            say(
                "That is %(count)s Topics; at most %(most)s are possible at once.",
                count=len(wanted),
                most=MAX_TOPICS,
            )
        )
    for topic in wanted:
        fault = fault_of(Relation(appid.name, "", PRODUCE, topic))
        if fault is not None:
            raise NotRegistered(fault)
    note = one_line(note)
    with transaction.atomic():
        # The same lock as for declarations: generating names in one pair happens one after another.
        Pair.objects.select_for_update(no_key=True).get(pk=appid.pair_id)
        made = generated_ids(appid.name, wanted, declarations.taken_names(appid), one=one, ending=ending)
        for name, its in made.items():
            register_instance(user, appid, name, note or ", ".join(its), address)
            if kinds:
                declarations.declare(user, appid, name, its, kinds, note, address=address)
    return made

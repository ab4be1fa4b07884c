"""The owners of AppIDs. The page of an AppID names its owner; reports send each owner the parts about their
AppIDs (:mod:`hadash.reports.recipients`).

hadash knows no owner by itself: people set it on the page, programs through the API, and a directory is
imported as a file.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import transaction

from hadash.accounts.roles import CHANGE_APPID, may, pairs_where
from hadash.audit.models import record
from hadash.inventory.models import AppID
from hadash.sentences import Sentence, say

#: The columns that a file of owners needs. Others are ignored, so that the export of all AppIDs can be
#: imported.
COLUMNS = ("pair", "appid", "owner")
#: Bytes and lines of a file, at most: that of a fleet of 100,000 AppIDs has a tenth.
MOST_BYTES, MOST_LINES = 50_000_000, 1_000_000
#: Faults of a file, and unknown names, that are listed at most.
MOST_TOLD = 10

MAX_OWNER: int = AppID._meta.get_field("owner").max_length  # type: ignore[assignment]


class OwnerRefused(ValueError):
    """An owner or a file of owners is not valid; nothing was changed. ``reasons`` are all faults."""

    def __init__(self, *reasons: Sentence) -> None:
        super().__init__(" ".join(map(str, reasons)))
        self.reasons = list(reasons)


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import. ``changed``: the number of AppIDs with a new owner. ``same``: the number of
    those that had it already. ``unknown``: names (pair › AppID) of AppIDs that do not exist or that the user
    may not change, at most :data:`MOST_TOLD`; ``left_out``: the number of all of these.
    """

    changed: int
    same: int
    unknown: tuple[str, ...]
    left_out: int


def set_owner(user: Any, appid: AppID, owner: str, address: str | None = None) -> AppID:
    """Set the owner of ``appid``; empty: none. Idempotent.

    :raises PermissionDenied: ``user`` may not.
    :raises OwnerRefused: the name is not valid.
    """
    if not may(user, CHANGE_APPID, appid.pair):
        raise PermissionDenied("You may not say whose AppIDs are.")
    wanted = cleaned(owner)
    with transaction.atomic():
        held = AppID.objects.select_related("pair").select_for_update(of=("self",)).get(pk=appid.pk)
        if held.owner != wanted:
            before, held.owner = held.owner, wanted
            held.save(update_fields=["owner"])
            subject = f"AppID {held.name} of pair {held.pair.name}"
            record(user, "owner said", subject, address, before=before, owner=wanted)
    return held


def cleaned(owner: str) -> str:
    """Return an owner's name as one line with single blanks, so that the same owner is spelt in one way.

    :raises OwnerRefused: it is too long, or has characters that are not printable.

    >>> cleaned("  Kafka  platform\\n team ")
    'Kafka platform team'
    """
    wanted = " ".join(owner.split())
    if len(wanted) > MAX_OWNER or not wanted.isprintable():
        raise OwnerRefused(say("An owner is a name of at most %(most)s characters.", most=MAX_OWNER))
    return wanted


def import_owners(user: Any, content: bytes, address: str | None = None) -> Imported:
    """Set the owners that a file names, in one transaction. AppIDs that are not in it stay unchanged.

    :param content: CSV with the columns ``pair``, ``appid`` and ``owner``; an empty owner: none.
    :raises PermissionDenied: ``user`` may change no AppID.
    :raises OwnerRefused: the file is not valid; nothing was changed.
    """
    pairs = {pair.name: pair.pk for pair in pairs_where(user, CHANGE_APPID)}
    if not pairs:
        raise PermissionDenied("You may not say whose AppIDs are.")
    wanted = owners_of(content)
    with transaction.atomic():
        held = AppID.objects.filter(pair__in=pairs.values(), name__in={name for _pair, name in wanted})
        known = {
            (each.pair.name, each.name): each
            for each in held.select_related("pair").select_for_update(of=("self",))
        }
        changed = []
        for key, each in known.items():
            if key in wanted and each.owner != wanted[key]:
                each.owner = wanted[key]
                changed.append(each)
        AppID.objects.bulk_update(changed, ["owner"], batch_size=1000)
        unknown = sorted(key for key in wanted if key not in known)
        same = len(wanted) - len(unknown) - len(changed)
        if changed:
            record(
                user,
                "owners imported",
                ", ".join(sorted({f"pair {each.pair.name}" for each in changed})),
                address,
                changed=len(changed),
                appids=sorted(each.name for each in changed)[:100],
            )
    named = tuple(f"{pair} › {name}" for pair, name in unknown[:MOST_TOLD])
    return Imported(len(changed), same, named, len(unknown))


def owners_of(content: bytes) -> dict[tuple[str, str], str]:
    """Return the owners that a file names, by (pair, AppID).

    :raises OwnerRefused: with its faults.

    >>> owners_of(b"pair,appid,owner,critical\\nmain,shop,Trade,yes\\n")
    {('main', 'shop'): 'Trade'}
    """
    if not content:
        raise OwnerRefused(say("Choose a file."))
    if len(content) > MOST_BYTES:
        raise OwnerRefused(say("The file is too long: at most %(most)s bytes.", most=MOST_BYTES))
    reader = csv.DictReader(io.StringIO(_text(content), newline=""))
    try:
        missing = [name for name in COLUMNS if name not in (reader.fieldnames or ())]
        if missing:
            raise OwnerRefused(
                say(
                    "The file lacks the columns %(columns)s: its first line has to name pair, appid and owner.",
                    columns=", ".join(missing),
                )
            )
        found: dict[tuple[str, str], str] = {}
        faults = list(_read(reader, found))
    except csv.Error as error:
        raise OwnerRefused(say("This is no CSV: %(error)s", error=str(error))) from None
    if faults:
        raise OwnerRefused(*faults[:MOST_TOLD])
    return found


def _text(content: bytes) -> str:
    """Decode UTF-8, or GB18030, in which Chinese Excel writes.

    >>> _text("购物".encode()), _text("购物".encode("gb18030"))
    ('购物', '购物')
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        pass
    try:
        return content.decode("gb18030")
    except UnicodeDecodeError:
        raise OwnerRefused(say("The file is neither UTF-8 nor GB18030: save it as CSV in UTF-8.")) from None


def _read(reader: csv.DictReader[str], found: dict[tuple[str, str], str]) -> Iterator[Sentence]:
    """Read the lines into ``found``, and yield their faults."""
    for row in reader:
        line = reader.line_num
        if line > MOST_LINES:
            yield say("The file is too long: at most %(most)s lines.", most=MOST_LINES)
            return
        pair, appid, owner = ((row[name] or "").strip() for name in COLUMNS)
        if not (pair or appid or owner):
            continue
        if not pair or not appid:
            yield say("Line %(line)s: a pair and an AppID are needed.", line=line)
            continue
        try:
            wanted = cleaned(owner)
        except OwnerRefused:
            yield say(
                "Line %(line)s: an owner is a name of at most %(most)s characters.", line=line, most=MAX_OWNER
            )
            continue
        if found.setdefault((pair, appid), wanted) != wanted:
            yield say(
                "Line %(line)s: %(appid)s of pair %(pair)s has another owner on an earlier line.",
                line=line, appid=appid, pair=pair,
            )  # fmt: skip

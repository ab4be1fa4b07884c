"""Anchors of the audit log: the digest of its newest entry, signed, and kept where the database cannot reach.

A person who may write to the database could rewrite the chain from any entry on. Anchors that are kept elsewhere
(a folder of another machine, an object store that never deletes) reveal this.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from django.core import signing
from django.utils import timezone

from hadash.audit.models import Entry, LastAnchor, head
from hadash.lake.store import Store

#: The folder of the anchors in their store.
FOLDER = "audit-anchors"

_SIGNER_SALT = "hadash.audit.anchor"


@dataclass(frozen=True, slots=True)
class Anchor:
    """The log's newest entry at one moment.

    :param at: in ISO 8601.
    :param signature: made with ``HADASH_SECRET_KEY``.
    :param previous: the name of the anchor that was the last one when this one was kept, so that a missing
        anchor is noticed; empty for the first.
    """

    number: int
    digest: str
    at: str
    signature: str = ""
    previous: str = ""

    @property
    def signed(self) -> str:
        """The text that the signature covers."""
        return f"{self.number} {self.digest} {self.at} {self.previous}"

    @property
    def signer(self) -> signing.Signer:
        return signing.Signer(salt=_SIGNER_SALT)

    @property
    def name(self) -> str:
        """The anchor's name in its store.
        >>> Anchor(12, "6f" * 32, "2026-11-23T12:00:00+00:00").name
        'audit-anchors/000000000012-6f6f6f6f6f6f6f6f.json'
        """
        return f"{FOLDER}/{self.number:012}-{self.digest[:16]}.json"


def drop_anchor(store: Store) -> Anchor | None:
    """Keep the newest entry's digest in ``store``. Return ``None`` when it is there already, or the log is empty.

    :raises OSError: the store cannot be written to.
    """
    newest = head()
    if newest is None:
        return None
    unsigned = Anchor(newest.number, newest.digest, timezone.now().isoformat(timespec="seconds"))
    if store.exists(unsigned.name):
        note_anchored(newest)
        return None
    unsigned = replace(unsigned, previous=max(store.files(FOLDER), default=""))
    made = replace(unsigned, signature=unsigned.signer.signature(unsigned.signed))
    store.write_json(made.name, asdict(made))
    note_anchored(newest)
    return made


def note_anchored(entry: Entry) -> None:
    """Store in the database, for the metrics, that the log is anchored up to an entry."""
    LastAnchor.objects.update_or_create(id=1, defaults={"number": entry.number})


def anchors(store: Store) -> Iterator[Anchor]:
    """Return all anchors that are kept, oldest first.

    :raises ValueError: an anchor is damaged, or was not signed by this installation.
    """
    for name in sorted(store.files(FOLDER)):
        found = parsed(store.read_json(name))
        if found is None:
            raise ValueError(f"{name} is no anchor of this hadash: its signature does not fit.")
        yield found


def parsed(value: Any) -> Anchor | None:
    """Parse an anchor; ``None`` when ``value`` is no anchor that this installation has signed."""
    try:
        found = Anchor(
            int(value["number"]),
            str(value["digest"]),
            str(value["at"]),
            str(value["signature"]),
            str(value["previous"]),
        )
        found.signer.unsign(f"{found.signed}:{found.signature}")
    except (AttributeError, KeyError, TypeError, ValueError, signing.BadSignature):
        return None
    return found


def first_broken(kept: Iterable[Anchor], entries: Iterable[Mapping[str, Any]]) -> Anchor | None:
    """Return the first anchor whose entry is missing from the log or differs; ``None`` when all fit. Pure.

    :param entries: exported entries, oldest first.
    """
    wanted: dict[int, list[Anchor]] = defaultdict(list)
    for anchor in kept:  # a log that was rewritten leaves two anchors with the same number: both count
        wanted[anchor.number].append(anchor)
    for entry in entries:
        for anchor in wanted.pop(int(entry["number"]), ()):
            if anchor.digest != entry["digest"]:
                return anchor
    return wanted[min(wanted)][0] if wanted else None


def first_missing(kept: Iterable[Anchor]) -> str | None:
    """Return the name of an anchor that a later one follows but that is missing; ``None`` when none is. Pure."""
    kept = list(kept)
    names = {anchor.name for anchor in kept}
    return next(
        (anchor.previous for anchor in kept if anchor.previous and anchor.previous not in names), None
    )


def first_unanchored(
    kept: Iterable[Anchor], entries: Iterable[Mapping[str, Any]], before: datetime
) -> Mapping[str, Any] | None:
    """Return the first entry that is older than ``before`` and later than every anchor. Pure.

    There is one when the newest anchor is missing, or when no anchor was kept for a long time.
    """
    last = max((anchor.number for anchor in kept), default=0)
    later = (entry for entry in entries if int(entry["number"]) > last)
    return next((entry for entry in later if datetime.fromisoformat(entry["at"]) < before), None)

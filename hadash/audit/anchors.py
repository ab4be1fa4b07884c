"""Anchors of the audit log: the digest of its newest entry, signed, and kept where the database cannot reach.

Whoever may write to the database could write the whole chain again, from any entry on. What stands elsewhere (a folder of another
machine, an object store that keeps what it has) tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from django.core import signing
from django.utils import timezone

from hadash.audit.models import head
from hadash.lake.store import Store

#: The folder of the anchors in their store.
FOLDER = "audit-anchors"

_SALT = "hadash.audit.anchor"


@dataclass(frozen=True, slots=True)
class Anchor:
    """The log's newest entry at one moment. ``at`` in ISO 8601; ``signature`` is made with ``HADASH_SECRET_KEY``."""

    number: int
    digest: str
    at: str
    signature: str = ""

    @property
    def signed(self) -> str:
        return f"{self.number} {self.digest} {self.at}"

    @property
    def name(self) -> str:
        """
        >>> Anchor(12, "6f" * 32, "2026-11-23T12:00:00+00:00").name
        'audit-anchors/000000000012-6f6f6f6f6f6f6f6f.json'
        """
        return f"{FOLDER}/{self.number:012}-{self.digest[:16]}.json"


def drop_anchor(store: Store) -> Anchor | None:
    """Keep the newest entry's digest in ``store``; ``None`` when it is there already, or the log is empty.

    :raises OSError: the store cannot be written to.
    """
    newest = head()
    if newest is None:
        return None
    unsigned = Anchor(newest.number, newest.digest, timezone.now().isoformat(timespec="seconds"))
    if store.exists(unsigned.name):
        return None
    made = Anchor(
        unsigned.number, unsigned.digest, unsigned.at, signing.Signer(salt=_SALT).signature(unsigned.signed)
    )
    store.write_json(made.name, asdict(made))
    return made


def anchors(store: Store) -> Iterator[Anchor]:
    """All that are kept, oldest first. :raises ValueError: one is damaged, or is not ours."""
    for name in sorted(store.files(FOLDER)):
        found = parsed(store.read_json(name))
        if found is None:
            raise ValueError(f"{name} is no anchor of this hadash: its signature does not fit.")
        yield found


def parsed(value: Any) -> Anchor | None:
    """``None`` for what is no anchor that this installation has signed."""
    try:
        found = Anchor(int(value["number"]), str(value["digest"]), str(value["at"]), str(value["signature"]))
        signing.Signer(salt=_SALT).unsign(f"{found.signed}:{found.signature}")
    except (KeyError, TypeError, ValueError, signing.BadSignature):
        return None
    return found


def first_broken(kept: Iterable[Anchor], entries: Iterable[Mapping[str, Any]]) -> Anchor | None:
    """The first anchor whose entry is not in the log, or is another one; ``None`` when all hold. Pure.

    :param entries: as they are exported, oldest first.
    """
    wanted = {anchor.number: anchor for anchor in kept}
    for entry in entries:
        anchor = wanted.pop(int(entry["number"]), None)
        if anchor is not None and anchor.digest != entry["digest"]:
            return anchor
    return wanted[min(wanted)] if wanted else None

"""How large a change of bindings is as a ZooKeeper transaction. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hadash.bindings import layout
from hadash.bindings.editing import Editing
from hadash.bindings.model import Binding, BindingDocument
from hadash.identity.identity import Identity

#: What one transaction may hold: below ZooKeeper's own limit for a request (``jute.maxbuffer``, a megabyte).
TRANSACTION_BYTES = 900_000

#: Bytes of what a transaction says around a document (its kind, version, ACL and the chroot), and of what it
#: holds beside all documents: epoch, journal, headers.
_AROUND_A_DOCUMENT, _BESIDE = 150, 600

#: Bytes of the shortest binding in a document.
_LEAST_BYTES = 90

#: Bytes of the shortest document: with one binding, of an AppID of one letter.
_LEAST_DOCUMENT = 170

#: Documents that one transaction can change at most, whatever is in them.
MOST_DOCUMENTS = (TRANSACTION_BYTES - _BESIDE) // (_AROUND_A_DOCUMENT + _LEAST_DOCUMENT)

#: An epoch that nobody reaches: as many digits as any will have.
_EPOCH = 10**12


def fits(identities: Iterable[Identity], documents: Mapping[str, BindingDocument], binding: Binding) -> bool:
    """Whether one transaction can bind all ``identities``.

    :param documents: the documents by AppID, as they are now; who has none is missing.
    :param binding: the longest that is written to any of them, whatever its epochs.
    """
    by_appid: dict[str, list[Identity]] = defaultdict(list)
    for identity in identities:
        by_appid[identity.appid].append(identity)
    # (Not worth writing it down: a plan may hold a hundred thousand.)
    if _LEAST_BYTES * sum(map(len, by_appid.values())) > TRANSACTION_BYTES:
        return False
    longest = replace(binding, epoch=_EPOCH, since=_EPOCH)
    left = TRANSACTION_BYTES - _BESIDE
    for appid, its in by_appid.items():
        editing = Editing(documents.get(appid) or BindingDocument(appid))
        for identity in its:
            editing.put(identity, longest)
        # The change node names the AppID, too.
        left -= len(editing.document.to_bytes()) + len(layout.binding(appid)) + len(appid.encode())
        left -= _AROUND_A_DOCUMENT
        if left < 0:
            return False
    return True

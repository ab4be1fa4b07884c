"""The size of a change of bindings as a ZooKeeper transaction. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hadash.bindings import layout
from hadash.bindings.editing import Editing
from hadash.bindings.model import Binding, BindingDocument
from hadash.identity.identity import Identity

#: The most bytes that one transaction may hold: below ZooKeeper's limit for a request (``jute.maxbuffer``, 1 MB).
TRANSACTION_BYTES = 900_000

#: Bytes that a transaction adds to each document (its kind, version, ACL and the chroot), and bytes that it holds
#: besides all documents: epoch, journal, headers.
_AROUND_A_DOCUMENT, _BESIDE = 150, 600

#: Bytes of the shortest binding in a document.
_LEAST_BYTES = 90

#: Bytes of the shortest document: one binding, and an AppID of one letter.
_LEAST_DOCUMENT = 170

#: The most documents that one transaction can change, whatever they hold.
MOST_DOCUMENTS = (TRANSACTION_BYTES - _BESIDE) // (_AROUND_A_DOCUMENT + _LEAST_DOCUMENT)

#: An epoch that is never reached, with as many digits as any epoch will have.
_EPOCH = 10**12


def fits(identities: Iterable[Identity], documents: Mapping[str, BindingDocument], binding: Binding) -> bool:
    """Whether one transaction can bind all ``identities``.

    :param documents: the current documents by AppID; an AppID without one is missing.
    :param binding: the longest binding that is written to any of them, whatever its epochs.
    """
    by_appid: dict[str, list[Identity]] = defaultdict(list)
    for identity in identities:
        by_appid[identity.appid].append(identity)
    # (Checked before serializing anything: a plan may hold a hundred thousand identities.)
    if _LEAST_BYTES * sum(map(len, by_appid.values())) > TRANSACTION_BYTES:
        return False
    longest = replace(binding, epoch=_EPOCH, since=_EPOCH)
    left = TRANSACTION_BYTES - _BESIDE
    for appid, its in by_appid.items():
        editing = Editing(documents.get(appid) or BindingDocument(appid))
        for identity in its:
            editing.put(identity, longest)
        # The change node also names the AppID.
        left -= len(editing.document.to_bytes()) + len(layout.binding(appid)) + len(appid.encode())
        left -= _AROUND_A_DOCUMENT
        if left < 0:
            return False
    return True

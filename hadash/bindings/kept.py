"""All documents of a chroot in memory, for pages and plans: a pair with a hundred thousand AppIDs has many, and few of
them change.

Changes since the last look are read from the change nodes, as the engines do. An edit made past hadash creates no
change node: it is seen after :data:`KEPT_SECONDS` or a little later, while the engines do not see it before a restart.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Mapping
from types import MappingProxyType
from weakref import WeakKeyDictionary

from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError

from hadash.bindings import layout
from hadash.bindings.client import reaching
from hadash.bindings.errors import StoreUnavailable
from hadash.bindings.model import BindingDocument
from hadash.bindings.store import BindingStore

log = logging.getLogger(__name__)

#: Seconds after which all documents are read again in the background, while callers still get the kept ones; and the
#: further seconds after which callers wait for the read. (Six thousand documents take seconds; a page that waits for
#: them reports that ZooKeeper does not answer.)
KEPT_SECONDS = 600.0
WAITED_SECONDS = 60.0

#: The documents by AppID; ``None`` for one that cannot be parsed.
Documents = Mapping[str, BindingDocument | None]


class KeptDocuments:
    """The documents of one chroot, through a connected client. Threads may share it."""

    def __init__(self, store: BindingStore) -> None:
        self._store = store
        self._client = store.client
        self._shown: Documents = MappingProxyType({})
        #: The number of the last change node that the documents contain, and the transaction that last created or
        #: deleted a document.
        self._seen = -1
        self._children = -1
        self._read_at = -(KEPT_SECONDS + WAITED_SECONDS)
        self._looking = threading.Lock()
        self._reading: threading.Thread | None = None

    def all(self) -> Documents:
        """Return the current documents. (A change makes a new mapping; a returned one does not change.)

        :raises StoreUnavailable: ZooKeeper does not answer.
        """
        with self._looking, reaching():
            # (In this order: what is created between the two reads is seen by the next look, and read once more than
            # needed.)
            children = self._client.exists(layout.BINDINGS).pzxid
            numbers = sorted(map(_number, self._client.get_children(layout.CHANGES)))
            changed = self._changed(numbers)
            if changed is None or (children != self._children and not changed):
                self._show(self._store.all_documents())
                self._read_at = time.monotonic()
            else:
                unreadable = {name for name, document in self._shown.items() if document is None}
                self._read_again(changed | unreadable)  # a repair by hand makes no change node
            self._children = children
            self._seen = numbers[-1] if numbers else -1
            if time.monotonic() - self._read_at >= KEPT_SECONDS:
                self._read_all_beside()
            return self._shown

    def _read_all_beside(self) -> None:
        """Start to read all documents again in a thread, unless that is already running."""
        if self._reading is None or not self._reading.is_alive():
            self._reading = threading.Thread(target=self._read_all, name="documents", daemon=True)
            self._reading.start()

    def _read_all(self) -> None:
        try:
            with reaching():
                # (What changes from here on is in a change node that the next look has not seen, and is read once
                # more.)
                children = self._client.exists(layout.BINDINGS).pzxid
                numbers = sorted(map(_number, self._client.get_children(layout.CHANGES)))
                documents = self._store.all_documents()
        except StoreUnavailable as error:
            log.warning("The documents could not be read again: %s", error)
            return
        with self._looking:
            self._show(documents)
            self._children, self._seen = children, numbers[-1] if numbers else -1
            self._read_at = time.monotonic()

    def _changed(self, numbers: list[int]) -> set[str] | None:
        """Return the AppIDs that changed since the last look; ``None`` when that is unknown.

        :param numbers: the numbers of the change nodes that exist, in order.
        """
        if time.monotonic() - self._read_at >= KEPT_SECONDS + WAITED_SECONDS:
            return None
        fresh = [number for number in numbers if number > self._seen]
        if not fresh:
            return (
                set() if not numbers or numbers[-1] == self._seen else None
            )  # None: their numbers were reset
        if fresh[0] != self._seen + 1:
            return None  # some change nodes were trimmed before they were seen
        found: set[str] = set()
        asked = [self._client.get_async(f"{layout.CHANGE_PREFIX}{number:010d}") for number in fresh]
        for answer in asked:
            try:
                found.update(str(appid) for appid in json.loads(answer.get()[0])["appids"])
            except (NoNodeError, ValueError, KeyError, TypeError):
                return None
        return found

    def _read_again(self, names: set[str]) -> None:
        if names:
            found = self._store.documents_of(sorted(names))
            self._show({n: document for n, document in self._shown.items() if n not in names} | found)

    def _show(self, documents: dict[str, BindingDocument | None]) -> None:
        self._shown = MappingProxyType(documents)


def _number(child: str) -> int:
    last = child.rsplit("-", 1)[-1]
    return int(last) if last.isdecimal() else -1


_kept: WeakKeyDictionary[KazooClient, KeptDocuments] = WeakKeyDictionary()
_making = threading.Lock()


def kept_documents(client: KazooClient) -> KeptDocuments:
    """Return this process's documents of the chroot that ``client`` is connected to."""
    with _making:
        if client not in _kept:
            _kept[client] = KeptDocuments(BindingStore(client))
        return _kept[client]

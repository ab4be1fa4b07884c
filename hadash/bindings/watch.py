"""An engine's view of ZooKeeper: one watch on the change nodes; everything else is read on demand.

kazoo calls back in its own threads. :class:`BindingWatcher` passes finished values to ``on_change`` there, and the
caller hands them to its own loop.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from kazoo.client import KazooClient
from kazoo.exceptions import KazooException, NoNodeError
from kazoo.protocol.states import ZnodeStat

from hadash.bindings import layout
from hadash.bindings.catalogue import read_placement
from hadash.bindings.model import BindingDocument, Placement
from hadash.identity.names import decode

log = logging.getLogger(__name__)


#: By how much the epoch of restored content is later than any that a process can have seen: more changes than a fleet
#: makes in years.
EPOCHS_LATER = 1_000_000

#: Seconds until a node is read again that could not be read, or that was just deleted.
AGAIN_SECONDS = 0.3

#: Placements remembered; when there are more, all are forgotten and read again when they are needed.
MAX_PLACEMENTS = 1000


class _Seen(NamedTuple):
    """A change node that was seen: its sequence number, its mark, and the mark of the folder that it was in.

    The mark is needed because sequence numbers occur again after ZooKeeper was restored. ``node`` is ``None`` when the
    node was already trimmed; then no node of this number is taken for the same.
    """

    sequence: int
    node: NodeMark | None
    folder: NodeMark | None


class NodeMark(NamedTuple):
    """Identifies a node among all that ever had its path: a node that was deleted and created again differs."""

    czxid: int
    ctime: int


def _mark(stat: ZnodeStat) -> NodeMark:
    return NodeMark(stat.czxid, stat.ctime)


@dataclass(frozen=True, slots=True)
class Update:
    """Documents that replace those of the engine (``None``: removed), in effect as of ``epoch``.

    ``complete`` is true when ``documents`` and ``unreadable`` name every AppID there is: all others were removed. For
    an ``unreadable`` AppID the engine keeps the document it had; if it never had one, it does not serve the AppID.
    """

    epoch: int
    documents: dict[str, BindingDocument | None]
    placements: dict[str, Placement]
    complete: bool = False
    unreadable: frozenset[str] = frozenset()


class BindingWatcher:
    """Follows ``/changes`` from the first full read on.

    While ZooKeeper cannot be reached, nothing is called: the engine keeps what it last applied. The same holds when
    ZooKeeper answers with another history than the one that was seen (it was emptied, or restored to an older state),
    because its present content is not what clients were routed by. Only content written by ``hadash-manage
    restore_zookeeper``, recognized by its epoch, is accepted instead.
    """

    def __init__(
        self,
        client: KazooClient,
        on_change: Callable[[Update], None],
        on_forgotten: Callable[[int | None], None] = lambda epoch: None,
    ) -> None:
        """
        :param on_forgotten: called with ZooKeeper's last epoch when ZooKeeper has fewer changes than were seen, or
            others; and with ``None`` when that is over, before restored content is read.
        """
        self._client = client
        self._on_change = on_change
        self._on_forgotten = on_forgotten
        self._is_forgotten = False
        #: The last change node that was seen.
        self._seen = _Seen(-1, None, None)
        #: The folder of changes that is followed.
        self._folder: NodeMark | None = None
        self._epoch = 0
        self._placements: dict[str, Placement] = {}
        self._looking = threading.Lock()

    def start(self) -> None:
        """Read everything, then follow changes.

        :raises KazooException: the first read failed.
        """
        self._seen = self._last_of(self._client.get_children(layout.CHANGES))
        self._read_all()
        self._client.DataWatch(layout.CHANGES)(self._there)

    # -- called by kazoo, in its own threads -----------------------------------------------------------------------

    def _there(self, data: bytes | None, stat: ZnodeStat | None) -> None:
        """Called at the start, and when the folder of changes was deleted or created again: a watch on its children
        ends with it.
        """
        if stat is None:
            with self._looking:
                self._forgotten(0)
        elif _mark(stat) == self._folder:
            self._client.handler.spawn(self._again)
        else:
            self._folder = _mark(stat)
            self._client.ChildrenWatch(layout.CHANGES)(self._changed)

    def _changed(self, children: list[str]) -> None:
        """Called at each new change node, and after each reconnection."""
        with self._looking:
            self._look(children)

    def _again(self) -> None:
        """Look at the change nodes again once the connection is back."""
        try:
            children = self._client.retry(self._client.get_children, layout.CHANGES)
        except NoNodeError:
            with self._looking:
                self._forgotten(0)
            return
        except (KazooException, RuntimeError):
            return  # the client was closed, or the session is lost: the watch is then set again
        self._changed(children)

    def _try_again(self) -> None:
        """Look again after a pause.

        kazoo does not call back again for the same children. ``_seen`` still says what was handled.
        """

        def later() -> None:
            time.sleep(AGAIN_SECONDS)
            self._again()

        self._client.handler.spawn(later)

    # -- one look at a time, so that what was read first is not handed over last -----------------------------------

    def _look(self, children: list[str]) -> None:
        try:
            if not self._is_same_history(children):
                self._look_at_another_history()
                return
            fresh = sorted(
                (child for child in children if _sequence(child) > self._seen.sequence), key=_sequence
            )
            if fresh:
                # (Identify the node before the changes are handed over: later another node may have its number.)
                last = self._last_of(fresh)
                if _sequence(fresh[0]) > self._seen.sequence + 1:
                    log.warning("changes were trimmed before they were seen; reading all bindings")
                    self._read_all()
                else:
                    self._read_changes(fresh)
                self._seen = last
            self._remembered()
        except NoNodeError:
            self._forgotten(0)
        except KazooException:
            log.warning("a change of bindings could not be read; trying again", exc_info=True)
            self._try_again()

    def _last_of(self, children: list[str]) -> _Seen:
        folder = _mark(self._client.get(layout.CHANGES)[1])
        last = max(children, key=_sequence, default=None)
        if last is None:
            return _Seen(-1, None, folder)
        stat = self._client.exists(f"{layout.CHANGES}/{last}")
        return _Seen(_sequence(last), _mark(stat) if stat is not None else None, folder)

    def _is_same_history(self, children: list[str]) -> bool:
        """Whether the last change node that was seen is there, or could have been trimmed since.

        (``children`` may be outdated. If a node has gone meanwhile, the reason is unknown, and a new look decides.)
        """
        if self._seen.sequence < 0:
            return True
        name = next((child for child in children if _sequence(child) == self._seen.sequence), None)
        if name is not None:
            stat = self._client.exists(f"{layout.CHANGES}/{name}")
            return stat is not None and _mark(stat) == self._seen.node
        return max(map(_sequence, children), default=-1) > self._seen.sequence

    def _look_at_another_history(self) -> None:
        self._client.sync(layout.CHANGES)  # the answering server may be behind the others
        # The epoch is read first: a change made meanwhile is among the children, whatever the epoch was before it.
        epoch = self._epoch_now()
        children = self._client.get_children(layout.CHANGES)
        last = max(map(_sequence, children), default=-1)
        if self._is_same_history(children):
            if last > self._seen.sequence:
                self._try_again()
            self._remembered()
        elif epoch == self._epoch and last < self._seen.sequence and self._is_the_same_folder():
            # The change nodes were deleted by hand, and nothing was changed. (A ZooKeeper that was restored and has
            # come as far again would have a change node with this number.)
            self._remembered()
        elif epoch > self._epoch + EPOCHS_LATER // 2:
            log.warning("ZooKeeper was restored (its epoch is %d): reading all bindings", epoch)
            self._is_forgotten = False
            self._on_forgotten(None)
            seen = self._last_of(children)
            self._read_all()
            self._seen = seen
        else:
            self._forgotten(epoch)

    def _is_the_same_folder(self) -> bool:
        return _mark(self._client.get(layout.CHANGES)[1]) == self._seen.folder

    def _epoch_now(self) -> int:
        """Read the current epoch.

        :raises NoNodeError: there is none.
        """
        return int(self._client.get(layout.EPOCH)[0] or b"0")

    def _forgotten(self, epoch: int) -> None:
        if not self._is_forgotten:
            log.error(
                "ZooKeeper has forgotten changes of bindings: its last epoch is %d, and %d was seen here. "
                "What is in effect stays, and no switch "
                "goes on. Restore its newest backup with hadash-manage restore_zookeeper (docs/production.md)",
                epoch,
                self._epoch,
            )
        self._is_forgotten = True
        self._on_forgotten(epoch)

    def _remembered(self) -> None:
        if self._is_forgotten:
            self._is_forgotten = False
            self._on_forgotten(None)

    # -- reading --------------------------------------------------------------------------------------------------

    def _read_changes(self, fresh: list[str]) -> None:
        epoch = self._epoch
        appids: set[str] = set()
        for child in fresh:
            try:
                data, _ = self._client.get(f"{layout.CHANGES}/{child}")
                change: dict[str, Any] = json.loads(data)
                epoch = max(epoch, int(change["epoch"]))
                appids.update(str(appid) for appid in change["appids"])
            except (NoNodeError, ValueError, KeyError, TypeError):
                self._read_all()
                return
        self._hand_over(epoch, sorted(appids), complete=False)

    def _read_all(self) -> None:
        epoch = self._epoch_now()
        appids = [decode(child) for child in self._client.get_children(layout.BINDINGS)]
        self._hand_over(epoch, appids, complete=True)

    def _hand_over(self, epoch: int, appids: list[str], *, complete: bool) -> None:
        documents: dict[str, BindingDocument | None] = {}
        switches: set[str] = set()
        unreadable: set[str] = set()
        for appid in appids:
            try:
                document = self._read_document(appid)
            except NoNodeError:
                documents[appid] = None
                continue
            if document is None:
                unreadable.add(appid)
                continue
            documents[appid] = document
            for binding in document.bindings():
                if binding.switch:
                    switches.add(binding.switch)
        placements = {}
        for switch in switches:
            # A switch publishes its placement once, before it writes its first binding.
            placement = self._placements.get(switch) or read_placement(self._client, switch)
            if placement is not None:
                placements[switch] = placement
        forget = complete or len(self._placements) > MAX_PLACEMENTS
        self._placements = placements if forget else {**self._placements, **placements}
        if (complete or None in documents.values()) and self._epoch_now() < self._epoch:
            self._forgotten(0)  # ZooKeeper was emptied during the read: that unbinds no client
            return
        self._epoch = max(self._epoch, epoch)
        self._on_change(Update(epoch, documents, placements, complete, frozenset(unreadable)))

    def _read_document(self, appid: str) -> BindingDocument | None:
        """Read a document; ``None`` if it cannot be parsed. It is then read again when it is changed or deleted.

        :raises NoNodeError: there is none.
        """
        path = layout.binding(appid)
        document = BindingDocument.from_bytes(appid, self._client.get(path)[0])
        if document is None:
            # A repair by hand makes no change node, so the document itself is watched.
            data, _ = self._client.get(
                path, watch=lambda _: self._client.handler.spawn(self._repaired, appid)
            )
            document = BindingDocument.from_bytes(appid, data)
        if document is None:
            log.error(
                "the binding document of %s cannot be read: what is in effect for it stays, and it is not served where "
                "nothing is. Repair or delete %s%s in ZooKeeper; if a newer hadash has written it, bring "
                "this engine to "
                "that version",
                appid,
                self._client.chroot,
                path,
            )
        return document

    def _repaired(self, appid: str) -> None:
        """Called when a document that could not be parsed has changed, or the session that watched it is lost.

        Deleting hadash's whole tree deletes this document, too; the short pause shows whether that is happening.
        """
        time.sleep(AGAIN_SECONDS)
        with self._looking:
            try:
                self._client.retry(self._hand_over, self._epoch, [appid], complete=False)
            except (KazooException, RuntimeError):
                log.warning("the binding document of %s could not be read again", appid, exc_info=True)


def _sequence(child: str) -> int:
    try:
        return int(child.rsplit("-", 1)[1])
    except (IndexError, ValueError):
        return -1

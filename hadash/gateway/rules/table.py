"""The bindings that this Gateway has in effect, and the epochs that they amount to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from hadash.bindings.epochs import Report, Span, merged
from hadash.bindings.model import Binding, BindingDocument, BindingState, Placement
from hadash.bindings.watch import Update
from hadash.identity.resolve import reachable, resolve, resolve_topics


class BindingTable:
    """The binding documents by AppID. Only :meth:`apply` changes them."""

    def __init__(self, default_cluster: str) -> None:
        self._documents: dict[str, BindingDocument] = {}
        self._placements: dict[str, Placement] = {}
        #: How many documents have a binding of each switch, and the epochs of each AppID's bindings that hold clients.
        #: Kept with every document, so that a change need not read all of them: no client is served meanwhile.
        self._documents_of: Counter[str] = Counter()
        self._held_epochs: dict[str, frozenset[int]] = {}
        self._default = Binding(cluster=default_cluster)
        #: AppIDs whose document this process could never read, so that their cluster is unknown.
        self._unknown: set[str] = set()

    def is_unknown(self, appid: str) -> bool:
        """Whether the AppID has a binding that this process could not read.

        The pair's default could be the wrong cluster for it, which would then accept writes beside the right one.
        """
        return appid in self._unknown

    def binding(
        self, appid: str, client_id: str, *, topic: str | None = None, group: str | None = None
    ) -> Binding:
        """Return the binding that governs a client's request, by what the request names."""
        return resolve(self._documents.get(appid), client_id, self._default, topic=topic, group=group)

    def bindings(self, appid: str, client_id: str, topics: Iterable[str]) -> dict[str, Binding]:
        """Return the binding of each of ``topics`` for a client."""
        return resolve_topics(self._documents.get(appid), client_id, self._default, topics)

    def since(self, appid: str, client_id: str, binding: Binding) -> Callable[[str], int] | None:
        """Return a function from a Topic to the epoch since which the Topic has been on its cluster.

        It is meant for the Topics of a client that are all on ``binding``'s cluster. ``None`` when nothing has ever
        moved.
        """
        document = self._documents.get(appid)
        if document is None:
            return None
        if not document.by_request:
            epoch = max(binding.since, document.unbound)
            return (lambda topic: epoch) if epoch else None
        return lambda topic: max(self.binding(appid, client_id, topic=topic).since, document.unbound)

    def resolver(self, appid: str, client_id: str) -> frozenset[Binding]:
        """Return the bindings that can govern a request of a client."""
        return frozenset(reachable(self._documents.get(appid), client_id, self._default))

    def reachable(self, appid: str, client_id: str) -> frozenset[str]:
        """Return the clusters that serve any request of a client."""
        return frozenset(binding.cluster for binding in self.resolver(appid, client_id))

    def any_blocked(self, appid: str, client_id: str) -> bool:
        """Whether any binding that can govern a client's request is blocked."""
        return any(binding.state is BindingState.BLOCK for binding in self.resolver(appid, client_id))

    def bindings_of(self, appid: str) -> tuple[Binding, ...]:
        """Return all bindings of an AppID's document."""
        document = self._documents.get(appid)
        return () if document is None else tuple(document.bindings())

    def topics_named(self, appid: str) -> set[str]:
        """Return the Topics that the AppID's document binds by name."""
        document = self._documents.get(appid)
        if document is None:
            return set()
        return set(document.topics).union(*document.topic_lists)

    def by_request(self, appid: str) -> bool:
        """Whether the binding can depend on what a request of this AppID names, not on the client alone."""
        document = self._documents.get(appid)
        return document is not None and document.by_request

    def placement(self, binding: Binding) -> Placement | None:
        """Return the placement of the switch that wrote ``binding``, if it is for ``binding``'s cluster."""
        placement = self._placements.get(binding.switch)
        return placement if placement is not None and placement.cluster == binding.cluster else None

    def documents(self) -> dict[str, BindingDocument]:
        """Return all documents by AppID, as a copy."""
        return dict(self._documents)

    def held_epochs(self) -> set[int]:
        """Return the epochs of all bindings that hold clients: blocks, and the states that come before one."""
        return set().union(*self._held_epochs.values())

    def apply(self, update: Update) -> set[str]:
        """Apply ``update``, and return the AppIDs whose bindings may have changed."""
        changed = set(update.documents)
        for appid, document in update.documents.items():
            self._replace(appid, document)
        if update.complete:
            gone = set(self._documents) - set(update.documents) - update.unreadable
            for appid in gone:
                self._replace(appid, None)
            changed |= gone
            self._unknown = set(update.unreadable - set(self._documents))
        self._unknown -= set(update.documents)
        self._placements.update(update.placements)
        self._placements = {
            switch: p for switch, p in self._placements.items() if switch in self._documents_of
        }
        return changed

    def _replace(self, appid: str, document: BindingDocument | None) -> None:
        """Keep ``document`` in place of the AppID's former one; ``None``: it has none any more."""
        for switch in _switches(self._documents.pop(appid, None)):
            self._documents_of[switch] -= 1
            if not self._documents_of[switch]:
                del self._documents_of[switch]
        self._held_epochs.pop(appid, None)
        if document is None:
            return
        self._documents[appid] = document
        self._documents_of.update(_switches(document))
        if held := frozenset(binding.epoch for binding in document.bindings() if binding.is_held):
            self._held_epochs[appid] = held


def _switches(document: BindingDocument | None) -> set[str]:
    """Return the switches that wrote a document's bindings."""
    return set() if document is None else {binding.switch for binding in document.bindings()}


class AppliedEpoch:
    """The epochs that are in effect, when changes come into effect out of order."""

    def __init__(self) -> None:
        self._latest = 0
        self._pending: list[Span] = []
        self._unread: dict[str, tuple[Span, ...]] = {}
        self._held: set[int] = set()

    @property
    def latest(self) -> int:
        """The last epoch that is known here, whether or not it is in effect."""
        return self._latest

    def hold(self, epochs: Iterable[int]) -> None:
        """Keep ``epochs`` from being in effect as long as their bindings stand (see :meth:`release_but`)."""
        self._held.update(epochs)

    def let_go(self, epoch: int) -> None:
        """Stop holding ``epoch``: the reason is gone."""
        self._held.discard(epoch)

    def is_pending(self, epoch: int) -> bool:
        """Whether a change is known here but not in effect yet."""
        return any(first <= epoch <= last for first, last in self._pending)

    def release_but(self, standing: Iterable[int]) -> None:
        """Keep holding only those epochs whose bindings still stand."""
        self._held.intersection_update(standing)

    def begin(self, epoch: int) -> Span:
        """Register the changes up to ``epoch`` as known, and return their span for :meth:`finish`.

        Changes that were read together form one span: none of them is in effect before all are, because the requests
        that each of them waits for are not told apart.
        """
        span = (min(self._latest + 1, epoch), epoch)
        self._latest = max(self._latest, epoch)
        self._pending.append(span)
        return span

    def finish(self, span: Span) -> None:
        """Register that the changes of ``span``, which :meth:`begin` returned, are in effect."""
        self._pending.remove(span)

    def not_read(self, appids: Iterable[str], span: Span) -> None:
        """Register that this Gateway cannot read bindings that the changes of ``span`` wrote.

        It has not put into effect what it does not know. The switch that made the changes waits, and names this
        Gateway.
        """
        for appid in appids:
            self._unread[appid] = merged((*self._unread.get(appid, ()), span))

    def read(self, appids: Iterable[str]) -> None:
        """Register that the bindings of ``appids`` are known now."""
        for appid in appids:
            self._unread.pop(appid, None)

    @property
    def report(self) -> Report:
        """The report of the epochs that are known, missing and unread.
        >>> applied = AppliedEpoch(); first = applied.begin(7); both = applied.begin(9); applied.finish(first)
        >>> applied.report
        Report(latest=9, missing=((8, 9),), unread=())
        """
        unread = merged(span for spans in self._unread.values() for span in spans)
        held = ((epoch, epoch) for epoch in self._held)
        return Report(self._latest, merged((*self._pending, *held, *unread)), unread)

    @property
    def value(self) -> int:
        """The epoch up to which every change is in effect."""
        return self.report.applied

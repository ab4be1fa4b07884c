"""The bindings that this Gateway has in effect, and which epoch that makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hadash.bindings.epochs import Report, Span, merged
from hadash.bindings.model import Binding, BindingDocument, BindingState, Placement
from hadash.bindings.watch import Update
from hadash.identity.resolve import reachable, resolve, resolve_topics


class BindingTable:
    """Documents by AppID. Only :meth:`apply` changes it."""

    def __init__(self, default_cluster: str) -> None:
        self._documents: dict[str, BindingDocument] = {}
        self._placements: dict[str, Placement] = {}
        self._default = Binding(cluster=default_cluster)
        #: AppIDs that have a document which this process could never read: where they belong nobody knows.
        self._unknown: set[str] = set()

    def is_unknown(self, appid: str) -> bool:
        """Whether the AppID is bound, but nobody here knows where to: the pair's default could be the wrong
        cluster, which would accept its writes beside the right one.
        """
        return appid in self._unknown

    def binding(
        self, appid: str, client_id: str, *, topic: str | None = None, group: str | None = None
    ) -> Binding:
        """The binding that governs a client's request, by what it names."""
        return resolve(self._documents.get(appid), client_id, self._default, topic=topic, group=group)

    def bindings(self, appid: str, client_id: str, topics: Iterable[str]) -> dict[str, Binding]:
        """The binding of each of ``topics`` for a client."""
        return resolve_topics(self._documents.get(appid), client_id, self._default, topics)

    def since(self, appid: str, client_id: str, binding: Binding) -> Callable[[str], int] | None:
        """Since which epoch each Topic of a client, all governed by ``binding``'s cluster, has been there;
        ``None`` when nothing has ever moved.
        """
        document = self._documents.get(appid)
        if document is None:
            return None
        if not document.by_request:
            epoch = max(binding.since, document.unbound)
            return (lambda topic: epoch) if epoch else None
        return lambda topic: max(self.binding(appid, client_id, topic=topic).since, document.unbound)

    def governing(self, appid: str, client_id: str) -> frozenset[Binding]:
        """The bindings that can govern a request of a client."""
        return frozenset(reachable(self._documents.get(appid), client_id, self._default))

    def reachable(self, appid: str, client_id: str) -> frozenset[str]:
        """The clusters that serve a client in any way."""
        return frozenset(binding.cluster for binding in self.governing(appid, client_id))

    def any_blocked(self, appid: str, client_id: str) -> bool:
        """Whether any binding that can govern a client's request is blocked."""
        return any(binding.state is BindingState.BLOCK for binding in self.governing(appid, client_id))

    def bindings_of(self, appid: str) -> tuple[Binding, ...]:
        """All bindings of an AppID's document."""
        document = self._documents.get(appid)
        return () if document is None else tuple(document.bindings())

    def topics_named(self, appid: str) -> set[str]:
        """The Topics that the AppID's document binds by name."""
        document = self._documents.get(appid)
        if document is None:
            return set()
        return set(document.topics).union(*document.topic_lists)

    def by_request(self, appid: str) -> bool:
        """Whether for this AppID what a request names can decide, not the client alone."""
        document = self._documents.get(appid)
        return document is not None and document.by_request

    def placement(self, binding: Binding) -> Placement | None:
        """Where the switch that wrote ``binding`` has put its partitions and groups, if it leads to its cluster."""
        placement = self._placements.get(binding.switch)
        return placement if placement is not None and placement.cluster == binding.cluster else None

    def documents(self) -> dict[str, BindingDocument]:
        return dict(self._documents)

    def apply(self, update: Update) -> set[str]:
        """Take over ``update``; the AppIDs whose bindings may have changed are returned."""
        changed = set(update.documents)
        for appid, document in update.documents.items():
            if document is None:
                self._documents.pop(appid, None)
            else:
                self._documents[appid] = document
        if update.complete:
            gone = set(self._documents) - set(update.documents) - update.unreadable
            for appid in gone:
                del self._documents[appid]
            changed |= gone
            self._unknown = set(update.unreadable - set(self._documents))
        self._unknown -= set(update.documents)
        self._placements.update(update.placements)
        in_use = {binding.switch for document in self._documents.values() for binding in document.bindings()}
        self._placements = {switch: p for switch, p in self._placements.items() if switch in in_use}
        return changed


class AppliedEpoch:
    """Which epochs are in effect, when changes come into effect out of order."""

    def __init__(self) -> None:
        self._latest = 0
        self._pending: list[Span] = []
        self._unread: dict[str, tuple[Span, ...]] = {}
        self._held: set[int] = set()

    @property
    def latest(self) -> int:
        """The last epoch that is known here, in effect or not."""
        return self._latest

    def hold(self, epochs: Iterable[int]) -> None:
        """These are not in effect, whatever comes, as long as their bindings stand (see :meth:`release_but`)."""
        self._held.update(epochs)

    def let_go(self, epoch: int) -> None:
        """What ``epoch`` was held for is over."""
        self._held.discard(epoch)

    def is_pending(self, epoch: int) -> bool:
        """Whether a change is known here, and not in effect yet."""
        return any(first <= epoch <= last for first, last in self._pending)

    def release_but(self, standing: Iterable[int]) -> None:
        """Of the held epochs only those whose bindings still stand are held on."""
        self._held.intersection_update(standing)

    def begin(self, epoch: int) -> Span:
        """Changes up to ``epoch`` are known now. Those that were read at once are one: none of them is in
        effect before all are, because what is waited for is not told apart.

        :returns: what :meth:`finish` takes when they are.
        """
        span = (min(self._latest + 1, epoch), epoch)
        self._latest = max(self._latest, epoch)
        self._pending.append(span)
        return span

    def finish(self, span: Span) -> None:
        self._pending.remove(span)

    def not_read(self, appids: Iterable[str], span: Span) -> None:
        """The changes of ``span`` hold bindings that this Gateway cannot read: what it does not know it has
        not put into effect. The switch that made them waits, and names this Gateway.
        """
        for appid in appids:
            self._unread[appid] = merged((*self._unread.get(appid, ()), span))

    def read(self, appids: Iterable[str]) -> None:
        """The bindings of ``appids`` are known now."""
        for appid in appids:
            self._unread.pop(appid, None)

    @property
    def report(self) -> Report:
        """
        >>> applied = AppliedEpoch(); first = applied.begin(7); both = applied.begin(9); applied.finish(first)
        >>> applied.report
        Report(latest=9, missing=((8, 9),), unread=())
        """
        unread = merged(span for spans in self._unread.values() for span in spans)
        held = ((epoch, epoch) for epoch in self._held)
        return Report(self._latest, merged((*self._pending, *held, *unread)), unread)

    @property
    def value(self) -> int:
        """The last epoch up to which every change is in effect."""
        return self.report.applied

"""Since which epoch an identity has been with its cluster: what a Gateway tells two stays of a producer apart by.

A producer that comes back to a cluster must be seen with an epoch that the cluster has not seen of it, or the
cluster finds a gap in its sequence (docs/adr/0005). One that stays should keep its epoch, so that a batch
sent twice is noticed. So an epoch is only ever raised: when the cluster changes, and when it cannot be known
whether it does. Whoever knows that nobody's cluster changes says so (``stays``: a change by hand, see
:mod:`hadash.switching.binding_changes`).
"""

from __future__ import annotations

from dataclasses import replace

from hadash.bindings.model import Binding, BindingDocument, BindingState
from hadash.identity.client_ids import named_by
from hadash.identity.identity import Identity


def stamped(
    document: BindingDocument, identity: Identity, binding: Binding, epoch: int, *, stays: bool = False
) -> Binding:
    """``binding`` as it is written for ``identity`` in ``epoch``: with that epoch, and since when it has been with its
    cluster."""
    own = document.binding_of(identity)
    before = fallbacks(document, identity) if own is None else [own]
    kept = all(b is None or b.cluster == binding.cluster for b in before)
    if None in before and binding.state is BindingState.FORWARD:
        kept = False  # the pair's default cluster, which is not known here, may be the other
    # (A switch begins where the identity is: there the pair's default is the binding's own cluster.)
    if stays:
        since = max(map(_since, [own] if own is not None else _before_or_after(document, identity)))
    else:
        since = max(map(_since, before)) if kept else epoch
    return replace(binding, epoch=epoch, since=since)


def unbound(document: BindingDocument, identity: Identity, epoch: int) -> BindingDocument:
    """The document without the binding of ``identity``."""
    without = document.with_binding(identity, None)
    return replace(without, unbound=unbound_at(document, identity, epoch))


def unbound_at(document: BindingDocument, identity: Identity, epoch: int, *, stays: bool = False) -> int:
    """What ``unbound`` of the document is, when the binding of ``identity`` is removed in ``epoch``.

    Whoever it governed may go to another cluster by that, or be seen with an earlier epoch; then all of the
    AppID get a new one, because nothing is left of the identity that could hold it. Who ``stays`` keeps the
    epoch that the binding had.
    """
    own = document.binding_of(identity)
    if own is None:
        return document.unbound
    after = fallbacks(document, identity)
    if stays:
        held = all(_since(b) >= own.since for b in _before_or_after(document, identity))
        return document.unbound if held else max(document.unbound, own.since)
    if all(b is not None and b.cluster == own.cluster and b.since >= own.since for b in after):
        return document.unbound
    return epoch


def _before_or_after(document: BindingDocument, identity: Identity) -> list[Binding | None]:
    """What can govern a request when ``identity`` has no binding; also one of a client whose client.id names
    a bound Topic, and that goes by it whichever Topic it writes to.
    """
    if not identity.topics:
        return fallbacks(document, identity)
    own = document.binding_of(identity)
    others = (*document.topics.values(), *document.topic_lists.values(), document.default)
    return [binding for binding in others if own is None or binding is not own]


def _since(binding: Binding | None) -> int:
    """Nobody has moved to the pair's default cluster who has no binding: whoever came back there was bound to it."""
    return 0 if binding is None else binding.since


def fallbacks(document: BindingDocument, identity: Identity) -> list[Binding | None]:
    """The bindings that can govern an identity's requests when it has none of its own; ``None`` for the pair's default.

    >>> fallbacks(BindingDocument("shop"), Identity("shop", topics=("orders",)))
    [None]
    """
    if identity.instance_id is not None:
        named = named_by(identity.instance_id)
        if named is not None and named.appid == document.appid:
            bound = [b for topics, b in document.topic_lists.items() if named.topic in topics]
            own = document.topics.get(named.topic)
            if own is not None or bound:
                return [own or bound[0]]
            # What it names is not bound: each of its requests goes by what that one names.
        return [*document.topics.values(), *document.topic_lists.values(), document.default]
    if len(identity.topics) == 1:
        (topic,) = identity.topics
        lists: list[Binding | None] = [b for topics, b in document.topic_lists.items() if topic in topics]
        return lists or [document.default]
    if identity.topics or identity.group is not None:
        return [document.default]
    return [None]

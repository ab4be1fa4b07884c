"""The epoch since which an identity has been on its cluster. A Gateway tells two stays of a producer apart by it.

A producer that comes back to a cluster must appear with a producer epoch that the cluster has not seen from it, or the
cluster finds a gap in its sequence (docs/adr/0005). A producer that stays should keep its epoch, so that a batch sent
twice is noticed. So the epoch is only ever raised: when the cluster changes, and when it is unknown whether it
changes. A caller that knows that no client's cluster changes passes ``stays`` (a change by hand, see
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
    """Return ``binding`` as it is written for ``identity`` in ``epoch``: with that epoch, and with ``since``, the epoch
    in which the identity came to its cluster."""
    own = document.binding_of(identity)
    before = fallbacks(document, identity) if own is None else [own]
    kept = all(b is None or b.cluster == binding.cluster for b in before)
    if None in before and binding.state is BindingState.FORWARD:
        kept = False  # the pair's default cluster, which is not known here, may be the other one
    # (A switch begins where the identity is, so there the pair's default is the binding's own cluster.)
    if stays:
        since = max(map(_since, [own] if own is not None else _before_or_after(document, identity)))
    else:
        since = max(map(_since, before)) if kept else epoch
    return replace(binding, epoch=epoch, since=since)


def unbound(document: BindingDocument, identity: Identity, epoch: int) -> BindingDocument:
    """Return the document without the binding of ``identity``."""
    without = document.with_binding(identity, None)
    return replace(without, unbound=unbound_at(document, identity, epoch))


def unbound_at(document: BindingDocument, identity: Identity, epoch: int, *, stays: bool = False) -> int:
    """Return the document's ``unbound`` epoch after the binding of ``identity`` is removed in ``epoch``.

    Clients that the binding governed may move to another cluster by that, or appear with an earlier epoch. Then all
    clients of the AppID get a new epoch, because no binding of the identity is left to hold it. With ``stays`` they
    keep the epoch that the binding had.
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
    """Return the bindings that can govern a request when ``identity`` has none.

    They include the binding of a client whose client.id names a bound Topic: the client follows it whichever Topic it
    writes to.
    """
    if not identity.topics:
        return fallbacks(document, identity)
    own = document.binding_of(identity)
    others = (*document.topics.values(), *document.topic_lists.values(), document.default)
    return [binding for binding in others if own is None or binding is not own]


def _since(binding: Binding | None) -> int:
    """Return a binding's ``since``; 0 for the pair's default, because a client that moved there was bound to it."""
    return 0 if binding is None else binding.since


def fallbacks(document: BindingDocument, identity: Identity) -> list[Binding | None]:
    """Return the bindings that can govern an identity's requests when it has none; ``None`` is the pair's default.

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
            # The Topic that it names is not bound: each of its requests goes by what the request names.
        return [*document.topics.values(), *document.topic_lists.values(), document.default]
    if len(identity.topics) == 1:
        (topic,) = identity.topics
        lists: list[Binding | None] = [b for topics, b in document.topic_lists.items() if topic in topics]
        return lists or [document.default]
    if identity.topics or identity.group is not None:
        return [document.default]
    return [None]

"""Find the binding of a request: the first matching rule of docs/background.md wins.

1. AppID + InstanceID, 2. the client.id form ``HA#AppID#Topic``, 3. ``AppID##Group``, 4. ``AppID#Topic`` or a
   Topic list,
5. the AppID, 6. the pair's default cluster.

A Topic's binding depends on the AppID, the client.id and *that Topic alone*, whatever else a request names. If a Topic
went to one cluster when it is requested alone and to another when it is requested together with others, both clusters
would accept its writes. So a request is resolved Topic by Topic. The Gateway decides what to do with a request whose
Topics are on different clusters (docs/adr/0008). Topics that no rule names all go by AppID.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol, TypeVar

from hadash.identity.client_ids import named_by

B_co = TypeVar("B_co", covariant=True)


class Document(Protocol[B_co]):
    """The parts of an AppID's binding document that resolution needs. No Topic is in two ``topic_lists``."""

    @property
    def appid(self) -> str: ...

    @property
    def default(self) -> B_co | None: ...

    @property
    def instances(self) -> Mapping[str, B_co]: ...

    @property
    def topics(self) -> Mapping[str, B_co]: ...

    @property
    def topic_lists(self) -> Mapping[tuple[str, ...], B_co]: ...

    @property
    def groups(self) -> Mapping[str, B_co]: ...


B = TypeVar("B")


def resolve(
    document: Document[B] | None,
    client_id: str,
    pair_default: B,
    *,
    topic: str | None = None,
    group: str | None = None,
) -> B:
    """Return the binding that governs a client's request.

    :param document: the AppID's binding document, or ``None`` when it has none.
    :param client_id: the client.id of the request, ``""`` when the client sent none.
    :param pair_default: the binding of clients that no rule of the document matches (rule 6).
    :param topic: the Topic that the request names, for requests that name Topics.
    :param group: the group that the request names, for requests that name a group.
    """
    if document is None:
        return pair_default
    of_client = _of_client(document, client_id)
    if of_client is not None:
        return of_client
    if group is not None:
        of_group = document.groups.get(group)
        if of_group is not None:
            return of_group
    elif topic is not None:
        of_topic = _of_topic(document, topic)
        if of_topic is not None:
            return of_topic
    return document.default if document.default is not None else pair_default


def resolve_topics(
    document: Document[B] | None, client_id: str, pair_default: B, topics: Iterable[str]
) -> dict[str, B]:
    """Return the binding of each of ``topics``; each equals :func:`resolve` of that Topic alone."""
    if document is None:
        return dict.fromkeys(topics, pair_default)
    of_client = _of_client(document, client_id)
    if of_client is not None:
        return dict.fromkeys(topics, of_client)
    otherwise = document.default if document.default is not None else pair_default
    found = {}
    for topic in topics:
        of_topic = _of_topic(document, topic)
        found[topic] = otherwise if of_topic is None else of_topic
    return found


def reachable(document: Document[B] | None, client_id: str, pair_default: B) -> list[B]:
    """Return every binding that can govern a request of this client; first the one for requests without Topic or group.

    The client may have to connect to the cluster of each of them.
    """
    first = resolve(document, client_id, pair_default)
    if document is None or _of_client(document, client_id) is not None:
        return [first]
    return [first, *document.topics.values(), *document.topic_lists.values(), *document.groups.values()]


def _of_client(document: Document[B], client_id: str) -> B | None:
    """Return the binding by rules 1 and 2."""
    of_instance = document.instances.get(client_id)
    if of_instance is not None:
        return of_instance
    named = named_by(client_id)
    if named is None or named.appid != document.appid:
        return None
    return _of_topic(document, named.topic)


def _of_topic(document: Document[B], topic: str) -> B | None:
    """Return the binding by rule 4: the Topic's own binding, else that of the list that holds the Topic."""
    own = document.topics.get(topic)
    if own is not None or not document.topic_lists:
        return own
    return next((binding for topics, binding in document.topic_lists.items() if topic in topics), None)

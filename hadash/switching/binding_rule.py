"""The rule for binding and unbinding by hand: every client stays on the cluster that serves it now. Pure.

A binding is a function from a client's request to a cluster (:mod:`hadash.identity.resolve`). A manual change
must not change the results of that function, for clients that were seen and for any that may come. So the
results are compared before and after the change for every request that the edited identities can affect; a
difference is a switch, and is refused with the clients that it would move.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from hadash.bindings.errors import TopicInTwoLists
from hadash.bindings.model import Binding, BindingDocument, BindingState, refuse_two_lists
from hadash.bindings.sizing import fits
from hadash.identity.client_ids import NamedByClient, named_by
from hadash.identity.identity import Identity
from hadash.identity.resolve import resolve
from hadash.inventory.relations import GROUP, PRODUCE, Relation, fault_of
from hadash.sentences import Sentence, say

#: The most identities in one change: as many as a person can look through before approving them.
MAX_EDITS = 100

#: The most moves that a refusal lists; of further ones it says how many there are.
MAX_MOVES = 10

#: The longest binding that is written: a switch's key has at most 20 characters.
_LONGEST = Binding("c" * 40, switch="s" * 20, stage="by hand")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one AppID besides its bindings.

    :param uses: observed and declared uses of its clients.
    :param registered: its registered InstanceIDs.
    """

    uses: Collection[Relation] = ()
    registered: Collection[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A requested change: identities of one AppID to bind and to unbind."""

    bind: tuple[Identity, ...] = ()
    unbind: tuple[Identity, ...] = ()


@dataclass(frozen=True, slots=True)
class Move:
    """A client that would go to another cluster. ``client_id`` is ``None`` for any client without a bound
    InstanceID.
    """

    appid: str
    client_id: str | None
    topic: str | None
    group: str | None
    before: str
    after: str

    @property
    def sentence(self) -> Sentence:
        who = f"{self.appid} › {self.client_id or '—'}"
        way = {"before": self.before, "after": self.after}
        if self.client_id is not None:
            if self.topic is not None:
                return say(
                    "%(client)s, with Topic %(topic)s, would move from %(before)s to %(after)s.",
                    client=who,
                    topic=self.topic,
                    **way,
                )
            if self.group is not None:
                return say(
                    "%(client)s, in group %(group)s, would move from %(before)s to %(after)s.",
                    client=who,
                    group=self.group,
                    **way,
                )
            return say("%(client)s would move from %(before)s to %(after)s.", client=who, **way)
        if self.topic is not None:
            return say(
                "Who uses Topic %(topic)s as %(appid)s without a bound InstanceID would move from %(before)s "
                "to %(after)s.",
                appid=self.appid,
                topic=self.topic,
                **way,
            )
        if self.group is not None:
            return say(
                "Who is in group %(group)s as %(appid)s without a bound InstanceID would move from %(before)s "
                "to %(after)s.",
                appid=self.appid,
                group=self.group,
                **way,
            )
        return say(
            "Who comes as %(appid)s without a binding of its own would move from %(before)s to %(after)s.",
            appid=self.appid,
            **way,
        )


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a change would write, and what blocks it. ``busy`` holds blockers that may be gone later."""

    edits: Mapping[Identity, str | None]
    before: BindingDocument
    after: BindingDocument
    faults: tuple[Sentence, ...] = ()
    busy: tuple[Sentence, ...] = ()
    moves: tuple[Move, ...] = ()

    @property
    def blockers(self) -> list[Sentence]:
        """Everything that blocks the change, for people."""
        listed = [move.sentence for move in self.moves[:MAX_MOVES]]
        if len(self.moves) > MAX_MOVES:
            listed.append(say("… and %(count)s more of this kind.", count=len(self.moves) - MAX_MOVES))
        if self.moves:
            listed.append(say("A change by hand moves nobody: request a switch for it."))
        return [*self.faults, *self.busy, *listed]


def judge(document: BindingDocument, default: str, wanted: Wanted, known: Known) -> Judgement:
    """Judge what ``wanted`` would write into ``document``, whose AppID is on ``default`` without a binding."""
    faults = [*_misnamed(document.appid, wanted)]
    if faults:
        return Judgement({}, document, document, tuple(faults))
    busy = _busy(document)
    edits: dict[Identity, str | None] = {}
    after = document
    for identity in wanted.unbind:
        if document.binding_of(identity) is None:
            faults.append(say("%(identity)s has no binding of its own to remove.", identity=identity))
            continue
        edits[identity] = None
        after = after.with_binding(identity, None)
    for identity in wanted.bind:
        fault = _unbindable(document, identity, known.registered)
        clusters = served_by(document, default, identity)
        if fault is None and len(set(clusters.values())) > 1:
            fault = _apart(identity, clusters)
        if fault is None:
            fault = _in_two_lists(after, identity)
        if fault is not None:
            faults.append(fault)
            continue
        cluster = next(iter(clusters.values()))
        edits[identity] = cluster
        after = after.with_binding(identity, Binding(cluster))
    bound = [identity for identity, cluster in edits.items() if cluster is not None]
    if not fits(bound, {document.appid: document}, _LONGEST):
        faults.append(
            say("The bindings of %(appid)s would not fit into one change of ZooKeeper.", appid=document.appid)
        )
    moves = tuple(moved(document, after, default, edits, known.uses))
    return Judgement(edits, document, after, tuple(faults), tuple(busy), moves)


# -- names ---------------------------------------------------------------------------------------------------------


def _misnamed(appid: str, wanted: Wanted) -> Iterator[Sentence]:
    """Faults of the request itself, whatever is bound."""
    asked = [*wanted.bind, *wanted.unbind]
    if not asked:
        yield say("Say what to bind or to unbind.")
    if len(asked) > MAX_EDITS:
        yield say(
            "That is %(count)s identities; at most %(most)s fit into one change.",
            count=len(asked),
            most=MAX_EDITS,
        )
        return
    for identity in asked:
        if identity.appid != appid:
            yield say("%(identity)s is not of AppID %(appid)s.", identity=identity, appid=appid)
        if asked.count(identity) > 1:
            yield say("%(identity)s is named twice: name it once.", identity=identity)
    for identity in wanted.bind:
        for relation in _named(identity):
            fault = fault_of(relation)
            if fault is not None:
                yield fault


def _named(identity: Identity) -> Iterator[Relation]:
    """The names in an identity, as relations, whose faults :func:`fault_of` can find."""
    for topic in identity.topics:
        yield Relation(identity.appid, "", PRODUCE, topic)
    if identity.group is not None:
        yield Relation(identity.appid, "", GROUP, identity.group)
    if identity.instance_id is not None:
        yield Relation(identity.appid, identity.instance_id, PRODUCE, "any")


def _busy(document: BindingDocument) -> list[Sentence]:
    """Blockers: a binding in any state but forward belongs to a running switch."""
    switches = sorted({b.switch for b in document.bindings() if b.state is not BindingState.FORWARD})
    return [
        say(
            "Switch %(switch)s is moving clients of %(appid)s now. Wait for its end.",
            switch=switch or "?",
            appid=document.appid,
        )
        for switch in switches
    ]


def _unbindable(
    document: BindingDocument, identity: Identity, registered: Collection[str]
) -> Sentence | None:
    bound = document.binding_of(identity)
    if bound is not None:
        return say("%(identity)s is bound to %(cluster)s already.", identity=identity, cluster=bound.cluster)
    name = identity.instance_id
    if name is None:
        return None
    named = named_by(name)
    if named is not None and named.appid != identity.appid:
        return say(
            "%(name)s names AppID %(other)s: a Gateway refuses it from %(appid)s. Bind it under %(other)s.",
            name=name,
            other=named.appid,
            appid=identity.appid,
        )
    if name not in registered:
        return say(
            "InstanceID %(name)s is not registered under %(appid)s. Register it first, or with this change.",
            name=name,
            appid=identity.appid,
        )
    return None


def _in_two_lists(after: BindingDocument, identity: Identity) -> Sentence | None:
    try:
        refuse_two_lists(after.topic_lists, identity)
    except TopicInTwoLists as error:
        return say("%(error)s", error=error)
    return None


# -- which cluster serves an identity ------------------------------------------------------------------------------


def served_by(document: BindingDocument, default: str, identity: Identity) -> dict[str, str]:
    """The cluster that serves an identity now; for a Topic list, the cluster of each of its Topics."""
    unbound = Binding(default)

    def cluster(client_id: str = "", topic: str | None = None, group: str | None = None) -> str:
        return resolve(document, client_id, unbound, topic=topic, group=group).cluster

    if identity.topics:
        return {topic: cluster(topic=topic) for topic in identity.topics}
    if identity.group is not None:
        return {identity.group: cluster(group=identity.group)}
    return {str(identity): cluster(identity.instance_id or "")}


def _apart(identity: Identity, clusters: Mapping[str, str]) -> Sentence:
    return say(
        "The Topics of %(identity)s are on different clusters: %(each)s. A list has one cluster: bind them "
        "in a list for each.",
        identity=identity,
        each=[f"{topic}: {cluster}" for topic, cluster in sorted(clusters.items())],
    )


def governed(document: BindingDocument, identity: Identity, uses: Iterable[Relation]) -> list[Relation]:
    """The ``uses`` that the own binding of ``identity`` governs; none if it has no binding."""
    own = document.binding_of(identity)
    unbound = Binding("")
    if own is None:
        return []
    return [use for use in uses if resolve(document, use.instance_id, unbound, **_asks(use)) is own]


def _asks(use: Relation) -> dict[str, str]:
    return {"group": use.resource} if use.kind == GROUP else {"topic": use.resource}


# -- which clients would move --------------------------------------------------------------------------------------


def moved(
    before: BindingDocument,
    after: BindingDocument,
    default: str,
    edited: Iterable[Identity],
    uses: Collection[Relation] = (),
) -> list[Move]:
    """The clients that go to another cluster when ``before`` becomes ``after``; both differ in ``edited`` only.

    Known uses come first; if none of them moves, any possible client is considered. An empty list means that no
    client moves, known or not: the binding of a request depends on whether its client.id is bound or names a
    Topic, and on the one Topic or group of the request. Only a client.id that is edited itself, or names an edited
    Topic, can differ from an unknown client's; a Topic or group that no document names is treated as none.
    """
    unbound = Binding(default)

    def move(client_id: str | None, topic: str | None, group: str | None) -> Move | None:
        asked = client_id or ""
        was = resolve(before, asked, unbound, topic=topic, group=group).cluster
        will = resolve(after, asked, unbound, topic=topic, group=group).cluster
        return Move(before.appid, client_id, topic, group, was, will) if was != will else None

    seen = {
        (use.instance_id, *((None, use.resource) if use.kind == GROUP else (use.resource, None)))
        for use in uses
    }
    seen |= {(client_id, None, None) for client_id, _topic, _group in seen}
    found = [one for asked in sorted(seen, key=_order) if (one := move(*asked)) is not None]
    if found:
        # A move with a Topic or group says more than the client's move alone.
        telling = [one for one in found if one.topic is not None or one.group is not None]
        return telling or found
    clients: list[str | None] = [None]
    for identity in edited:
        if identity.instance_id is not None:
            clients.append(identity.instance_id)
        clients += [_naming(topic, before, after) for topic in identity.topics]
    requests = [(None, None), *_requests(before, after)]
    return [one for c in clients for asked in requests if (one := move(c, *asked)) is not None]


def _naming(topic: str, *documents: BindingDocument) -> str:
    """A client.id that names a Topic of the AppID and is not bound itself."""
    canonical = NamedByClient(documents[0].appid, topic).client_id
    spelled = "".join(f"%{byte:02X}" for byte in topic.encode())
    as_well = f"{canonical.rpartition('#')[0]}#{spelled}"
    bound = {name for document in documents for name in document.instances}
    return canonical if canonical not in bound else as_well


def _requests(*documents: BindingDocument) -> list[tuple[str | None, str | None]]:
    """(Topic, group) of every request for which a document has a binding."""
    topics = {t for d in documents for named in (d.topics, *d.topic_lists) for t in named}
    groups = {group for d in documents for group in d.groups}
    return [*((topic, None) for topic in sorted(topics)), *((None, group) for group in sorted(groups))]


def _order(asked: tuple[str | None, ...]) -> tuple[str, ...]:
    return tuple(part or "" for part in asked)

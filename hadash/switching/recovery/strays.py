"""Bindings of switches that PostgreSQL does not know or run, because it has failed over without the last commits.

A switch whose row survived reads back how far it came (``execution/journal.py``). A switch whose request or
approval is lost is run by nobody, while its clients wait. It is found and shown here; a person brings its clients
back.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Q

from hadash import confirmations
from hadash.audit.write_ahead import recorded_ahead
from hadash.bindings.editing import FORWARD_STAGE
from hadash.bindings.kept import Documents, kept_documents
from hadash.bindings.model import Binding, BindingDocument, BindingState, Journal
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity
from hadash.inventory.dialects import dialect_of
from hadash.inventory.gateways import zookeeper
from hadash.inventory.models import AppID, Pair
from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.machines.switches import Stage, Status
from hadash.switching.models.switches import Switch

log = logging.getLogger(__name__)

#: Statuses in which an executor or a person takes care of a switch's bindings.
SEEN_TO = frozenset({Status.RUNNING, Status.NEEDS_ATTENTION})

#: Statuses in which clients that were moved are also taken care of: the mirror was reversed, or a person has closed
#: the switch and was told what is left to do.
MOVE_SEEN_TO = SEEN_TO | {Status.SUCCEEDED, Status.CLOSED}

#: Switches whose strays this process has already logged.
_logged: set[str] = set()


@dataclass(frozen=True, slots=True)
class Stray:
    """One stray binding, and the status of its switch in PostgreSQL; empty for a switch that PostgreSQL does not
    know.
    """

    identity: Identity
    binding: Binding
    status: str

    @property
    def moved(self) -> bool:
        """Whether its switch has moved it to the target: nothing waits, but the mirror may still copy the old way."""
        return self.binding.state is BindingState.FORWARD

    @property
    def sentence(self) -> Sentence:
        if self.moved and self.status:
            return say(
                "%(identity)s was sent to %(cluster)s by switch %(switch)s, which PostgreSQL does not "
                "carry on (%(status)s): "
                "see in which direction its mirror copies.",
                identity=self.identity,
                cluster=self.binding.cluster,
                switch=self.binding.switch,
                status=self.status,
            )
        if self.moved:
            return say(
                "%(identity)s was sent to %(cluster)s by switch %(switch)s, which PostgreSQL does not "
                "know: see in which "
                "direction its mirror copies.",
                identity=self.identity,
                cluster=self.binding.cluster,
                switch=self.binding.switch,
            )
        return say(
            "%(identity)s waits on %(cluster)s (%(state)s) for switch %(switch)s, which PostgreSQL does not run "
            "(%(status)s).",
            identity=self.identity,
            cluster=self.binding.cluster,
            state=self.binding.state.value,
            switch=self.binding.switch,
            status=self.status or "?",
        )


def strays(documents: Iterable[BindingDocument], statuses: dict[str, str]) -> list[Stray]:
    """Find the stray bindings. Pure. :param statuses: of all switches that PostgreSQL knows, by key."""
    found = []
    for document in documents:
        for identity, binding in _bindings(document):
            status = statuses.get(binding.switch, "")
            if _may_be_stray(binding) and status not in (SEEN_TO if _waits(binding) else MOVE_SEEN_TO):
                found.append(Stray(identity, binding, status))
    return sorted(found, key=lambda stray: (stray.binding.switch, stray.identity.key))


def _waits(binding: Binding) -> bool:
    return binding.state is not BindingState.FORWARD


def _may_be_stray(binding: Binding) -> bool:
    """Whether a switch has to take care of it: clients wait, or were sent to the target."""
    return _waits(binding) or binding.stage == FORWARD_STAGE


#: The documents that this process looked through last, and those of them that a switch has to take care of. (Prometheus
#: asks every few seconds, and looking through a hundred thousand takes most of one.)
_looked_through: tuple[Documents, list[BindingDocument]] | None = None


def _in_switches(documents: Documents) -> list[BindingDocument]:
    """Return the documents with a binding that a switch has to take care of."""
    global _looked_through
    looked = _looked_through
    if looked is None or looked[0] is not documents:
        known = (document for document in documents.values() if document is not None)
        looked = documents, [d for d in known if any(_may_be_stray(binding) for _, binding in _bindings(d))]
        _looked_through = looked
    return looked[1]


def _bindings(document: BindingDocument) -> Iterator[tuple[Identity, Binding]]:
    appid = document.appid
    if document.default is not None:
        yield Identity(appid), document.default
    for name, binding in document.instances.items():
        yield Identity(appid, name), binding
    for topic, binding in document.topics.items():
        yield Identity(appid, topics=(topic,)), binding
    for topics, binding in document.topic_lists.items():
        yield Identity(appid, topics=topics), binding
    for group, binding in document.groups.items():
        yield Identity(appid, group=group), binding


def find() -> list[Stray]:
    """The current strays. :raises BindingError: ZooKeeper does not answer."""
    store = BindingStore(zookeeper())
    # (All documents of a large pair take seconds to read, so a process keeps them, and reads what has changed.)
    suspects = strays(_in_switches(kept_documents(store.client).all()), _statuses())
    if not suspects:
        return []
    # Read again: a switch may have begun or ended between the two queries.
    again = store.documents_now({stray.identity.appid for stray in suspects}).values()
    confirmed = strays(again, _statuses())
    before = {(stray.identity, stray.binding) for stray in suspects}
    return [stray for stray in confirmed if (stray.identity, stray.binding) in before]


def _statuses() -> dict[str, str]:
    return dict(Switch.objects.values_list("key", "status"))


def look() -> None:
    """Log each switch that has strays, once."""
    by_switch: dict[str, list[Stray]] = defaultdict(list)
    for stray in find():
        by_switch[stray.binding.switch].append(stray)
    for key, its in by_switch.items():
        if key not in _logged:
            more = f" (and {len(its) - 1} more)" if len(its) > 1 else ""
            log.error("%s%s See hadash-manage stray_bindings.", its[0].sentence, more)
    _logged.clear()
    _logged.update(by_switch)


def give_back(key: str, confirmed: str) -> int:
    """Let the clients that wait for switch ``key`` continue where they are, and return the epoch.

    :param confirmed: the name of the cluster that they wait on.
    :raises Refused: the switch has no strays, it runs, it has moved clients already, or the name is another one.
    :raises BindingError: an engine's servers do not answer.
    """
    its = [stray for stray in find() if stray.binding.switch == key]
    if not its:
        raise Refused(say("Nobody waits for switch %(switch)s, or PostgreSQL runs it.", switch=key))
    if any(stray.moved for stray in its):
        raise Refused(
            say("Switch %(switch)s has sent clients over already: they cannot be taken back.", switch=key)
        )
    clusters = sorted({stray.binding.cluster for stray in its})
    if len(clusters) != 1 or not confirmations.is_given(confirmed, clusters[0]):
        raise Refused(say("Confirm with the cluster that they wait on: %(clusters)s.", clusters=clusters))
    dialect = dialect_of(_pair_of(its))
    before = dialect.journal(key)
    token = 1 if before is None else before.token + 1
    dialect.take_over(key, Stage.RETURN.value, token)
    edits = [
        Edit(stray.identity, Binding(stray.binding.cluster, switch=key, stage=Stage.RETURN.value))
        for stray in its
    ]
    identities = [stray.identity.key for stray in its]
    with recorded_ahead(
        None, "give strays back", f"switch {key}", cluster=clusters[0], identities=identities
    ):
        return dialect.change(edits, Journal(key, Stage.RETURN.value, token))


def _pair_of(its: list[Stray]) -> Pair:
    """The pair of all strays of a switch. :raises Refused: it is not known."""
    cluster = its[0].binding.cluster
    pairs = Pair.objects.select_related("first", "second", "default").filter(
        Q(first__name=cluster) | Q(second__name=cluster)
    )
    registered = AppID.objects.filter(name__in=[stray.identity.appid for stray in its])
    known = list(pairs.filter(pk__in=registered.values("pair"))) or list(pairs)
    if len(known) != 1:
        raise Refused(
            say("It is not known which pair %(appid)s is in: register it.", appid=its[0].identity.appid)
        )
    return known[0]

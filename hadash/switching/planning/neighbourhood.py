"""The part of a pair that one question is about: every AppID that could move with what is asked for, and
everything that these use.

A pair may have a hundred thousand AppIDs, and most questions are about a few of them. The closure is computed in
a fleet that grows until no AppID outside uses what moves inside. Each rule of the closure is about one AppID and
what it uses, so nothing beyond could be reached. Everything is read at that moment; no cache can be stale.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice

from django.db.models import Q, QuerySet

from hadash.bindings.kept import Documents
from hadash.bindings.model import BindingDocument
from hadash.bindings.sizing import MOST_DOCUMENTS
from hadash.inventory.access_edges import allowed_uses, declared_uses
from hadash.inventory.dialects import documents_of
from hadash.inventory.models import Access, AppID, Cluster, Declaration, InstanceID, Pair
from hadash.inventory.relations import Relation
from hadash.inventory.selectors import access_since
from hadash.kafka.values import Acl
from hadash.mirroring import standby
from hadash.mirroring.models import Mirror
from hadash.radius.fleet import Fleet, MirrorOf
from hadash.radius.nodes import GROUP, AccessEdge
from hadash.switching.planning.radius import Touched

Uses = QuerySet[Access] | QuerySet[Declaration]

#: AppIDs that are shown of a plan that is too large: nobody reads more, and drawing them takes time.
NEAREST = 100

#: AppIDs that are read at once, nearest first: later ones may turn out not to be needed.
READ_AT_ONCE = 250

#: Topics or groups whose users are read at once: after a few hundred the limit may already be exceeded.
RESOURCES_AT_ONCE = 250


class TooMany(Exception):
    """More AppIDs use what would move than one change of bindings can hold.

    ``count``: how many are known so far; ``fleet``: the ``NEAREST`` of them to what was asked for.
    """

    def __init__(self, count: int, fleet: Fleet) -> None:
        super().__init__(f"{count} AppIDs")
        self.count = count
        self.fleet = fleet


#: Finds what would move in a fleet (the first argument); the second is the part that was read last.
Close = Callable[[Fleet, Fleet], Touched]


class Unreadable(Exception):
    """The binding documents of ``appids`` cannot be read."""

    def __init__(self, appids: list[str]) -> None:
        super().__init__(", ".join(appids))
        self.appids = appids


def around(pair: Pair, asked: Cluster, target: Cluster, appids: Iterable[str], close: Close) -> Fleet:
    """Read the fleet of all AppIDs that could move with what ``close`` finds.

    :param asked: the cluster whose ACLs are read. :param target: where the radius would move to. :param appids:
        where reading begins.
    :raises TooMany: see there. :raises Unreadable: a document of one of the pair's AppIDs cannot be read.
    :raises BindingError, KafkaError: ZooKeeper or the cluster does not answer.
    """
    reading = _Reading(pair, asked, documents_of(pair))
    reading.refuse_unreadable()
    known = set(appids)
    waiting = sorted(known)
    movable = reading.movable(known, target.name)

    def meet(users: Iterable[set[str]]) -> None:
        """Queue the AppIDs that are not known yet. :raises TooMany: there are too many of them."""
        nonlocal movable
        for some in users:
            fresh = some - known
            known.update(fresh)
            waiting.extend(sorted(fresh))
            movable += reading.movable(fresh, target.name)
            if movable > MOST_DOCUMENTS:
                raise TooMany(len(known), reading.nearest())

    asked_for, asked_of_cluster = Touched(), frozenset[str]()
    while True:
        part = reading.read(waiting[:READ_AT_ONCE])
        del waiting[:READ_AT_ONCE]
        found = close(reading.fleet(), part)
        meet(reading.users_of(found.topics - asked_for.topics, found.groups - asked_for.groups))
        asked_for = Touched(asked_for.topics | found.topics, asked_for.groups | found.groups)
        if not waiting:
            # The cluster comes last, in one request for all: it may have a hundred thousand ACLs.
            meet([reading.allowed_users_of(asked_for.topics - asked_of_cluster)])
            asked_of_cluster = asked_for.topics
        if not waiting:
            return reading.fleet(found.mirrored)


def whole_pair(pair: Pair, source: Cluster) -> None:
    """:raises TooMany: more AppIDs are on ``source`` than one change of bindings can hold. (A smaller number is
    counted by the plan itself.)
    """
    documents = documents_of(pair)
    reading = _Reading(pair, source, documents)
    # (One more than allowed, besides all those that may be on the other cluster.)
    names = list(islice(reading.all_names(), MOST_DOCUMENTS + len(documents) + 1))
    count = reading.movable(names, pair.other(source).name)
    if count > MOST_DOCUMENTS:
        raise TooMany(count, reading.nearest())


class _Reading:
    """What has been read so far."""

    def __init__(self, pair: Pair, asked: Cluster, documents: Documents) -> None:
        self._pair = pair
        self._rules = standby.Rules(asked)
        self._documents = documents
        self._since = access_since()
        #: The documents that bind Topics or groups by name, whichever client uses them.
        self._by_request = {a: d for a, d in documents.items() if d is not None and d.by_request}
        #: The AppIDs that were read, nearest to what was asked for first.
        self._read: list[str] = []
        self._uses: list[AccessEdge] = []
        self._instances: dict[str, set[str]] = defaultdict(set)
        self._own: dict[str, BindingDocument] = {}

    def refuse_unreadable(self) -> None:
        """:raises Unreadable: a document of the pair cannot be read. (It may bind what other AppIDs use.)"""
        unreadable = {appid for appid, document in self._documents.items() if document is None}
        found = self._of_pair(unreadable) if unreadable else set()
        if found:
            raise Unreadable(sorted(found))

    def fleet(self, mirrored: Collection[str] = ()) -> Fleet:
        """The fleet of the AppIDs that were read, with the mirrors that carry one of ``mirrored``."""
        return make_fleet(self._pair, self._uses, self._own, self._instances, self._mirrors(mirrored))

    def nearest(self) -> Fleet:
        """The fleet of the first ``NEAREST`` AppIDs that were read."""
        near = set(self._read[:NEAREST])
        return make_fleet(
            self._pair,
            (use for use in self._uses if use.appid in near),
            {appid: document for appid, document in self._own.items() if appid in near},
            {appid: names for appid, names in self._instances.items() if appid in near},
        )

    def movable(self, appids: Iterable[str], target: str) -> int:
        """The number of AppIDs that would move or block if they use what moves: those that are completely on another
        cluster than ``target``. An AppID that is bound in parts does not count: it depends on the part.
        """
        return sum(self._whole_on(appid) not in (None, target) for appid in appids)

    def _whole_on(self, appid: str) -> str | None:
        """The cluster of everything that the AppID does; ``None`` for one that is bound in parts."""
        document = self._documents.get(appid)
        if document is None or not (document.default or document.instances or document.by_request):
            return self._pair.default.name
        if document.instances or document.by_request or document.default is None:
            return None
        return document.default.cluster

    def all_names(self) -> Iterator[str]:
        """The AppIDs of the pair that were seen lately."""
        yield from self._lately().order_by("appid").values_list("appid", flat=True).distinct().iterator()

    def _of_pair(self, names: Collection[str]) -> set[str]:
        """Those of ``names`` that are AppIDs of the pair: registered, or seen lately."""
        registered = _names(AppID.objects.filter(pair=self._pair), "name", names)
        return {*registered, *_names(self._lately(), "appid", names)}

    def read(self, appids: Collection[str]) -> Fleet:
        """Add everything that is known of these AppIDs, and return that part as a fleet."""
        self._read += appids
        seen = [AccessEdge(*row) for row in self._seen(appids)]
        declared = [Relation(*row) for row in self._declared(appids)]
        found = [*seen, *declared_uses(declared, seen)]
        found += self._allowed(sorted(set(appids) - {use.appid for use in found}))
        self._uses += found
        # (AppIDs of other pairs may have documents under the same names.)
        bound = set(appids) & self._documents.keys()
        documents = {
            appid: document
            for appid in {use.appid for use in found} & bound | self._of_pair(bound)
            if (document := self._documents[appid]) is not None
        }
        instances: dict[str, set[str]] = defaultdict(set)
        rows = InstanceID.objects.filter(appid__pair=self._pair, appid__name__one_of=appids)
        for appid, name in rows.values_list("appid__name", "name"):
            instances[appid].add(name)
        self._own |= documents
        self._instances |= instances
        return make_fleet(self._pair, found, documents, instances)

    def users_of(self, topics: Collection[str], groups: Collection[str]) -> Iterator[set[str]]:
        """Yield the AppIDs that use any of these, in batches: they were seen, are declared to, or have a binding that
        names it.
        """
        if not topics and not groups:
            return
        seen, declared = self._lately(), Declaration.objects.filter(appid__pair=self._pair)
        for is_group, names in ((False, topics), (True, groups)):
            for part in _parts(names):
                yield _users(seen, part, is_group, "appid")
                yield _users(declared, part, is_group, "appid__name")
        yield self._of_pair(self._bound_for(set(topics), set(groups)))

    def allowed_users_of(self, topics: Collection[str]) -> set[str]:
        """The AppIDs of which nothing is known, but whose ACLs allow one of ``topics``."""
        if not topics or self._pair.generated:  # (no server can be asked there, and every use was seen)
            return set()
        allowed = self._rules.users_of_topics(self._pair, sorted(topics))
        declared = Declaration.objects.filter(appid__pair=self._pair)
        return allowed - _names(self._lately(), "appid", allowed) - _names(declared, "appid__name", allowed)

    def _bound_for(self, topics: set[str], groups: set[str]) -> set[str]:
        return {
            appid
            for appid, document in self._by_request.items()
            if not groups.isdisjoint(document.groups)
            or not topics.isdisjoint(document.topics)
            or any(not topics.isdisjoint(names) for names in document.topic_lists)
        }

    def _lately(self) -> QuerySet[Access]:
        return Access.objects.filter(pair=self._pair, last_seen__gte=self._since)

    def _seen(self, appids: Collection[str]) -> Iterator[tuple[str, str, str, str]]:
        rows = self._lately().filter(appid__one_of=appids).order_by()
        yield from rows.values_list("appid", "client_id", "kind", "resource").distinct()

    def _declared(self, appids: Collection[str]) -> Iterator[tuple[str, str, str, str]]:
        rows = Declaration.objects.filter(appid__pair=self._pair, appid__name__one_of=appids).order_by()
        yield from rows.values_list("appid__name", "instance_id", "kind", "resource")

    def _allowed(self, unseen: Collection[str]) -> list[AccessEdge]:
        """What unknown AppIDs may use, of the Topics that a client uses or a mirror carries."""
        if not unseen or self._pair.generated:
            return []
        rules = self._rules.of(unseen)
        return allowed_uses(standby.allowed_by(self._pair, rules, self._topics_of(rules)), [])

    def _topics_of(self, rules: Iterable[Acl]) -> set[str]:
        """The Topics of the pair that ``rules`` may apply to."""
        named = {r.resource for r in rules if r.resource_type == "TOPIC" and r.pattern != "PREFIXED"}
        begun = {r.resource for r in rules if r.resource_type == "TOPIC" and r.pattern == "PREFIXED"}
        is_named = Q(resource__in=named)
        for prefix in begun:
            is_named |= Q(resource__startswith=prefix)
        used = self._lately().exclude(kind=GROUP).filter(is_named).order_by()
        declared = Declaration.objects.filter(appid__pair=self._pair).exclude(kind=GROUP).filter(is_named)
        mirrored = (
            topic
            for topics in Mirror.objects.filter(pair=self._pair).values_list("topics", flat=True)
            for topic in topics
            if topic in named or topic.startswith(tuple(begun))
        )
        return {
            *used.values_list("resource", flat=True).distinct(),
            *declared.order_by().values_list("resource", flat=True).distinct(),
            *mirrored,
        }

    def _mirrors(self, topics: Collection[str]) -> Iterator[MirrorOf]:
        """The mirrors that carry one of ``topics``."""
        if not topics:
            return
        rows = Mirror.objects.filter(pair=self._pair, topics__has_any_keys=sorted(topics)).order_by("name")
        for name, source, carried in rows.values_list("name", "source__name", "topics"):
            yield MirrorOf(name, source, frozenset(carried))


#: The kinds of use of a Topic. (They are listed so that PostgreSQL uses the index.)
_OF_TOPICS = (Access.Kind.PRODUCE, Access.Kind.CONSUME)


def _users(rows: Uses, names: Collection[str], is_group: bool, column: str) -> set[str]:
    """The AppIDs, in ``column``, of the rows about these groups or Topics."""
    kinds = (Access.Kind.GROUP,) if is_group else _OF_TOPICS
    found = rows.filter(kind__in=kinds, resource__one_of=names).order_by()
    return set(found.values_list(column, flat=True).distinct())


def _names(rows: Uses | QuerySet[AppID], field: str, wanted: Collection[str]) -> set[str]:
    """Those of ``wanted`` that occur in a column."""
    if not wanted:
        return set()
    found = rows.filter(**{f"{field}__one_of": wanted}).order_by()
    return set(found.values_list(field, flat=True).distinct())


def _parts(names: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(sorted(names))
    while part := list(islice(rest, RESOURCES_AT_ONCE)):
        yield part


def make_fleet(
    pair: Pair,
    uses: Iterable[AccessEdge],
    documents: Mapping[str, BindingDocument],
    instances: Mapping[str, Iterable[str]],
    mirrors: Iterable[MirrorOf] = (),
) -> Fleet:
    """What a plan is drawn up from. ``documents`` and ``instances`` (registered InstanceIDs) by AppID."""
    return Fleet(
        pair=pair.name,
        clusters=(pair.first.name, pair.second.name),
        default=pair.default.name,
        uses=tuple(uses),
        documents=documents,
        instances={appid: frozenset(names) for appid, names in instances.items()},
        mirrors=tuple(mirrors),
    )

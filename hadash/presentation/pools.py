"""Pools of consumers as pages and the API show them: what ZooKeeper holds, and what the coordinator says. Nothing here
changes anything.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.db.models import Q, QuerySet
from django.http import Http404
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext_lazy
from kazoo.exceptions import KazooException

from hadash.accounts.roles import DECIDE, VIEW, may, on_pairs, pairs_where
from hadash.bindings.errors import BindingError
from hadash.coordinator.documents import Partitions
from hadash.coordinator.pool import Isolation, PoolSettings
from hadash.coordinator.pool_view import Assigned, PoolView
from hadash.coordinator.states import State as Standing
from hadash.inventory.gateways import zookeeper
from hadash.inventory.models import Cluster, Pair
from hadash.joined import with_names
from hadash.pools import live
from hadash.pools.belonging import clusters_of, pair_of
from hadash.pools.live import Pools, Said
from hadash.pools.models import PoolChange, PoolStep
from hadash.presentation import badges, engines
from hadash.presentation.badges import State
from hadash.presentation.localized import explained
from hadash.sentences import NOTHING, Sentence, say
from hadash.shown import Look, Shown
from hadash.switching.approvals.four_eyes import undecided_by

#: How a Topic's assignment stands.
STANDINGS: dict[Standing, Shown] = {
    Standing.INITIAL: Shown(pgettext_lazy("assignment", "Initial"), Look.WAITING, "pending"),
    Standing.STARTING: Shown(pgettext_lazy("assignment", "Starting"), Look.WAITING, "running"),
    Standing.STABLE: Shown(pgettext_lazy("assignment", "Stable"), Look.FINE, "fine"),
    Standing.CLOSING: Shown(pgettext_lazy("assignment", "Closing"), Look.WAITING, "waiting"),
}
_OVERDUE = Shown(gettext_lazy("not Stable for too long"), Look.BAD, "bad")
_UNREADABLE = Shown(gettext_lazy("cannot be read"), Look.BAD, "bad")
_STOPPED = Shown(pgettext_lazy("members", "stopped"), Look.BAD, "off")
_NOBODY = Shown(gettext_lazy("nobody reads it"), Look.BAD, "bad")

#: How a member is.
READING = Shown(pgettext_lazy("member", "reads"), Look.FINE, "fine")
IDLE = Shown(pgettext_lazy("member", "has nothing to read"), Look.OFF, "pending")
SILENT = Shown(pgettext_lazy("member", "does not answer"), Look.BAD, "bad")
ISOLATED = Shown(pgettext_lazy("member", "isolated"), Look.BAD, "off")
RETURNING = Shown(pgettext_lazy("member", "coming back"), Look.WAITING, "running")
GONE = Shown(pgettext_lazy("member", "gone"), Look.BAD, "unknown")
UNKNOWN = Shown(pgettext_lazy("member", "not known"), Look.UNKNOWN, "unknown")


@dataclass(frozen=True, slots=True)
class TopicRow:
    """A Topic of a pool.

    :param members: partition → who has it, empty for nobody.
    :param cluster: ``None``: the servers are those of no cluster here.
    :param since: when it was last Stable, if it is not now.
    :param why: what is waited for; ``error``: why nothing can be decided.
    :param held_by: the key of the switch that moves it now.
    :param shadow: what the shadow strategy would do: ``moves``, ``spread_now``, ``spread_then``.
    """

    topic: str
    state: State
    standing: Standing | None = None
    servers: str = ""
    group: str = ""
    cluster: Cluster | None = None
    members: Mapping[int, str] = field(default_factory=dict)
    to_start: Partitions = field(default_factory=dict)
    to_close: Partitions = field(default_factory=dict)
    since: datetime | None = None
    why: Sentence = NOTHING
    error: Sentence = NOTHING
    count_error: Sentence = NOTHING
    held_by: str = ""
    shadow: Mapping[str, Any] | None = None

    @property
    def partitions(self) -> int:
        return len(self.members)

    @property
    def of_nobody(self) -> int:
        """Partitions that nobody has now."""
        return sum(not who for who in self.members.values())


@dataclass(frozen=True, slots=True)
class MemberRow:
    """A member of a pool.

    :param assigned: partitions that it is to read; ``reads``: those that it says it reads (``None``: not known).
    :param answered: seconds since its last answer. :param error: why it does not answer, or does not go on.
    """

    name: str
    state: State
    url: str = ""
    assigned: int = 0
    reads: int | None = None
    bytes_per_second: float | None = None
    lag: int | None = None
    isolation: Isolation | None = None
    answered: float | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class PoolRow:
    """A pool. ``pair``: of the clusters that it reads, if they are of one. ``fault``: why it cannot be read.

    ``is_asked``: whether the coordinator has said how it is.
    """

    name: str
    state: State
    pair: Pair | None = None
    settings: PoolSettings = field(default_factory=PoolSettings)
    topics: tuple[TopicRow, ...] = ()
    members: tuple[MemberRow, ...] = ()
    view: PoolView | None = None
    fault: Sentence = NOTHING
    is_asked: bool = False

    @property
    def partitions(self) -> int:
        return sum(topic.partitions for topic in self.topics)

    @property
    def isolated(self) -> int:
        return sum(member.isolation is not None for member in self.members)

    @property
    def lag(self) -> int | None:
        """Records that are still to be read; ``None`` when a member that has partitions does not say."""
        lags = [member.lag for member in self.members if member.assigned]
        return None if None in lags else sum(lag for lag in lags if lag is not None)

    @property
    def bytes_per_second(self) -> float:
        return sum(member.bytes_per_second or 0.0 for member in self.members)


@dataclass(frozen=True, slots=True)
class PoolsLook:
    """All pools that a user may see. With a ``fault`` nothing is known of them."""

    pools: tuple[PoolRow, ...] = ()
    said: Said = field(default_factory=Said)
    fault: str = ""


def _read() -> Pools:
    client = zookeeper()
    if not client.connected:
        raise engines.Unanswered(say("the connection is lost"))
    return live.read_all(client)


#: What ZooKeeper holds, and what the coordinator says: one that hangs does not hold up the other.
_in_zookeeper = engines.SharedLook(_read)
_of_leader = engines.SharedLook(lambda: live.ask_leader(zookeeper()))


def _said() -> Said:
    try:
        return _of_leader.get()
    except TimeoutError:
        seconds = f"{engines.PATIENCE_SECONDS:g}"
        return Said(fault=say("The coordinator has not answered within %(seconds)s s.", seconds=seconds))


def look(user: Any, holding: str = "", *, refresh: bool = False) -> PoolsLook:
    """Return the pools that ``user`` may see, by name. Three queries if there are any.

    :param holding: a text that their names contain. :param refresh: whether what was read a moment ago is too old.
    """
    try:
        found = _in_zookeeper.get(refresh=refresh)
        said = _said()
    except TimeoutError:
        return PoolsLook(
            fault=_("no answer within %(seconds)s s") % {"seconds": f"{engines.PATIENCE_SECONDS:g}"}
        )
    except (BindingError, KazooException, engines.Unanswered, OSError) as error:
        return PoolsLook(fault=explained(error))
    names = [name for name in (*found.views, *found.unreadable) if holding.casefold() in name.casefold()]
    if not names:
        return PoolsLook((), said)
    clusters = list(Cluster.objects.filter(generated=False))
    pairs = list(Pair.objects.select_related("first", "second"))
    visible = set(pairs_where(user).values_list("pk", flat=True))
    everywhere = may(user, VIEW)
    rows = []
    for name in sorted(names):
        row = _pool(name, found, said, clusters, pairs)
        if row.pair.pk in visible if row.pair is not None else everywhere:
            rows.append(row)
    return PoolsLook(tuple(rows), said)


def the_pool(user: Any, name: str) -> tuple[PoolRow | None, PoolsLook]:
    """Return a pool, and the look that it is of; ``None`` only while nothing is known.

    :raises Http404: there is none, or ``user`` may not see it.
    """
    for refresh in (False, True):  # (it may have been created a moment ago, also by another process)
        found = look(user, refresh=refresh)
        row = next((each for each in found.pools if each.name == name), None)
        if row is not None or found.fault:
            break
    if row is None and not found.fault:
        raise Http404(_("There is no pool %(name)s.") % {"name": name})
    return row, found


def _pool(name: str, found: Pools, said: Said, clusters: Iterable[Cluster], pairs: Iterable[Pair]) -> PoolRow:
    view = found.views.get(name)
    if view is None:
        return PoolRow(name, badges.of(_UNREADABLE), fault=found.unreadable[name])
    status = said.pool(name)
    read = clusters_of(view, clusters)
    topics = (
        *(
            _topic(
                topic, each, read[topic], status, view.holds[topic][0].switch if topic in view.holds else ""
            )
            for topic, each in sorted(view.topics.items())
        ),
        *(
            TopicRow(topic, badges.of(_UNREADABLE), error=error.sentence)
            for topic, error in sorted(view.unreadable.items())
        ),
    )
    members = tuple(_members(view, found.registered.get(name, frozenset()), status))
    fault = said.error(name) or Sentence.from_json(status.get("discovery_error"))
    return PoolRow(
        name,
        _state(view, topics, members, bool(status)),
        pair_of(read.values(), pairs),
        view.settings,
        topics,
        members,
        view,
        fault,
        bool(status),
    )


def _state(view: PoolView, topics: Iterable[TopicRow], members: Iterable[MemberRow], is_asked: bool) -> State:
    """The worst that is to be said of a pool."""
    if view.settings.is_stopped:
        return badges.of(_STOPPED)
    known = list(topics)
    for look in (Look.BAD, Look.WAITING):
        if worst := next((topic.state for topic in known if topic.state.look == look), None):
            return worst
    silent = next((m.state for m in members if m.state.look == Look.BAD and m.isolation is None), None)
    if silent is not None:
        return silent
    if known and not any(topic.of_nobody < topic.partitions for topic in known):
        return badges.of(_NOBODY)
    return badges.of(STANDINGS[Standing.STABLE]) if is_asked else badges.of(UNKNOWN)


def _topic(
    name: str, assigned: Assigned, cluster: Cluster | None, status: Mapping[str, Any], held_by: str
) -> TopicRow:
    said: Mapping[str, Any] = status.get("topics", {}).get(name, {})
    standing, document = assigned.standing, assigned.document
    is_stable = standing.state is Standing.STABLE
    state = STANDINGS[standing.state]
    if said.get("overdue") and not is_stable:
        state = _OVERDUE
    return TopicRow(
        name,
        badges.of(state),
        standing.state,
        str(document.consumer["bootstrap.servers"]),
        str(document.consumer["group.id"]),
        cluster,
        document.members,
        {} if is_stable else standing.to_start,
        {} if is_stable else standing.to_close,
        None if is_stable else datetime.fromtimestamp(said.get("unstable_since") or assigned.changed_at, UTC),
        Sentence.from_json(said.get("why")),
        Sentence.from_json(said.get("error")),
        Sentence.from_json(said.get("count_error")),
        held_by,
        said.get("shadow"),
    )


def _members(view: PoolView, registered: Iterable[str], status: Mapping[str, Any]) -> Iterator[MemberRow]:
    said: Mapping[str, Any] = status.get("members", {})
    assigned: dict[str, int] = {}
    for each in view.topics.values():
        for who in each.document.members.values():
            if who:
                assigned[who] = assigned.get(who, 0) + 1
    for name in sorted({*said, *registered, *assigned, *view.isolated}):
        own = said.get(name)
        yield _member(
            name, assigned.get(name, 0), view.isolated.get(name), own, is_there=bool(own) or name in set(registered),
            is_asked=bool(status),
        )  # fmt: skip


def _member(
    name: str,
    assigned: int,
    isolation: Isolation | None,
    own: Mapping[str, Any] | None,
    *,
    is_there: bool,
    is_asked: bool,
) -> MemberRow:
    own = own or {}
    reads = own.get("reads")
    count = sum(map(len, reads.values())) if reads is not None else None
    errors = [own["error"]] if own.get("error") else [*own.get("errors", {}).values()]
    if isolation is not None:
        shown = RETURNING if isolation.is_ending else ISOLATED
    elif not is_asked:
        shown = UNKNOWN
    elif not is_there:
        shown = GONE
    elif own.get("error"):
        shown = SILENT
    else:
        shown = READING if assigned else IDLE
    return MemberRow(
        name,
        badges.of(shown),
        own.get("url", ""),
        assigned,
        count,
        own.get("bytes_per_second"),
        own.get("lag"),
        isolation,
        own.get("answered_seconds_ago"),
        "; ".join(errors),
    )


# -- changes and history -------------------------------------------------------------------------------------------


def changes(user: Any) -> QuerySet[PoolChange]:
    """Return the changes of pools that ``user`` may see, newest first."""
    visible = on_pairs(user) if not may(user, VIEW) else Q()
    found = PoolChange.objects.filter(visible).select_related("pair", "requested_by", "decided_by")
    return with_names(found, "requested_by", "decided_by")


def waiting_for(user: Any) -> QuerySet[PoolChange]:
    """Return the changes of pools that ``user`` can decide on."""
    return changes(user).filter(undecided_by(user), on_pairs(user, DECIDE))


def with_keys(user: Any, keys: Collection[int]) -> QuerySet[PoolChange]:
    """Return the changes with these keys that ``user`` may see; no query without keys."""
    return changes(user).filter(pk__in=keys) if keys else PoolChange.objects.none()


def in_inbox(user: Any, inbox: str) -> QuerySet[PoolChange]:
    """Return the changes of an inbox: ``all``, ``waiting`` (for ``user``) or ``mine``."""
    if inbox == "waiting":
        return waiting_for(user)
    found = changes(user)
    return found.filter(requested_by=user) if inbox == "mine" else found


def the_change(user: Any, key: str) -> PoolChange:
    """Return the change with this key. :raises Http404: there is none, or ``user`` may not see it."""
    found = changes(user).filter(key=key).first()
    if found is None:
        raise Http404(_("There is no change %(key)s.") % {"key": key})
    return found


def steps(pool: str) -> QuerySet[PoolStep]:
    """Return the steps that were taken in a pool, newest first."""
    return PoolStep.objects.filter(pool=pool)

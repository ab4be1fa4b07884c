"""What people can do to a pool, as a table: each action with what it needs, what forbids it, and what it writes.

Each action may be carried out twice with the same outcome: the process that applies one may have died right after it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from hadash.coordinator.documents import AssignmentDocument, DocumentError
from hadash.coordinator.holding import Hold
from hadash.coordinator.pool import PoolSettings
from hadash.coordinator.pool_view import PoolError, PoolView
from hadash.coordinator.store import PoolStore, still_reads
from hadash.coordinator.strategies import STRATEGIES
from hadash.sentences import NOTHING, Sentence, say


class Action(StrEnum):
    """What can be done to a pool."""

    #: Take all partitions from a member, also while it does not answer.
    ISOLATE = "isolate"
    #: Let an isolated member come back.
    TAKE_BACK = "take_back"
    #: Stop all members (the kill switch), and let them read again.
    STOP = "stop"
    START = "start"
    #: Choose the strategy that assigns partitions, and the one that is only compared.
    STRATEGY = "strategy"
    SHADOW = "shadow"
    #: Create the pool, and delete it when it reads nothing and has no member.
    CREATE = "create"
    DELETE = "delete"
    #: Let it read a Topic, and no longer.
    ADD_TOPIC = "add_topic"
    REMOVE_TOPIC = "remove_topic"
    #: Let a Topic be read again that a switch holds which is over.
    RELEASE = "release"


@dataclass(frozen=True, slots=True)
class Change:
    """An action with its object.

    :param member: of ISOLATE and TAKE_BACK. :param topic: of ADD_TOPIC, REMOVE_TOPIC and
        RELEASE.
    :param strategy: of STRATEGY, SHADOW (empty: none) and CREATE.
    :param consumer: of ADD_TOPIC: settings of the members' Kafka consumers; ``partitions``: how many there are.
    """

    pool: str
    action: Action
    member: str = ""
    topic: str = ""
    strategy: str = ""
    consumer: Mapping[str, Any] | None = None
    partitions: int = 0

    @property
    def confirms(self) -> str:
        """The name that a person types to confirm it; empty for what can be undone without harm."""
        typed = {
            Action.ISOLATE: self.member,
            Action.STOP: self.pool,
            Action.DELETE: self.pool,
            Action.REMOVE_TOPIC: self.topic,
        }
        return typed.get(self.action, "")

    @property
    def sentence(self) -> Sentence:
        """What it does, in words."""
        return SPECS[self.action].says(self)


@dataclass(frozen=True, slots=True)
class Spec:
    """What is to be known of an action.

    :param says: what a change does, in words. :param against: why it makes no sense now; NOTHING when it does.
    :param write: writes it; it raises what :class:`PoolStore` raises.
    """

    says: Callable[[Change], Sentence]
    against: Callable[[Change, PoolView], Sentence]
    write: Callable[[Change, PoolStore, str, str], object]


def against(change: Change, view: PoolView | None) -> Sentence:
    """Why a change makes no sense now; NOTHING when it does.

    :param view: the pool as it is; ``None``: there is none of this name.
    """
    if change.action is Action.CREATE:
        if view is not None:
            return say("There is a pool %(pool)s already.", pool=change.pool)
        return _unknown_strategy(change)
    if view is None:
        return say("There is no pool %(pool)s.", pool=change.pool)
    return SPECS[change.action].against(change, view)


def write(change: Change, store: PoolStore, by: str, reason: str) -> None:
    """Write a change to ZooKeeper. :raises PoolError, DocumentError, StoreUnavailable: as :class:`PoolStore` does."""
    SPECS[change.action].write(change, store, by, reason)


def _nothing(change: Change, view: PoolView) -> Sentence:
    return NOTHING


def _unknown_strategy(change: Change) -> Sentence:
    if change.strategy in STRATEGIES or (change.action is Action.SHADOW and not change.strategy):
        return NOTHING
    return say(
        "There is no strategy %(name)s. There are %(names)s.", name=change.strategy, names=sorted(STRATEGIES)
    )


# -- members -------------------------------------------------------------------------------------------------------


def _cannot_isolate(change: Change, view: PoolView) -> Sentence:
    isolation = view.isolated.get(change.member)
    if isolation is not None and not isolation.is_ending:
        return say("%(member)s is isolated already.", member=change.member)
    return NOTHING


def _cannot_take_back(change: Change, view: PoolView) -> Sentence:
    isolation = view.isolated.get(change.member)
    if isolation is None:
        return say("%(member)s is not isolated.", member=change.member)
    if isolation.is_ending:
        return say("%(member)s may come back already: it does when it reads nothing.", member=change.member)
    return NOTHING


def _take_back(change: Change, store: PoolStore, by: str, reason: str) -> None:
    if change.member in store.read().isolated:  # (otherwise it has come back meanwhile)
        store.take_back(change.member)


# -- the pool ------------------------------------------------------------------------------------------------------


def _cannot_stop(change: Change, view: PoolView) -> Sentence:
    if view.settings.is_stopped:
        return say("All members of the pool are stopped already.")
    return NOTHING


def _cannot_start(change: Change, view: PoolView) -> Sentence:
    return NOTHING if view.settings.is_stopped else say("The members of the pool are not stopped.")


def _same_strategy(change: Change, view: PoolView) -> Sentence:
    if change.strategy == view.settings.strategy:
        return say("That is the pool's strategy already.")
    return _unknown_strategy(change)


def _same_shadow(change: Change, view: PoolView) -> Sentence:
    if change.strategy == view.settings.shadow:
        return say("That is the pool's shadow strategy already.")
    return _unknown_strategy(change)


def _settings(
    changed: Callable[[PoolSettings, Change, str, str], PoolSettings],
) -> Callable[[Change, PoolStore, str, str], object]:
    """The writer of an action that changes a pool's settings."""

    def action(change: Change, store: PoolStore, by: str, reason: str) -> PoolSettings:
        return store.change_settings(lambda settings: changed(settings, change, by, reason))

    return action


def _cannot_delete(change: Change, view: PoolView) -> Sentence:
    read = sorted(view.topics.keys() | view.unreadable.keys())
    return still_reads(change.pool, read) if read else NOTHING


# -- Topics --------------------------------------------------------------------------------------------------------


def _cannot_add(change: Change, view: PoolView) -> Sentence:
    if change.topic in view.topics or change.topic in view.unreadable:
        return say("The pool %(pool)s reads Topic %(topic)s already.", pool=change.pool, topic=change.topic)
    try:
        AssignmentDocument.parse(change.topic, AssignmentDocument(change.consumer or {}).to_bytes())
    except DocumentError as error:
        return error.sentence
    return NOTHING


def _add(change: Change, store: PoolStore, by: str, reason: str) -> None:
    known = store.read().topics.get(change.topic)
    if known is None or known.document.consumer != change.consumer:
        store.register(change.topic, change.consumer or {}, range(change.partitions))


def _cannot_remove(change: Change, view: PoolView) -> Sentence:
    if change.topic not in view.topics and change.topic not in view.unreadable:
        return say("The pool %(pool)s does not read Topic %(topic)s.", pool=change.pool, topic=change.topic)
    hold = view.holds.get(change.topic)
    return _is_held(change, hold[0]) if hold is not None else NOTHING


def _remove(change: Change, store: PoolStore, by: str, reason: str) -> None:
    if change.topic not in store.topics():
        return
    if (hold := store.read().holds.get(change.topic)) is not None:
        raise PoolError(_is_held(change, hold[0]))
    store.remove(change.topic)


def _is_held(change: Change, hold: Hold) -> Sentence:
    return hold.by_its_switch(change.pool, change.topic)


def _cannot_release(change: Change, view: PoolView) -> Sentence:
    if change.topic not in view.holds:
        return say("No switch holds Topic %(topic)s of pool %(pool)s.", topic=change.topic, pool=change.pool)
    hold, _version = view.holds[change.topic]
    if hold.consumer is not None:
        return say(
            "Switch %(switch)s has let members of pool %(pool)s go on with Topic %(topic)s: they do as soon as they "
            "are there.",
            switch=hold.switch,
            pool=change.pool,
            topic=change.topic,
        )
    return NOTHING


def _release(change: Change, store: PoolStore, by: str, reason: str) -> None:
    view = store.read()
    hold, assigned = view.holds.get(change.topic), view.topics.get(change.topic)
    if hold is not None and hold[0].consumer is None and assigned is not None:
        servers = str(assigned.document.consumer["bootstrap.servers"])
        store.open(change.topic, hold[0].switch, {"bootstrap.servers": servers})


SPECS: Mapping[Action, Spec] = {
    Action.ISOLATE: Spec(
        lambda c: say("Isolate %(member)s: its partitions go to others.", member=c.member),
        _cannot_isolate,
        lambda c, store, by, reason: store.isolate(c.member, by, reason),
    ),
    Action.TAKE_BACK: Spec(
        lambda c: say("Take %(member)s back: it gets partitions again.", member=c.member),
        _cannot_take_back,
        _take_back,
    ),
    Action.STOP: Spec(
        lambda c: say("Stop all members of the pool."),
        _cannot_stop,
        _settings(lambda s, c, by, reason: replace(s, is_stopped=True, by=by, reason=reason)),
    ),
    Action.START: Spec(
        lambda c: say("Let the members of the pool read again."),
        _cannot_start,
        _settings(lambda s, c, by, reason: replace(s, is_stopped=False, by="", reason="")),
    ),
    Action.STRATEGY: Spec(
        lambda c: say("Assign partitions by the strategy %(name)s.", name=c.strategy),
        _same_strategy,
        _settings(lambda s, c, by, reason: replace(s, strategy=c.strategy)),
    ),
    Action.SHADOW: Spec(
        lambda c: (
            say("Compare what is with the strategy %(name)s.", name=c.strategy)
            if c.strategy
            else say("Compare no other strategy any more.")
        ),
        _same_shadow,
        _settings(lambda s, c, by, reason: replace(s, shadow=c.strategy)),
    ),
    Action.CREATE: Spec(
        lambda c: say("Create the pool %(pool)s.", pool=c.pool),
        _nothing,
        lambda c, store, by, reason: store.create(PoolSettings(c.strategy)),
    ),
    Action.DELETE: Spec(
        lambda c: say("Delete the pool %(pool)s.", pool=c.pool),
        _cannot_delete,
        lambda c, store, by, reason: store.delete(),
    ),
    Action.ADD_TOPIC: Spec(
        lambda c: say("Read Topic %(topic)s (%(count)s partitions).", topic=c.topic, count=c.partitions),
        _cannot_add,
        _add,
    ),
    Action.REMOVE_TOPIC: Spec(
        lambda c: say("Read Topic %(topic)s no longer.", topic=c.topic),
        _cannot_remove,
        _remove,
    ),
    Action.RELEASE: Spec(
        lambda c: say("Let Topic %(topic)s be read again, where it was.", topic=c.topic),
        _cannot_release,
        _release,
    ),
}

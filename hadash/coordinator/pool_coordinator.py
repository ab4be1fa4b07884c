"""Decides for one pool: reads what is, asks its members, and writes the next step of each Topic."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hadash.coordinator.comparing import Comparison, compare
from hadash.coordinator.decisions import Report, Step, View, Waiting, next_step
from hadash.coordinator.discovery.listing import Discovery, DiscoveryUnavailable
from hadash.coordinator.documents import NOBODY, Partitions
from hadash.coordinator.election import Fence
from hadash.coordinator.polling import Asking
from hadash.coordinator.pool_view import Assigned, PoolError, PoolView
from hadash.coordinator.process_settings import CoordinatorSettings
from hadash.coordinator.stability import Settling, Weights
from hadash.coordinator.states import Event, State
from hadash.coordinator.store import PoolStore
from hadash.coordinator.strategies import STRATEGIES
from hadash.sentences import NOTHING, Explained, Sentence, say

log = logging.getLogger(__name__)

#: Steps of one Topic in one round: from Stable over Closing and Starting back to Stable are three; it rests after them.
STEPS_AT_ONCE = 4

#: Steps that are remembered of a pool, for its page.
REMEMBERED = 500

#: Steps that say what members have confirmed: they do not wait until the members are settled.
_CONFIRMATIONS = (Event.CONFIRM_START, Event.CONFIRM_CLOSE, Event.HOLD)


@dataclass(frozen=True, slots=True)
class Taken:
    """A step that was written.

    :param at: seconds since 1970. :param moved: partitions that got another member, or none.
    """

    at: float
    topic: str
    event: Event
    state: State
    moved: int


@dataclass(slots=True)
class TopicStatus:
    """How a Topic's assignment is now.

    :param unstable_since: seconds since 1970; ``None`` when it is Stable. It survives another coordinator's start only
        as far as ZooKeeper knows when the state was written last.
    :param is_overdue: it has not been Stable for longer than a person should leave it so.
    :param why: what is waited for; NOTHING when all is as it is to be.
    :param error: why nothing can be decided. :param count_error: why it is not known how many partitions there are.
    """

    state: State = State.INITIAL
    unstable_since: float | None = None
    is_overdue: bool = False
    why: Sentence = NOTHING
    waiting_for: Partitions = field(default_factory=dict)
    error: Sentence = NOTHING
    count_error: Sentence = NOTHING
    shadow: Comparison | None = None


class _Looked(NamedTuple):
    """What came of one look. ``is_at_rest``: everything is as it is to be."""

    has_written: bool
    is_at_rest: bool


class PoolCoordinator:
    """Decides for one pool, as long as it is told to.

    Members are only asked when what ZooKeeper and the discovery say leads to a step, or to something to be waited for.
    """

    def __init__(
        self,
        store: PoolStore,
        discovery: Discovery,
        asking: Asking,
        settings: CoordinatorSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.store = store
        self._discovery = discovery
        self.asking = asking
        self._settings = settings
        self._clock = clock
        self._settling = Settling[frozenset[str]](settings.settle_seconds)
        self._weights: dict[str, Weights] = {}
        self._asked = float("-inf")
        self._returning_until = float("-inf")
        self.topics: dict[str, TopicStatus] = {}
        #: What the last look has found: the pool, and where its members are asked (``None``: the discovery is away).
        self.view: PoolView | None = None
        self.listed: Mapping[str, str] | None = None
        self.discovery_error: Sentence = NOTHING
        self.history: deque[Taken] = deque(maxlen=REMEMBERED)

    def round(self, fence: Fence) -> bool:
        """Look once, and write what follows; return whether everything is as it is to be.

        :raises StoreUnavailable: ZooKeeper does not answer: everything stays as it is.
        :raises DocumentError: the pool's settings cannot be read.
        :raises PoolError: the pool is gone.
        """
        is_at_rest = False
        for _ in range(STEPS_AT_ONCE):
            found = self._look(fence)
            is_at_rest = found.is_at_rest
            if not found.has_written:
                break
        return is_at_rest

    def expect_members(self) -> None:
        """Let members that have partitions and are not listed come back before their partitions go to others: ZooKeeper
        was away, or this coordinator has just taken over."""
        self._returning_until = self._clock() + self._settings.return_seconds

    def _returning(self, view: PoolView, members: frozenset[str] | None, now: float) -> Sentence:
        """Why nothing is decided, when members are expected back."""
        if members is None or now >= self._returning_until:
            return NOTHING
        holding = {who for each in view.topics.values() for who in each.document.members.values() if who}
        missing = holding - members - view.isolated.keys()
        if not missing:
            return NOTHING
        text = "Sessions have ended: %(members)s may come back, and is waited for another %(seconds)s s."
        return say(text, members=sorted(missing), seconds=f"{self._returning_until - now:.0f}")

    def grow(self, fence: Fence, counts: Mapping[str, int | Explained]) -> None:
        """Add the partitions that Topics have got since: they belong to nobody until they are assigned.

        A document with only some of a Topic's partitions is left as it is.

        :param counts: Topic → its number of partitions, or why that is not known.
        :raises StoreUnavailable: ZooKeeper does not answer.
        """
        for topic, assigned in (self.view.topics if self.view is not None else {}).items():
            count = counts.get(topic)
            self.topics[topic].count_error = count.sentence if isinstance(count, Explained) else NOTHING
            if not isinstance(count, int):
                continue
            known = assigned.document.members
            if known.keys() == set(range(len(known))) and count > len(known):
                new = dict.fromkeys(range(len(known), count), NOBODY)
                self.store.rewrite(
                    topic, assigned, replace(assigned.document, members={**known, **new}), fence
                )

    def _look(self, fence: Fence) -> _Looked:
        """Look once at all Topics, and write what follows."""
        view = self.view = self.store.read()
        members = self._members(view)
        now = self._clock()
        is_settled = members is None or self._settling.is_settled(members, now)
        strategies = {topic: self._strategy(view.settings.strategy, topic, now) for topic in view.topics}

        def next_of(topic: str, reports: Mapping[str, Report]) -> Step | Waiting:
            assigned = view.topics[topic]
            known = View(
                assigned.document,
                assigned.token,
                assigned.standing,
                members,
                reports,
                view.membership,
                view.settings.is_stopped,
                view.holds[topic][0] if topic in view.holds else None,
            )
            return next_step(known, strategies[topic])

        is_due = now - self._asked >= self._settings.check_seconds
        unasked = {topic: next_of(topic, {}) for topic in view.topics}
        if is_due or any(isinstance(found, Step) or found.partitions for found in unasked.values()):
            self._ask()
        returning = self._returning(view, members, now)
        took, waiting = False, bool(returning)
        for topic, assigned in view.topics.items():
            found = next_of(topic, self._reports(topic))
            status = self._status(topic, assigned)
            if returning:
                found = Waiting(returning)
            if isinstance(found, Waiting):
                status.why, status.waiting_for = found.why, found.partitions
                # (What no member can end, such as a pool that is stopped, is told by ZooKeeper or at the next check.)
                waiting = waiting or bool(found.partitions)
                continue
            if not is_settled and found.event not in _CONFIRMATIONS:
                status.why, status.waiting_for = say("Waiting until no more members come or go."), {}
                waiting = True
                continue
            took = self._write(topic, assigned, view, found, fence) or took
        self._forget(view)
        self._compare(view, members, now)
        return _Looked(took, not took and not waiting and is_settled)

    def _members(self, view: PoolView) -> frozenset[str] | None:
        """The members that are there and not isolated. They are listed after ZooKeeper was read: see
        :attr:`hadash.coordinator.decisions.View.membership`."""
        try:
            self.listed = dict(self._discovery.members())
            self.discovery_error = NOTHING
        except DiscoveryUnavailable as error:
            self.discovery_error = error.sentence
            return None
        return frozenset(self.listed) - view.isolated.keys()

    def _ask(self) -> None:
        """Ask the members that are listed, the isolated ones as well: a person wants to see what these read."""
        self._asked = self._clock()
        if self.listed is None:
            return
        self.asking.ask({name: url for name, url in self.listed.items() if url}, self._settings.ask_seconds)
        rates: dict[str, dict[int, float]] = {}
        for said in self.asking.answers.values():
            for (topic, partition), rate in said.rates.items():
                rates.setdefault(topic, {})[partition] = rate
        for topic, weights in self._weights.items():
            weights.note(rates.get(topic, {}))

    def _reports(self, topic: str) -> dict[str, Report]:
        return {
            member: said.topics[topic] for member, said in self.asking.answers.items() if topic in said.topics
        }

    def _strategy(self, name: str, topic: str, now: float) -> Callable[..., Mapping[int, str]]:
        weights = self._weights.setdefault(topic, Weights(self._settings.weights_seconds))
        return STRATEGIES[name](weights.at(now))

    def _write(self, topic: str, seen: Assigned, view: PoolView, step: Step, fence: Fence) -> bool:
        status = self.topics[topic]
        hold = view.holds[topic][1] if topic in view.holds else None
        try:
            written = self.store.write(topic, seen, view.membership, step, fence, hold)
        except PoolError as error:
            status.error = error.sentence
            return False
        if not written:
            return False  # something has changed meanwhile: the next look knows it
        status.error = NOTHING
        before, after = seen.document.members, (step.document or seen.document).members
        moved = sum(before[partition] != who for partition, who in after.items())
        self.history.append(Taken(time.time(), topic, step.event, step.standing.state, moved))
        log.info(
            "pool %s, Topic %s: %s, now %s (%d partitions changed)",
            self.store.pool,
            topic,
            step.event,
            step.standing.state,
            moved,
        )
        return True

    def _status(self, topic: str, assigned: Assigned) -> TopicStatus:
        status = self.topics.setdefault(topic, TopicStatus())
        status.state, status.error = assigned.standing.state, NOTHING
        if status.state is State.STABLE:
            status.unstable_since, status.is_overdue = None, False
        elif status.unstable_since is None:
            status.unstable_since = assigned.changed_at
        elif not status.is_overdue and time.time() - status.unstable_since > self._settings.unstable_seconds:
            status.is_overdue = True
            log.warning(
                "pool %s, Topic %s: not Stable for %.0f s, but %s. %s If a member hangs, somebody has to isolate it",
                self.store.pool,
                topic,
                time.time() - status.unstable_since,
                status.state,
                status.why,
            )
        return status

    def _forget(self, view: PoolView) -> None:
        for topic in self.topics.keys() - view.topics.keys() - view.unreadable.keys():
            del self.topics[topic]
            self._weights.pop(topic, None)
        for topic, error in view.unreadable.items():
            self.topics.setdefault(topic, TopicStatus()).error = error.sentence

    def _compare(self, view: PoolView, members: frozenset[str] | None, now: float) -> None:
        """Compare what is with what the shadow strategy would make of it."""
        for topic, assigned in view.topics.items():
            status = self.topics[topic]
            if not view.settings.shadow or not members or assigned.standing.state is not State.STABLE:
                status.shadow = None
                continue
            held = {
                partition: who if who in members else ""
                for partition, who in assigned.document.members.items()
            }
            wanted = self._strategy(view.settings.shadow, topic, now)(members, held)
            weights = self._weights[topic].at(now)
            status.shadow = compare(assigned.document.members, wanted, members, weights)

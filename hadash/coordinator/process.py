"""A coordinator's process: stands for election, and decides for all pools while it is elected."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias

from kazoo.client import KazooClient

from hadash.bindings.errors import StoreUnavailable
from hadash.coordinator.discovery.listing import Discovery
from hadash.coordinator.documents import AssignmentDocument
from hadash.coordinator.election import Candidate, Fence
from hadash.coordinator.look_loop import LookLoop
from hadash.coordinator.polling import Asking
from hadash.coordinator.pool_coordinator import PoolCoordinator
from hadash.coordinator.pool_view import pools
from hadash.coordinator.process_settings import CoordinatorSettings
from hadash.coordinator.store import PoolStore
from hadash.sentences import NOTHING, Explained, Sentence

log = logging.getLogger(__name__)

#: Pool → Topic → its number of partitions, or why that is not known.
Counts: TypeAlias = dict[str, dict[str, int | Explained]]

#: Makes the discovery of a pool; what it is given is called when members come or go, by discoveries that tell.
MakeDiscovery = Callable[[str, Callable[[object], None]], Discovery]


class Coordinator(LookLoop):
    """Decides for all pools in turn, while no other coordinator does.

    Nothing that it knows has to survive it: the next one reads all from ZooKeeper.

    :param client: a connected client whose commands time out.
    :param count: returns the number of partitions of a Topic.
    """

    def __init__(
        self,
        client: KazooClient,
        settings: CoordinatorSettings,
        token: str,
        make_discovery: MakeDiscovery,
        count: Callable[[AssignmentDocument, str], int],
    ) -> None:
        super().__init__(client)
        self._settings = settings
        self._token = token
        self._make_discovery = make_discovery
        self._count = count
        self._candidate = Candidate(client, settings.name, settings.url)
        #: Counts partitions: a cluster that does not answer must not hold up what is decided.
        self._counting = ThreadPoolExecutor(1, "counting")
        self._counts: Future[Counts] | None = None
        self._counted = float("-inf")
        #: Pool → what is decided for it; empty while another coordinator decides.
        self.pools: dict[str, PoolCoordinator] = {}
        #: Pool → why nothing can be decided for it.
        self.errors: dict[str, Sentence] = {}
        self.fence: Fence | None = None
        #: Why ZooKeeper is not known; NOTHING while it answers.
        self.away: Sentence = NOTHING

    def end(self) -> None:
        """Resign, so that another coordinator may take over at once."""
        for pool in self.pools.values():
            pool.asking.close()
        self._counting.shutdown(wait=False, cancel_futures=True)
        try:
            self._candidate.resign()
        except StoreUnavailable:
            log.warning("ZooKeeper does not answer: the next coordinator takes over when this session ends")

    def look(self) -> float:
        """Look at every pool once; return the seconds until the next look."""
        try:
            before, self.fence = self.fence, self._candidate.stand(self.wake)
            self.away = NOTHING
            if self.fence != before:
                for pool in self.pools.values():
                    pool.expect_members()
            if self.fence is None:
                self._forget()
                return self._settings.check_seconds
            return self._look(self.fence)
        except StoreUnavailable as error:
            if not self.away:
                log.warning("ZooKeeper does not answer, everything stays as it is: %s", error)
            self.away, self.fence = error.sentence, None
            return self._settings.poll_seconds

    def _look(self, fence: Fence) -> float:
        names = pools(self._client)
        for gone in self.pools.keys() - set(names):
            self.pools.pop(gone).asking.close()
            self.errors.pop(gone, None)
        counts = self._new_counts()
        is_at_rest = True
        for name in names:
            pool = self.pools.get(name) or self._begin(name)
            try:
                is_at_rest = pool.round(fence) and is_at_rest
                if name in counts:
                    pool.grow(fence, counts[name])
                self.errors.pop(name, None)
            except StoreUnavailable:
                raise
            except Explained as error:
                self.errors[name] = error.sentence
        return self._settings.check_seconds if is_at_rest else self._settings.poll_seconds

    def _new_counts(self) -> Counts:
        """What was counted since the last look; have it counted again when it is time to."""
        found: Counts = {}
        if self._counts is not None and self._counts.done():
            found, self._counts = self._counts.result(), None
        if (
            self.pools
            and self._counts is None
            and time.monotonic() - self._counted >= self._settings.partitions_seconds
            and all(pool.view is not None for pool in self.pools.values())
        ):
            asked = {
                name: {topic: each.document for topic, each in pool.view.topics.items()}
                for name, pool in self.pools.items()
                if pool.view is not None
            }
            self._counts = self._counting.submit(self._count_all, asked)
            self._counted = time.monotonic()
        return found

    def _count_all(self, asked: Mapping[str, Mapping[str, AssignmentDocument]]) -> Counts:
        return {
            name: {topic: self._counted_one(document, topic) for topic, document in topics.items()}
            for name, topics in asked.items()
        }

    def _counted_one(self, document: AssignmentDocument, topic: str) -> int | Explained:
        try:
            return self._count(document, topic)
        except Explained as error:
            return error

    def _begin(self, name: str) -> PoolCoordinator:
        self.pools[name] = pool = PoolCoordinator(
            PoolStore(self._client, name, self.wake),
            self._make_discovery(name, self.wake),
            Asking(self._token),
            self._settings,
        )
        pool.expect_members()
        return pool

    def _forget(self) -> None:
        for pool in self.pools.values():
            pool.asking.close()
        self.pools.clear()
        self.errors.clear()

"""A coordinator's process: stands for election, and decides for all fleets while it is elected."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from kazoo.client import KazooClient

from hadash.bindings.errors import StoreUnavailable
from hadash.coordinator.asking import Asking
from hadash.coordinator.discovery.listing import Discovery
from hadash.coordinator.documents import AssignmentDocument
from hadash.coordinator.election import Candidate, Fence
from hadash.coordinator.fleet_coordinator import FleetCoordinator
from hadash.coordinator.process_settings import CoordinatorSettings
from hadash.coordinator.store import FleetStore, fleets
from hadash.sentences import NOTHING, Explained, Sentence

log = logging.getLogger(__name__)

#: Makes the discovery of a fleet; what it is given is called when members come or go, by discoveries that tell.
MakeDiscovery = Callable[[str, Callable[[object], None]], Discovery]


class Coordinator:
    """Decides for all fleets in turn, while no other coordinator does.

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
        self._client = client
        self._settings = settings
        self._token = token
        self._make_discovery = make_discovery
        self._count = count
        self._candidate = Candidate(client, settings.name, settings.url)
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._grown = float("-inf")
        #: Fleet → what is decided for it; empty while another coordinator decides.
        self.fleets: dict[str, FleetCoordinator] = {}
        #: Fleet → why nothing can be decided for it.
        self.errors: dict[str, Sentence] = {}
        self.fence: Fence | None = None
        #: Why ZooKeeper is not known; NOTHING while it answers.
        self.away: Sentence = NOTHING

    def wake(self, _event: object = None) -> None:
        """Look at once: something may have changed."""
        self._wake.set()

    def stop(self) -> None:
        self._stop.set()
        self._wake.set()

    def run(self) -> None:
        """Decide until :meth:`stop` is called; then another coordinator may take over at once."""
        self._client.add_listener(self.wake)
        try:
            while not self._stop.is_set():
                self._wake.clear()
                self._wake.wait(self.look())
        finally:
            self._client.remove_listener(self.wake)
            for fleet in self.fleets.values():
                fleet.asking.close()
            try:
                self._candidate.resign()
            except StoreUnavailable:
                log.warning(
                    "ZooKeeper does not answer: the next coordinator takes over when this session ends"
                )

    def look(self) -> float:
        """Look at every fleet once; return the seconds until the next look."""
        try:
            before, self.fence = self.fence, self._candidate.stand(self.wake)
            self.away = NOTHING
            if self.fence != before:
                for fleet in self.fleets.values():
                    fleet.expect_members()
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
        names = fleets(self._client)
        for gone in self.fleets.keys() - set(names):
            self.fleets.pop(gone).asking.close()
        is_due = time.monotonic() - self._grown >= self._settings.partitions_seconds
        is_at_rest = True
        for name in names:
            fleet = self.fleets.get(name) or self._begin(name)
            try:
                is_at_rest = fleet.round(fence) and is_at_rest
                if is_due:
                    fleet.grow(fence, self._count)
                self.errors.pop(name, None)
            except StoreUnavailable:
                raise
            except Explained as error:
                self.errors[name] = error.sentence
        if is_due:
            self._grown = time.monotonic()
        return self._settings.check_seconds if is_at_rest else self._settings.poll_seconds

    def _begin(self, name: str) -> FleetCoordinator:
        self.fleets[name] = fleet = FleetCoordinator(
            FleetStore(self._client, name, self.wake),
            self._make_discovery(name, self.wake),
            Asking(self._token),
            self._settings,
        )
        fleet.expect_members()
        return fleet

    def _forget(self) -> None:
        for fleet in self.fleets.values():
            fleet.asking.close()
        self.fleets.clear()
        self.errors.clear()

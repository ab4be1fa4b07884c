"""One cell while it runs: the state that its fault and its switch share, and how to wait for them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore
from hadash.identity.resolve import resolve
from hadash.kafka.connect import ConnectClient
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fault.fleet import APPID, INSTANCE, Fleet
from hadash_sandbox.processes import Process
from hadash_sandbox.service import Log
from hadash_sandbox.traffic.log_reader import Sides
from hadash_sandbox.trial import Trial
from hadash_sandbox.waiting import came_about

T = TypeVar("T")

#: Seconds between two looks.
LOOK_SECONDS = 0.1

#: Seconds within which a killed server has to be back, and its users connected to it again.
AWAY_SECONDS = 120.0

#: Seconds that a switch may take to reach the stage: as long as a whole switch on a slow machine.
REACH_SECONDS = 120.0

#: Seconds that a switch may take to end: the sum of its own limits (block 10 s; forward, reverse and verify 60 s each),
#: a server that starts again, and a lease that expires.
END_SECONDS = 300.0

#: Statuses of a switch that has not ended.
GOING_ON = ("awaiting_approval", "approved", "running")


@dataclass
class Scene:
    """One cell: its fleet, and its switch from ``source`` to ``target``.

    ``name`` is the name of the cell and of its point; ``key`` is the switch's.
    """

    fleet: Fleet
    trial: Trial
    name: str
    stage: str
    source: str
    target: str
    key: str
    log: Log
    #: The worker that takes over from a paused one.
    second: Process | None = None
    #: Changes that a worker made although its fencing token was old.
    late_writes: list[str] = field(default_factory=list)

    def state(self) -> dict[str, Any]:
        """The state of the switch, as its page polls it.

        :raises SandboxError: hadash's web server did not answer for :data:`AWAY_SECONDS`.
        """
        return patiently(lambda: self.trial.operator.state(self.key), f"the state of switch {self.key}")

    def reach(self) -> bool:
        """Wait until the worker is held at the point; false when the switch ended before, or takes too long."""

        def is_decided() -> bool:
            return self._is_held() or self.state()["status"] not in GOING_ON

        came_about(is_decided, REACH_SECONDS, every=LOOK_SECONDS)
        return self._is_held()

    def _is_held(self) -> bool:
        return self.fleet.points.reached(self.name)

    def await_stage_left(self, seconds: float) -> bool:
        """Wait until the switch is in another stage or has ended; false when neither happens within ``seconds``."""

        def left() -> bool:
            state = self.state()
            return state["stage"] != self.stage or state["status"] not in GOING_ON

        return came_about(left, seconds, every=LOOK_SECONDS)

    def await_end(self) -> bool:
        """Wait until the switch neither waits nor runs; false when it does after :data:`END_SECONDS`."""
        return came_about(lambda: self.state()["status"] not in GOING_ON, END_SECONDS, every=LOOK_SECONDS)

    def world(self) -> dict[str, str]:
        """All that only the switch's executor may change: every binding, the epoch, and each connector's state."""
        client = self.fleet.stack.zookeeper.connect()
        try:
            store = BindingStore(client)
            found = {f"bindings of {appid}": repr(d) for appid, d in store.documents().items()}
            found["epoch"] = str(store.epoch())
        finally:
            client.stop()
            client.close()
        connectors = ConnectClient(self.fleet.stack.connect.url)
        try:
            for name in connectors.names():
                status = connectors.status(name)
                found[f"connector {name}"] = status.state if status else "none"
        finally:
            connectors.close()
        return found

    def committed(self) -> dict[str, int]:
        """The offsets that the groups that move have committed, on both clusters, by text."""
        clusters = self.fleet.stack.kafka
        sides = Sides({name: cluster.client_config() for name, cluster in clusters.items()})
        groups = sorted({s.group for s in self.fleet.world.clients if s.client_id == INSTANCE and s.group})
        return {
            f"offset of {group} in {topic}/{partition} on {cluster}": offset
            for cluster in clusters
            for group in groups
            for (topic, partition), offset in sides.committed(cluster, group).items()
        }


def where(fleet: Fleet) -> str:
    """The cluster on which the clients that move are now."""
    client = fleet.stack.zookeeper.connect()
    try:
        document = BindingStore(client).document(APPID)
    finally:
        client.stop()
        client.close()
    return resolve(document, INSTANCE, Binding("east")).cluster


def patiently(ask: Callable[[], T], what: str) -> T:
    """Return the answer of ``ask``, which is called again while hadash's servers are away.

    :param what: what is asked for, for the message.
    :raises SandboxError: there is no answer for :data:`AWAY_SECONDS`.
    """
    deadline = time.monotonic() + AWAY_SECONDS
    while True:
        try:
            return ask()
        except (httpx.HTTPError, json.JSONDecodeError) as error:
            if time.monotonic() > deadline:
                raise SandboxError(f"For {AWAY_SECONDS:.0f} s hadash did not say {what}: {error!r}") from None
        time.sleep(LOOK_SECONDS)

"""One cell while it goes on: who asks, what is watched, and how long."""

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

T = TypeVar("T")

#: Seconds between two looks.
LOOK_SECONDS = 0.1

#: Seconds in which a server that was killed has to be back and its users connected to it again.
AWAY_SECONDS = 120.0

#: Seconds for a switch to come to its stage: a whole switch on a slow machine.
REACH_SECONDS = 120.0

#: Seconds for a switch to end: its own limits in sum (a block of 10 s, forward, reverse and verify of 60 s
#: each), a server that starts again, and a lease that runs out.
END_SECONDS = 300.0

#: Statuses of a switch that has not ended.
GOING_ON = ("awaiting_approval", "approved", "running")


@dataclass
class Scene:
    """``name`` is the cell's, and its point's; ``key`` the switch's."""

    fleet: Fleet
    trial: Trial
    name: str
    stage: str
    source: str
    target: str
    key: str
    log: Log
    #: The worker that takes over from one that is paused.
    second: Process | None = None
    #: What a worker with an old token has changed all the same.
    late_writes: list[str] = field(default_factory=list)

    def state(self) -> dict[str, Any]:
        """The switch as the page shows it. :raises SandboxError: hadash's pages cannot be had for too long."""
        return patiently(lambda: self.trial.operator.state(self.key), f"the state of switch {self.key}")

    def reach(self) -> bool:
        """Wait until the worker is held at the point: false when the switch ended before."""
        return self._await(
            lambda: self.fleet.points.reached(self.name),
            REACH_SECONDS,
            unless=lambda: self.state()["status"] not in GOING_ON,
        )

    def await_stage_left(self, seconds: float) -> bool:
        """Wait until the switch is in another stage or has ended; false when it is where it was after ``seconds``."""

        def left() -> bool:
            state = self.state()
            return state["stage"] != self.stage or state["status"] not in GOING_ON

        return self._await(left, seconds)

    def await_end(self) -> bool:
        """Wait until the switch neither waits nor runs; false when it still does after :data:`END_SECONDS`."""
        return self._await(lambda: self.state()["status"] not in GOING_ON, END_SECONDS)

    def _await(
        self, condition: Callable[[], bool], seconds: float, unless: Callable[[], bool] = lambda: False
    ) -> bool:
        deadline = time.monotonic() + seconds
        while not condition():
            if unless() or time.monotonic() > deadline:
                return False
            time.sleep(LOOK_SECONDS)
        return True

    def world(self) -> dict[str, str]:
        """What no worker may change that is not the executor: every binding, and what each connector is told to do."""
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
        """What the groups that move have committed, on both clusters."""
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
    """The cluster that the clients which move are on."""
    client = fleet.stack.zookeeper.connect()
    try:
        document = BindingStore(client).document(APPID)
    finally:
        client.stop()
        client.close()
    return resolve(document, INSTANCE, Binding("east")).cluster


def patiently(ask: Callable[[], T], what: str) -> T:
    """The answer of a hadash whose servers may just be away. :raises SandboxError: there is none for too long."""
    deadline = time.monotonic() + AWAY_SECONDS
    while True:
        try:
            return ask()
        except (httpx.HTTPError, json.JSONDecodeError) as error:
            if time.monotonic() > deadline:
                raise SandboxError(f"For {AWAY_SECONDS:.0f} s hadash did not say {what}: {error!r}") from None
        time.sleep(LOOK_SECONDS)

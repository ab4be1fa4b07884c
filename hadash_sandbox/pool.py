"""A consumer pool as processes: coordinators and members, on a ZooKeeper."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from kazoo.client import KazooClient

from hadash.bindings import layout
from hadash.coordinator.election import leader
from hadash.coordinator.pool_view import Assigned
from hadash.coordinator.states import State
from hadash.coordinator.store import PoolStore
from hadash_sandbox import ports
from hadash_sandbox.demo import ROOT
from hadash_sandbox.processes import Process

#: Coordinators at most: each has a port of its own, which it keeps over restarts.
MOST_COORDINATORS = 2


class PoolProcesses:
    """Coordinators and members of one pool.

    :param folder: for their logs and the token. :param environment: that of ZooKeeper, and settings for all of them.
    :param client: a client at hadash's chroot.
    """

    def __init__(
        self, folder: Path, environment: Mapping[str, str], client: KazooClient, name: str = "bench"
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.name = name
        self.client = client
        self.store = PoolStore(client, name)
        self.members: dict[str, Process] = {}
        self.coordinators: dict[str, Process] = {}
        self._folder = folder
        token = folder / "token"
        token.write_text("the token of this sandbox's pools")
        self._ports = ports.allocate(
            [f"coordinator-{number}" for number in range(MOST_COORDINATORS)], folder / "ports.json"
        )
        self._environment = {
            **environment,
            "PYTHONPATH": str(ROOT),
            "HADASH_MEMBER_POOL": name,
            "HADASH_MEMBER_TOKEN_FILE": str(token),
            "HADASH_MEMBER_HTTP_PORT": "0",
            "HADASH_COORDINATOR_TOKEN_FILE": str(token),
        }

    def coordinate(self, number: int = 0, **settings: str) -> Process:
        """Start a coordinator. :param settings: such as ``partitions_seconds``."""
        name = f"coordinator-{number}"
        more = {f"HADASH_COORDINATOR_{each.upper()}": value for each, value in settings.items()}
        more |= {"HADASH_COORDINATOR_NAME": name, "HADASH_COORDINATOR_HTTP_PORT": str(self._ports[name])}
        self.coordinators[name] = self._started(name, ["-m", "hadash.coordinator"], more)
        return self.coordinators[name]

    def join(self, name: str, module: str, *arguments: str, **settings: str) -> Process:
        """Start a member. :param module: what is run. :param settings: variables of its environment."""
        more = {"HADASH_MEMBER_NAME": name, **settings}
        self.members[name] = self._started(name, ["-m", module, *arguments], more)
        return self.members[name]

    def _started(self, name: str, arguments: list[str], more: Mapping[str, str]) -> Process:
        process = Process(
            name,
            [sys.executable, *arguments],
            log_path=self._folder / f"{name}.log",
            env={**self._environment, **more},
        )
        process.start()
        return process

    def leader(self) -> Process | None:
        """The coordinator that decides; ``None`` when none does."""
        found = leader(self.client)
        return self.coordinators.get(found.name) if found is not None else None

    def assigned(self, topic: str) -> Assigned:
        return self.store.read().topics[topic]

    def is_listed(self, member: str) -> bool:
        return self.client.exists(layout.pool_member(self.name, member)) is not None

    def is_stable(self, topic: str) -> bool:
        """Whether all members, and nobody else, have the partitions of a Topic."""
        assigned = self.assigned(topic)
        holding = set(assigned.document.members.values())
        return assigned.standing.state is State.STABLE and holding == set(self.members)

    def show_logs(self) -> None:
        """Print the ends of all logs: a failure leaves them in the output."""
        for process in (*self.members.values(), *self.coordinators.values()):
            print(f"--- {process.name}", *process.tail(), sep="\n", flush=True)

    def stop(self) -> None:
        for process in (*self.members.values(), *self.coordinators.values()):
            process.resume()
            process.stop()

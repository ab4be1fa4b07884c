"""A Gateway as it runs in earnest: a process of its own, at a chroot and on ports of its own."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx
from kazoo.client import KazooClient

from hadash.bindings import catalogue
from hadash.bindings.membership import members
from hadash.bindings.model import (
    Binding,
    BindingState,
    Broker,
    ClusterDescription,
    Journal,
    PairDescription,
    Placement,
)
from hadash.bindings.store import BindingStore, Edit
from hadash.identity.identity import Identity
from support import zookeeper as zk
from support.kafka import App, Clusters
from support.raw import RawClient
from support.waiting import eventually
from support.zookeeper import SESSION_SECONDS

ROOT = Path(__file__).parents[2]
PORTS_PER_CLUSTER = 10

#: Below Linux's ephemeral range, so that no outgoing connection sits on one of them.
_FIRST, _LAST = 24_000, 32_000


def free_ports(count: int) -> int:
    """The first of ``count`` ports in a row that nobody listens on."""
    for _ in range(100):
        first = random.randrange(_FIRST, _LAST - count)
        with ExitStack() as held:
            try:
                for port in range(first, first + count):
                    held.enter_context(socket.create_server(("127.0.0.1", port)))
            except OSError:
                continue
            return first
    raise AssertionError(f"no {count} free ports in a row between {_FIRST} and {_LAST}")


#: A block waits up to ``return_seconds`` (30) for a client that a broker has cut off, which brokers do at times.
IN_EFFECT_SECONDS = 45.0


class GatewayProcess:
    """``python -m hadash.gateway`` for the pair ``main`` of east and west, default east."""

    def __init__(
        self, chroot: str, hosts: str, folder: Path, name: str = "gateway-1", **settings: object
    ) -> None:
        self.name = name
        self.workers = int(str(settings.get("HADASH_GATEWAY_WORKERS", 1)))
        self.port = free_ports(1 + 2 * PORTS_PER_CLUSTER + self.workers)
        self.admin_port = self.port + 1 + 2 * PORTS_PER_CLUSTER
        self.log_path = folder / f"{name}-{self.port}.log"
        self.environment = {
            "ZOOKEEPER_HOSTS": hosts,
            "HADASH_ZOOKEEPER_CHROOT": chroot,
            "HADASH_ZOOKEEPER_SESSION_TIMEOUT": str(SESSION_SECONDS),
            "HADASH_GATEWAY_ID": name,
            "HADASH_GATEWAY_PAIR": "main",
            "HADASH_GATEWAY_PORT": str(self.port),
            "HADASH_GATEWAY_ADMIN_PORT": str(self.admin_port),
            "HADASH_GATEWAY_PORTS_PER_CLUSTER": str(PORTS_PER_CLUSTER),
            **{name: str(value) for name, value in settings.items()},
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._http = httpx.Client(base_url=f"http://127.0.0.1:{self.admin_port}", timeout=20)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    def node_address(self, cluster: str, broker: int = 0) -> tuple[str, int]:
        """Where the virtual node of a broker listens."""
        return "127.0.0.1", self.port + 1 + ("east", "west").index(cluster) * PORTS_PER_CLUSTER + broker

    # -- process ---------------------------------------------------------------------------------------------

    def launch(self) -> subprocess.Popen[bytes]:
        """Start, without waiting for anything."""
        with self.log_path.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "hadash.gateway"],
                cwd=ROOT,
                env={**os.environ, **self.environment},
                stdout=log,
                stderr=log,
            )
        return self._process

    def __enter__(self) -> GatewayProcess:
        self.launch()
        eventually(self._answers, f"the start of {self.name}", patience=40)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()
        assert self._process is not None
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    @property
    def process(self) -> subprocess.Popen[bytes]:
        assert self._process is not None
        return self._process

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(20)

    def hang_up(self) -> None:
        """SIGHUP."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    def kill(self) -> None:
        """SIGKILL: it cannot say good-bye."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        assert self._process is not None
        code = self._process.poll()
        assert code is None, f"{self.name} ended with exit code {code}:\n{self.log()}"
        try:
            for number in range(self.workers):
                self._http.get(f"http://127.0.0.1:{self.admin_port + number}/status")
        except httpx.TransportError:
            return False
        return True

    # -- what it says ----------------------------------------------------------------------------------------

    def log(self) -> str:
        return self.log_path.read_text()

    def logged(self, pattern: str) -> str:
        """The first line of the log in which ``pattern`` is found, as soon as there is one."""
        return eventually(
            lambda: next((line for line in self.log().splitlines() if re.search(pattern, line)), ""),
            f"a log line with {pattern!r}",
        )

    def ask(self, path: str, **query: str) -> Any:
        response = self._http.get(path, params=query)
        response.raise_for_status()
        return response.json()

    def clients(self, appid: str, **query: str) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = self.ask("/clients", appid=appid, **query)["clients"]
        return found

    def members(self, appid: str) -> list[Mapping[str, Any]]:
        found: list[Mapping[str, Any]] = self.ask("/members", appid=appid)["members"]
        return found

    def metric(self, name: str) -> int:
        """A metric with its labels, such as ``hadash_gateway_refused_total{reason="protocol"}``; 0 when absent."""
        for line in self._http.get("/metrics").text.splitlines():
            if line.startswith(f"{name} "):
                return int(float(line.rsplit(" ", 1)[1]))
        return 0

    def refused(self, reason: str) -> int:
        return self.metric(f'hadash_gateway_refused_total{{reason="{reason}"}}')


class ControlPlane:
    """What the control plane does to bindings, without a switch's machine around it."""

    def __init__(self, client: KazooClient, clusters: Clusters, chroot: str) -> None:
        self.client = client
        self.chroot = chroot
        self.clusters = clusters
        self.store = BindingStore(client)
        self._tokens = 0

    def publish(self, **addresses: dict[int, tuple[str, int]]) -> None:
        """Clusters and the pair ``main``. ``east={0: (host, port)}`` puts something else in a broker's place."""
        for name, cluster in self.clusters.described.items():
            brokers = addresses.get(name) or self.clusters.brokers(name)
            description = ClusterDescription(
                name,
                cluster.number,
                cluster.bootstrap_servers,
                cluster.security_protocol,
                brokers=tuple(Broker(id, host, port) for id, (host, port) in brokers.items()),
            )
            catalogue.publish_cluster(self.client, description)
        catalogue.publish_pair(self.client, PairDescription("main", ("east", "west"), "east"))

    def bind(self, identity: Identity, cluster: str) -> int:
        """Bind by hand, and wait until it is in effect."""
        return self.in_effect(self.store.change([self.edit(identity, cluster)]))

    @staticmethod
    def edit(identity: Identity, cluster: str) -> Edit:
        return Edit(identity, Binding(cluster))

    def in_effect(self, epoch: int, patience: float = IN_EFFECT_SECONDS) -> int:
        """``epoch``, as soon as all Gateways report it."""
        eventually(lambda: self.has(epoch), f"epoch {epoch} in effect", patience, every=0.01)
        return epoch

    def has(self, epoch: int) -> bool:
        """Whether all Gateways that a switch waits for report the change of ``epoch`` as in effect."""
        return all(m.report.has(epoch) for m in members(self.client) if not m.excluded)

    def applied(self) -> int:
        """Up to which epoch all Gateways have everything in effect."""
        return min(m.applied for m in members(self.client))


@contextmanager
def new_control(
    root: KazooClient, hosts: str, clusters: Clusters, **addresses: Any
) -> Iterator[ControlPlane]:
    """A control plane at a chroot of its own, with ``clusters`` and the pair ``main`` published.

    :param root: a client outside of every chroot; :param addresses: as of :meth:`ControlPlane.publish`.
    """
    with zk.temporary_chroot(root) as path:
        client = zk.patient_connect(hosts, path)
        made = ControlPlane(client, clusters, path)
        made.publish(**addresses)
        yield made
        client.stop()
        client.close()


class Move:
    """One identity's way to the other cluster, stage by stage."""

    def __init__(self, control: ControlPlane, identity: Identity, source: str) -> None:
        self.control = control
        self.identity = identity
        self.source = source
        self.target = {"east": "west", "west": "east"}[source]
        control._tokens += 1
        self.switch = f"s{control._tokens}"
        control.store.take_over(self.switch, "precheck", 1)

    def write(self, state: BindingState, cluster: str = "") -> int:
        """Write the binding, without waiting; its epoch is returned."""
        back = state is BindingState.FORWARD and cluster in ("", self.source)
        stage = "return" if back else state.value
        binding = Binding(cluster or self.source, state, switch=self.switch, stage=stage)
        journal = Journal(self.switch, stage, 1)
        return self.control.store.change([Edit(self.identity, binding)], journal)

    def to(self, state: BindingState, cluster: str = "") -> int:
        """Write the binding, and wait until it is in effect."""
        return self.control.in_effect(self.write(state, cluster))

    def block(self) -> int:
        return self.to(BindingState.BLOCK)

    def release(self) -> int:
        """Back to the start."""
        return self.to(BindingState.FORWARD)

    def place(self, *topics: str, groups: tuple[str, ...] = ()) -> None:
        """Publish where ``topics`` and ``groups`` are on the target."""
        clusters = self.control.clusters
        (coordinator, *_) = clusters.brokers(self.target)
        placement = Placement(
            self.target,
            {topic: clusters.leaders(self.target, topic) for topic in topics},
            dict.fromkeys(groups, coordinator),
        )
        catalogue.publish_placement(self.control.client, self.switch, placement)

    def forward(self, *topics: str, groups: tuple[str, ...] = ()) -> int:
        """To the target, with where ``topics`` and ``groups`` are there; wait until it is in effect."""
        self.place(*topics, groups=groups)
        return self.to(BindingState.FORWARD, self.target)


def exit_of(process: subprocess.Popen[bytes], seconds: float = 30) -> int:
    """The exit code of a process that is expected to end by itself."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise AssertionError(f"the process did not end by itself in {seconds:.0f} s")
        time.sleep(0.02)
    return process.returncode


def signed_in(gateway: GatewayProcess, app: App, client_id: str = "raw") -> RawClient:
    """A raw client of ``app`` on the bootstrap port."""
    return RawClient(gateway.address, client_id).sign_in(app.appid, app.password, "SCRAM-SHA-256")


def is_known(gateway: GatewayProcess, app: App, state: str) -> bool:
    """Whether the Gateway has taken over a binding's state, in effect or not."""
    return [client["state"] for client in gateway.clients(app.appid)] == [state]

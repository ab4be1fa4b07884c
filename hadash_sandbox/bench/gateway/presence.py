"""Checks, with the Gateway's own counts, that a benchmark has really measured the Gateway.

If the Gateway does not run, or clients go past it, the figures are those of a perfect Gateway. So a benchmark counts as
samples only what the Gateway itself has seen.
"""

from __future__ import annotations

import json
import time
import urllib.request
from collections.abc import Iterable, Sequence
from typing import Any

from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient

from hadash.bindings.membership import members
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.ports import HOST

#: Seconds that a status port, or a METADATA request, may take to answer.
ASK_SECONDS = 10.0
#: Seconds after which a change of bindings that is not in effect fails the benchmark: a hundred times its goal.
EFFECT_SECONDS = 10.0
#: Seconds between two looks, which is the error of the measurement.
LOOK_SECONDS = 0.001


def _ask(port: int, path: str) -> Any:
    with urllib.request.urlopen(f"http://{HOST}:{port}{path}", timeout=ASK_SECONDS) as answer:
        return json.load(answer)


def connections(ports: Iterable[int]) -> int:
    """The number of client connections of all Gateway processes together.

    :param ports: their status ports.
    """
    return sum(_ask(port, "/status")["connections"] for port in ports)


def relayed(ports: Iterable[int], kind: str, topic: str) -> int:
    """The number of records of a Topic that all Gateway processes have relayed since their start.

    :param ports: their status ports.
    :param kind: produce or consume.
    """
    return sum(
        use["records"]
        for port in ports
        for use in _ask(port, "/access")["access"]
        if (use["kind"], use["resource"]) == (kind, topic)
    )


def check_addresses(bootstrap: str, config: dict[str, str], own: Sequence[int]) -> None:
    """Check that a client that connects to ``bootstrap`` stays with the Gateway.

    :param config: librdkafka settings to sign in with.
    :param own: the Gateway's ports.
    :raises SandboxError: METADATA sends the client elsewhere, so that it would not measure the Gateway.
    """
    admin = AdminClient({**config, "bootstrap.servers": bootstrap, "log_level": 0})
    brokers = admin.list_topics(timeout=ASK_SECONDS).brokers.values()
    others = sorted(f"{b.host}:{b.port}" for b in brokers if b.port not in own)
    if others or not brokers:
        raise SandboxError(
            f"A client that begins at the Gateway {bootstrap} is sent to {', '.join(others) or 'no broker'}: "
            "the Gateway would not be measured."
        )


def await_effect(client: KazooClient, epoch: int, processes: int, seconds: float = EFFECT_SECONDS) -> float:
    """Wait until all ``processes`` of the Gateway have reported an epoch; return the time (``time.perf_counter``).

    :raises SandboxError: ZooKeeper knows another number of processes, or they have not reported within ``seconds``.
    """
    deadline = time.perf_counter() + seconds
    while True:
        found = members(client)
        if len(found) != processes:
            raise SandboxError(
                f"ZooKeeper knows {len(found)} processes of the Gateway instead of {processes}."
            )
        if all(member.report.has(epoch) for member in found):
            return time.perf_counter()
        if time.perf_counter() > deadline:
            raise SandboxError(f"Epoch {epoch} was not in effect after {seconds:.0f} s.")
        time.sleep(LOOK_SECONDS)

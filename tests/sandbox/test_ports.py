"""Ports: distinct, persisted, and one clear sentence when somebody else has one."""

from __future__ import annotations

import os
import re
import socket
from pathlib import Path

import pytest

from hadash_sandbox import ports
from hadash_sandbox.errors import SandboxError


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "data" / "ports.json"


def test_ports_are_distinct_and_persist(store: Path) -> None:
    first = ports.allocate(["postgres", "redis", "kafka-east"], store)
    assert len(set(first.values())) == 3
    assert all(ports.FIRST <= port <= ports.LAST for port in first.values())
    assert ports.allocate(["postgres", "redis", "kafka-east"], store) == first


def test_new_names_leave_the_known_ones_alone(store: Path) -> None:
    first = ports.allocate(["postgres"], store)
    both = ports.allocate(["gateway", "postgres"], store)
    assert both["postgres"] == first["postgres"]
    assert both["gateway"] != both["postgres"]


def test_damaged_store_is_named(store: Path) -> None:
    store.parent.mkdir()
    store.write_text("{")
    with pytest.raises(SandboxError, match=re.escape(f"The port file {store} is damaged.")):
        ports.allocate(["postgres"], store)


def test_free_ports_pass_the_check(store: Path) -> None:
    ports.check(ports.allocate(["postgres", "redis"], store))


def test_taken_port_is_told_with_holder_and_remedy(store: Path) -> None:
    port = ports.allocate(["kafka-east"], store)["kafka-east"]
    with socket.create_server((ports.HOST, port)):
        assert ports.is_listening(port)
        with pytest.raises(SandboxError) as caught:
            ports.check({"kafka-east": port})
    assert str(caught.value) == (
        f"Port {port} (kafka-east) is in use by another process (pid {os.getpid()}). "
        "Stop that process, or run `make demo-reset` to choose new ports."
    )


def test_ports_that_somebody_will_listen_on_are_avoided(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Gateway's node ports are free until the Gateway runs."""
    starts = iter([20_000, 20_010])
    monkeypatch.setattr(ports.random, "randrange", lambda *_: next(starts))
    monkeypatch.setattr(ports, "is_free", lambda port: True)
    assert ports.allocate(["web"], store, avoid=range(20_000, 20_005)) == {"web": 20_010}

"""After all the switches of this folder: the clusters' credentials stand in no log, no znode, no answer and
no audit entry.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from kazoo.client import KazooClient

from hadash_sandbox.demo import Demo
from hadash_sandbox.trial import Trial

pytestmark = pytest.mark.stack

#: The logs of hadash's own processes begin with these words; brokers and Connect are others' programs.
OWN = ("gateway", "web", "worker", "beat")


def znodes(client: KazooClient) -> Iterator[tuple[str, bytes]]:
    try:
        waiting = ["/"]
        while waiting:
            path = waiting.pop()
            yield path, client.get(path)[0] or b""
            waiting += [f"{path.rstrip('/')}/{name}" for name in client.get_children(path)]
    finally:
        client.stop()
        client.close()


def test_credentials_are_nowhere(demo: Demo, trial: Trial) -> None:
    words = json.loads((demo.data_dir / "secrets.json").read_text())
    secrets = [secret.encode() for name, secret in words.items() if name != "postgres"]
    assert secrets
    places = dict(znodes(demo.stack.zookeeper.connect()))
    logs = [path for path in (demo.data_dir / "logs").iterdir() if path.name.startswith(OWN)]
    assert len(logs) >= len(OWN)
    places |= {path.name: path.read_bytes() for path in logs}
    addresses = ["api/v1/pairs/", "api/v1/switches/", "api/v1/gateways/", "audit/export.jsonl", "appids/"]
    places |= {address: trial.operator.get(address).content for address in addresses}
    assert len(places["audit/export.jsonl"].splitlines()) > 1
    told = [place for place, content in places.items() if any(secret in content for secret in secrets)]
    # (The user names of the pairs' accounts of Kafka's own ZooKeeper are salted hashes: no password.)
    assert told == []

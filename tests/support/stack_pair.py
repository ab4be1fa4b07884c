"""The stack's two clusters, registered as a pair."""

from __future__ import annotations

import json

import pytest
from kazoo.client import KazooClient

from hadash.inventory.models import Pair
from hadash_sandbox import seeding
from support import environment

_ASKING_ZOOKEEPER = ("inventory.services", "inventory.dialects", "inventory.gateways", "pipeline.collecting")


def registered(zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """Pair ``main`` of east, the default, and west, with their own ZooKeeper; hadash's is at the test's own place."""
    for module in _ASKING_ZOOKEEPER:
        monkeypatch.setattr(f"hadash.{module}.zookeeper", lambda: zookeeper)
    return seeding.register("main", json.loads(environment.required("HADASH_SANDBOX_CLUSTERS")))

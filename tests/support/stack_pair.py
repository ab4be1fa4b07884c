"""The stack's two clusters, registered as a pair."""

from __future__ import annotations

import json

import pytest
from kazoo.client import KazooClient

from hadash.inventory.models import Pair
from hadash.inventory.services import register_cluster, register_pair
from support import environment

_ASKING_ZOOKEEPER = ("inventory.services", "inventory.dialects", "inventory.gateways", "pipeline.collecting")


def registered(zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """Pair ``main`` of east, the default, and west, with their own ZooKeeper; hadash's is at the test's own place."""
    for module in _ASKING_ZOOKEEPER:
        monkeypatch.setattr(f"hadash.{module}.zookeeper", lambda: zookeeper)
    first, second, *_ = (
        register_cluster(
            d["name"],
            d["id"],
            zookeeper_hosts=d["zookeeper"],
            **{name: d[name] for name in ("bootstrap_servers", "security_protocol", "sasl_mechanism")},
            **{f"{who}_username": d[f"{who}_user"] for who in ("admin", "mirror")},
            **{f"{who}_password": d[f"{who}_password"] for who in ("admin", "mirror")},
        )
        for d in json.loads(environment.required("HADASH_SANDBOX_CLUSTERS"))
    )
    return register_pair("main", first, second, first)

"""``python -m hadash_sandbox.bench.web.crowd``: makes a real pair large, with AppIDs that have no clients.

They exist in tables and in rules only, so that a switch of the pair is planned in a large fleet. This program runs
beside a demo, in its environment.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import django

#: Rules in one request to a cluster: brokers with ZooKeeper need some milliseconds for each, and hadash waits for some
#: seconds only.
RULES_AT_ONCE = 200
#: How often one request is made, at most.
ATTEMPTS = 5


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")
    parser = argparse.ArgumentParser(prog="python -m hadash_sandbox.bench.web.crowd", description=__doc__)
    parser.add_argument("--appids", type=int, required=True)
    parser.add_argument("--pair", default="main")
    told = parser.parse_args()
    django.setup()
    from concurrent.futures import ThreadPoolExecutor

    from django.utils import timezone

    from hadash.bindings.store import BindingStore
    from hadash.inventory.gateways import zookeeper
    from hadash.inventory.installation import claimed
    from hadash.inventory.models import Pair
    from hadash.mirroring.services import cluster_client
    from hadash_sandbox.fleet import database
    from hadash_sandbox.fleet.model import Fleet, Side, Size

    pair = Pair.objects.select_related("first", "second").get(name=told.pair)
    fleet = Fleet(Size(told.appids, seed=11))
    names = Side(pair.name, pair.first.name, pair.second.name)
    database.fill(fleet, names, timezone.now())
    database.bind(fleet, names, BindingStore(claimed(zookeeper())))

    def give(client: Any) -> None:
        for rules in _rules(fleet.appid_names):
            _patiently(partial(client.create_acls, rules))

    with ThreadPoolExecutor(2) as pool:
        for made in [pool.submit(give, cluster_client(cluster)) for cluster in pair.clusters]:
            made.result()
    return 0


def _patiently(action: Callable[[], object]) -> None:
    """Call ``action``, again while the cluster is unavailable: it has to be idempotent.

    A broker with a hundred thousand rules pauses at times for longer than hadash waits.
    """
    from hadash.kafka.errors import ClusterUnavailable

    for attempt in range(ATTEMPTS):
        try:
            action()
            return
        except ClusterUnavailable:
            if attempt == ATTEMPTS - 1:
                raise


def _rules(appids: list[str]) -> Iterator[list[object]]:
    """Rules that allow each AppID to read and write Topics with its name as prefix, in parts for one request each."""
    from hadash.kafka.values import Acl

    rules = [
        Acl("TOPIC", f"{appid}.", "PREFIXED", f"User:{appid}", "*", operation, "ALLOW")
        for appid in appids
        for operation in ("READ", "WRITE")
    ]
    for first in range(0, len(rules), RULES_AT_ONCE):
        yield list(rules[first : first + RULES_AT_ONCE])


if __name__ == "__main__":
    sys.exit(main())

"""``python -m hadash_sandbox.bench.web.crowd``: fills a real pair with AppIDs that exist in tables and rules
only, so that whoever asks for a switch there asks in a large fleet. Beside a demo, in its environment.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import django

#: Rules in one request to a cluster: brokers with ZooKeeper need some milliseconds for each, and hadash waits
#: for seconds.
RULES_AT_ONCE = 200
#: Times that one request is made.
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


def _patiently(act: Callable[[], object]) -> None:
    """(A broker that has a hundred thousand rules pauses now and then for longer than hadash waits. The same
    rules again are the same rules.)
    """
    from hadash.kafka.errors import ClusterUnavailable

    for attempt in range(ATTEMPTS):
        try:
            act()
            return
        except ClusterUnavailable:
            if attempt == ATTEMPTS - 1:
                raise


def _rules(appids: list[str]) -> Iterator[list[object]]:
    """Two for each AppID: it may read and write what begins with its name."""
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

"""What ended switches leave in ZooKeeper goes after some days; what may still be needed stays."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from kazoo.client import KazooClient

from hadash.bindings import layout
from hadash.bindings.catalogue import publish_placement
from hadash.bindings.model import Placement
from hadash.bindings.store import BindingStore
from hadash.inventory.models import Cluster, Pair
from hadash.switching.machines.switches import Status
from hadash.switching.models.switches import Switch
from hadash.switching.recovery import old_journals

from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_journals_and_placements_of_what_ended_long_ago_are_removed(
    zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(old_journals, "zookeeper", lambda: zookeeper)
    east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west"), 1))
    pair = Pair.objects.create(name="main", first=east, second=west, default=east)
    olga, now = User.objects.create(username="olga"), timezone.now()

    def switch(key: str, status: Status, ended_days_ago: float | None) -> None:
        Switch.objects.create(
            key=key,
            pair=pair,
            appid=key,
            asked=WHOLE.scope.to_json(),
            source=east,
            target=west,
            plan=WHOLE.to_json(),
            plan_digest=WHOLE.digest,
            reason="Test",
            requested_by=olga,
            expires_at=now,
            status=status.value,
            ended_at=None if ended_days_ago is None else now - timedelta(days=ended_days_ago),
        )
        in_zookeeper(key)

    def in_zookeeper(key: str) -> None:
        BindingStore(zookeeper).take_over(key, "verify", 1)
        publish_placement(zookeeper, key, Placement("west"))

    switch("long-ago", Status.SUCCEEDED, 7.1)
    switch("returned", Status.ROLLED_BACK, 30)
    switch("lately", Status.SUCCEEDED, 6.9)
    switch("open", Status.NEEDS_ATTENTION, None)
    in_zookeeper("of-a-database-that-came-back-from-a-backup")
    assert old_journals.remove_old_journals() == 2
    assert sorted(zookeeper.get_children(layout.SWITCHES)) == [
        "lately",
        "of-a-database-that-came-back-from-a-backup",
        "open",
    ]
    assert old_journals.remove_old_journals() == 0

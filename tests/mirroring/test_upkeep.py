"""Keeping a mirror as it has to be: when it is fit for a switch. (On real servers: test_faithful.py.)"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hadash.inventory.models import Cluster, Pair
from hadash.kafka.connect import ConnectorStatus
from hadash.mirroring import services, upkeep
from hadash.mirroring.limits import Limits
from hadash.mirroring.models import Mirror
from hadash.mirroring.standby_topics import Needs

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

WANTED = {"header.converter": "bytes"}


@pytest.fixture
def mirror() -> Mirror:
    east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west"), 1))
    pair = Pair.objects.create(name="main", first=east, second=west, default=east)
    return Mirror.objects.create(pair=pair, name="orders", topics=["orders"], source=east)


@pytest.fixture(autouse=True)
def held(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The settings that Connect holds. Topics are as they have to be."""
    held = {"topics": "orders"}
    connect = SimpleNamespace(
        config=lambda name: held, change_config=lambda name, changes: held.update(changes)
    )
    needed = Needs({"orders": {}}, {"orders": {}}, Limits())
    monkeypatch.setattr(upkeep, "connect_client", lambda: connect)
    monkeypatch.setattr(services, "status_of", lambda mirror: ConnectorStatus("RUNNING", ()))
    monkeypatch.setattr(upkeep, "config_of", lambda mirror, source, limits: WANTED)
    monkeypatch.setattr(upkeep, "needs", lambda source, target, topics: needed)
    monkeypatch.setattr(upkeep, "standby_changes", lambda cluster, wanted: {})
    monkeypatch.setattr(upkeep, "set_topics", lambda cluster, changes, role: None)
    monkeypatch.setattr(upkeep, "_last_read", {})
    return held


@pytest.mark.parametrize("mended_by", ["hadash", "somebody"])
def test_a_mirror_is_unfit_until_tasks_with_its_old_settings_are_gone(
    mirror: Mirror, held: dict[str, str], monkeypatch: pytest.MonkeyPatch, mended_by: str
) -> None:
    """Connect says RUNNING of the old tasks, too."""
    assert "the next look mends them" in str(upkeep.keep(mirror, mend=False, thorough=True).unfit)
    if mended_by == "hadash":
        upkeep.keep(mirror)
    else:
        held.update(WANTED)
    assert "tasks with the old ones may still copy" in str(
        upkeep.keep(mirror, mend=False, thorough=True).unfit
    )
    monkeypatch.setattr(upkeep, "SETTLED_SECONDS", 0.0)
    assert upkeep.keep(mirror, mend=False, thorough=True) == upkeep.Kept()


def test_one_that_was_never_mended_is_fit(mirror: Mirror, held: dict[str, Any]) -> None:
    held.update(WANTED)
    assert upkeep.keep(mirror, mend=False, thorough=True) == upkeep.Kept()


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED"])
def test_one_that_a_switch_holds_back_is_left_alone_though_postgresql_has_forgotten_it(
    mirror: Mirror, held: dict[str, str], monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """Reverse has set east up as the standby already; the row says that clients write there."""
    mirror.topic_settings = {"orders": {"message.timestamp.type": "LogAppendTime"}}
    mirror.save()
    monkeypatch.setattr(upkeep, "standby_changes", lambda cluster, wanted: {"orders": {"x": "y"}})
    touched: list[str] = []
    monkeypatch.setattr(upkeep, "set_topics", lambda cluster, changes, role: touched.append(cluster.name))
    monkeypatch.setattr(services, "status_of", lambda mirror: ConnectorStatus(state, ()))
    upkeep.keep(mirror)
    mirror.refresh_from_db()
    assert mirror.topic_settings == {"orders": {"message.timestamp.type": "LogAppendTime"}}
    assert touched == []
    assert held["header.converter"] == "bytes", "a connector that copies nothing is mended all the same"

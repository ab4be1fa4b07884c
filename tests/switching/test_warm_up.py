"""Group offsets are tried before clients wait: nothing that somebody else has translated meanwhile is written over."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from hadash.bindings.errors import StaleWriter
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.values import Committed, Partition
from hadash.switching.execution.command_handler import CommandHandler
from hadash.switching.stages import commands as do
from hadash.switching.stages.context import StageContext

from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

ORDERS = Partition("orders", 0)


class FakeCluster:
    """One side. ``on_read`` is called when its group offsets are read."""

    def __init__(self, committed: int, on_read: Any = lambda: None) -> None:
        self.offsets = {"billing": {ORDERS: Committed(committed)}}
        self.on_read = on_read

    def start_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(partitions, 0)

    def end_offsets(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(partitions, 100)

    def tail(self, *_: Any) -> dict[Partition, list[Any]]:
        return {}

    def group_offsets(self, groups: Iterable[str]) -> dict[str, dict[Partition, int]]:
        return {
            name: {p: committed.offset for p, committed in found.items()}
            for name, found in self.group_commits(groups).items()
        }

    def group_commits(self, groups: Iterable[str]) -> dict[str, dict[Partition, Committed]]:
        found = {name: dict(offsets) for name, offsets in self.offsets.items()}
        self.on_read()
        return found

    def set_group_offsets(
        self, offsets: dict[str, dict[Partition, Committed]], fence: Callable[[], None]
    ) -> None:
        fence()
        for name, committed in offsets.items():
            self.offsets[name] |= committed


@pytest.fixture
def sides(monkeypatch: pytest.MonkeyPatch) -> dict[str, FakeCluster]:
    east, west = (
        Cluster.objects.create(name=name, number=number) for number, name in enumerate(("east", "west"), 1)
    )
    Pair.objects.create(name="main", first=east, second=west, default=east)
    made = {"east": FakeCluster(60), "west": FakeCluster(3)}
    monkeypatch.setattr(CommandHandler, "client", lambda self, cluster: made[cluster])
    monkeypatch.setattr(CommandHandler, "all_partitions", lambda self: [ORDERS])
    return made


def test_a_worker_that_was_paused_meanwhile_does_not_write(sides: dict[str, FakeCluster]) -> None:
    """It reads what stands, is stopped, and comes back when another one has translated."""
    reads: list[int] = []

    def stop() -> None:
        reads.append(1)
        if len(reads) == 2:  # (the first one only opens connections)
            sides["west"].offsets["billing"][ORDERS] = Committed(55)

    def fence() -> None:
        if len(reads) > 1:
            raise StaleWriter("Executor 3 of switch x was replaced.")

    sides["west"].on_read = stop
    with pytest.raises(StaleWriter):
        CommandHandler(WHOLE, None, StageContext(), lambda sentence: None, fence).carry_out(do.WarmUp())
    assert sides["west"].offsets == {"billing": {ORDERS: Committed(55)}}


def test_what_stands_is_written_as_it_stands(sides: dict[str, FakeCluster]) -> None:
    CommandHandler(WHOLE, None, StageContext(), lambda sentence: None).carry_out(do.WarmUp())
    assert sides["west"].offsets == {"billing": {ORDERS: Committed(3)}}

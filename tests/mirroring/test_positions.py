"""Where groups stand is noted in parts: a pair may have very many groups, and what was read is kept whatever
becomes of the rest.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

import pytest
from django.utils import timezone

from hadash.inventory.models import Access, Cluster, Pair
from hadash.kafka.errors import ClusterUnavailable
from hadash.kafka.values import Committed, Partition
from hadash.mirroring import positions
from hadash.mirroring.models import GroupPosition, Mirror

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

P = Partition("orders", 0)


class Groups:
    """A cluster that has an offset of each group, and does not answer about those that are ``lost``."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.lost: set[str] = set()

    def group_commits(self, names: Iterable[str]) -> dict[str, dict[Partition, Committed]]:
        wanted = list(names)
        if self.lost & set(wanted):
            raise ClusterUnavailable("Cluster east does not answer.")
        self.asked.append(wanted)
        return {name: {P: Committed(7, "")} for name in wanted}


@pytest.fixture
def pair() -> Pair:
    east, west = (
        Cluster.objects.create(name=name, number=number) for number, name in enumerate(("east", "west"), 1)
    )
    pair = Pair.objects.create(name="main", first=east, second=west, default=east)
    Mirror.objects.create(pair=pair, name="orders", source=east, topics=["orders"])
    return pair


@pytest.fixture
def groups(pair: Pair, monkeypatch: pytest.MonkeyPatch, settings: Any) -> Groups:
    """Five of them, of which two are read at once."""
    now = timezone.now()
    for number in range(5):
        Access.objects.create(
            pair=pair, appid="shop", client_id="web", kind=Access.Kind.GROUP, resource=f"group-{number}",
            cluster="east", first_seen=now, last_seen=now,
        )  # fmt: skip
    settings.POSITION_GROUPS_AT_ONCE = 2
    positions._UNREAD.clear()
    found = Groups()
    monkeypatch.setattr(positions, "client_for", lambda access: found)
    return found


def slow() -> Iterator[float]:
    """A clock by which each part takes longer than there is time for all of them."""
    return (float(seconds) for seconds in count(0, 10))


def test_all_of_them_when_there_is_time(pair: Pair, groups: Groups) -> None:
    assert positions.note_positions(pair) == 5
    assert groups.asked == [["group-0", "group-1"], ["group-2", "group-3"], ["group-4"]]
    found, oldest = positions.positions_of(pair, pair.first, ["group-4"])
    assert found == {"group-4": {P: Committed(7, "")}}
    assert oldest is not None


def test_what_is_not_reached_is_the_next_looks(pair: Pair, groups: Groups) -> None:
    clock = slow()
    for _ in range(4):
        positions.note_positions(pair, lambda: next(clock))
    assert groups.asked[:3] == [["group-0", "group-1"], ["group-2", "group-3"], ["group-4", "group-0"]]
    assert groups.asked[3] == ["group-1", "group-2"], "those that were noted longest ago come first"


def test_what_was_read_is_kept_when_the_cluster_is_lost(pair: Pair, groups: Groups) -> None:
    groups.lost = {"group-3"}
    with pytest.raises(ClusterUnavailable):
        positions.note_positions(pair)
    noted = GroupPosition.objects.values_list("group", flat=True)
    assert set(noted) == {"group-0", "group-1", "group-4"}


def test_a_group_that_cannot_be_read_does_not_keep_the_others(
    pair: Pair, groups: Groups, settings: Any
) -> None:
    settings.POSITION_AGAIN_SECONDS = 1000
    groups.lost = {"group-0"}
    clock = slow()
    for _ in range(3):
        with contextlib.suppress(ClusterUnavailable):
            positions.note_positions(pair, lambda: next(clock))
    assert groups.asked == [["group-2", "group-3"], ["group-4", "group-2"]], (
        "they come after all others for a while"
    )

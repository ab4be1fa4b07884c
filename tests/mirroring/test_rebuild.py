"""Before anything is deleted: the other side has it, and says so. (The whole on real clusters:
tests/e2e/test_zzz_forced.py.)
"""

from __future__ import annotations

from collections.abc import Collection
from types import SimpleNamespace
from typing import Any

import pytest

from hadash.kafka.errors import ClusterUnavailable, KafkaError, TopicsUnknown
from hadash.kafka.values import Partition, TopicInfo
from hadash.mirroring import rebuild
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.rebuild import NotCopies, NotReported
from hadash.mirroring.services import MirrorError

EAST, WEST = SimpleNamespace(name="east", pk=1), SimpleNamespace(name="west", pk=2)
ORDERS, GROWN = Partition("orders", 0), Partition("orders", 1)


class Broken:
    """A cluster that knows Topics with their leaders, and the end offsets of their partitions."""

    def __init__(self, name: str, topics: dict[str, tuple[int, ...]], ends: dict[Partition, int]) -> None:
        self.name, self.ends = name, ends
        self.known = {topic: TopicInfo(topic, leaders, 1) for topic, leaders in topics.items()}

    def topics(self) -> dict[str, TopicInfo]:
        return self.known

    def end_offsets(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        return {partition: self.ends[partition] for partition in partitions}

    def start_offsets(self, partitions: Collection[Partition]) -> dict[Partition, int]:
        return dict.fromkeys(partitions, 0)

    def topic_configs(self, topics: Collection[str]) -> dict[str, dict[str, str]]:
        return {topic: {} for topic in topics}

    def brokers(self) -> list[int]:
        return [0]


class TestUnreplicated:
    @pytest.fixture
    def lost(self, monkeypatch: pytest.MonkeyPatch) -> Broken:
        lost = Broken("east", {"orders": (0, 0)}, {ORDERS: 107, GROWN: 3})
        monkeypatch.setattr(rebuild, "cluster_client", lambda cluster: lost)
        return lost

    def test_what_lies_beyond_the_points_and_partitions_that_were_never_mirrored(self, lost: Broken) -> None:
        found = rebuild.unreplicated_of(EAST, {ORDERS: OffsetSync(100, 60)})  # type: ignore[arg-type]
        assert found == {ORDERS: (100, 107), GROWN: (0, 3)}

    def test_topics_that_are_not_known_are_no_nothing_left(self, lost: Broken) -> None:
        lost.known = {}
        points = {ORDERS: OffsetSync(100, 60)}
        with pytest.raises(TopicsUnknown, match="does not know Topic orders") as raised:
            rebuild.unreplicated_of(EAST, points)  # type: ignore[arg-type]
        assert raised.value.topics == ("orders",)
        assert rebuild.unreplicated_of(EAST, points, gone=["orders"]) == {}  # type: ignore[arg-type]

    def test_a_partition_without_a_leader_is_no_nothing_left(self, lost: Broken) -> None:
        lost.known = {"orders": TopicInfo("orders", (0, -1), 1)}
        with pytest.raises(KafkaError, match="no leader for orders-1"):
            rebuild.unreplicated_of(EAST, {ORDERS: OffsetSync(100, 60)})  # type: ignore[arg-type]


class TestRebuild:
    @pytest.fixture
    def mirror(self) -> Any:
        return SimpleNamespace(
            name="shop",
            source_id=EAST.pk,
            turning=True,
            topics=["orders"],
            pair=SimpleNamespace(other=lambda cluster: WEST),
        )

    @pytest.fixture(autouse=True)
    def connect(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A rebuild that reached Connect would delete next."""

        def reached() -> Any:
            raise AssertionError("It went on.")

        monkeypatch.setattr(rebuild, "connect_client", reached)

    @pytest.mark.parametrize("fault", ["away", "unknown", "leaderless"])
    def test_nothing_is_deleted_while_the_other_side_does_not_have_it(
        self, mirror: Any, monkeypatch: pytest.MonkeyPatch, fault: str
    ) -> None:
        """What is to be deleted may be the only copy in reach by now."""
        other = Broken("west", {"orders": (-1,)} if fault == "leaderless" else {}, {})
        if fault == "away":

            def topics() -> Any:
                raise ClusterUnavailable("Cluster west does not answer.")

            monkeypatch.setattr(other, "topics", topics)
        clusters = {"west": other, "east": Broken("east", {"orders": (0,)}, {})}
        monkeypatch.setattr(rebuild, "cluster_client", lambda cluster: clusters[cluster.name])
        with pytest.raises(KafkaError, match="Cluster west"):
            rebuild.rebuild(mirror, EAST, {})  # type: ignore[arg-type]

    def test_a_mirror_that_somebody_has_let_run_again_is_left_alone(self, mirror: Any) -> None:
        mirror.turning = False
        with pytest.raises(MirrorError, match="copies from east again"):
            rebuild.rebuild(mirror, EAST, {})  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("ends", "reported", "which"),
        [
            ({ORDERS: 108, GROWN: 3}, {ORDERS: 107, GROWN: 3}, r"orders-0 on cluster east ends at 108"),
            ({ORDERS: 107, GROWN: 1}, {ORDERS: 107}, r"orders-1 on cluster east ends at 1,.* up to 0 only"),
        ],
        ids=["it grew since", "nothing is known of it"],
    )
    def test_what_nobody_has_reported_is_not_deleted(
        self,
        mirror: Any,
        monkeypatch: pytest.MonkeyPatch,
        ends: dict[Partition, int],
        reported: dict[Partition, int],
        which: str,
    ) -> None:
        clusters = {name: Broken(name, {"orders": (0, 0)}, ends) for name in ("east", "west")}
        monkeypatch.setattr(rebuild, "cluster_client", lambda cluster: clusters[cluster.name])
        with pytest.raises(NotReported, match=which):
            rebuild.rebuild(mirror, EAST, reported)  # type: ignore[arg-type]

    @pytest.mark.parametrize("known", [{"orders": (0, 0)}, {}], ids=["all reported", "deleted already"])
    def test_what_was_reported_is(
        self, mirror: Any, monkeypatch: pytest.MonkeyPatch, known: dict[str, tuple[int, ...]]
    ) -> None:
        ends = {ORDERS: 107, GROWN: 0}
        clusters = {
            "east": Broken("east", known, ends),
            "west": Broken("west", {"orders": (0, 0)}, ends),
        }
        monkeypatch.setattr(rebuild, "cluster_client", lambda cluster: clusters[cluster.name])
        with pytest.raises(AssertionError, match="It went on"):
            rebuild.rebuild(mirror, EAST, {ORDERS: 107})  # type: ignore[arg-type]


class Connect:
    """Connect with one connector that runs; ``did`` says what it was told."""

    def __init__(self, copied: dict[Partition, int]) -> None:
        self.copied, self.state = copied, "RUNNING"
        self.did: list[str] = []

    def status(self, name: str) -> Any:
        there = name == "east-west"
        return SimpleNamespace(state=self.state, stopped=self.state == "STOPPED") if there else None

    def stop(self, name: str) -> None:
        self.state = "STOPPED"
        self.did.append("stop")

    def resume(self, name: str) -> None:
        self.state = "RUNNING"
        self.did.append("resume")


class TestStandby:
    """East is copied to west: 40 records of ``orders-0`` since offset 100, at offset 60 there."""

    def mirror(self, differences: Any = ()) -> Any:
        east, west = EAST, WEST
        return SimpleNamespace(
            name="shop",
            source=east,
            target=west,
            rebuilding=True,
            turning=True,
            topics=["orders"],
            pair=SimpleNamespace(name="main", other=lambda cluster: west if cluster is east else east),
            comparison={"differences": list(differences)},
            save=lambda update_fields: None,
        )

    def world(
        self, monkeypatch: pytest.MonkeyPatch, source: int, standby: int, copied: int | None
    ) -> Connect:
        """:param copied: the last record that Connect says was copied."""
        connect = Connect({} if copied is None else {ORDERS: copied})
        clusters = {
            name: Broken(name, {"orders": (0,)}, {ORDERS: end})
            for name, end in (("east", source), ("west", standby))
        }
        monkeypatch.setattr(rebuild, "cluster_client", lambda cluster: clusters[cluster.name])
        monkeypatch.setattr(rebuild, "connect_client", lambda: connect)
        monkeypatch.setattr(
            rebuild, "connector_of", lambda mirror, source: f"{source.name}-{mirror.pair.other(source).name}"
        )
        monkeypatch.setattr(rebuild, "await_stopped", lambda name: None)
        monkeypatch.setattr(rebuild, "status_of", lambda mirror: connect.status("east-west"))
        monkeypatch.setattr(rebuild, "copied_by", lambda mirror: connect.copied)
        for module in (rebuild, rebuild.comparing):
            monkeypatch.setattr(module, "offset_syncs_of", lambda mirror: {ORDERS: OffsetSync(100, 60)})

        def go_on(mirror: Any, source: Any) -> None:
            raise AssertionError("It went on.")

        monkeypatch.setattr(rebuild, "make_active", go_on)
        return connect

    @pytest.mark.parametrize(
        ("source", "standby", "copied"), [(140, 100, 139), (200, 100, 139), (140, 0, None)], ids=str
    )
    def test_copies_are_deleted(
        self, monkeypatch: pytest.MonkeyPatch, source: int, standby: int, copied: int | None
    ) -> None:
        self.world(monkeypatch, source, standby, copied)
        rebuild.refuse_originals(self.mirror())
        with pytest.raises(AssertionError, match="It went on"):
            rebuild.rebuild_standby(self.mirror())

    @pytest.mark.parametrize(
        ("source", "standby", "copied", "copies"),
        [(200, 103, 139, 100), (200, 100, None, 60), (140, 103, 139, 100), (10, 100, 139, 0)],
        ids=["written past the Gateway", "Connect has forgotten it", "more than its source", "a new source"],
    )
    def test_what_may_be_no_copy_is_not_deleted(
        self, monkeypatch: pytest.MonkeyPatch, source: int, standby: int, copied: int | None, copies: int
    ) -> None:
        connect, mirror = self.world(monkeypatch, source, standby, copied), self.mirror()
        said = f"orders-0 on cluster west ends at {standby}, and is known to hold copies up to {copies} only"
        with pytest.raises(NotCopies, match=said):
            rebuild.rebuild_standby(mirror)
        assert connect.did == ["stop", "resume"], "it copies on"
        assert not mirror.turning
        assert not mirror.rebuilding
        with pytest.raises(AssertionError, match="It went on"):
            rebuild.rebuild_standby(self.mirror(), discard_originals=True)

    def test_more_than_its_source_holds_is_seen_before_it_is_stopped(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connect = self.world(monkeypatch, source=140, standby=103, copied=139)
        with pytest.raises(NotCopies, match="up to 100 only"):
            rebuild.refuse_originals(self.mirror())
        assert connect.did == []

    @pytest.mark.parametrize(("first", "refused"), [(99, True), (100, False)])
    def test_what_was_copied_in_the_other_direction_is_not_copied_over_its_originals(
        self, monkeypatch: pytest.MonkeyPatch, first: int, refused: bool
    ) -> None:
        self.world(monkeypatch, source=140, standby=100, copied=139)
        mirror = self.mirror(
            [{"topic": "orders", "partition": 0, "kind": "headers", "first": first, "last": 120, "count": 9}]
        )
        fault = rebuild.comparing.fault_of(mirror)
        assert ("then west has the originals" in str(fault)) is refused
        assert str(fault).endswith(" --discard-originals") is refused
        if not refused:
            rebuild.refuse_originals(mirror)
            return
        with pytest.raises(NotCopies, match="differ before offset 100 of east"):
            rebuild.refuse_originals(mirror)

"""Looking at all mirrors of a pair: what is wrong with one is not the others' matter."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from hadash.inventory.models import Cluster, Pair
from hadash.kafka.connect import ConnectorStatus, TaskStatus
from hadash.kafka.errors import ClusterUnavailable, KafkaError
from hadash.kafka.values import Partition, Record
from hadash.mirroring import catching_up, probe, resync
from hadash.mirroring.models import LagSample, Mirror, MirrorOffsetSync, PairLag
from hadash.mirroring.offsets import OffsetSync

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

AWAY = "Cluster east did not answer within 10 s: could not read ends."


@pytest.fixture
def pair() -> Pair:
    east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west"), 1))
    pair = Pair.objects.create(name="main", first=east, second=west, default=east)
    for name in ("carts", "orders", "people"):
        mirror = Mirror.objects.create(pair=pair, name=name, topics=[name], source=east, lag_records=7)
        MirrorOffsetSync.objects.create(
            mirror=mirror, topic=name, partition=0, source_offset=0, target_offset=0
        )
    return pair


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> dict[str, Exception]:
    """Both clusters answer, but for the Topics that stand here; ``asked`` says of which somebody asked in vain."""
    wrong: dict[str, Exception] = {}

    def ends(partitions: Any) -> dict[Partition, int]:
        for partition in partitions:
            if partition.topic in wrong:
                raise wrong[partition.topic]
        return dict.fromkeys(partitions, 5)

    client = SimpleNamespace(end_offsets=ends)
    running = ConnectorStatus("RUNNING", ("RUNNING",), "", (TaskStatus(0, "RUNNING", "w1:8083"),))
    for module in (probe, catching_up):
        monkeypatch.setattr(module, "cluster_client", lambda cluster: client)
    monkeypatch.setattr(
        catching_up, "partitions_of", lambda client, topics: [Partition(t, 0) for t in topics]
    )
    monkeypatch.setattr(probe, "status_of", lambda mirror: running)
    # (Settings and records: tests/mirroring/test_faithful.py.)
    monkeypatch.setattr(probe.upkeep, "keep", lambda mirror, mend, thorough: probe.upkeep.Kept())
    monkeypatch.setattr(probe.comparing, "due", lambda mirror: False)
    return wrong


def found(pair: Pair) -> dict[str, tuple[str, str, int | None]]:
    return {m.name: (m.state, str(m.fault), m.lag_records) for m in Mirror.objects.filter(pair=pair)}


WELL = ("running", "", 0)
NOT_SEEN = ("unknown", f"{AWAY} This mirror is looked at as soon as that is over.", None)


def test_of_a_cluster_that_is_lost_only_the_first_waits(pair: Pair, clusters: dict[str, Exception]) -> None:
    for name in ("carts", "orders", "people"):
        clusters[name] = ClusterUnavailable(AWAY)
    probe.look_at_pair(pair)
    assert found(pair) == {"carts": ("running", AWAY, None), "orders": NOT_SEEN, "people": NOT_SEEN}
    samples = LagSample.objects.values_list("mirror__name", "records", "seconds")
    assert sorted(samples) == [(name, None, None) for name in ("carts", "orders", "people")]


def test_after_a_round_the_pair_has_the_lag_of_its_worst_mirror(
    pair: Pair, clusters: dict[str, Exception]
) -> None:
    probe.look_at_pair(pair)
    first = PairLag.objects.get()
    assert (first.seconds, first.unknown) == (0.0, 0)
    clusters["carts"] = KafkaError("no leader")
    probe.look_at_pair(pair)
    assert PairLag.objects.latest("at").unknown == 1


def test_the_next_round_begins_with_those_that_were_left_out(
    pair: Pair, clusters: dict[str, Exception]
) -> None:
    """One broker is away: the mirrors of the others are seen, and in every round after that."""
    clusters["carts"] = ClusterUnavailable(AWAY)
    probe.look_at_pair(pair)
    for _ in range(2):
        probe.look_at_pair(pair)
        assert found(pair) == {"carts": ("running", AWAY, None), "orders": WELL, "people": WELL}


def test_what_was_seen_of_a_lost_source_stays(pair: Pair, clusters: dict[str, Exception]) -> None:
    at = timezone.now()
    Mirror.objects.update(known_ends=[["people", 0, 3]], known_ends_at=at, looked_at=at)
    clusters["carts"] = ClusterUnavailable(AWAY)
    probe.look_at_pair(pair)
    people = Mirror.objects.get(name="people")
    assert (people.known_ends, people.known_ends_at, people.looked_at) == ([["people", 0, 3]], at, at)


def test_one_that_goes_wrong_does_not_end_the_round(
    pair: Pair, clusters: dict[str, Exception], caplog: pytest.LogCaptureFixture
) -> None:
    """It was deleted meanwhile, for one."""
    clusters["carts"] = IntegrityError("mirror is not present")
    probe.look_at_pair(pair)
    assert found(pair) == {"carts": ("unknown", "", 7), "orders": WELL, "people": WELL}
    assert "mirror carts could not be looked at" in caplog.text


@pytest.mark.parametrize("task", ["look_at_mirrors", "note_positions"])
def test_every_pair_with_mirrors_has_a_task_of_its_own(
    pair: Pair, monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    from tasks import watching

    names = ("north", "south", "up", "down")
    clusters = [Cluster.objects.create(name=name, number=n) for n, name in enumerate(names, 3)]
    other = Pair.objects.create(name="other", first=clusters[0], second=clusters[1], default=clusters[0])
    Mirror.objects.create(pair=other, name="bills", topics=["bills"], source=clusters[0])
    Pair.objects.create(name="bare", first=clusters[2], second=clusters[3], default=clusters[2])
    handed: list[tuple[int, ...]] = []

    def apply_async(arguments: tuple[int, ...], expires: float) -> None:
        assert expires == watching.LOOK_EXPIRES_SECONDS
        handed.append(arguments)

    monkeypatch.setattr(watching, f"{task}_of", SimpleNamespace(apply_async=apply_async))
    action: Callable[[], None] = getattr(watching, task)
    action()
    assert handed == [(pair.pk,), (other.pk,)]


DIFFERENT = {
    "topic": "carts",
    "partition": 0,
    "kind": "headers",
    "first": 0,
    "last": 4,
    "count": 5,
    "since": "2026-01-01T00:00:00+00:00",
}


@pytest.mark.parametrize(
    ("known", "state"), [([], "unknown"), ([DIFFERENT], "failed")], ids=["nothing known", "differences known"]
)
def test_a_precheck_that_cannot_compare_the_records_does_not_pass(
    pair: Pair,
    clusters: dict[str, Exception],
    monkeypatch: pytest.MonkeyPatch,
    known: list[dict[str, Any]],
    state: str,
) -> None:
    late = "Cluster west: the last records of carts-0 could not be read within 20 s."

    def compare(*_: Any) -> None:
        raise KafkaError(late)

    monkeypatch.setattr(probe.comparing, "compare", compare)
    mirror = Mirror.objects.get(name="carts")
    mirror.comparison = {"differences": known}
    probe.look(mirror, thorough=True)
    assert (mirror.state, late in str(mirror.fault)) == (state, True)
    assert ("headers, between offsets 0 and 4" in str(mirror.fault)) is bool(known)


@pytest.mark.parametrize(("max_lag", "waits"), [(None, True), (2, False), (3, True)])
def test_a_mirror_is_waited_for_as_far_behind_as_a_switch_may_begin(
    pair: Pair,
    clusters: dict[str, Exception],
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    max_lag: int | None,
    waits: bool,
) -> None:
    """A pair's own rule may allow more than the setting, or less."""
    settings.SWITCH_MAX_LAG = 3
    waited: list[str] = []
    p = Partition("carts", 0)
    monkeypatch.setattr(catching_up, "ends", lambda mirror, syncs: ({p: 5}, {p: 2}))
    monkeypatch.setattr(catching_up, "over_gaps", lambda *_: {})
    monkeypatch.setattr(probe, "_content", lambda *_: "")
    monkeypatch.setattr(catching_up, "catch_up", lambda mirror, syncs, held: waited.append(mirror.name))
    probe.look(Mirror.objects.get(name="carts"), thorough=True, max_lag=max_lag)
    assert bool(waited) is waits


def test_a_mirror_that_is_half_rebuilt_says_what_to_do(pair: Pair, clusters: dict[str, Exception]) -> None:
    mirror = Mirror.objects.get(name="carts")
    mirror.turning = True
    probe.look(mirror)
    assert (mirror.state, str(mirror.fault)) == ("turning", ""), "a switch turns it round"
    mirror.rebuilding = True
    probe.look(mirror)
    assert mirror.state == "turning"
    assert str(mirror.fault).endswith(
        "run the command again: hadash-manage rebuild_mirror main carts --confirm west"
    )


def test_what_is_known_to_differ_stays_while_a_cluster_does_not_answer(
    pair: Pair, clusters: dict[str, Exception]
) -> None:
    Mirror.objects.filter(name="carts").update(comparison={"differences": [DIFFERENT]})
    clusters["carts"] = ClusterUnavailable(AWAY)
    probe.look_at_pair(pair)
    state, fault, _ = found(pair)["carts"]
    assert (state, fault.endswith(AWAY)) == ("failed", True)


def test_what_was_copied_twice_long_ago_is_found_further_back(
    pair: Pair, clusters: dict[str, Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Connect worker that dies again and again begins each time where the first one had committed. Looking
    far back is dear: it is not done at each look.
    """
    mirror = Mirror.objects.get(name="carts")
    partition = Partition("carts", 0)
    written = [Record(offset, str(offset)) for offset in range(100)]
    again = [*range(60), *range(20, 60), *range(20, 100)]
    copied = [Record(offset, str(number)) for offset, number in enumerate(again)]
    counts: list[int] = []

    def client(cluster: Cluster) -> Any:
        log = written if cluster.name == "east" else copied

        def records(spans: Any, seconds: float) -> dict[Partition, list[Record]]:
            first, end = spans[partition]
            counts.append(end - first)
            return {partition: log[first:end]}

        def ends(partitions: Any) -> dict[Partition, int]:
            return {partition: len(log)}

        def starts(partitions: Any) -> dict[Partition, int]:
            return {partition: 0}

        return SimpleNamespace(end_offsets=ends, start_offsets=starts, records=records)

    for module in (probe, catching_up, resync):
        monkeypatch.setattr(module, "cluster_client", client)
    monkeypatch.setattr(resync, "RECOUNT_RECORDS", 100)
    monkeypatch.setattr(resync, "_looked_far", {})
    monkeypatch.setattr(resync, "RECOUNT_FAR_RECORDS", 120)
    probe.look(mirror)
    assert str(mirror.fault) == "The mirror of carts-0 holds 80 records that its source does not."
    monkeypatch.setattr(resync, "RECOUNT_FAR_RECORDS", 1000)
    probe.look(mirror)
    assert mirror.fault, "not again so soon"
    assert counts == [100, 100, 120, 100, 100, 100]
    monkeypatch.setattr(resync, "RECOUNT_AGAIN_SECONDS", 0)
    probe.look(mirror)
    assert (mirror.state, str(mirror.fault), mirror.lag_records) == ("running", "", 0)


def test_of_two_looks_at_once_only_one_counts_what_was_copied_twice(
    pair: Pair, clusters: dict[str, Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror, p = Mirror.objects.get(name="carts"), Partition("carts", 0)
    known, point = OffsetSync(0, 0), OffsetSync(60, 80)
    monkeypatch.setattr(resync, "_recounted", lambda *_: {p: point})
    assert resync.after_copies(mirror, {p: known}) == {p: point}
    assert resync.after_copies(Mirror.objects.get(name="carts"), {p: known}) == {}
    sync = mirror.syncs.get()
    assert (sync.source_offset, sync.target_offset, sync.target_repeated) == (60, 80, 20)

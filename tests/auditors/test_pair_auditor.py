"""An auditor on real clusters: both sides of Topics are read, compared, and what differs is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from confluent_kafka import KafkaError, KafkaException
from django.db import connections
from support.kafka import Clusters
from support.waiting import SLOWER, eventually

from hadash.auditing.findings import Kind
from hadash.auditors import pair_auditor
from hadash.auditors.assignments import TopicAuditor
from hadash.auditors.clusters import PairClusters
from hadash.auditors.ledger import Ledger
from hadash.auditors.models import AuditDifference, AuditedPartition
from hadash.auditors.pair_auditor import PairAuditor
from hadash.auditors.settings import AuditorSettings
from hadash.auditors.side_reader import SideReader, Taken
from hadash.auditors.versions import versions_of
from hadash.inventory.models import Cluster, Pair
from hadash.mirroring.models import Mirror, MirrorOffsetSync
from hadash.mirroring.signals import standby_renewed

from .board import NOW_MS, Board, rows

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True)]

SETTINGS = AuditorSettings(pair="main", look_seconds=0.3, note_seconds=0.2, settle_seconds=0.5)

Start = Callable[..., tuple[PairAuditor, TopicAuditor]]


@pytest.fixture
def start(board: Board) -> Iterator[Start]:
    """Start an auditor that has the Topic's partitions."""
    running: list[PairAuditor] = []

    def begin(
        name: str = "auditor-1", partitions: Sequence[int] = (0, 1), settings: AuditorSettings = SETTINGS
    ) -> tuple[PairAuditor, TopicAuditor]:
        pair = Pair.objects.select_related("first", "second").get(pk=board.pair.pk)
        auditor = PairAuditor(Ledger(pair, name), PairClusters(pair, settings), settings)
        topic = auditor.assignments.topic(board.topic)
        topic.assign(1, frozenset(partitions))
        auditor.start()
        running.append(auditor)
        return auditor, topic

    yield begin
    for auditor in running:
        auditor.stop(30 * SLOWER)
    connections.close_all()


def test_what_is_the_same_is_proved_equal(board: Board, start: Start) -> None:
    board.write_both(rows(0, 500))
    board.write_both(rows(0, 300), partition=1)
    start()
    eventually(
        lambda: board.compared_up_to(500, 500) and board.compared_up_to(300, 300, 1), "both partitions"
    )
    board.write_both(rows(500, 600))
    eventually(lambda: board.compared_up_to(600, 600), "what was written since")
    eventually(lambda: board.row().compared_at, "the time of the proof")
    row = board.row()
    assert (row.equal, row.different, row.source_begin) == (600, 0, 0)
    assert row.record_at is not None and abs(row.record_at.timestamp() * 1000 - (NOW_MS + 599)) < 1
    assert sum(window[1] for window in row.windows) == 600, "all records, by their time"
    assert row.auditor == "auditor-1" and board.found() == set()


def test_nothing_is_found_in_a_mirror_that_is_quicker_than_looks(board: Board, start: Start) -> None:
    """Records come to the target while the source, which was read before, does not show them yet."""
    start()
    with board.writing_both() as written:
        eventually(lambda: board.compared_up_to_at_least(100), "a hundred records")
        first = board.row().compared_at
        eventually(lambda: board.row().compared_at != first, "a later proof, while it is written")
        eventually(lambda: written() > 600, "six hundred records")
    eventually(lambda: board.compared_up_to(written(), written()), "all records")
    assert board.found() == set()
    assert (board.row().equal, board.row().different) == (written(), 0)


def test_every_planted_difference_is_found_and_no_other(board: Board, start: Start) -> None:
    source = rows(0, 1000)
    target = list(source)
    target[100] = (b"another value", *source[100][1:])
    target[200] = (source[200][0], [("number", b"other")], source[200][2])
    target[300] = (*source[300][:2], source[300][2] + 7)
    target[400], target[401] = target[401], target[400]
    del target[500]
    target.insert(600, source[600])
    board.write("east", source)
    board.write("west", target)
    start()
    eventually(lambda: board.compared_up_to(1000, 1000), "all records")
    assert board.found() == {
        (Kind.DIFFERENT, 100, 100),
        (Kind.HEADERS, 200, 200),
        (Kind.TIME, 300, 300),
        (Kind.REORDERED, 401, 400),
        (Kind.MISSING, 500, 500),
        (Kind.EXTRA, 601, 600),
    } or board.found() == {
        (Kind.DIFFERENT, 100, 100),
        (Kind.HEADERS, 200, 200),
        (Kind.TIME, 300, 300),
        (Kind.REORDERED, 400, 401),
        (Kind.MISSING, 500, 500),
        (Kind.EXTRA, 601, 600),
    }
    assert board.row().different == 6


def test_both_versions_can_be_read_again(board: Board, start: Start) -> None:
    board.write("east", [(b"original", [("a", b"1")], NOW_MS), *rows(0, 20)])
    board.write("west", [(b"altered", [("a", b"1")], NOW_MS), *rows(0, 20)])
    start()
    eventually(lambda: board.found() == {(Kind.DIFFERENT, 0, 0)}, "the difference")
    difference = AuditDifference.objects.select_related("audited__pair").get(audited__topic=board.topic)
    source, target = versions_of(difference, may_see=True)
    assert source.value and target.value and (source.value.text, target.value.text) == ("original", "altered")
    assert source.headers == target.headers and source.time == NOW_MS / 1000
    hidden, _ = versions_of(difference, may_see=False)
    assert hidden.value and (hidden.value.text, hidden.value.size) == (None, 8)
    difference.source_offset = 10**6
    assert not versions_of(difference, may_see=True)[0].is_there


def test_what_differs_at_the_end_of_an_idle_topic_is_told(board: Board, start: Start) -> None:
    """Nothing follows that could show it."""
    board.write_both(rows(0, 50))
    board.write_both(rows(0, 30), partition=1)
    board.write("west", [(b"too much", [], NOW_MS)])
    board.write("east", rows(30, 31), partition=1)
    board.write("west", [(b"altered", [("number", b"30")], NOW_MS + 30)], partition=1)
    start()
    eventually(lambda: board.found() == {(Kind.EXTRA, 50, 50), (Kind.DIFFERENT, 30, 30)}, "both differences")
    assert board.compared_up_to(50, 51) and board.compared_up_to(31, 31, 1)


def test_a_partition_goes_on_after_it_had_waited_for_the_other_side(board: Board, start: Start) -> None:
    """What waits is told to the client, which remembers it for partitions that are not read any more."""
    board.write("east", rows(0, 500))
    _, topic = start(settings=replace(SETTINGS, ahead_records=20))
    eventually(lambda: board.compared_up_to(0, 0) and board.row().waiting_since, "that it waits")
    topic.assign(2, frozenset())
    eventually(lambda: topic.reading().token == 2 and not topic.reading().running, "that it is given up")
    topic.assign(3, frozenset({0, 1}))
    board.write("west", rows(0, 500))
    eventually(lambda: board.compared_up_to(500, 500), "all records")


def test_a_partition_that_was_seen_before_it_could_be_compared_begins_at_its_point(
    board: Board, start: Start
) -> None:
    """Such as that of a mirror that is being rebuilt when auditors first see it."""
    Mirror.objects.update(turning=True)
    board.write("east", rows(0, 120))
    board.write("west", rows(100, 120))
    start()
    eventually(lambda: AuditedPartition.objects.filter(topic=board.topic, partition=0).exists(), "the reason")
    MirrorOffsetSync.objects.filter(partition=0).update(source_offset=100, target_offset=0)
    Mirror.objects.update(turning=False)
    eventually(lambda: board.compared_up_to(120, 20), "what was copied")
    assert board.found() == set() and (board.row().source_begin, board.row().equal) == (100, 20)


def test_a_standby_that_was_renewed_is_compared_from_the_start(board: Board, start: Start) -> None:
    board.write_both(rows(0, 50))
    board.write("west", [(b"too much", [], NOW_MS)])
    start()
    eventually(lambda: len(board.found()) == 1, "the difference")
    before = board.row().pk
    standby_renewed.send(Mirror, mirror=board.mirror)
    board.write_both(rows(50, 60))
    eventually(lambda: board.compared_up_to(60, 61) and len(board.found()) == 1, "that it is found again")
    assert board.row().pk != before and board.row().equal == 60


def test_differences_of_records_that_are_gone_are_forgotten(
    board: Board, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pair_auditor, "PRUNE_SECONDS", 0.2)
    board.write_both(rows(0, 50))
    board.write("west", [(b"too much", [], NOW_MS)])
    board.write_both(rows(50, 100))
    start()
    eventually(lambda: len(board.found()) == 1 and board.row().different == 1, "the difference")
    board.delete_before("east", 60)
    board.delete_before("west", 70)
    eventually(lambda: board.found() == set() and board.row().different == 0, "that it is forgotten")
    assert board.row().equal == 100, "nothing is compared again for that"


def test_a_cluster_with_another_address_is_connected_to_again(board: Board, start: Start) -> None:
    board.write_both(rows(0, 50))
    start()
    eventually(lambda: board.compared_up_to(50, 50), "the begin")
    west = board.pair.second
    Cluster.objects.filter(pk=west.pk).update(bootstrap_servers=f"{west.bootstrap_servers},127.0.0.1:1")
    board.write_both(rows(50, 90))
    eventually(lambda: board.compared_up_to(90, 90), "what was written since")
    assert board.row().equal == 90


def test_a_mirror_that_stands_still_is_told(board: Board, start: Start) -> None:
    board.write_both(rows(0, 50))
    board.write("east", rows(50, 60))
    start()
    eventually(lambda: board.compared_up_to(50, 50) and board.row().waiting_since, "the wait")
    assert board.found() == set(), "what may still come is not missing"
    board.write("west", rows(50, 60))
    eventually(
        lambda: board.compared_up_to(60, 60) and board.row().waiting_since is None, "the end of the wait"
    )


def test_the_next_auditor_goes_on_where_the_last_one_was(board: Board, start: Start) -> None:
    board.write_both(rows(0, 200))
    _, topic = start("first")
    eventually(lambda: board.compared_up_to(200, 200), "the first auditor")
    topic.stop()
    assert topic.is_closed(30 * SLOWER)
    board.write_both(rows(200, 300))
    start("second")
    eventually(lambda: board.compared_up_to(300, 300), "the second auditor")
    row = board.row()
    assert (row.equal, row.claim, row.auditor) == (300, 2, "second")


def test_what_an_auditor_writes_that_was_replaced_does_not_count(board: Board, start: Start) -> None:
    board.write_both(rows(0, 100))
    _, old = start("old")
    eventually(lambda: board.compared_up_to(100, 100), "the first auditor")
    start("new")
    eventually(lambda: board.row().auditor == "new", "the second auditor")
    board.write_both(rows(100, 150))
    eventually(lambda: board.compared_up_to(150, 150), "what was written since")
    eventually(lambda: old.reading().running.get(0) == -1, "that the first one notices")
    board.write_both(rows(150, 200))
    eventually(lambda: board.compared_up_to(200, 200), "what was written then")
    assert (board.row().equal, board.row().auditor) == (200, "new"), (
        "nothing was counted twice, nor taken back"
    )


def test_with_another_assignment_it_may_take_a_partition_back(board: Board, start: Start) -> None:
    board.write_both(rows(0, 100))
    _, old = start("old")
    eventually(lambda: board.compared_up_to(100, 100), "the first auditor")
    _, new = start("new")
    eventually(lambda: old.reading().running.get(0) == -1, "that the first one notices")
    new.stop()
    assert new.is_closed(30 * SLOWER)
    old.assign(2, frozenset({0, 1}))
    eventually(lambda: board.row().auditor == "old", "that it takes it back")


def test_a_topic_that_one_side_has_lost_holds_up_no_other(
    board: Board, start: Start, kafka: Clusters
) -> None:
    other = Board(kafka, board.pair)
    auditor, topic = start()
    another = auditor.assignments.topic(other.topic)
    another.assign(1, frozenset({0}))
    board.write_both(rows(0, 50))
    other.write_both(rows(0, 50))
    eventually(lambda: board.compared_up_to(50, 50) and other.compared_up_to(50, 50), "both Topics")
    for future in kafka.admin("west").delete_topics([board.topic]).values():
        future.result(20 * SLOWER)
    eventually(lambda: "does not have the partition" in str(board.row().fault), "why it is not compared")
    other.write_both(rows(50, 80))
    eventually(lambda: other.compared_up_to(80, 80), "the other Topic")
    assert topic.reading().running[0] == -1


def test_it_begins_again_when_something_unforeseen_happens(
    board: Board, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    board.write_both(rows(0, 50))
    start()
    eventually(lambda: board.compared_up_to(50, 50), "the begin")
    failing = iter([True])
    take = SideReader.take

    def odd(self: SideReader, seconds: float) -> Taken:
        if next(failing, False):
            raise RuntimeError("nobody has thought of this")
        return take(self, seconds)

    monkeypatch.setattr(SideReader, "take", odd)
    board.write_both(rows(50, 90))
    eventually(lambda: board.compared_up_to(90, 90), "what was written since")
    assert board.row().equal == 90


def test_the_other_direction_after_a_switch(board: Board, start: Start) -> None:
    board.write_both(rows(0, 100))
    board.write("west", rows(0, 20), partition=1)  # (so that the offsets of both sides differ)
    MirrorOffsetSync.objects.filter(partition=1).update(target_offset=20)
    board.write_both(rows(0, 100), partition=1)
    start()
    eventually(
        lambda: board.compared_up_to(100, 100) and board.compared_up_to(100, 120, 1), "before the switch"
    )
    Mirror.objects.update(turning=True)
    eventually(lambda: "turned round" in str(board.row().fault), "why nothing is compared")
    board.write_both(rows(100, 130), partition=1)
    Mirror.objects.update(source=board.pair.second, turning=False)
    for sync in MirrorOffsetSync.objects.all():
        sync.source_offset, sync.target_offset = sync.target_offset, sync.source_offset
        sync.save()
    eventually(lambda: board.compared_up_to(150, 130, 1), "after the switch")
    row = board.row(1)
    assert (row.source, row.equal, row.source_begin, row.target_begin) == (board.pair.second, 130, 20, 0)
    assert board.found() == set()


def test_records_that_one_side_has_deleted_are_left_out_and_that_is_told(board: Board, start: Start) -> None:
    board.write_both(rows(0, 100))
    board.delete_before("west", 40)
    start()
    eventually(lambda: board.compared_up_to(100, 100), "what both sides hold")
    row = board.row()
    assert (row.source_begin, row.equal, row.source_start) == (40, 60, 0) and board.found() == set()


def made_again(kafka: Clusters, topic: str) -> bool:
    """Whether west has the Topic again: a broker takes a moment to delete the old one."""
    try:
        kafka.create_topic(topic, 2, on=["west"])
    except KafkaException as error:
        assert error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
        return False
    return True


def test_a_standby_that_is_built_again_is_compared_from_its_begin(
    board: Board, start: Start, kafka: Clusters
) -> None:
    board.write_both(rows(0, 100))
    board.write("west", [(b"too much", [], NOW_MS)])
    board.write_both(rows(100, 120))
    _, topic = start()
    eventually(lambda: board.compared_up_to(120, 121), "the first standby")
    assert len(board.found()) == 1
    Mirror.objects.update(rebuilding=True)
    eventually(lambda: topic.reading().running == {0: -1, 1: -1}, "the end of reading")
    board.delete_before("east", 90)
    for future in kafka.admin("west").delete_topics([board.topic]).values():
        future.result(20 * SLOWER)
    eventually(lambda: made_again(kafka, board.topic), "the Topic, made again")
    board.write("west", rows(90, 120))
    MirrorOffsetSync.objects.filter(partition=0).update(source_offset=90, target_offset=0)
    Mirror.objects.update(rebuilding=False)
    eventually(lambda: board.compared_up_to(120, 30), "the new standby")
    assert board.row().source_begin == 90 and board.found() == set()


def test_a_compacted_topic_is_not_compared_and_says_why(board: Board, start: Start, kafka: Clusters) -> None:
    for cluster in ("east", "west"):
        kafka.set_topic_configs(cluster, board.topic, **{"cleanup.policy": "compact"})
    board.write_both(rows(0, 10))
    start()
    eventually(lambda: AuditedPartition.objects.filter(topic=board.topic, partition=0).exists(), "the reason")
    assert "compacted" in str(board.row().fault) and board.row().compared_at is None


def test_without_a_mirror_nothing_is_read(board: Board, start: Start) -> None:
    Mirror.objects.all().delete()
    _, topic = start()
    eventually(lambda: topic.reading().token == 1, "the assignment")
    assert topic.reading().running == {0: -1, 1: -1} and not AuditedPartition.objects.exists()

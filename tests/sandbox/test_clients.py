"""The witness of ``make clients-check``: what it finds wrong, what it takes for clean, and the world it runs in."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.switching.machines.switches import Kind
from hadash.switching.stages.answers import UsedAssignors
from hadash.switching.stages.precheck import check_assignors
from hadash.switching.stages.reading_on import check_reading_on
from hadash.switching.stages.run import Limits, StageFailed
from hadash_sandbox.clients import check as clients_of_many
from hadash_sandbox.clients import groups, installing
from hadash_sandbox.clients.check import exit_faults, table, there_and_back
from hadash_sandbox.clients.groups import await_committed
from hadash_sandbox.clients.judging import REFUSED, Cell, Logged, judge, unread
from hadash_sandbox.clients.libraries import (
    LIBRARY_NAMES,
    OFFSETS,
    PHASES,
    SCOPES,
    WITHOUT_PROGRAMS,
    Phase,
    world,
)
from hadash_sandbox.clients.reading import logged_of
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import RequestRefused
from hadash_sandbox.traffic import program, tool
from hadash_sandbox.traffic.journal import Journal, Run, Writer, load
from hadash_sandbox.traffic.log_reader import Position, Sides
from hadash_sandbox.traffic.records import Headers, damage, headers_of, place
from hadash_sandbox.traffic.verdict import journal_faults
from hadash_sandbox.trial import Measured
from hadash_sandbox.worlds import world_named

#: Ten records of one key.
TEN = [Logged("a", number) for number in range(10)]


def wrote(first: int = 0, last: int = 9) -> Journal:
    return Journal("writer", acked=[Run("a", first, last, 0, 1)])


def read(*runs: tuple[int, int]) -> Journal:
    return Journal("reader", read=[Run("a", first, last, 0, 1) for first, last in runs])


def judged(
    log: list[Logged], reader: Journal, writer: Journal | None = None, mirrored: list[Logged] | None = None
) -> Cell:
    cell = Cell("sarama", "equal", "appid", write_pause=0.1, read_pause=0.2)
    judge(cell, writer or wrote(), reader, log, log if mirrored is None else mirrored)
    return cell


class TestJudging:
    def test_all_written_once_in_order_and_read_once(self) -> None:
        cell = judged(TEN, read((0, 9)))
        assert (cell.acked, cell.clean, cell.examples) == (10, True, [])

    def test_acknowledged_and_not_in_the_log_is_lost(self) -> None:
        cell = judged(TEN[:8], read((0, 9)))
        assert (cell.lost, cell.clean) == (2, False)
        assert cell.examples == ["lost: a 8, a 9"]

    def test_twice_in_the_log_is_doubled_and_may_be_read_twice(self) -> None:
        cell = judged([*TEN[:5], TEN[4], *TEN[5:]], read((0, 4), (4, 9)))
        assert (cell.doubled, cell.consumed_twice, cell.out_of_order, cell.clean) == (1, 0, 0, False)

    def test_behind_a_later_one_of_its_key_is_out_of_order(self) -> None:
        cell = judged([TEN[0], TEN[2], TEN[1], *TEN[3:]], read((0, 9)))
        assert (cell.out_of_order, cell.clean) == (1, False)

    def test_read_twice_though_it_is_in_the_log_once(self) -> None:
        cell = judged(TEN, read((0, 6), (4, 9)))
        assert (cell.consumed_twice, cell.clean) == (3, False)

    def test_in_the_log_and_never_read_is_skipped(self) -> None:
        cell = judged(TEN, read((0, 3), (6, 9)))
        assert (cell.skipped, cell.lost, cell.clean) == (2, 0, False)

    def test_damaged_in_the_log_or_as_it_was_read(self) -> None:
        reader = read((0, 9))
        reader.damaged = [("a", 1, "header None"), ("a", 2, "header None")]
        cell = judged([*TEN[:2], Logged("a", 2, "header b'x'"), *TEN[3:]], reader)
        assert (cell.damaged, cell.clean) == (2, False)

    def test_other_records_on_the_other_cluster_are_damage(self) -> None:
        lacks = judged(TEN, read((0, 9)), mirrored=TEN[:9])
        more = judged(TEN, read((0, 9)), mirrored=[*TEN, TEN[9]])
        otherwise = judged(TEN, read((0, 9)), mirrored=[*TEN[:9], Logged("a", 9, "header None")])
        assert [cell.damaged for cell in (lacks, more, otherwise)] == [1, 1, 1]
        assert lacks.examples == ["damaged: ('a', 9) not the same on both clusters"]

    @pytest.mark.parametrize(
        "copy",
        [
            Logged("a", 9, partition=1),
            Logged("a", 9, timestamp=(1, 1)),
            Logged("a", 9, content=b"another key"),
        ],
        ids=["partition", "time", "content"],
    )
    def test_a_copy_with_another_partition_time_or_content_is_damage(self, copy: Logged) -> None:
        cell = judged(TEN, read((0, 9)), mirrored=[*TEN[:9], copy])
        assert (cell.damaged, cell.clean) == (1, False)

    def test_the_same_records_in_another_order_on_the_other_cluster(self) -> None:
        """Of two keys in one partition: each key is in order on both clusters."""
        other = Logged("b", 0)
        cell = judged([other, *TEN], read((0, 9)), mirrored=[TEN[0], other, *TEN[1:]])
        assert (cell.out_of_order, cell.damaged, cell.clean) == (2, 0, False)

    def test_a_key_in_two_partitions_has_no_order(self) -> None:
        cell = judged([*TEN[:9], Logged("a", 9, partition=1)], read((0, 9)))
        assert (cell.out_of_order, cell.clean) == (1, False)
        assert cell.examples == ["out of order: a 9"]

    def test_partitions_of_one_log_are_compared_by_themselves(self) -> None:
        """They are read from both clusters at once, in whatever order."""
        other = [Logged("b", number, partition=1) for number in range(2)]
        reader = read((0, 9))
        reader.read.append(Run("b", 0, 1, 0, 1))
        writer = wrote()
        writer.acked.append(Run("b", 0, 1, 0, 1))
        cell = judged([*TEN, *other], reader, writer, mirrored=[other[0], *TEN, other[1]])
        assert (cell.out_of_order, cell.damaged, cell.clean) == (0, 0, True)

    def test_read_in_another_order_than_the_log_has(self) -> None:
        cell = judged(TEN, read((0, 3), (5, 5), (4, 4), (6, 9)))
        assert (cell.out_of_order, cell.consumed_twice, cell.skipped, cell.clean) == (1, 0, 0, False)
        assert cell.examples == ["out of order: a 4"]

    def test_a_record_whose_producer_was_not_answered(self) -> None:
        """Whether it says so, or the record is in the log all the same, or its number is missing among the others."""
        says = wrote()
        says.unknown = [("a", 10, "no answer 15 s after the last record was sent")]
        in_log = judged([*TEN, Logged("a", 10)], read((0, 10)))
        hole = wrote(0, 5)
        hole.acked.append(Run("a", 7, 9, 0, 1))
        cells = [
            judged(TEN, read((0, 9)), says),
            in_log,
            judged([*TEN[:6], *TEN[7:]], read((0, 5), (7, 9)), hole),
        ]
        assert [(cell.unknown, cell.lost, cell.clean) for cell in cells] == [(1, 0, False)] * 3
        assert [cell.examples for cell in cells] == [
            ["fate not known: a 10"],
            ["fate not known: a 10"],
            ["fate not known: a 6"],
        ]

    def test_a_record_that_failed_has_a_known_fate(self) -> None:
        writer = wrote()
        writer.failed = [("a", 10, "timed out")]
        cell = judged([*TEN, Logged("a", 10)], read((0, 10)), writer)
        assert (cell.failed, cell.unknown, cell.clean) == (1, 0, False)

    def test_a_producer_that_was_started_again_has_left_numbers_out(self) -> None:
        writer = wrote()
        writer.acked.append(Run("a", 10_010, 10_011, 2, 3))
        writer.restarts = ["the program ended by itself with exit code 1"]
        log = [*TEN, Logged("a", 10_010), Logged("a", 10_011)]
        cell = judged(log, read((0, 9), (10_010, 10_011)), writer)
        assert (cell.unknown, cell.restarts, cell.clean) == (0, 1, False)

    def test_a_strangers_record_is_a_damaged_one(self) -> None:
        """A tool that prints values only cannot say more of one that is no number."""
        reader = read((0, 9))
        reader.strangers = [("orders", -1, -1, "1x")]
        cell = judged(TEN, reader)
        assert (cell.damaged, cell.clean) == (1, False)

    def test_what_its_application_saw_of_failures(self) -> None:
        writer, reader = wrote(), read((0, 9))
        writer.failed = [("a", 10, "timed out")]
        reader.restarts = ["the program ended by itself with exit code 1"]
        cell = judged(TEN, reader, writer)
        assert (cell.failed, cell.restarts, cell.clean) == (1, 1, False)

    def test_a_consumer_whose_application_saw_an_error_is_not_clean(self) -> None:
        reader = read((0, 9))
        reader.failed = [("", -1, "group authorization failed")]
        cell = judged(TEN, reader)
        assert (cell.failed, cell.clean) == (1, False)
        assert cell.examples == ["failed: group authorization failed"]

    def test_what_its_programs_said_of_errors_is_in_the_report(self) -> None:
        writer, reader = wrote(), read((0, 9))
        writer.notes, reader.notes = ["timed out", "timed out"], ["no such group"]
        cell = judged(TEN[:8], reader, writer)
        assert cell.described()["said"] == {"writer: timed out": 2, "reader: no such group": 1}
        assert "said 2 times by writer: timed out" in table([cell])

    def test_what_nobody_has_read_yet(self) -> None:
        assert unread(wrote(), read((0, 3), (6, 9))) == 2
        assert unread(wrote(), read((0, 9))) == 0


class Scripted(Sides):
    """Both clusters, with what each look at a group finds."""

    def __init__(self, *found: Position | str) -> None:
        super().__init__({})
        self.found = list(found)

    def position(self, group: str, topics: Iterable[str]) -> Position | str:
        return self.found.pop(0) if len(self.found) > 1 else self.found[0]


class TestGroups:
    """What a group has committed after a move."""

    WHERE = ("orders", 0)

    @pytest.fixture(autouse=True)
    def at_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(groups, "LOOK_SECONDS", 0)

    def on(self, cluster: str, committed: int, end: int) -> Position:
        return Position(cluster, {self.WHERE: committed}, {self.WHERE: end})

    def test_what_was_there_at_the_first_look_has_to_be_committed(self) -> None:
        """Its producer writes on: the end of each later look is another one."""
        sides = Scripted(
            "group readers has members on no cluster", self.on("west", 4, 5), self.on("west", 5, 9)
        )
        assert await_committed(sides, "west", {"readers": ["orders"]}, 60) == {}

    @pytest.mark.parametrize(
        ("committed", "cluster", "fault"),
        [
            (4, "west", "group readers on west has not read on: orders/0 committed 4 of 5"),
            (5, "east", "group readers has members on east, not on west"),
        ],
    )
    def test_a_group_that_does_not_come_there_is_named(
        self, committed: int, cluster: str, fault: str
    ) -> None:
        sides = Scripted(self.on(cluster, committed, 5))
        assert await_committed(sides, "west", {"readers": ["orders"]}, 0) == {"readers": fault}

    def test_so_is_one_with_members_on_both(self) -> None:
        split = "group readers has members on east and west"
        assert await_committed(Scripted(split), "west", {"readers": ["orders"]}, 0) == {"readers": split}


class TestReading:
    """What is noted of a record as a cluster holds it."""

    @staticmethod
    def logged(**other: Any) -> Logged:
        said = {
            "key": b"orders/1",
            "value": b"13",
            "headers": headers_of(13),
            "partition": 2,
            "timestamp": (1, 5000),
            **other,
        }
        message: Any = SimpleNamespace(
            **{name: partial(lambda value: value, value) for name, value in said.items()}
        )
        return logged_of(message, "orders", "sarama")

    def test_its_place_its_time_and_all_that_it_consists_of(self) -> None:
        record = self.logged()
        assert (record.key, record.number, record.damage, record.partition) == ("orders/1", 2, "", 2)
        assert self.logged() == record
        assert record not in [
            self.logged(**other)
            for other in ({"key": b"orders/2"}, {"timestamp": (1, 5001)}, {"partition": 1})
        ]


class TestCells:
    def test_a_cell_that_was_not_measured_is_not_clean(self) -> None:
        assert not Cell("sarama", "equal", "appid").clean
        assert not Cell("sarama", "equal", "appid", fault="no progress").clean

    def test_nor_is_one_in_which_nothing_was_written(self) -> None:
        assert not Cell("sarama", "equal", "appid", write_pause=0.0, read_pause=0.0).clean

    def test_what_a_library_reads_again_at_any_rebalance_is_its_own(self) -> None:
        """kafka-go: one record each, there and back."""
        clean = {}
        for library, twice in (("kafka-go", 2), ("kafka-go", 3), ("sarama", 1)):
            cell = judged(TEN, read((0, 9), *((n, n) for n in range(twice))))
            cell.library = library
            clean[library, twice] = (cell.consumed_twice, cell.clean)
        assert clean == {("kafka-go", 2): (2, True), ("kafka-go", 3): (3, False), ("sarama", 1): (1, False)}

    def test_what_a_library_sends_again_in_another_order_is_shown_and_not_counted(self) -> None:
        """Until 1.46 Sarama does so after any failure."""
        swapped = [*TEN[:4], TEN[5], TEN[4], *TEN[6:]]
        clean = {}
        for library in ("sarama-1.40", "sarama"):
            cell = judged(swapped, read((0, 9)))
            cell.library = library
            clean[library] = (cell.out_of_order, cell.clean)
        assert clean == {"sarama-1.40": (1, True), "sarama": (1, False)}

    def test_a_refusal_is_clean_only_of_what_hadash_says_it_cannot_move(self) -> None:
        why = "The request was refused (409): Cooperative rebalancing cannot be moved yet: readers."
        expected, other = (Cell(library, "equal", "appid", refused=why) for library in ("franz-go", "sarama"))
        assert (expected.clean, other.clean) == (True, False)
        text = table([expected, other])
        assert f"  refused: {why}" in text
        assert f"  REFUSED: {why}" in text
        assert text.endswith("2 cells, 1 bad.")

    def test_it_is_clean_only_where_offsets_are_as_the_reason_says(self) -> None:
        why = (
            "application go on from their own positions when they rejoin their group: they would ask west for the "
            "offsets of east"
        )
        equal, shifted = (Cell("platformatic", offsets, "appid", refused=why) for offsets in OFFSETS)
        assert (equal.clean, shifted.clean) == (False, True)

    def test_and_only_for_that_reason(self) -> None:
        assert not Cell("franz-go", "equal", "appid", refused="Cluster west does not answer").clean

    def test_what_hadash_says_it_refuses_is_not_clean_when_it_was_moved(self) -> None:
        cell = judged(TEN, read((0, 9)))
        assert cell.clean
        cell.library, cell.offsets = "platformatic", "shifted"
        assert not cell.clean
        assert "MOVED, and hadash says that it refuses to" in table([cell])

    @staticmethod
    def asked(outcome: Measured | SandboxError) -> Cell:
        """A cell of which the first switch has this outcome."""

        def switch(*asked: Any) -> Measured:
            if isinstance(outcome, SandboxError):
                raise outcome
            return outcome

        cell = Cell("franz-go", "equal", "appid")
        trial: Any = SimpleNamespace(switch=switch, clients=())
        assert (
            list(there_and_back(trial, {"franz-go": cell}, "equal-appid-franz-go", None, Scripted(""), {}))
            == []
        )
        return cell

    def test_only_a_request_that_is_not_taken_is_refused(self) -> None:
        why = "Cooperative rebalancing cannot be moved yet: readers."
        assert self.asked(RequestRefused(409, why)).clean
        stages = {"precheck": 0.1}
        cell = self.asked(Measured("shop", "east", "west", "aborted", why, stages, {}, {}, {}, {}, None))
        assert (cell.refused, cell.fault, cell.clean) == ("", f"The switch to west aborted: {why}", False)

    def test_a_server_that_does_not_answer_refuses_nothing(self) -> None:
        with pytest.raises(RequestRefused, match="503"):
            self.asked(RequestRefused(503, "Cooperative rebalancing cannot be moved yet"))

    def test_reasons_are_what_the_checks_say(self) -> None:
        """Whatever they are put into, the words stand in the sentences of the guards."""
        plan: Any = SimpleNamespace(kind=Kind.PLANNED, source="east", target="west")
        points = {Partition("orders", 0): OffsetSync(10, 0)}
        cooperative = check_assignors(plan, Limits())
        cooperative.send(None)
        reading_on = check_reading_on(plan, Limits(), points)
        reading_on.send(None)
        with pytest.raises(StageFailed) as of_assignors:
            while True:
                cooperative.send(UsedAssignors(("readers",)))
        with pytest.raises(StageFailed) as of_reading_on:
            reading_on.send(["application"])
        assert REFUSED["franz-go", "equal"] in str(of_assignors.value)
        assert REFUSED["franz-go", "shifted"] in str(of_assignors.value)
        assert REFUSED["platformatic", "shifted"] in str(of_reading_on.value)
        assert REFUSED["kafka-python", "shifted"] in str(of_reading_on.value)

    def test_the_table_names_what_is_bad(self) -> None:
        text = table([judged(TEN, read((0, 9))), judged(TEN[:8], read((0, 9)))])
        good, bad, example = text.splitlines()[1:4]
        assert "BAD" not in good
        assert bad.endswith("BAD")
        assert example.strip() == "lost: a 8, a 9"
        assert text.endswith("2 cells, 1 bad.")


class TestTheReport:
    """What ``make clients-check`` writes, and ends with."""

    @pytest.fixture
    def check(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[int, Any]]:
        """Its exit code and what it has written, with these cells measured; an earlier run has left a file."""
        path = tmp_path / "var" / "bench" / "clients.json"
        path.parent.mkdir(parents=True)
        path.write_text('{"ok": true}')

        def run(*cells: Cell | SandboxError) -> tuple[int, Any]:
            def measure(*asked: Any) -> list[Cell]:
                assert not path.exists()
                for cell in cells:
                    if isinstance(cell, SandboxError):
                        raise cell
                return [cell for cell in cells if isinstance(cell, Cell)]

            monkeypatch.setattr(clients_of_many, "measure", measure)
            code = clients_of_many.clients_check()
            return code, json.loads(path.read_text())

        monkeypatch.setattr(clients_of_many, "ROOT", tmp_path)
        return run

    def test_a_goal_for_each_cell(self, check: Callable[..., tuple[int, Any]]) -> None:
        refused = Cell(
            "franz-go", "equal", "appid", refused="Cooperative rebalancing cannot be moved yet: readers."
        )
        code, written = check(judged(TEN, read((0, 9))), refused)
        assert code == 0
        assert written["goals"] == [
            {
                "name": "sarama, equal offsets, by appid: wrong records and restarts",
                "goal": 0,
                "measured": 0,
                "unit": "faults",
                "met": True,
            },
            {
                "name": "franz-go, equal offsets, by appid: refused when asked for",
                "goal": 1,
                "measured": 1,
                "unit": "refusals",
                "met": True,
            },
        ]
        assert [cell["library"] for cell in written["cells"]] == ["sarama", "franz-go"]

    @pytest.mark.parametrize(
        ("cells", "measured"),
        [
            ([judged(TEN[:8], read((0, 9)))], [2]),
            ([Cell("sarama", "equal", "appid", fault="no progress")], [None]),
            ([Cell("sarama", "equal", "appid", refused="Cluster west does not answer")], [None]),
            ([Cell("franz-go", "equal", "appid", refused="Cluster west does not answer")], [0]),
            ([], []),
        ],
        ids=["lost", "not measured", "refused", "refused for another reason", "nothing"],
    )
    def test_one_that_is_missed_or_not_measured_ends_it_with_an_error(
        self, check: Callable[..., tuple[int, Any]], cells: list[Cell], measured: list[int | None]
    ) -> None:
        code, written = check(*cells)
        assert code == 1
        assert [goal["measured"] for goal in written["goals"]] == measured
        assert not any(goal["met"] for goal in written["goals"])

    def test_a_run_that_fails_leaves_no_earlier_result(
        self, check: Callable[..., tuple[int, Any]], tmp_path: Path
    ) -> None:
        with pytest.raises(SandboxError, match="go is not installed"):
            check(SandboxError("go is not installed"))
        assert not (tmp_path / "var" / "bench" / "clients.json").exists()


class TestWorld:
    def test_each_library_has_topics_of_its_own_in_each_phase(self) -> None:
        made = world()
        assert len(made.topics) == len(LIBRARY_NAMES) * len(PHASES) == len(made.clients) // 2

    def test_of_some_libraries_nothing_else_is_mirrored(self) -> None:
        """A Topic that nobody uses would hold up the others of its mirror."""
        made = world_named("libraries:sarama,franz-go")
        assert {topic.partition(".")[2] for topic in made.topics} == {"sarama", "franz-go"}
        assert {topic for mirrored in made.mirrors.values() for topic in mirrored} == set(made.topics)

    def test_what_moves_together_is_mirrored_together_and_nothing_else_is(self) -> None:
        """One that is refused moves with no other, nor do two of them: each would hold up the rest."""
        mirrored = [set(topics) for topics in world().mirrors.values()]
        wanted = []
        for phase in PHASES:
            alone = [[name] for name in LIBRARY_NAMES if (name, phase.offsets) in REFUSED]
            together = [name for name in LIBRARY_NAMES if [name] not in alone]
            wanted += [{s.topics[0] for s in phase.clients(names)} for names in (together, *alone)]
        assert sorted(mirrored, key=sorted) == sorted(wanted, key=sorted)

    def test_an_instance_is_the_client_id_of_all_that_move_with_it(self) -> None:
        for phase in (Phase(offsets, "instance") for offsets in OFFSETS):
            for spec in phase.clients(LIBRARY_NAMES):
                assert (spec.appid, spec.client_id) == phase.what_moves(spec.library)
                assert spec.client_id in world().instances[spec.appid]

    @pytest.mark.parametrize("scope", SCOPES)
    def test_platformatic_is_held_back_only_where_it_is_refused(self, scope: str) -> None:
        together = [
            Phase(offsets, scope).what_moves("platformatic") == Phase(offsets, scope).what_moves("sarama")
            for offsets in ("equal", "shifted")
        ]
        assert together == [True, False]

    def test_topics_of_shifted_phases_had_records_before(self) -> None:
        made = world()
        assert made.shifted == {topic for topic in made.topics if topic.startswith("shifted-")}
        assert len(made.shifted) == len(made.topics) // 2


class TestInstalling:
    def test_each_library_has_a_program_or_needs_none(self) -> None:
        programs = installing.GO_PROGRAMS.keys() | installing.NODE_PROGRAMS.keys()
        assert programs | set(WITHOUT_PROGRAMS) == set(LIBRARY_NAMES)
        assert not programs & set(WITHOUT_PROGRAMS)

    def test_what_each_is_made_of_is_there_with_its_lock_file(self) -> None:
        for package, versions in installing.GO_PROGRAMS.values():
            assert (installing.SOURCES / "go" / package / "main.go").is_file()
            assert (installing.SOURCES / "go" / versions).with_suffix(".sum").is_file()
        for file in (*installing.NODE_PROGRAMS.values(), "package-lock.json"):
            assert (installing.SOURCES / "node" / file).is_file()

    @pytest.mark.parametrize(("library", "program"), [("kafka-go", "go"), ("kafkajs", "npm")])
    def test_without_go_or_node_it_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch, library: str, program: str
    ) -> None:
        monkeypatch.setattr(shutil, "which", lambda name: None)
        with pytest.raises(SandboxError, match=rf"^{program} is not installed\. .* install Go 1\.26"):
            installing.install([library])

    def test_libraries_of_python_and_java_need_neither(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda name: None)
        installing.install(WITHOUT_PROGRAMS)


@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_what_the_clients_in_go_share() -> None:
    """Its own tests, which need nothing but Go. (Sarama's client calls Consume again after an error.)"""
    environment = {**os.environ, **installing.go_environment()}
    command = ["go", "test", "-mod=readonly", "./bridge"]
    done = subprocess.run(
        command, cwd=installing.SOURCES / "go", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


class TestRecords:
    def test_a_header_that_came_as_it_was_written(self) -> None:
        assert damage(13, headers_of(13)) == ""

    @pytest.mark.parametrize("headers", [None, [], headers_of(12), [("check", b"AP8xMw==")]])
    def test_one_that_did_not(self, headers: Headers | None) -> None:
        assert damage(13, headers).startswith("header ")


class TestProgram:
    """A client that is a program of its own."""

    SAYS = "import sys; print('1'); print('no number'); print('why', file=sys.stderr)"

    def test_what_it_says_is_heard_and_the_rest_is_noted(self, tmp_path: Path) -> None:
        heard: list[int] = []
        journal = Writer(tmp_path / "tool.jsonl", "read", {})
        code = tool.run(
            [sys.executable, "-c", self.SAYS], lambda line: heard.append(int(line)), journal, lambda: False
        )
        journal.close()
        assert (heard, code) == ([1], 0)
        assert sorted(load(tmp_path / "tool.jsonl").notes) == ["no number", "why"]

    def test_what_a_client_says_that_is_of_no_record_ends_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Not even where it is JSON."""
        lines = ['"warning"', "[1]", '{"level": "error"}', '{"n": null, "error": "no group"}', '{"n": 3}']
        says = f"print({chr(10).join(lines)!r})"
        monkeypatch.setattr(program, "command", lambda _: [sys.executable, "-c", says])
        monkeypatch.setattr(program, "AGAIN_SECONDS", 0)
        journal = Writer(tmp_path / "program.jsonl", "read", {})
        options = SimpleNamespace(
            topic=["orders"],
            role="consume",
            bootstrap="",
            user="",
            client_id="",
            group="g",
            rate=1,
            config=[],
        )
        heard: list[int | None] = []

        def run(
            command: list[str], hear: Callable[[str], None], journal: Writer, wanted: object
        ) -> int | None:
            heard.append(tool_run(command, hear, journal, lambda: False))
            return heard[-1]

        tool_run = tool.run
        monkeypatch.setattr(tool, "run", run)
        program.run("kafkajs", options, journal, lambda: bool(heard))  # type: ignore[arg-type]
        journal.close()
        found = load(tmp_path / "program.jsonl")
        assert heard == [0]
        assert found.notes == lines[:3]
        assert found.failed == [("", -1, "no group")]
        assert [(run.first, run.last) for run in found.read] == [(place("orders", 3)[1],) * 2]

    def test_a_line_that_cannot_be_taken_in_is_a_fault_and_not_the_end(self, tmp_path: Path) -> None:
        heard: list[str] = []

        def hear(line: str) -> None:
            heard.append(line)
            if line == "1":
                raise KeyError("n")

        journal = Writer(tmp_path / "tool.jsonl", "read", {})
        tool.run([sys.executable, "-c", "print('1'); print('2')"], hear, journal, lambda: False)
        journal.close()
        assert heard == ["1", "2"]
        (said,) = load(tmp_path / "tool.jsonl").unfinished
        assert said == "what the program said could not be taken in (KeyError('n')): 1"

    def test_one_that_is_to_stop_has_not_ended_by_itself(self, tmp_path: Path) -> None:
        heard: list[str] = []
        journal = Writer(tmp_path / "tool.jsonl", "read", {})
        wait = "import signal; print('ready', flush=True); signal.pause()"
        code = tool.run([sys.executable, "-c", wait], heard.append, journal, lambda: bool(heard))
        journal.close()
        assert code is None

    @pytest.mark.parametrize(
        ("code", "faults"),
        [
            (0, []),
            (143, []),
            (1, ["tool did not finish: the program was told to end, and ended with exit code 1"]),
        ],
        ids=["well", "as a JVM does", "with an error"],
    )
    def test_how_it_ends_when_it_is_told_to(self, tmp_path: Path, code: int, faults: list[str]) -> None:
        """Its last words may be that it could not close, and so not write, what was under way."""
        heard: list[str] = []
        journal = Writer(tmp_path / "tool.jsonl", "read", {})
        ends = (
            f"import os, signal; signal.signal(signal.SIGTERM, lambda *_: os._exit({code})); "
            "print('ready', flush=True); signal.pause()"
        )
        assert tool.run([sys.executable, "-c", ends], heard.append, journal, lambda: bool(heard)) is None
        journal.close()
        assert journal_faults(load(tmp_path / "tool.jsonl")) == faults

    def test_a_client_that_was_killed_or_failed_in_the_end_is_named(self) -> None:
        assert exit_faults({"writer": 0, "reader": 0}) == []
        killed, failed = exit_faults({"writer": -9, "reader": 1})
        assert killed.startswith("Client writer ended with signal SIGKILL: ")
        assert failed.startswith("Client reader ended with exit code 1: ")

    def test_damage_and_restarts_are_read_back(self, tmp_path: Path) -> None:
        journal = Writer(tmp_path / "tool.jsonl", "read", {})
        journal.damaged("a", 3, "header None")
        journal.restart("it ended")
        journal.close()
        found = load(tmp_path / "tool.jsonl")
        assert (found.damaged, found.restarts) == ([("a", 3, "header None")], ["it ended"])
        assert json.loads((tmp_path / "tool.jsonl").read_text().splitlines()[1]) == {
            "damaged": ["a", 3, "header None"]
        }

"""What judges a cell, and what makes a fault hit where it is to hit, without servers; and one cell with all of them."""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path
from typing import Any

import pytest
from switching.walking import run_stage, world_before

from hadash.switching.machines.switches import WAY, Stage
from hadash.switching.stages.command import Command, Together
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fault import run
from hadash_sandbox.fault.cell import ATTEMPTS, Cells
from hadash_sandbox.fault.faults import FAULTS, Fault, late_writes
from hadash_sandbox.fault.gate import Gate
from hadash_sandbox.fault.outcome import Outcome, Row, outcome_of, standstill
from hadash_sandbox.fault.points import AT_WRITES, WITHIN, Point, Points
from hadash_sandbox.traffic.verdict import GroupVerdict


def parts_of(command: Command[Any]) -> tuple[Command[Any], ...]:
    return command.commands if isinstance(command, Together) else (command,)


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        ("succeeded", Outcome.SUCCEEDED),
        ("rolled_back", Outcome.RETURNED),
        ("needs_attention", Outcome.PERSON),
        ("running", Outcome.NEVER),
        ("approved", Outcome.NEVER),
    ],
)
def test_an_outcome_is_what_the_page_says(status: str, outcome: Outcome) -> None:
    assert outcome_of(status) is outcome
    assert outcome_of(status, reached=False) is Outcome.NOT_REACHED


def row(outcome: Outcome = Outcome.RETURNED, **values: object) -> Row:
    return Row("redis", "block", outcome, **values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "clean", "person"),
    [
        (row(), True, False),
        (row(Outcome.SUCCEEDED), True, False),
        (row(lost=1), False, False),
        (row(duplicated=1), False, False),
        (row(Outcome.PERSON), False, True),
        (row(Outcome.NEVER), False, False),
        (row(Outcome.NOT_REACHED), False, False),
        (row(manual="The request was refused"), False, True),
        (row(ended=["worker"]), False, False),
        (row(out_of_order=1), False, False),
        (row(ambiguous=1), False, False),
        (row(late_writes=["bindings of shop: a → b"]), False, False),
    ],
)
def test_a_row_is_clean_only_without_losses_and_people(found: Row, clean: bool, person: bool) -> None:
    assert (found.clean, found.person) == (clean, person)


def test_what_somebody_has_to_do_comes_first_in_the_note() -> None:
    assert row(manual="m", notes=["a", "b"]).values()["note"] == "MANUAL: m; a; b"
    assert row(late_writes=["w"], manual="m").values()["note"] == "WRITTEN WITH AN OLD TOKEN: w; MANUAL: m"
    assert row(ended=["worker", "beat"], notes=["a"]).values()["note"] == "ENDED TOO: worker, beat; a"


def test_a_standstill_that_began_before_the_fault_counts_when_it_ends_after_it() -> None:
    gaps = [(1.0, 4.0), (9.0, 11.5), (12.0, 12.1)]
    assert standstill(gaps, since=10.0, least=1.0) == (11.5, 2.5)
    assert standstill(gaps, since=11.6, least=1.0) == (0.0, 0.0)


class TestLateWrites:
    """What a worker that has lost its token has changed all the same."""

    @pytest.mark.parametrize(
        ("before", "after"), [({"epoch": "1"}, {"epoch": "2"}), ({}, {"epoch": "2"}), ({"epoch": "1"}, {})]
    )
    def test_any_change_of_bindings_and_connectors(
        self, before: dict[str, str], after: dict[str, str]
    ) -> None:
        (found,) = late_writes(before, after, {}, {})
        assert found.startswith("epoch: ")

    def test_an_offset_that_goes_back_or_is_gone(self) -> None:
        """Consumers commit meanwhile, so that it may grow."""
        assert late_writes({}, {}, {"g": 7}, {"g": 9}) == []
        assert late_writes({}, {}, {"g": 7}, {"g": 5}) == ["g: 7 → 5"]
        assert late_writes({}, {}, {"g": 7}, {}) == ["g: 7 → None"]


class Scripted(Cells):
    """Cells whose tries end as a test says."""

    def __init__(self, rows: list[Row], trial: Any) -> None:
        super().__init__(None, trial, print)  # type: ignore[arg-type]
        self.rows = rows

    def _try(self, fault: Fault, stage: str) -> Row:
        return self.rows.pop(0)


class Losing:
    """A trial in which every try of a cell doubles two records and makes one late."""

    def __init__(self) -> None:
        self.windows: list[tuple[float, float]] = []

    def judge(self, window: tuple[float, float]) -> list[GroupVerdict]:
        self.windows.append(window)
        return [GroupVerdict("g", duplicated=2, out_of_order=1, examples=["e"])]


class TestTries:
    def test_the_records_of_every_try_count(self) -> None:
        """The Gateway that was killed before lets two switches return before their stage."""
        missed, reached = row(Outcome.NOT_REACHED), row(Outcome.SUCCEEDED)
        trial = Losing()
        found = Scripted([missed, missed, reached], trial).run(FAULTS["redis"], "block")
        assert (found.outcome, len(found.tries), found.duplicated, found.out_of_order) == (
            Outcome.SUCCEEDED,
            3,
            6,
            3,
        )
        assert trial.windows == found.tries

    def test_a_cell_that_is_never_reached_says_so_and_is_judged(self) -> None:
        found = Scripted([row(Outcome.NOT_REACHED)] * ATTEMPTS, Losing()).run(FAULTS["redis"], "block")
        assert (found.outcome, found.duplicated) == (Outcome.NOT_REACHED, 2 * ATTEMPTS)

    def test_a_cell_that_breaks_is_judged_too(self) -> None:
        class Broken(Cells):
            def _switch(self, fault: Fault, stage: str) -> Row:
                raise SandboxError("the fleet is gone")

        found = Broken(None, Losing(), print).run(FAULTS["redis"], "block")  # type: ignore[arg-type]
        assert (found.outcome, found.duplicated) == (Outcome.NEVER, 2)
        assert "the fleet is gone" in found.manual


class TestPoints:
    @pytest.mark.parametrize("points", [WITHIN, AT_WRITES])
    def test_every_stage_of_the_way_has_one(self, points: dict[str, Point]) -> None:
        assert list(points) == [stage.value for stage in WAY]
        assert all(point.stage == stage for stage, point in points.items())

    @pytest.mark.parametrize("points", [WITHIN, AT_WRITES])
    @pytest.mark.parametrize("stage", WAY)
    def test_a_stage_comes_to_its_point(self, points: dict[str, Point], stage: Stage) -> None:
        """Else nothing would be hit there."""
        world = world_before(stage)
        before = len(world.done)
        run_stage(world, stage)
        commands = [type(part) for command in world.done[before:] for part in parts_of(command)]
        assert points[stage.value].command in {command.__name__ for command in commands}

    def test_the_first_that_comes_waits_until_it_is_let_go(self, tmp_path: Path) -> None:
        harness, worker = Points(tmp_path), Points(tmp_path)
        harness.arm("first", Point("block", "ReadGateways"), clock=-5.0)
        found: list[object] = []
        held = threading.Thread(target=lambda: found.append(worker.hold("block", "ReadGateways")))
        held.start()
        while not harness.reached("first"):
            pass
        assert worker.hold("block", "ReadGateways") is None, "one is held already"
        assert found == []
        harness.go("first")
        held.join(5)
        assert found == [("first", -5.0)]
        worker.leave("first")
        harness.await_left("first", 0)

    def test_nobody_waits_anywhere_else(self, tmp_path: Path) -> None:
        points = Points(tmp_path)
        assert points.hold("block", "ReadGateways") is None
        points.arm("first", Point("block", "ReadGateways"))
        assert points.hold("block", "WriteBindings") is None
        assert points.hold("quiesce", "ReadGateways") is None
        points.disarm()
        assert points.hold("block", "ReadGateways") is None
        assert not points.reached("first")

    def test_a_run_that_does_not_end_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(SandboxError, match="held in first"):
            Points(tmp_path).await_left("first", 0)


def echoed(address: str) -> bytes:
    """What comes back through the gate; nothing when it is cut."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=5) as through:
        through.sendall(b"hello")
        return through.recv(5)


def test_a_gate_passes_on_until_it_is_cut_and_again_when_it_is_open() -> None:
    server = socket.create_server(("127.0.0.1", 0))

    def echo() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                while data := connection.recv(100):
                    connection.sendall(data)

    threading.Thread(target=echo, daemon=True).start()
    gate = Gate(server.getsockname()[:2])
    try:
        assert echoed(gate.address) == b"hello"
        host, port = gate.address.split(":")
        with socket.create_connection((host, int(port)), timeout=5) as standing:
            standing.sendall(b"x")
            assert standing.recv(1) == b"x"
            assert gate.cut() == 1, "a fault that cuts nothing off has not hit"
            assert standing.recv(1) == b"", "a connection that stands is ended too"
        with pytest.raises((ConnectionError, AssertionError)):
            assert echoed(gate.address) == b"hello"
        assert gate.cut() == 0
        gate.open()
        assert echoed(gate.address) == b"hello"
    finally:
        gate.close()
        server.shutdown(socket.SHUT_RDWR)
        server.close()


@pytest.mark.stack
@pytest.mark.long
def test_one_cell_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """(All of them are ``make fault``: it uses hadash as people do, and has to change with what people do.)"""
    monkeypatch.setattr(run, "ROOT", tmp_path)
    assert run.fault_table(["redis"], ["block"]) == 0
    told = json.loads((tmp_path / "var" / "bench" / "fault.json").read_text())
    (cell,) = told["cells"]
    # (A worker that starts again may need longer than clients wait, on a slow machine; Redis does not.)
    assert (cell["outcome"], cell["lost"], cell["duplicated"]) == ("succeeded", 0, 0)
    assert all(goal["met"] for goal in told["goals"])

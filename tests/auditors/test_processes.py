"""A coordinator and auditors as processes, of which one is killed or stands still: nothing is compared twice, and
nothing is left out.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from support.environment import database_url
from support.waiting import SLOWER, eventually

from hadash.auditors.models import AuditedPartition
from hadash_sandbox import ports

from .board import Board, rows

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True), pytest.mark.in_turn]

#: Seconds until a session of ZooKeeper has ended, and others have taken what it had.
SESSION_SECONDS = 40.0


class Processes:
    """Both auditors and the coordinator; they end with the test."""

    def __init__(self, folder: Path, chroot: str, topic: str) -> None:
        token = folder / "token"
        token.write_text("the token of these tests' pools")
        port = ports.allocate(["coordinator"], folder / "ports.json")["coordinator"]
        self._environment = os.environ | {
            "DATABASE_URL": database_url(),
            "HADASH_SECRET_KEY": settings.SECRET_KEY,
            "HADASH_ZOOKEEPER_CHROOT": chroot,
            "HADASH_COORDINATOR_TOKEN_FILE": str(token),
            "HADASH_COORDINATOR_HTTP_PORT": str(port),
            "HADASH_COORDINATOR_RETURN_SECONDS": "1",
            "HADASH_MEMBER_TOKEN_FILE": str(token),
            "HADASH_MEMBER_HTTP_PORT": "0",
            "HADASH_AUDITOR_PAIR": "main",
        }
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str) -> None:
        module = "hadash.coordinator" if name == "coordinator" else "hadash.auditors"
        more = {"HADASH_MEMBER_NAME": name, "HADASH_COORDINATOR_NAME": name}
        self.running[name] = subprocess.Popen(
            [sys.executable, "-m", module], cwd=settings.BASE_DIR, env=self._environment | more
        )

    def signal(self, name: str, number: signal.Signals) -> None:
        self.running[name].send_signal(number)
        if number is signal.SIGKILL:
            self.running[name].wait()

    def end(self) -> None:
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.running.values():
            try:
                process.wait(30 * SLOWER)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


@pytest.fixture
def processes(board: Board, chroot: str, tmp_path: Path) -> Iterator[Processes]:
    made = Processes(tmp_path, chroot, board.topic)
    try:
        for name in ("coordinator", "auditor-1", "auditor-2"):
            made.start(name)
        yield made
    finally:
        made.end()


def owners(board: Board) -> set[str]:
    return set(AuditedPartition.objects.filter(topic=board.topic).values_list("auditor", flat=True))


def all_compared(board: Board, count: int) -> bool:
    return all(board.compared_up_to(count, count, partition) for partition in (0, 1))


def begun(board: Board) -> None:
    for partition in (0, 1):
        board.write_both(rows(0, 100), partition)
    eventually(
        lambda: all_compared(board, 100) and owners(board) == {"auditor-1", "auditor-2"},
        "a partition for each auditor",
        patience=60.0,
    )


def gone_on(board: Board, count: int) -> None:
    """All records were compared, each once."""
    eventually(lambda: all_compared(board, count), f"{count} records", patience=SESSION_SECONDS)
    assert board.row(0).equal == board.row(1).equal == count
    assert board.found() == set()


def test_both_share_the_partitions_and_give_them_back(board: Board, processes: Processes) -> None:
    begun(board)
    processes.signal("auditor-1", signal.SIGTERM)
    assert processes.running["auditor-1"].wait(30 * SLOWER) == 0
    for partition in (0, 1):
        board.write_both(rows(100, 200), partition)
    eventually(lambda: owners(board) == {"auditor-2"}, "the other auditor", patience=SESSION_SECONDS)
    gone_on(board, 200)


@pytest.mark.parametrize(
    ("what", "how"),
    [
        ("auditor-1", signal.SIGKILL),
        pytest.param("auditor-1", signal.SIGSTOP, marks=pytest.mark.long),
        pytest.param("coordinator", signal.SIGKILL, marks=pytest.mark.long),
        pytest.param("coordinator", signal.SIGSTOP, marks=pytest.mark.long),
    ],
)
def test_what_dies_or_stands_still_costs_nothing(
    board: Board, processes: Processes, what: str, how: signal.Signals
) -> None:
    begun(board)
    processes.signal(what, how)
    for partition in (0, 1):
        board.write_both(rows(100, 200), partition)
    gone_on(board, 200)
    if how is signal.SIGSTOP:
        processes.signal(what, signal.SIGCONT)
    else:
        processes.start(what)
    for partition in (0, 1):
        board.write_both(rows(200, 300), partition)
    gone_on(board, 300)
    eventually(lambda: len(owners(board)) == 2, "a partition for each again", patience=SESSION_SECONDS)
    board.write("west", [(b"too much", [], 0)], 0)
    for partition in (0, 1):
        board.write_both(rows(300, 320), partition)
    eventually(lambda: len(board.found()) == 1, "the difference", patience=SESSION_SECONDS)

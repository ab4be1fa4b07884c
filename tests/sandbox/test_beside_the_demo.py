"""What somebody can do beside a running demo, and how it is ended, whatever started it."""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from hadash_sandbox import foreground
from hadash_sandbox.__main__ import main
from hadash_sandbox.demo import Demo
from hadash_sandbox.environment import forget, keep
from hadash_sandbox.stack import Stack

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Path]:
    """A data folder that a stack holds, as far as others can see."""
    with (tmp_path / "lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield tmp_path


def test_its_environment_is_printed_for_a_shell(held: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(held, {"REDIS_URL": "redis://127.0.0.1:1/0", "HADASH_SECRET_KEY": "it's one"})
    assert (held / "environment.json").stat().st_mode & 0o777 == 0o600
    assert main(["env", "--data", str(held)]) == 0
    shell = capsys.readouterr().out + 'printf %s "$HADASH_SECRET_KEY $REDIS_URL"'
    assert subprocess.check_output(["sh", "-c", shell], text=True) == "it's one redis://127.0.0.1:1/0"


def test_manage_runs_in_it(held: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Also with options of the command's own; its exit code is ours."""
    keep(held, {"REDIS_URL": "redis://127.0.0.1:1/7", "PYTHONPATH": str(ROOT)})
    program = "from django.conf import settings; print('broker', settings.CELERY_BROKER_URL)"
    assert main(["manage", "--data", str(held), "shell", "-v", "0", "-c", program]) == 0
    assert "broker redis://127.0.0.1:1/7" in capfd.readouterr().out
    assert main(["manage", "--data", str(held), "no-such-command"]) == 1


def test_the_large_fleets_demo_is_meant_where_only_that_one_runs(
    held: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The line that ``make demo-fleet`` prints is ``make manage …``, as of the other demo."""
    monkeypatch.setattr(foreground, "FLEET_DATA", held)
    monkeypatch.setattr(foreground, "DEFAULT_DATA", tmp_path / "nothing")
    keep(held, {"REDIS_URL": "redis://127.0.0.1:1/7"})
    assert main(["env"]) == 0
    assert "127.0.0.1:1/7" in capsys.readouterr().out


def test_both_demos_are_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, constant in (("demo", "DEFAULT_DATA"), ("fleet", "FLEET_DATA")):
        (tmp_path / name).mkdir()
        monkeypatch.setattr(foreground, constant, tmp_path / name)
    assert main(["reset"]) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["env", "manage"])
def test_without_a_demo_it_says_so(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also when one was killed, and has left its file behind."""
    for _ in range(2):
        assert main([command, "--data", str(tmp_path)]) == 1
        assert "No demo runs in" in capsys.readouterr().err
        keep(tmp_path, {"REDIS_URL": "redis://gone"})


def test_while_it_starts_it_says_so(held: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep(held, {})
    forget(held)
    assert main(["env", "--data", str(held)]) == 1
    assert "still starting" in capsys.readouterr().err


class Began(Exception):
    """The servers would start now."""


@pytest.fixture
def servers_do_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(stack: Stack, log: object) -> None:
        raise Began

    monkeypatch.setattr(Stack, "start", start)
    monkeypatch.setattr("hadash_sandbox.demo.tool_jars", lambda *_: None)
    monkeypatch.setattr("hadash_sandbox.demo.find_java", lambda: None)


def test_what_a_killed_demo_has_left_is_gone_before_the_next_one_starts_its_servers(
    tmp_path: Path, servers_do_not_start: None
) -> None:
    """Else ``env`` and ``manage`` would speak to addresses of the earlier one."""
    keep(tmp_path, {"REDIS_URL": "redis://gone"})
    with pytest.raises(Began):
        Demo(tmp_path).start()
    assert not (tmp_path / "environment.json").exists()


def test_what_a_running_demo_needs_stays_when_a_second_one_is_tried(
    held: Path, servers_do_not_start: None
) -> None:
    keep(held, {"REDIS_URL": "redis://127.0.0.1:1/0"})
    with pytest.raises(Began):
        Demo(held).start()
    assert (held / "environment.json").exists()


def test_the_banner_says_how_a_demo_in_the_background_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A shell does not send it Ctrl-C, and make, whose process it is not, does not hand a signal on."""
    running = SimpleNamespace(url="", password="", clients={}, bootstrap="", data_dir=tmp_path)
    monkeypatch.setattr(foreground, "Demo", lambda *_, **__: nullcontext(running))
    monkeypatch.setattr(foreground, "_hold", lambda: None)
    foreground.demo(tmp_path)
    assert f"kill {os.getpid()}" in capsys.readouterr().out


HOLDING = """
import threading
from hadash_sandbox.__main__ import _obey_signals
_obey_signals()
try:
    print("up", flush=True)
    threading.Event().wait()
except KeyboardInterrupt:
    print("stopping")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_on_a_signal_also_when_its_shell_ignored_it(number: signal.Signals) -> None:
    """As `make demo &` in a script: the shell sets SIGINT to be ignored, and Python leaves it so."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLDING],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        preexec_fn=lambda: signal.signal(number, signal.SIG_IGN),
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        os.kill(process.pid, number)
        try:
            said, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert (said, process.returncode) == ("stopping\n", 0)

"""An update while clients work: workers, Gateways and pages of two versions side by side, in the order of
docs/production.md.

Today's version and tomorrow's are wheels in environments of their own, as an operator has them; a link says
which one is started.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from support import wheels
from support.waiting import eventually

from hadash import VERSION
from hadash.bindings.membership import members
from hadash.bindings.store import BindingStore
from hadash_sandbox.check import show_logs
from hadash_sandbox.demo import DEMO_RATE, Demo
from hadash_sandbox.ending import finish
from hadash_sandbox.processes import Process
from hadash_sandbox.traffic.client import Pace
from hadash_sandbox.trial import SWITCH_SECONDS, Trial

pytestmark = [pytest.mark.stack, pytest.mark.long]

APPID, INSTANCE = "shop", "shop-carts"
TOMORROW = "99.0.0"
#: Seconds for a process to be replaced, on a busy machine.
START_SECONDS = 180.0


class Installed(Demo):
    """A demo whose own processes come from a wheel, in an empty folder. ``current`` is the link that an
    update moves.
    """

    worker_app = "hadash"

    def __init__(self, folder: Path, today: Path, tomorrow: Path) -> None:
        super().__init__(folder, rate=DEMO_RATE, pace=Pace.ONE_AT_A_TIME, gateways=2)
        self._today, self._tomorrow = today, tomorrow
        self.current, self.home = folder / "current", folder / "home"
        self.home.mkdir(parents=True)
        self.current.symlink_to(today)

    def environment(self) -> dict[str, str]:
        found = super().environment()
        # (The demo's mailbox is of the sandbox, which no wheel has.)
        return {
            name: value for name, value in found.items() if name not in ("PYTHONPATH", "HADASH_DEMO_MAIL")
        }

    def _python(
        self, name: str, *arguments: str, ready: Callable[[], bool] | None = None, restart: bool = True,
        env: dict[str, str] | None = None,
    ) -> Process:  # fmt: skip
        if name not in ("gateway", "worker", "beat", "web"):
            return super()._python(name, *arguments, ready=ready, restart=restart, env=env)
        process = self.process(name, *arguments, ready=ready, env=env)
        self.stack.add(process)
        return process

    def process(
        self,
        name: str,
        *arguments: str,
        ready: Callable[[], bool] | None = None,
        env: dict[str, str] | None = None,
    ) -> Process:
        """One of the version that the link says when it starts."""
        return Process(
            name, [str(self.current / "bin" / "python"), *arguments],
            log_path=self.data_dir / "logs" / f"{name.replace(' ', '-')}.log",
            env=self.environment() if env is None else env, cwd=self.home, ready=ready,
        )  # fmt: skip

    def update(self) -> None:
        """Move the link, as ``ln -sfn`` does."""
        new = self.current.with_suffix(".new")
        new.symlink_to(self._tomorrow)
        new.replace(self.current)

    def manage_tomorrow(self, *command: str) -> None:
        program = [str(self._tomorrow / "bin" / "hadash-manage"), *command]
        done = subprocess.run(
            program,
            env={**os.environ, **self.environment()},
            cwd=self.home,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def workers(self) -> set[str]:
        """The versions of those that say that they are there."""
        with psycopg.connect(self.stack.postgres.url) as connection:
            rows = connection.execute(
                "SELECT version FROM inventory_worker WHERE seen_at > now() - interval '10 s'"
            )
            return {version for (version,) in rows}


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Installed]:
    environments = {}
    for name, source in (
        ("today", wheels.ROOT),
        ("tomorrow", wheels.tomorrow(_made(tmp_path / "sources"), TOMORROW)),
    ):
        packages = wheels.install(wheels.build(_made(tmp_path / f"{name}-wheel"), source), tmp_path / name)
        wheels.lend_dependencies(packages)
        environments[name] = tmp_path / name
    folder = Path(tempfile.mkdtemp(prefix="hadash-e2e-update-"))
    try:
        with Installed(folder, environments["today"], environments["tomorrow"]) as running:
            try:
                yield running
            except BaseException:
                show_logs(running.data_dir)
                raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def answer(url: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = httpx.get(url, timeout=10).json()
    except (httpx.TransportError, ValueError):
        return {}
    return found


def begin(trial: Trial, target: str, reason: str) -> str:
    key = trial.operator.request(APPID, INSTANCE, target, reason)
    trial.approver.approve(key).raise_for_status()
    return key


def test_clients_move_while_two_versions_run_side_by_side(demo: Installed) -> None:
    trial = Trial(demo, print)
    trial.await_traffic()
    client = demo.stack.zookeeper.connect()
    bindings = BindingStore(client)

    def gateways() -> set[str]:
        return {member.version for member in members(client) if member.live}

    assert (demo.workers(), gateways()) == ({VERSION}, {VERSION})

    # -- the schema first: what runs goes on with it
    demo.manage_tomorrow("migrate", "--no-input", "-v", "0")
    for process in ("web", "worker"):
        page = f"{demo.health_pages[process]}/readyz"
        eventually(
            lambda page=page: answer(page).get("status") == "ok",
            f"{process}, with tomorrow's schema",
            patience=60,
        )

    # -- a worker and a process of the Gateway of tomorrow, beside those of today
    demo.update()
    arguments = [each.replace("celery@%h", "tomorrow@%h") for each in demo.worker_arguments()]
    second = demo.process("worker of tomorrow", *arguments)
    second.start()
    web = None
    try:
        eventually(
            lambda: demo.workers() == {VERSION, TOMORROW}, "workers of both versions", patience=START_SECONDS
        )
        assert demo.gateway is not None and demo.gateway.pid is not None
        parent = psutil.Process(demo.gateway.pid)
        parent.children()[0].send_signal(signal.SIGTERM)
        eventually(
            lambda: gateways() == {VERSION, TOMORROW}, "Gateways of both versions", patience=START_SECONDS
        )
        moved = trial.switch(APPID, INSTANCE, "west")
        assert moved.status == "succeeded", moved.outcome

        # -- today's worker is told to end in the middle of a switch
        key = begin(trial, "east", "A worker of today ends in this one.")
        eventually(
            lambda: trial.operator.state(key)["stage"] in ("quiesce", "block", "drain"),
            "its stages",
            patience=90,
            every=0.005,
        )
        assert demo.worker is not None
        demo.worker.stop(timeout=60)
        ended = trial.approver.await_end(key, SWITCH_SECONDS)
        assert ended["status"] in ("succeeded", "rolled_back"), ended["outcome"]
        eventually(lambda: demo.workers() == {TOMORROW}, "workers of tomorrow only", patience=60)

        # -- all processes of the Gateway, one after the other
        parent.send_signal(signal.SIGHUP)
        eventually(lambda: gateways() == {TOMORROW}, "Gateways of tomorrow only", patience=START_SECONDS)

        # -- pages: the new one is ready before the old one ends
        assert demo.web is not None and demo.beat is not None
        port = demo.ports["worker health"]  # (today's worker has left it)
        page = f"http://127.0.0.1:{port}"
        web = demo.process(
            "web of tomorrow",
            "-m",
            "uvicorn",
            "hadash.asgi:application",
            "--host",
            "127.0.0.1",
            "--port",
            str(port),
        )
        web.start()
        eventually(
            lambda: answer(f"{page}/readyz").get("version") == TOMORROW,
            "pages of tomorrow",
            patience=START_SECONDS,
        )
        assert answer(f"{demo.health_pages['web']}/readyz")["version"] == VERSION
        demo.beat.stop()
        demo.beat.start()
        demo.web.stop()
        demo.web.start()
        eventually(
            lambda: answer(f"{demo.health_pages['web']}/readyz").get("status") == "ok",
            "the pages",
            patience=START_SECONDS,
        )
        assert answer(f"{demo.health_pages['web']}/readyz")["version"] == TOMORROW

        # -- and tomorrow's version goes on alone
        back = trial.switch(APPID, INSTANCE, "west" if ended["status"] == "succeeded" else "east")
        assert back.status == "succeeded", back.outcome
        assert bindings.document(APPID) is not None
    finally:
        for process in (second, web):
            if process is not None:
                process.stop()
        client.stop()
        client.close()
    verdict = finish(trial)
    found = {
        name: verdict[name]
        for name in ("lost", "duplicated", "out_of_order", "unknown", "damaged", "clients_restarted")
    }
    assert found == {
        "lost": 0,
        "duplicated": 0,
        "out_of_order": 0,
        "unknown": [],
        "damaged": [],
        "clients_restarted": [],
    }

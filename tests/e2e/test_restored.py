"""Both stores are dumped, lost and restored, while clients go on through their Gateway: afterwards switches
and bindings agree.

In the order of docs/production.md, “Backup and restore”.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import httpx
import psycopg
import pytest
from support.waiting import eventually

from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore
from hadash.identity.resolve import resolve
from hadash_sandbox.demo import ROOT, Demo
from hadash_sandbox.trial import SWITCH_SECONDS, Trial
from hadash_sandbox.world import DEMO

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]

APPID, INSTANCE = "shop", "shop-carts"


def manage(demo: Demo, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *command],
        env={**os.environ, **demo.environment()},
        cwd=demo.data_dir,
        capture_output=True,
        text=True,
        check=False,
    )


def postgresql(demo: Demo, program: str, *arguments: str) -> None:
    done = subprocess.run(
        [str(demo.stack.postgres.programs / program), "-d", demo.stack.postgres.url, *arguments],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def is_ready(demo: Demo, process: str) -> bool:
    try:
        return httpx.get(f"{demo.health_pages[process]}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_what_was_saved_of_both_stores_agrees_when_it_is_back(
    demo: Demo, trial: Trial, bindings: BindingStore, tmp_path: Path
) -> None:
    before = resolve(bindings.document(APPID), INSTANCE, Binding("east")).cluster
    other = "west" if before == "east" else "east"
    key = trial.operator.request(APPID, INSTANCE, other, "Before the backup.")
    trial.approver.approve(key).raise_for_status()
    assert trial.approver.await_end(key, SWITCH_SECONDS)["status"] == "succeeded"

    # -- the backup: ZooKeeper first, then PostgreSQL, while everything runs
    program = str(demo.stack.postgres.programs / "pg_dump")
    saved = manage(demo, "backup", str(tmp_path / "saved"), "--pg-dump", program)
    assert saved.returncode == 0, saved.stderr
    (zookeeper_file,) = (tmp_path / "saved").glob("zookeeper-*.json")
    (postgresql_file,) = (tmp_path / "saved").glob("postgresql-*.dump")

    # -- the loss of both. Gateways go on.
    for process in (demo.worker, demo.beat, demo.web):
        assert process is not None
        process.stop()
    server, _, database = demo.stack.postgres.url.rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {database} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {database}")
    for child in bindings.client.get_children("/"):
        bindings.client.delete(f"/{child}", recursive=True)
    gateway = f"{demo.health_pages['gateway']}/readyz"
    eventually(
        lambda: "forgotten" in " ".join(httpx.get(gateway).json()["faults"]),
        "the Gateway says so",
        patience=60,
    )
    trial.await_progress(DEMO.clients, time.time())

    # -- the restore: PostgreSQL first, so that the chroot is known to be ours
    postgresql(demo, "pg_restore", "--no-owner", str(postgresql_file))

    def is_restored() -> bool:
        """The dump was made while workers ran: they count as gone some seconds later."""
        done = manage(demo, "restore_zookeeper", str(zookeeper_file))
        assert done.returncode == 0 or "Workers are running" in done.stderr, done.stderr
        return done.returncode == 0

    eventually(is_restored, "the restore", patience=60, every=1)
    aside = manage(demo, "set_aside_mail")
    assert aside.returncode == 0, aside.stdout + aside.stderr
    compared = manage(demo, "compare_bindings")
    assert (compared.returncode, compared.stdout.strip()) == (
        0, "Every binding is where the last switch or change has left it.",
    ), compared.stdout + compared.stderr  # fmt: skip
    eventually(lambda: httpx.get(gateway).json()["faults"] == [], "the Gateway follows again", patience=60)
    for process in (demo.worker, demo.beat, demo.web):
        assert process is not None
        process.start()
    eventually(lambda: is_ready(demo, "web") and is_ready(demo, "worker"), "pages and worker", patience=120)

    # -- and it goes on where it was: history, audit log, the next switch
    assert resolve(bindings.document(APPID), INSTANCE, Binding("east")).cluster == other
    assert trial.operator.state(key)["status"] == "succeeded"
    audit = manage(demo, "verify_audit")
    assert audit.returncode == 0, audit.stdout + audit.stderr
    back = trial.switch(APPID, INSTANCE, before)
    assert back.status == "succeeded", back.outcome

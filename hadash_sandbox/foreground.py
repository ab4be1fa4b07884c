"""What runs until Ctrl-C (a stack, a demo, a program beside a stack), and access to a demo that runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hadash_sandbox import auditing
from hadash_sandbox.demo import DEFAULT_DATA, DEMO_RATE, ROOT, Demo
from hadash_sandbox.environment import exports, merged, of_running
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fleet.model import EARLIER_DAYS
from hadash_sandbox.stack import CLUSTERS, Stack, is_running
from hadash_sandbox.traffic.client import Pace

#: Auditors of a demo: one can be killed, and the other one takes its partitions.
DEMO_AUDITORS = 2
#: The data folder of the demo with a large fleet.
FLEET_DATA = ROOT / "var" / "demo-fleet"


def up(data: Path, brokers: int, env_file: Path | None) -> int:
    """Bring the stack up, print its settings, and hold it until a signal asks to end."""
    with Stack(data, brokers=brokers) as stack:
        settings = exports(stack.environment())
        if env_file is not None:
            env_file.write_text(settings)
        print(f"\n{settings}\nThe stack is up. Ctrl-C stops it.", flush=True)
        _hold()
    return 0


def demo_fleet(data: Path, appids: int, every_day: bool) -> int:
    """Run the demo beside a generated fleet.

    A fleet of another day or size is deleted first: its data for "today" would be wrong.

    :param every_day: have the jobs run for each of its days.
    """
    wanted = {"appids": appids, "day": datetime.now(UTC).date().isoformat(), "every_day": every_day}
    mark = data / "fleet.json"
    if data.exists() and not is_running(data):
        known = json.loads(mark.read_text()) if mark.exists() else None
        if known != wanted:
            print(f"Starting over in {data}: what is there is of another day or size.", flush=True)
            shutil.rmtree(data)
    looked_at = EARLIER_DAYS if every_day else None
    return demo(data, appids, lambda: mark.write_text(json.dumps(wanted)), looked_at)


def demo(
    data: Path,
    fleet: int = 0,
    when_up: Callable[[], object] = lambda: None,
    looked_at: Sequence[int] | None = None,
) -> int:
    """Run all of hadash, with its people and live clients, until a signal asks it to end.

    :param fleet: AppIDs of a generated fleet beside it; 0 for none.
    :param looked_at: the days ago on which jobs ran for that fleet; ``None``: the usual ones.
    :param when_up: called once the demo is up.
    """
    with Demo(
        data,
        pipeline=True,
        rate=DEMO_RATE,
        pace=Pace.RATE,
        fleet=fleet,
        fleet_looked_at=looked_at,
        auditors=DEMO_AUDITORS,
    ) as running:
        when_up()
        print(
            f"""
hadash is up: {running.url}

  operator   olga  {running.password}   (asks for switches)
  approver   arne  {running.password}   (approves them)
  approver   bea   {running.password}   (what needs two approvals)
  rescuer    rita  {running.password}   (asks for switches away from a cluster that is lost)
  admin      ada   {running.password}   (rules, people, roles)

Sign in as olga in one browser and as arne in another (a private window will do), ask for a switch of
"shop › shop-carts", approve it, and watch. {len(running.clients)} Kafka clients use the Gateway at {running.bootstrap}.
In another terminal make manage ARGS="create_token olga --name mine" prints a token for the API and hadash.cli.
Ctrl-C stops everything (in the background: kill {os.getpid()}); the data stays in {running.data_dir} \
(make demo-reset starts over).""",
            flush=True,
        )
        _hold()
    print("Everything has stopped.", flush=True)
    return 0


def reset(data: Path) -> int:
    """Delete a demo's data folder, unless the demo runs."""
    if not data.exists():
        print(f"There is nothing to forget: {data} does not exist.")
        return 0
    if is_running(data):
        raise SandboxError(
            f"The demo in {data} is running. Stop it with Ctrl-C, then run make demo-reset again."
        )
    shutil.rmtree(data)
    print(f"{data} is deleted. The next make demo starts over.")
    return 0


def that_runs(data: Path) -> Path:
    """The folder of the demo that the user means.

    This is ``data``, except where that is the default and only the large fleet's demo runs: then it is that one's.
    """
    if data == DEFAULT_DATA and not is_running(data) and is_running(FLEET_DATA):
        return FLEET_DATA
    return data


def manage(data: Path, arguments: list[str]) -> int:
    """Run hadash-manage with the environment of a running demo; return its exit code."""
    command = [sys.executable, str(ROOT / "manage.py"), *arguments]
    return subprocess.run(command, env=merged(of_running(data)), check=False).returncode


def plant_difference(data: Path, topic: str, cluster: str) -> int:
    """Plant a difference in a mirror of a running demo; return the exit code."""
    described = json.loads(of_running(data)["HADASH_SANDBOX_CLUSTERS"])
    configs = {each["name"]: auditing.administrator(each) for each in described}
    place = auditing.plant(configs, topic, cluster)
    print(
        f"Planted: {place}. The page of its mirror shows it within seconds (Content audit), and how to rebuild the "
        "standby, which mends it."
    )
    return 0


def execute(data: Path | None, program: list[str], *, with_kafka: bool = True) -> int:
    """Run ``program`` with the settings of a stack that lives as long as it does; return its exit code."""
    if not program:
        raise SandboxError("Say which program to run: python -m hadash_sandbox exec -- PROGRAM ARGUMENTS.")
    folder = data or Path(tempfile.mkdtemp(prefix="hadash-exec-"))
    try:
        with Stack(folder, clusters=CLUSTERS if with_kafka else (), with_connect=with_kafka) as stack:
            process = subprocess.Popen(program, env={**os.environ, **stack.environment()})
            try:
                code = process.wait()
                if code != 0:
                    # Keep the servers' logs, so that the reason can be found: .ci/run prints them.
                    shutil.copytree(folder / "logs", ROOT / "var" / "test-logs", dirs_exist_ok=True)
                return code
            except BaseException:
                process.terminate()
                process.wait()
                raise
    finally:
        if data is None:
            shutil.rmtree(folder, ignore_errors=True)


def _hold() -> None:
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        print("Stopping ...", flush=True)

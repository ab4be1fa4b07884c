"""The commands of `python -m hadash_sandbox`.

- `up`: the stack alone; `exec`: another program beside a stack of its own;
- `demo`, `demo-fleet`: all of hadash on the stack; `reset` deletes their data;
- `env`, `manage`: access to a demo that already runs;
- `check`, `clients-check`, `fault` and `bench-*`: trials and benchmarks;
- `record`: access reports of real clients, written as a fixture.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from hadash_sandbox import auditing
from hadash_sandbox.audit_check import audit_check
from hadash_sandbox.auditor_faults import run as auditor_faults
from hadash_sandbox.auditor_faults.whats import WHATS as AUDITOR_WHATS
from hadash_sandbox.bench import batch, fresh, health, mail, pipeline, plan
from hadash_sandbox.bench.auditors import run as auditors
from hadash_sandbox.bench.coordinator import run as coordinator
from hadash_sandbox.bench.gateway import run as gateway
from hadash_sandbox.bench.web import run as web
from hadash_sandbox.check import bench_switch, demo_check
from hadash_sandbox.clients.check import clients_check
from hadash_sandbox.clients.libraries import LIBRARY_NAMES, OFFSETS, PHASES, SCOPES
from hadash_sandbox.demo import DEFAULT_DATA, DEMO_RATE, ROOT, Demo
from hadash_sandbox.environment import exports, merged, of_running
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fault.faults import FAULTS
from hadash_sandbox.fault.run import STAGES, fault_table
from hadash_sandbox.fleet.model import EARLIER_DAYS
from hadash_sandbox.pool_faults import cell as pool_cell
from hadash_sandbox.pool_faults.run import fault_pool
from hadash_sandbox.recording.run import record_demo
from hadash_sandbox.stack import CLUSTERS, Stack, is_running
from hadash_sandbox.traffic.client import Pace
from spark.fleet.recorded import FOLDER as RECORDED

#: AppIDs of the fleet that ``make demo-fleet`` generates, and the fewest allowed: a smaller fleet does not have the
#: shape of a large one.
FLEET_APPIDS, LEAST_APPIDS = 10_000, 100
#: Auditors of a demo: one can be killed, and the other one takes its partitions.
DEMO_AUDITORS = 2
#: Its data folder.
FLEET_DATA = ROOT / "var" / "demo-fleet"


#: What ``add_subparsers`` returns.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hadash_sandbox")
    commands = parser.add_subparsers(dest="command", required=True)
    for add in (_stacks, _beside_a_demo, _trials, _faults, _benchmarks):
        add(commands)
    options = parser.parse_args(arguments)
    _obey_signals()
    try:
        code: int = options.run(options)
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return code


def _stacks(commands: Commands) -> None:
    """Add the commands that run until Ctrl-C."""
    new = commands.add_parser("up", help="bring the stack up until Ctrl-C")
    new.add_argument("--data", type=Path, default=Path("var/sandbox"), help="data folder")
    new.add_argument("--brokers", type=int, default=1, help="brokers per Kafka cluster")
    new.add_argument("--env-file", type=Path, help="also write the settings to this file")
    new.set_defaults(run=lambda options: up(options.data, options.brokers, options.env_file))

    new = commands.add_parser("demo", help="all of hadash with live traffic, until Ctrl-C")
    new.add_argument("--data", type=Path, default=DEFAULT_DATA, help="data folder, kept between starts")
    new.set_defaults(run=lambda options: demo(options.data))

    new = commands.add_parser("demo-fleet", help="the demo beside a large generated fleet")
    new.add_argument("--appids", type=_appids, default=FLEET_APPIDS, help="of the generated fleet")
    new.add_argument("--data", type=Path, default=FLEET_DATA, help="data folder")
    new.add_argument(
        "--every-day",
        action="store_true",
        help="have the jobs run for each of its thirty days, which takes as many times as long; otherwise they run for "
        "three, and the figures of the days between are interpolated",
    )
    new.set_defaults(run=lambda options: demo_fleet(options.data, options.appids, options.every_day))

    new = commands.add_parser("exec", help="run a program beside a stack of its own")
    new.add_argument("--data", type=Path, help="data folder; the default is a new one, deleted at the end")
    new.add_argument(
        "--without-kafka",
        action="store_true",
        help="PostgreSQL, Redis and ZooKeeper only: a third of the time to start",
    )
    new.add_argument("program", nargs=argparse.REMAINDER)
    new.set_defaults(run=_exec)


def _beside_a_demo(commands: Commands) -> None:
    """Add the commands for a demo that runs already, or no longer."""
    new = commands.add_parser("reset", help="forget the demo's data, and the large fleet's")
    new.add_argument("--data", type=Path, nargs="*", default=[DEFAULT_DATA, FLEET_DATA], help="data folders")
    new.set_defaults(run=lambda options: max(map(reset, options.data), default=0))

    new = commands.add_parser("env", help="the environment of the running demo, as lines for a shell")
    new.add_argument("--data", type=Path, default=DEFAULT_DATA, help="its data folder")
    new.set_defaults(run=lambda options: _print_environment(options.data))

    new = commands.add_parser("manage", help="hadash-manage beside the running demo")
    new.add_argument("--data", type=Path, default=DEFAULT_DATA, help="its data folder")
    new.add_argument("arguments", nargs=argparse.REMAINDER, help="of manage.py")
    new.set_defaults(run=lambda options: manage(_that_runs(options.data), options.arguments))

    new = commands.add_parser("plant", help="plant a difference, which the running demo's auditors find")
    new.add_argument("--data", type=Path, default=DEFAULT_DATA, help="its data folder")
    new.add_argument("--topic", default="shop.carts", help="the Topic")
    new.add_argument("--cluster", default="west", help="the cluster on which the record is too much")
    new.set_defaults(run=lambda options: plant_difference(options.data, options.topic, options.cluster))


def _trials(commands: Commands) -> None:
    """Add trials, which end by themselves."""
    new = commands.add_parser("check", help="switch there and back without a person")
    new.add_argument("--keep", type=Path, help="use and keep this data folder")
    new.set_defaults(run=lambda options: demo_check(options.keep))

    new = commands.add_parser(
        "audit-check", help="switches there and back for an hour, of which auditors must find nothing"
    )
    new.add_argument("--minutes", type=float, default=60.0, help="for how long")
    new.add_argument("--keep", type=Path, help="use and keep this data folder")
    new.set_defaults(run=lambda options: audit_check(options.minutes, options.keep))

    new = commands.add_parser(
        "clients-check", help="clients of fourteen libraries and versions, there and back"
    )
    new.add_argument(
        "--libraries", nargs="+", choices=LIBRARY_NAMES, default=LIBRARY_NAMES, help="only these"
    )
    new.add_argument("--offsets", nargs="+", choices=OFFSETS, default=OFFSETS, help="only these")
    new.add_argument("--scopes", nargs="+", choices=SCOPES, default=SCOPES, help="only these")
    new.add_argument("--keep", type=Path, help="use and keep this data folder")
    new.set_defaults(run=_clients_check)

    new = commands.add_parser("record", help="access reports of real clients, as the fixture of fleets")
    new.add_argument("--out", type=Path, default=RECORDED, help="the fixture's folder")
    new.add_argument("--keep", type=Path, help="use and keep this data folder")
    new.set_defaults(run=lambda options: record_demo(options.out, options.keep))


def _faults(commands: Commands) -> None:
    """Add the tables of faults: something dies in each stage or state."""
    new = commands.add_parser("fault", help="something dies in each stage of a switch")
    new.add_argument("--faults", nargs="*", choices=[*FAULTS], default=[], help="only these")
    new.add_argument("--stages", nargs="*", choices=STAGES, default=[], help="only in these")
    new.set_defaults(run=lambda options: fault_table(options.faults, options.stages))

    new = commands.add_parser("fault-pool", help="what dies in each state of a consumer pool")
    new.add_argument("--whats", nargs="*", choices=[*pool_cell.WHATS, []], default=[])
    new.add_argument("--states", nargs="*", choices=[*pool_cell.STATES, []], default=[])
    new.set_defaults(run=lambda options: fault_pool(options.whats, options.states))

    new = commands.add_parser(
        "fault-auditors", help="what dies beside auditors in each state of their assignment"
    )
    new.add_argument("--whats", nargs="*", choices=[*AUDITOR_WHATS, []], default=[])
    new.add_argument("--states", nargs="*", choices=[*auditor_faults.STATES, []], default=[])
    new.set_defaults(run=lambda options: auditor_faults.fault_auditors(options.whats, options.states))


def _benchmarks(commands: Commands) -> None:
    """Add benchmarks."""
    new = commands.add_parser("bench-switch", help="many switches, with their distribution")
    new.add_argument("-n", type=int, default=20, help="how many switches")
    new.add_argument("--keep", type=Path, help="use and keep this data folder")
    new.set_defaults(run=lambda options: bench_switch(options.n, options.keep))

    new = commands.add_parser("bench-gateway", help="the Gateway beside the broker itself")
    new.add_argument("parts", nargs="*", choices=[*gateway.PARTS, []], help="only these parts")
    new.set_defaults(run=lambda options: gateway.bench_gateway(options.parts))

    new = commands.add_parser("bench-coordinator", help="how soon a consumer pool is Stable again")
    new.add_argument("parts", nargs="*", choices=[*coordinator.PARTS, []], help="only these parts")
    new.set_defaults(run=lambda options: coordinator.bench_coordinator(options.parts))

    new = commands.add_parser("bench-auditors", help="how much an auditor compares, beside reading alone")
    new.set_defaults(run=lambda options: auditors.bench_auditors())

    new = commands.add_parser("bench-fresh", help="how soon a new demo shows all that jobs make")
    new.set_defaults(run=lambda options: fresh.bench_fresh())

    new = commands.add_parser("bench-health", help="health pages and metrics while servers hang")
    new.set_defaults(run=lambda options: health.bench_health())

    new = commands.add_parser("bench-mail", help="one schedule with very many recipients")
    new.add_argument("--readers", type=int, default=mail.READERS, help="how many")
    new.set_defaults(run=lambda options: mail.bench_mail(options.readers))

    new = commands.add_parser("bench-plan", help="finding what moves together, and moving much at once")
    new.add_argument("parts", nargs="*", choices=[*plan.PARTS, []], help="only these parts")
    new.add_argument("--instances", type=int, default=batch.INSTANCES, help="InstanceIDs of the batch")
    new.add_argument("--switches", type=int, default=batch.SWITCHES, help="moves of the batch")
    new.add_argument("--keep", type=Path, help="use and keep this data folder for the batch")
    new.set_defaults(
        run=lambda options: plan.bench_plan(options.parts, options.instances, options.switches, options.keep)
    )
    new = commands.add_parser("bench-pipeline", help="from access reports to facts, beside DuckDB")
    new.add_argument("--reports", type=int, nargs="*", default=[], help="these sizes only")
    new.add_argument("--keep", action="store_true", help="keep the reports for the next run")
    new.set_defaults(run=lambda options: pipeline.bench_pipeline(options.reports, options.keep))

    new = commands.add_parser("bench-web", help="pages and API beside fleets of up to 100,000 AppIDs")
    new.add_argument("parts", nargs="*", choices=[*web.PARTS, []], help="only these parts")
    new.add_argument("--sizes", type=_appids, nargs="*", default=[], help="AppIDs: these sizes only")
    new.add_argument("--keep", type=Path, help="use and keep the fleets in this folder")
    new.set_defaults(run=lambda options: web.bench_web(options.parts, options.sizes, options.keep))


def _print_environment(data: Path) -> int:
    print(exports(of_running(_that_runs(data))), end="")
    return 0


def _clients_check(options: argparse.Namespace) -> int:
    phases = [p for p in PHASES if p.offsets in options.offsets and p.scope in options.scopes]
    return clients_check(options.libraries, phases, options.keep)


def _exec(options: argparse.Namespace) -> int:
    program = [each for each in options.program if each != "--"]
    return execute(options.data, program, with_kafka=not options.without_kafka)


def _obey_signals() -> None:
    """Make SIGINT, SIGTERM and SIGHUP end this process as Ctrl-C does, with everything that it started.

    A shell without job control starts background programs with SIGINT ignored. This process handles SIGINT all the
    same, because somebody who sends it here means it. A SIGHUP that is ignored (nohup) stays ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _interrupt)


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


def _appids(text: str) -> int:
    if not text.isdecimal() or int(text) < LEAST_APPIDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {LEAST_APPIDS} on")
    return int(text)


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


def _that_runs(data: Path) -> Path:
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


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())

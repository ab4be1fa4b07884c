"""The commands of `python -m hadash_sandbox`.

- `up`: the stack alone; `exec`: another program beside a stack of its own;
- `demo`, `demo-fleet`: all of hadash on the stack; `reset` deletes their data;
- `env`, `manage`: access to a demo that already runs;
- `check`, `clients-check`, `fault` and `bench-*`: trials and benchmarks;
- `record`: access reports of real clients, written as a fixture.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TypeAlias

from hadash_sandbox import foreground
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
from hadash_sandbox.environment import exports, of_running
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.fault.faults import FAULTS
from hadash_sandbox.fault.run import STAGES, fault_table
from hadash_sandbox.pool_faults import cell as pool_cell
from hadash_sandbox.pool_faults.run import fault_pool
from hadash_sandbox.recording.run import record_demo
from spark.fleet.recorded import FOLDER as RECORDED

#: AppIDs of the fleet that ``make demo-fleet`` generates, and the fewest allowed: a smaller fleet does not have the
#: shape of a large one.
FLEET_APPIDS, LEAST_APPIDS = 10_000, 100


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
    new.set_defaults(run=lambda options: foreground.up(options.data, options.brokers, options.env_file))

    new = commands.add_parser("demo", help="all of hadash with live traffic, until Ctrl-C")
    new.add_argument(
        "--data", type=Path, default=foreground.DEFAULT_DATA, help="data folder, kept between starts"
    )
    new.set_defaults(run=lambda options: foreground.demo(options.data))

    new = commands.add_parser("demo-fleet", help="the demo beside a large generated fleet")
    new.add_argument("--appids", type=_appids, default=FLEET_APPIDS, help="of the generated fleet")
    new.add_argument("--data", type=Path, default=foreground.FLEET_DATA, help="data folder")
    new.add_argument(
        "--every-day",
        action="store_true",
        help="have the jobs run for each of its thirty days, which takes as many times as long; otherwise they run for "
        "three, and the figures of the days between are interpolated",
    )
    new.set_defaults(
        run=lambda options: foreground.demo_fleet(options.data, options.appids, options.every_day)
    )

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
    new.add_argument(
        "--data",
        type=Path,
        nargs="*",
        default=[foreground.DEFAULT_DATA, foreground.FLEET_DATA],
        help="data folders",
    )
    new.set_defaults(run=lambda options: max(map(foreground.reset, options.data), default=0))

    new = commands.add_parser("env", help="the environment of the running demo, as lines for a shell")
    new.add_argument("--data", type=Path, default=foreground.DEFAULT_DATA, help="its data folder")
    new.set_defaults(run=lambda options: _print_environment(options.data))

    new = commands.add_parser("manage", help="hadash-manage beside the running demo")
    new.add_argument("--data", type=Path, default=foreground.DEFAULT_DATA, help="its data folder")
    new.add_argument("arguments", nargs=argparse.REMAINDER, help="of manage.py")
    new.set_defaults(
        run=lambda options: foreground.manage(foreground.that_runs(options.data), options.arguments)
    )

    new = commands.add_parser("plant", help="plant a difference, which the running demo's auditors find")
    new.add_argument("--data", type=Path, default=foreground.DEFAULT_DATA, help="its data folder")
    new.add_argument("--topic", default="shop.carts", help="the Topic")
    new.add_argument("--cluster", default="west", help="the cluster on which the record is too much")
    new.set_defaults(
        run=lambda options: foreground.plant_difference(options.data, options.topic, options.cluster)
    )


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
    print(exports(of_running(foreground.that_runs(data))), end="")
    return 0


def _clients_check(options: argparse.Namespace) -> int:
    phases = [p for p in PHASES if p.offsets in options.offsets and p.scope in options.scopes]
    return clients_check(options.libraries, phases, options.keep)


def _exec(options: argparse.Namespace) -> int:
    program = [each for each in options.program if each != "--"]
    return foreground.execute(options.data, program, with_kafka=not options.without_kafka)


def _obey_signals() -> None:
    """Make SIGINT, SIGTERM and SIGHUP end this process as Ctrl-C does, with everything that it started.

    A shell without job control starts background programs with SIGINT ignored. This process handles SIGINT all the
    same, because somebody who sends it here means it. A SIGHUP that is ignored (nohup) stays ignored.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, _interrupt)


def _appids(text: str) -> int:
    if not text.isdecimal() or int(text) < LEAST_APPIDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from {LEAST_APPIDS} on")
    return int(text)


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())

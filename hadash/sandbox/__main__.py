"""`python -m hadash.sandbox`: the stack alone (`up`), all of hadash on it (`demo`), trials of it (`check`,
`bench-switch`, `bench-gateway`, `bench-plan`, `bench-pipeline`, `fault`), or another program beside the stack (`exec`)."""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from hadash.sandbox.bench import batch, gateway, pipeline, plan
from hadash.sandbox.check import bench_switch, demo_check
from hadash.sandbox.demo import DEFAULT_DATA, ROOT, Demo
from hadash.sandbox.errors import SandboxError
from hadash.sandbox.fault.faults import FAULTS
from hadash.sandbox.fault.run import STAGES, fault_table
from hadash.sandbox.stack import Stack, is_running
from hadash.sandbox.world import WORLDS


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hadash.sandbox")
    commands = parser.add_subparsers(dest="command", required=True)
    up_parser = commands.add_parser("up", help="bring the stack up until Ctrl-C")
    up_parser.add_argument("--data", type=Path, default=Path("var/sandbox"), help="data folder")
    up_parser.add_argument("--brokers", type=int, default=1, help="brokers per Kafka cluster")
    up_parser.add_argument("--env-file", type=Path, help="also write the settings to this file")
    demo_parser = commands.add_parser("demo", help="all of hadash with live traffic, until Ctrl-C")
    demo_parser.add_argument(
        "--data", type=Path, default=DEFAULT_DATA, help="data folder, kept between starts"
    )
    reset_parser = commands.add_parser("reset", help="forget the demo's data")
    reset_parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="data folder")
    check_parser = commands.add_parser("check", help="switch there and back without a person")
    check_parser.add_argument(
        "--world", choices=[*WORLDS], default="demo", help="whose clients: libraries has one of every kind"
    )
    check_parser.add_argument("--keep", type=Path, help="use and keep this data folder")
    bench_parser = commands.add_parser("bench-switch", help="many switches, with their distribution")
    bench_parser.add_argument("-n", type=int, default=20, help="how many switches")
    bench_parser.add_argument("--keep", type=Path, help="use and keep this data folder")
    gateway_parser = commands.add_parser("bench-gateway", help="the Gateway beside the broker itself")
    gateway_parser.add_argument("parts", nargs="*", choices=[*gateway.PARTS, []], help="only these parts")
    plan_parser = commands.add_parser(
        "bench-plan", help="finding what moves together, and moving much at once"
    )
    plan_parser.add_argument("parts", nargs="*", choices=[*plan.PARTS, []], help="only these parts")
    plan_parser.add_argument(
        "--instances", type=int, default=batch.INSTANCES, help="InstanceIDs of the batch"
    )
    plan_parser.add_argument("--switches", type=int, default=batch.SWITCHES, help="moves of the batch")
    plan_parser.add_argument("--keep", type=Path, help="use and keep this data folder for the batch")
    pipeline_parser = commands.add_parser(
        "bench-pipeline", help="from access reports to facts, beside DuckDB"
    )
    pipeline_parser.add_argument("--reports", type=int, nargs="*", default=[], help="these sizes only")
    pipeline_parser.add_argument("--keep", action="store_true", help="keep the reports for the next run")
    fault_parser = commands.add_parser("fault", help="something dies in each stage of a switch")
    fault_parser.add_argument("--faults", nargs="*", choices=[*FAULTS], default=[], help="only these")
    fault_parser.add_argument("--stages", nargs="*", choices=STAGES, default=[], help="only in these")
    exec_parser = commands.add_parser("exec", help="run a program beside a stack of its own")
    exec_parser.add_argument(
        "--data", type=Path, help="data folder; the default is a new one, deleted at the end"
    )
    exec_parser.add_argument("program", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    _obey_signals()
    try:
        match options.command:
            case "up":
                return up(options.data, options.brokers, options.env_file)
            case "demo":
                return demo(options.data)
            case "reset":
                return reset(options.data)
            case "check":
                return demo_check(options.keep, options.world)
            case "bench-switch":
                return bench_switch(options.n, options.keep)
            case "bench-gateway":
                return gateway.bench_gateway(options.parts)
            case "bench-plan":
                return plan.bench_plan(options.parts, options.instances, options.switches, options.keep)
            case "bench-pipeline":
                return pipeline.bench_pipeline(options.reports, options.keep)
            case "fault":
                return fault_table(options.faults, options.stages)
            case _:
                return execute(options.data, [a for a in options.program if a != "--"])
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _obey_signals() -> None:
    """SIGTERM and SIGHUP end us as Ctrl-C does: with everything that we started."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup sets it
            signal.signal(number, _interrupt)


def up(data: Path, brokers: int, env_file: Path | None) -> int:
    """Bring the stack up, print its settings, and hold it until a signal asks to end."""
    with Stack(data, brokers=brokers) as stack:
        settings = "".join(
            f"export {key}={shlex.quote(value)}\n" for key, value in stack.environment().items()
        )
        if env_file is not None:
            env_file.write_text(settings)
        print(f"\n{settings}\nThe stack is up. Ctrl-C stops it.", flush=True)
        _hold()
    return 0


def demo(data: Path) -> int:
    """All of hadash, with its people and live clients."""
    with Demo(data, pipeline=True) as running:
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
Ctrl-C stops everything; the data stays in {running.data_dir} (make demo-reset starts over).""",
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


def execute(data: Path | None, program: list[str]) -> int:
    """Run ``program`` with the settings of a stack that lives as long as it does; its exit code."""
    if not program:
        raise SandboxError("Say which program to run: python -m hadash.sandbox exec -- PROGRAM ARGUMENTS.")
    folder = data or Path(tempfile.mkdtemp(prefix="hadash-exec-"))
    try:
        with Stack(folder) as stack:
            process = subprocess.Popen(program, env={**os.environ, **stack.environment()})
            try:
                code = process.wait()
                if code != 0:
                    # The servers' own words, for whoever looks for the reason: .ci/run prints them.
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

"""``make bench-mail``: one schedule with ten thousand recipients, against a real SMTP server on this machine."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from hadash_sandbox import ports
from hadash_sandbox.bench.report import Report, begin
from hadash_sandbox.processes import Process
from hadash_sandbox.stack import Stack

READERS = 10_000
#: Goals: ten minutes on two cores, and the memory of a worker.
GOAL_SECONDS, GOAL_MIB = 600.0, 512.0

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "var" / "bench" / "mail.json"


def bench_mail(readers: int = READERS) -> int:
    """Measure, print, and write ``var/bench/mail.json``; return the exit code, 1 when a goal is missed."""
    report = begin(RESULT)
    with tempfile.TemporaryDirectory(prefix="hadash-bench-mail-") as folder:
        data = Path(folder)
        with Stack(data / "stack", clusters=(), with_connect=False) as stack:
            port = ports.allocate(["mail"], data / "ports.json")["mail"]
            sink = ["-m", "aiosmtpd", "-n", "-l", f"127.0.0.1:{port}", "-c", "aiosmtpd.handlers.Sink"]
            stack.add(Process("mail", [sys.executable, *sink], log_path=data / "mail.log"))
            settings = {
                "DJANGO_SETTINGS_MODULE": "hadash.settings",
                "HADASH_SMTP_HOST": "127.0.0.1",
                "HADASH_SMTP_PORT": str(port),
                "HADASH_SMTP_SECURITY": "none",
            }
            environment = {**os.environ, **stack.environment(), **settings, "PYTHONPATH": str(ROOT)}
            for command in (
                [str(ROOT / "manage.py"), "migrate", "--no-input", "-v", "0"],
                ["-m", "hadash_sandbox.bench.mailing", str(readers)],
            ):
                done = subprocess.run(
                    [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
                )
                if done.returncode != 0:
                    print(done.stdout, done.stderr, sep="\n", file=sys.stderr)
                    return 1
    figures = dict(each.split("=") for each in done.stdout.split())
    return _concluded(report, readers, {name: float(value) for name, value in figures.items()})


def _concluded(report: Report, readers: int, found: dict[str, float]) -> int:
    report.row("one schedule", readers=readers, **found)
    report.at_most(f"{readers} mails made and sent", GOAL_SECONDS, found["make_s"] + found["send_s"], "s")
    report.at_most("memory of the worker at most", GOAL_MIB, found["rss_mib"], "MiB")
    report.at_most("connections to the server", readers / 100 + 1, found["connections"], "")
    report.at_least("mails that the server took", readers, found["accepted"], "")
    return report.conclude(RESULT)


def measured(began: float) -> float:
    """Seconds since ``began`` (``time.perf_counter``)."""
    return round(time.perf_counter() - began, 1)


def memory_mib() -> int:
    """The largest memory of this process so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

"""``make audit-check``: switches there and back for an hour, under load, while auditors compare all mirrors: they must
find nothing. Then a difference is planted in every mirrored Topic: they must find each of these, and no other.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from hadash_sandbox import auditing
from hadash_sandbox.bench.records import explain, judge_records
from hadash_sandbox.bench.report import Report, begin
from hadash_sandbox.check import MOVES, show_logs
from hadash_sandbox.demo import DEMO_RATE, PAIR, ROOT, Demo
from hadash_sandbox.ending import finish
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.traffic.client import Pace
from hadash_sandbox.trial import Trial
from hadash_sandbox.waiting import came_about, wait_until

#: The demo's.
AUDITORS = 2
#: Seconds for the auditors to have compared all that both sides hold: at the start, after the last switch, and after
#: differences were planted.
LIMIT_SECONDS = 180.0
LOOK_SECONDS = 1.0
#: Differences of a mirror that are read: the most that the API gives at once.
PAGE_SIZE = 200
#: The table of the report.
EACH_SWITCH = "after each switch"

_log = partial(print, file=sys.stderr, flush=True)

#: Topic, partition, kind, and the offset on the target.
Difference = tuple[str, int, str, int]


@dataclass
class Look:
    """What the API says of the audits of all mirrors.

    :param proofs: mirror → its proof. :param compared_at: when all that both sides of a partition held was last
        compared; the oldest time; ``None``: of one it never was. :param equal: records that were found equal.
    :param count: differences, those included that are only counted; ``differences`` has the newest of each mirror.
    """

    proofs: dict[str, str] = field(default_factory=dict)
    compared_at: datetime | None = None
    equal: int = 0
    count: int = 0
    differences: set[Difference] = field(default_factory=set)

    def is_proved(self, since: datetime | None = None) -> bool:
        """Whether all mirrors are proved equal, by what was compared after a time."""
        is_new = self.compared_at is not None and (since is None or self.compared_at > since)
        return is_new and set(self.proofs.values()) == {"equal"}


def audit_check(minutes: float, keep: Path | None = None) -> int:
    """Run it, print a row for each switch, and write ``var/bench/audit-check.json``; return the exit code.

    :param minutes: for which there are switches.
    """
    path = ROOT / "var" / "bench" / "audit-check.json"
    report = begin(path)
    folder = keep or Path(tempfile.mkdtemp(prefix="hadash-audit-check-"))
    try:
        with Demo(folder, rate=DEMO_RATE, pace=Pace.ONE_AT_A_TIME, auditors=AUDITORS, log=_log) as demo:
            _run(demo, report, minutes)
    except BaseException:
        show_logs(folder)
        raise
    finally:
        if keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    return report.conclude(path)


def _run(demo: Demo, report: Report, minutes: float) -> None:
    trial = Trial(demo, _log)
    trial.await_traffic()
    wait_until(lambda: _look(trial).is_proved(), "A proof of every mirror", LIMIT_SECONDS, every=LOOK_SECONDS)
    began, switches, faults = time.monotonic(), 0, list[str]()
    looks: list[Look] = []
    while time.monotonic() < began + minutes * 60:
        appid, instance = MOVES[switches % len(MOVES)]
        target = "west" if switches // len(MOVES) % 2 == 0 else "east"
        try:
            measured = trial.switch(appid, instance, target)
        except SandboxError as error:
            faults.append(f"no more switches after {switches}: {error}")
            break
        switches += 1
        looks.append(look := _look(trial))
        report.row(
            EACH_SWITCH, minute=round((time.monotonic() - began) / 60, 1), scope=measured.scope, target=measured.target,
            status=measured.status, compared=look.equal, differences=look.count,
        )  # fmt: skip
    verdict = finish(trial)
    verdict["faults"] += faults
    for line in explain(verdict):
        _log(line)
    ended = datetime.now(UTC)
    came_about(lambda: _look(trial).is_proved(ended), LIMIT_SECONDS, every=LOOK_SECONDS)
    looks.append(last := _look(trial))
    found = {each for look in looks for each in look.differences}
    needed = {"samples": switches, "needed": 2 * len(MOVES)}
    failed = sum(row["status"] != "succeeded" for row in report.tables.get(EACH_SWITCH, []))
    report.at_most("switches that did not succeed", 0, failed, "", **needed)
    most = max(len(found), *(look.count for look in looks))
    report.at_most("differences found that are not there", 0, most, "", **needed)
    again = sum(after.equal < before.equal for before, after in pairwise(looks))
    report.at_most("comparisons that began again", 0, again, "", **needed)
    report.at_least("records compared", 1, last.equal, "", **needed)
    proved = sum(proof == "equal" for proof in last.proofs.values()) if last.is_proved(ended) else 0
    report.at_least("mirrors proved equal up to the end", len(last.proofs), proved, "")
    judge_records(report, [verdict])
    planted = _plant(demo, trial)
    came_about(lambda: planted <= _look(trial).differences, LIMIT_SECONDS, every=LOOK_SECONDS)
    seen = _look(trial).differences - found
    report.at_most("planted differences that were not found", 0, len(planted - seen), f"of {len(planted)}")
    report.at_most("others that were found beside them", 0, len(seen - planted), "")


def _plant(demo: Demo, trial: Trial) -> set[Difference]:
    """Write a record too much to the target of each mirrored Topic, past the mirror."""
    configs = {name: demo.admin_config(name) for name in demo.stack.kafka}
    planted: set[Difference] = set()
    for mirror in demo.world.mirrors:
        for topic in demo.world.mirrors[mirror]:
            (row,) = [
                each
                for each in _audit_of(trial, mirror)["partitions"]
                if (each["topic"], each["partition"]) == (topic, 0)
            ]
            (target,) = demo.stack.kafka.keys() - {row["source"]}
            place = auditing.plant(configs, topic, target)
            _log(f"Planted: {place}")
            planted.add((topic, 0, "extra", int(place.rsplit(" ", 1)[1])))
    return planted


def _audit_of(trial: Trial, mirror: str) -> dict[str, Any]:
    found: dict[str, Any] = trial.operator.call("GET", f"pairs/{PAIR}/mirrors/{mirror}/audit/")
    return found


def _look(trial: Trial) -> Look:
    look, times = Look(), list[datetime | None]()
    for mirror in trial.demo.world.mirrors:
        told = _audit_of(trial, mirror)
        look.proofs[mirror] = told["proof"]
        for each in told["partitions"]:
            look.equal += each["equal"]
            times.append(datetime.fromisoformat(each["compared_at"]) if each["compared_at"] else None)
        if told["differences"]:
            look.count += told["differences"]
            address = f"pairs/{PAIR}/mirrors/{mirror}/differences/?page_size={PAGE_SIZE}"
            look.differences |= {
                (each["topic"], each["partition"], each["kind"], each["target_offset"])
                for each in trial.operator.call("GET", address)["results"]
            }
    known = [each for each in times if each is not None]
    look.compared_at = min(known) if known and len(known) == len(times) else None
    return look

"""A cluster is lost for good, or so it seems: its clients go on without it, and what is lost is counted when
it is back.

On a demo of its own: records are lost here, which the verdict over the other tests of this folder would not forgive.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from support.waiting import eventually

from hadash_sandbox.demo import Demo
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import Person
from hadash_sandbox.trial import SWITCH_SECONDS, Trial

from .conftest import KILL_SECONDS, Workers, a_demo
from .losing import FORCED, LOST, ask_to_go_without, move_to_lost, noted, rebuild

pytestmark = [pytest.mark.stack, pytest.mark.long]


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    yield from a_demo()


@pytest.fixture(scope="module")
def trial(demo: Demo) -> Trial:
    prepared = Trial(demo, print)
    prepared.await_traffic()
    return prepared


@pytest.fixture(scope="module")
def lost() -> list[int]:
    """Records in the tails of these tests: that many may be missing in the end."""
    return []


def test_a_target_that_is_lost_before_its_mirror_is_turned_round_is_given_up(
    demo: Demo, trial: Trial, workers: Workers, lost: list[int]
) -> None:
    """Between forward and reverse: its clients are there, and the mirror still copies to it."""
    rita, bea = (Person(demo.url, name, demo.password) for name in ("rita", "bea"))
    billing = [spec for spec in demo.world.clients if spec.appid == "billing"]
    worker = workers.dying("reverse", "ReverseMirrors", "before")
    key = trial.operator.request("billing", None, LOST, "The target dies behind it")
    trial.approver.approve(key).raise_for_status()
    assert worker.wait(timeout=KILL_SECONDS) == -9
    cluster = demo.stack.kafka[LOST]
    for process in cluster.processes:
        process.kill()
    workers.successor()
    eventually(
        lambda: rita.state(key)["status"] == "needs_attention",
        "a switch that asks for a person",
        patience=SWITCH_SECONDS,
    )
    with pytest.raises(SandboxError, match="copies from east"):
        rita.call("POST", "switches/", FORCED)
    given_up = {"confirm": LOST, "reason": "The data centre is under water"}
    assert rita.call("POST", f"switches/{key}/abandon/", given_up)["status"] == "closed"

    forced = ask_to_go_without(trial, rita, bea)
    trial.await_progress(billing, time.time())
    cluster.start(print)
    lost.append(rebuild(rita, forced))


def test_clients_go_on_without_their_cluster_and_come_back_when_it_is_rebuilt(
    demo: Demo, trial: Trial, workers: Workers, lost: list[int]
) -> None:
    """Also when the worker dies while it finds out what is lost: the next one finds it out."""
    first = workers.successor()
    rita, bea = (Person(demo.url, name, demo.password) for name in ("rita", "bea"))
    billing = [spec for spec in demo.world.clients if spec.appid == "billing"]
    assert move_to_lost(trial, rita).status == "succeeded"

    with pytest.raises(SandboxError, match=f"{LOST} answers"):
        rita.call("POST", "switches/", FORCED)

    eventually(lambda: noted(demo), "a note of the groups' positions", patience=60)
    cluster = demo.stack.kafka[LOST]
    for process in cluster.processes:
        process.kill()
    first.stop()
    worker = workers.dying("assess", "HoldMirrors", "after")

    def take_over() -> None:
        assert worker.wait(timeout=KILL_SECONDS) == -9, "the worker was to be killed inside the stage"
        workers.successor()

    key = ask_to_go_without(trial, rita, bea, take_over)
    trial.await_progress(billing, time.time())
    stages = rita.state(key)["stages"]
    assert [s["result"] for s in stages if s["stage"] == "assess"][-2:] == ["interrupted", "done"]

    def show() -> dict[str, Any]:
        return rita.call("GET", f"switches/{key}/")

    found = show()
    assert found["unreplicated"]["status"] == "waiting"
    assert found["loss"]["seen"] is not None
    with pytest.raises(SandboxError, match="there is nothing to decide"):
        rita.call("POST", f"switches/{key}/rebuild/", {"confirm": LOST, "note": "too early"})

    cluster.start(print)
    records = rebuild(rita, key)
    assert records >= found["loss"]["records"]
    lost.append(records)

    assert move_to_lost(trial, rita).status == "succeeded"
    demo.stop_clients("produce")

    def settled() -> bool:
        """What the stopped producers wrote last has to be read first."""
        verdicts = trial.judge()
        billing = [verdict for verdict in verdicts if verdict.group.startswith("billing")]
        others = [verdict for verdict in verdicts if not verdict.group.startswith("billing")]
        assert others
        return sum(v.lost for v in billing) <= sum(lost) and not sum(v.lost for v in others)

    eventually(settled, "all but the unreplicated records has been read, and of the others all", patience=60)
    others = [verdict for verdict in trial.judge() if not verdict.group.startswith("billing")]
    assert sum(verdict.duplicated for verdict in others) == 0

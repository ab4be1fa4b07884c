"""PostgreSQL fails over, in the middle of a real switch, to a replica without the last commits."""

from __future__ import annotations

import time

import pytest
from support import forgetting
from support.waiting import eventually

from hadash.bindings.model import BindingState
from hadash.bindings.store import BindingStore
from hadash_sandbox.trial import SWITCH_SECONDS, Trial

from .conftest import KILL_SECONDS, Workers
from .test_kill import APPID, INSTANCE, bound_to

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]


def carts_runs_from(trial: Trial, source: str) -> bool:
    """As it was last looked at: that may be some seconds ago, while Connect was starting it."""
    (mirror,) = [m for m in trial.operator.call("GET", "pairs/")[0]["mirrors"] if m["name"] == "carts"]
    return bool((mirror["source"], mirror["state"]) == (source, "running"))


@pytest.mark.parametrize(
    ("stage", "command"),
    [("verify", "ReadClients"), pytest.param("reverse", "ReverseMirrors", marks=pytest.mark.long)],
    ids=["the mirror is turned round", "the source lacks what was written since"],
)
def test_a_finished_forward_that_postgresql_has_forgotten_is_no_return(
    trial: Trial, bindings: BindingStore, workers: Workers, stage: str, command: str
) -> None:
    """The clients are on the target, and write there. Then PostgreSQL says that they are blocked on the
    source: the switch goes on from forward, with all that was acknowledged meanwhile, and nobody reads
    anything twice.
    """
    database = trial.demo.environment()["DATABASE_URL"]
    source = bound_to(bindings).cluster
    target = "west" if source == "east" else "east"
    began = time.time()

    worker = workers.dying("block", "WriteBindings", "after")
    key = trial.operator.request(APPID, INSTANCE, target, "PostgreSQL fails over behind forward.")
    trial.approver.approve(key).raise_for_status()
    assert worker.wait(timeout=KILL_SECONDS) == -9
    in_block = forgetting.keep(database, key)
    worker = workers.dying(stage, command, "before")
    assert worker.wait(timeout=KILL_SECONDS) == -9
    assert bound_to(bindings).cluster == target
    moved = [spec for spec in trial.demo.world.clients if (spec.appid, spec.client_id) == (APPID, INSTANCE)]
    trial.await_progress(moved, time.time())
    forgetting.put_back(database, in_block)
    assert trial.operator.state(key)["stage"] == "block"
    workers.successor()
    state = trial.approver.await_end(key, SWITCH_SECONDS)

    assert (state["status"], bound_to(bindings).cluster) == ("succeeded", target), state["outcome"]
    assert bound_to(bindings).state is BindingState.FORWARD
    stages = [stage["stage"] for stage in state["stages"]]
    assert stages[-3:] == ["forward", "reverse", "verify"]
    eventually(
        lambda: carts_runs_from(trial, target),
        "the mirror is seen to run from the target",
        patience=SWITCH_SECONDS,
    )

    ended = time.time()
    eventually(
        lambda: sum(v.lost for v in trial.judge(window=(began, ended))) == 0,
        "every record that was acknowledged is read",
        patience=SWITCH_SECONDS,
    )
    doubled = [(v.duplicated, v.out_of_order) for v in trial.judge(window=(began, ended))]
    assert set(doubled) == {(0, 0)}
    back = {
        "pair": "main",
        "scope": {"kind": "instance", "appid": APPID, "instance_id": INSTANCE},
        "target": source,
    }
    eventually(
        lambda: trial.operator.answer("POST", "plans/", back).json().get("checks") == "hold",
        "the way back is open (settings of the mirror that PostgreSQL had forgotten, too, are mended)",
        patience=SWITCH_SECONDS,
    )

"""The only worker is killed with SIGKILL inside each stage, and another one starts: the switch is finished or returned.

These are the long ones; every run has some of ``test_kill_one_of_two.py``.
"""

from __future__ import annotations

import pytest

from hadash.bindings.model import Binding, BindingState
from hadash.bindings.store import BindingStore
from hadash.identity.resolve import resolve
from hadash_sandbox.trial import SWITCH_SECONDS, Trial

from .conftest import KILL_SECONDS, Workers

pytestmark = pytest.mark.stack

APPID, INSTANCE = "shop", "shop-carts"

#: stage, the command at which the worker dies, and whether the command has been carried out then.
POINTS = [
    ("precheck", "RecordSeen", "after"),
    ("quiesce", "WriteBindings", "after"),
    ("block", "WriteBindings", "after"),
    ("drain", "RecordDrained", "before"),
    ("translate", "WriteGroupOffsets", "after"),
    ("forward", "WriteBindings", "after"),
    ("reverse", "ReverseMirrors", "after"),
    ("verify", "ReadClients", "before"),
]


def bound_to(bindings: BindingStore, appid: str = APPID, instance: str = INSTANCE) -> Binding:
    return resolve(bindings.document(appid), instance, Binding("east"))


@pytest.mark.long
@pytest.mark.parametrize(("stage", "command", "when"), POINTS, ids=str)
def test_switch_survives_the_loss_of_its_worker(
    trial: Trial, bindings: BindingStore, workers: Workers, stage: str, command: str, when: str
) -> None:
    source = bound_to(bindings).cluster
    target = "west" if source == "east" else "east"
    worker = workers.dying(stage, command, when)

    key = trial.operator.request(APPID, INSTANCE, target, f"The worker dies in {stage}.")
    trial.approver.approve(key).raise_for_status()
    assert worker.wait(timeout=KILL_SECONDS) == -9, "the worker was to be killed inside the stage"
    workers.successor()
    state = trial.approver.await_end(key, SWITCH_SECONDS)

    binding = bound_to(bindings)
    assert binding.state is BindingState.FORWARD
    assert state["status"] == "succeeded", state["outcome"]
    assert binding.cluster == target
    assert [s["result"] for s in state["stages"] if s["stage"] == stage][-2:] == ["interrupted", "done"]


@pytest.mark.long
def test_switch_returns_when_clients_have_waited_for_too_long(
    trial: Trial, bindings: BindingStore, workers: Workers
) -> None:
    """The next worker came after the clients' patience was over: they go on where they were, and nobody had
    to see to it.
    """
    source = bound_to(bindings).cluster
    target = "west" if source == "east" else "east"
    worker = workers.dying("block", "WriteBindings", "after")

    key = trial.operator.request(
        APPID, INSTANCE, target, "The worker dies in block, and the next one is late."
    )
    trial.approver.approve(key).raise_for_status()
    assert worker.wait(timeout=KILL_SECONDS) == -9
    workers.successor(blocked_seconds=0)
    state = trial.approver.await_end(key, SWITCH_SECONDS)

    assert state["status"] == "rolled_back"
    assert state["outcome"].startswith("Clients have waited for ")
    assert f"They go on on {source}." in state["outcome"]
    assert (bound_to(bindings).cluster, bound_to(bindings).state) == (source, BindingState.FORWARD)


@pytest.mark.long
@pytest.mark.parametrize(
    ("command", "when"), [("WriteBindings", "before"), ("WriteBindings", "after"), ("ResumeMirrors", "after")]
)
def test_switch_goes_on_returning_when_the_worker_that_returns_dies(
    trial: Trial, bindings: BindingStore, workers: Workers, command: str, when: str
) -> None:
    source = bound_to(bindings).cluster
    target = "west" if source == "east" else "east"
    worker = workers.dying("block", "WriteBindings", "after")

    key = trial.operator.request(APPID, INSTANCE, target, "The worker dies in block, and the next in return.")
    trial.approver.approve(key).raise_for_status()
    assert worker.wait(timeout=KILL_SECONDS) == -9
    # (For the next one clients have waited for too long: it returns.)
    worker = workers.dying("return", command, when, blocked_seconds=0)
    assert worker.wait(timeout=KILL_SECONDS) == -9, "the worker was to be killed inside the stage"
    workers.successor()
    state = trial.approver.await_end(key, SWITCH_SECONDS)

    assert state["status"] == "rolled_back", state["outcome"]
    assert [s["result"] for s in state["stages"] if s["stage"] == "return"][-2:] == ["interrupted", "done"]
    assert (bound_to(bindings).cluster, bound_to(bindings).state) == (source, BindingState.FORWARD)
    # Nothing of it is in the way of the next one.
    assert trial.switch(APPID, INSTANCE, target).status == "succeeded"


@pytest.mark.long
def test_a_rehearsal_is_rehearsed_again_when_its_worker_dies(
    trial: Trial, bindings: BindingStore, workers: Workers
) -> None:
    before = bound_to(bindings)
    target = "west" if before.cluster == "east" else "east"
    worker = workers.dying("rehearse", "CompareLastRecords", "after")

    key = trial.operator.request(APPID, INSTANCE, target, "The worker dies in rehearse.", "rehearsal")
    assert worker.wait(timeout=KILL_SECONDS) == -9, "the worker was to be killed inside the stage"
    workers.successor()
    state = trial.approver.await_end(key, SWITCH_SECONDS)

    assert state["status"] == "succeeded", state["outcome"]
    assert [s["result"] for s in state["stages"] if s["stage"] == "rehearse"][-2:] == ["interrupted", "done"]
    assert bound_to(bindings) == before


@pytest.mark.parametrize(
    ("command", "when"),
    [
        pytest.param("WriteGroupOffsets", "after", marks=pytest.mark.long),
        pytest.param("RecordDrained", "before", marks=pytest.mark.long),
    ],
    ids=str,
)
def test_readers_go_over_although_the_worker_dies_while_they_wait(
    trial: Trial, bindings: BindingStore, workers: Workers, command: str, when: str
) -> None:
    """A read split to the mirror, and the one home, each cut off in the stage that only it has."""
    target = "west" if bound_to(bindings, "audit", "audit-clicks").cluster == "east" else "east"
    worker = workers.dying("catch_up", command, when)

    key = trial.operator.request(
        "audit", "audit-clicks", target, "The worker dies in catch up.", "read-split"
    )
    trial.approver.approve(key).raise_for_status()
    assert worker.wait(timeout=KILL_SECONDS) == -9, "the worker was to be killed inside the stage"
    workers.successor()
    state = trial.approver.await_end(key, SWITCH_SECONDS)

    assert state["status"] == "succeeded", state["outcome"]
    binding = bound_to(bindings, "audit", "audit-clicks")
    assert (binding.cluster, binding.state) == (target, BindingState.FORWARD)
    assert [s["result"] for s in state["stages"] if s["stage"] == "catch_up"][-2:] == ["interrupted", "done"]

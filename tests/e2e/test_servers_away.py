"""A server hangs in the middle of a switch: the clients return to where they were, or arrive; nothing is lost.

That nothing was lost, written twice or out of order says the last test of this folder, over all of them.
"""

from __future__ import annotations

import time

import pytest
from support.waiting import eventually

from hadash.bindings.errors import StoreUnavailable
from hadash.bindings.model import Binding, BindingState
from hadash.bindings.store import BindingStore
from hadash.identity.resolve import resolve
from hadash_sandbox.demo import Demo
from hadash_sandbox.trial import SWITCH_SECONDS, Trial
from hadash_sandbox.world import DEMO

pytestmark = pytest.mark.stack

APPID, INSTANCE = "shop", "shop-carts"


def bound(bindings: BindingStore) -> Binding:
    return resolve(bindings.document(APPID), INSTANCE, Binding("east"))


def begin(trial: Trial, bindings: BindingStore, reason: str) -> tuple[str, str]:
    """Ask for a switch, approve it, and wait until consumers quiesce: the precheck has found everything well.

    Its key, and the cluster that the clients are on.
    """
    before = bound(bindings).cluster
    key = trial.operator.request(APPID, INSTANCE, "west" if before == "east" else "east", reason)
    trial.approver.approve(key).raise_for_status()
    eventually(lambda: trial.operator.state(key)["stage"] == "quiesce", "quiesce", patience=60, every=0.005)
    return key, before


def test_a_mirror_that_stands_still_sends_everybody_back(
    demo: Demo, trial: Trial, bindings: BindingStore
) -> None:
    key, before = begin(trial, bindings, "Connect hangs in this one.")
    connect = demo.stack.connect.process
    connect.pause()
    try:
        eventually(lambda: trial.operator.state(key)["stage"] == "return", "the return", patience=60)
    finally:
        connect.resume()
    state = trial.approver.await_end(key, SWITCH_SECONDS)

    assert state["status"] == "rolled_back", state["outcome"]
    assert "mirror still lacks" in state["outcome"] or "Connect" in state["outcome"]
    assert (bound(bindings).cluster, bound(bindings).state) == (before, BindingState.FORWARD)


def test_while_zookeeper_is_away_the_clients_go_on_and_afterwards_the_switch_ends(
    demo: Demo, trial: Trial, bindings: BindingStore
) -> None:
    key, before = begin(trial, bindings, "ZooKeeper hangs in this one.")
    (zookeeper,) = demo.stack.zookeeper.processes
    zookeeper.pause()
    said = len(trial.operator.state(key)["log"])
    try:
        # Longer than the control plane waits for an answer, so that the stage fails, or says that it cannot begin.
        eventually(lambda: len(trial.operator.state(key)["log"]) > said, "a sentence about it", patience=40)
        away = time.time()
        others = [spec for spec in DEMO.clients if spec.appid == "billing"]
        trial.await_progress(others, away)  # a Gateway goes on with what it knows
    finally:
        zookeeper.resume()
    state = trial.approver.await_end(key, SWITCH_SECONDS)

    assert state["status"] in ("rolled_back", "succeeded"), state["outcome"]
    after = state["target"] if state["status"] == "succeeded" else before

    def is_bound() -> bool:
        try:
            binding = bound(bindings)
        except StoreUnavailable:
            return False  # the session of this test has ended with the others
        return (binding.cluster, binding.state) == (after, BindingState.FORWARD)

    eventually(is_bound, "the clients' binding", patience=40)


def test_the_same_switch_works_when_they_are_back(trial: Trial, bindings: BindingStore) -> None:
    target = "west" if bound(bindings).cluster == "east" else "east"
    measured = trial.switch(APPID, INSTANCE, target)
    assert measured.status == "succeeded", measured.outcome

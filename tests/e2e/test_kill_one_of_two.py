"""One of two workers is killed with SIGKILL inside each stage: with the limits that everybody has, the other
one goes on.

The clients that move are these tests' own: an idempotent producer, which Kafka promises order, and a group of two.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from support.waiting import eventually

from hadash.bindings.model import Binding, BindingState
from hadash.bindings.store import BindingStore
from hadash.identity.resolve import resolve
from hadash_sandbox.bench.records import explain
from hadash_sandbox.demo import Demo
from hadash_sandbox.ending import CATCH_UP_SECONDS, finish
from hadash_sandbox.trial import LOOK_SECONDS, SWITCH_SECONDS, Trial
from hadash_sandbox.world import ClientSpec

from .conftest import KILL_SECONDS, TwoWorkers, apart, missed
from .test_kill import POINTS

#: Those of every run: while consumers finish, while writes are refused, and when there is no way back. Each of the
#: others is run within ten days (``setup/long_today.sh``).
ALWAYS = ("quiesce", "block", "forward")

pytestmark = pytest.mark.stack

APPID, INSTANCE, TOPIC = "audit", "audit-kills", "audit.kills"
CLIENTS = (
    ClientSpec("kills-writer", "produce", APPID, (TOPIC,), INSTANCE, config=("enable.idempotence=true",)),
    *(
        ClientSpec(f"kills-reader-{n}", "consume", APPID, (TOPIC,), INSTANCE, f"{TOPIC}.readers")
        for n in (1, 2)
    ),
)
#: Stages after which a switch does not return any more.
AFTER_FORWARD = ("forward", "reverse", "verify")


@pytest.fixture(scope="module")
def kills(demo: Demo, trial: Trial) -> Iterator[Trial]:
    """A trial of these clients alone."""
    yield from apart(demo, trial, "kills", CLIENTS)


def bound(bindings: BindingStore) -> Binding:
    return resolve(bindings.document(APPID), INSTANCE, Binding("east"))


def other_than(cluster: str) -> str:
    return "west" if cluster == "east" else "east"


@pytest.mark.parametrize(
    ("stage", "command", "when"),
    [pytest.param(*each, marks=[] if each[0] in ALWAYS else pytest.mark.long) for each in POINTS],
    ids=str,
)
def test_the_other_worker_takes_over(
    kills: Trial, bindings: BindingStore, two_workers: TwoWorkers, stage: str, command: str, when: str
) -> None:
    """Within the limits the switch arrives. On a slow machine clients may have waited for too long before: then it
    returns, which is as safe. Nothing is lost, doubled or out of order either way."""
    source = bound(bindings).cluster
    target = other_than(source)
    two_workers.arm(stage, command, when)
    began = time.time()

    key = kills.operator.request(APPID, INSTANCE, target, f"A worker dies in {stage}.")
    kills.approver.approve(key).raise_for_status()
    dead = two_workers.await_death()
    (survivor,) = (process for process in two_workers.processes if process is not dead)
    survived = survivor.pid
    state = kills.approver.await_end(key, SWITCH_SECONDS)
    # The dead one stays dead until the next test: this switch was ended by the one that survived.
    assert not dead.alive
    assert (survivor.alive, survivor.pid) == (True, survived)
    print(f"A worker was killed in {stage}: {state['status']}. {state['outcome']}")

    results = [s["result"] for s in state["stages"] if s["stage"] == stage]
    assert "interrupted" in results
    assert bound(bindings).state is BindingState.FORWARD
    if state["status"] == "succeeded":
        assert (bound(bindings).cluster, results[-2:]) == (target, ["interrupted", "done"])
    else:
        assert (state["status"], bound(bindings).cluster) == ("rolled_back", source), state["outcome"]
        assert f"They go on on {source}." in state["outcome"]
        assert stage not in AFTER_FORWARD, "what has been forwarded is not taken back"
    kills.await_progress(CLIENTS, time.time())
    window = (began, time.time())
    # (Who writes down what was acknowledged does so a moment later: only then is all of the window known.)
    kills.await_progress(CLIENTS, window[1])

    def all_read() -> bool:
        return not sum(verdict.lost for verdict in kills.judge(window=window))

    eventually(all_read, "the end of reading what was acknowledged", CATCH_UP_SECONDS, LOOK_SECONDS)
    assert [verdict.examples for verdict in kills.judge(window=window) if not verdict.clean] == []


def test_abort_returns_to_the_start_also_when_the_worker_dies_while_returning(
    kills: Trial, bindings: BindingStore, two_workers: TwoWorkers
) -> None:
    before = bound(bindings).cluster
    two_workers.arm("return", "WriteBindings", "after")

    key = kills.operator.request(APPID, INSTANCE, other_than(before), "This one is aborted.")
    kills.approver.approve(key).raise_for_status()
    eventually(
        lambda: kills.operator.state(key)["stage"] not in ("", "precheck"),
        "something has been changed",
        KILL_SECONDS,
        LOOK_SECONDS,
    )
    kills.operator.post(f"switches/{key}/abort/").raise_for_status()
    two_workers.await_death()
    state = kills.approver.await_end(key, SWITCH_SECONDS)

    assert state["status"] == "rolled_back"
    assert state["outcome"] == "olga aborted the switch."
    assert (bound(bindings).cluster, bound(bindings).state) == (before, BindingState.FORWARD)


def test_over_all_of_it_nothing_was_lost_duplicated_or_out_of_order(kills: Trial) -> None:
    """In the journals, and in the logs of both clusters, which hold the same."""
    verdict = finish(kills)
    assert missed(verdict) == [], "\n".join(explain(verdict))

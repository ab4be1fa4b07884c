"""Real moves of real clients, and the verdict over every record that this session's clients sent.

The name puts it last: the verdict covers what the other tests of this folder did to the clients too.
"""

from __future__ import annotations

import pytest

from hadash.bindings.store import BindingStore
from hadash.identity.identity import Identity
from hadash.switching.models.handovers import FAULTS
from hadash_sandbox.bench.records import explain
from hadash_sandbox.ending import finish
from hadash_sandbox.traffic.verdict import longest_gap
from hadash_sandbox.trial import Trial

from .conftest import missed

pytestmark = pytest.mark.stack


def other_side(bindings: BindingStore, appid: str, instance: str) -> str:
    binding = bindings.document(appid).binding_of(Identity(appid, instance))
    return "west" if binding is None or binding.cluster == "east" else "east"


def picked_up(trial: Trial) -> dict[tuple[str, str], int]:
    """How much work has not come to a worker as it should, by kind and way. (Other tests here kill workers.)"""
    found = trial.operator.call("GET", "handovers/")
    faults = {way.value for way in FAULTS}
    # (Runs of jobs wait for each other: see ``counting.faults``.)
    return {(h["work"], h["way"]): h["count"] for h in found if h["way"] in faults and h["work"] != "run"}


def late_workers(trial: Trial, key: str) -> list[str]:
    """The lines of a switch's log about a stage that no worker had taken when beat looked."""
    lines = trial.operator.call("GET", f"switches/{key}/log/")
    return [line["sentence"] for line in lines if line["sentence"].startswith("No worker took this stage")]


def test_there_and_back(trial: Trial, bindings: BindingStore) -> None:
    """One InstanceID. (A whole AppID goes there and back in the batches.) Each stage is handed to a worker;
    none has to be picked up by beat.
    """
    before = picked_up(trial)
    for _ in range(2):
        measured = trial.switch("shop", "shop-stock", other_side(bindings, "shop", "shop-stock"))
        assert measured.status == "succeeded", measured.outcome
        assert set(measured.stages) == {
            "precheck", "quiesce", "block", "drain", "translate", "forward", "reverse", "verify"
        }  # fmt: skip
        # First: a worker that only was late on a busy machine says so here, and the test is run once more
        # (setup/test.sh). A message that was lost is lost the second time, too.
        assert late_workers(trial, measured.key) == []
    assert picked_up(trial) == before


def test_an_appid_takes_along_who_reads_what_it_writes(trial: Trial, bindings: BindingStore) -> None:
    """``audit`` reads a Topic of ``shop``: both move in one switch, and nobody else does."""
    for instance in ("shop-stock", "shop-carts"):
        if other_side(bindings, "shop", instance) == "east":
            assert trial.switch("shop", instance, "east").status == "succeeded"
    for target in ("west", "east"):
        measured = trial.switch("shop", None, target)
        assert measured.status == "succeeded", measured.outcome
        moved = [Identity("shop"), Identity("audit", "audit-clicks")]
        found = [bindings.document(identity.appid).binding_of(identity) for identity in moved]
        assert [binding.cluster for binding in found if binding is not None] == [target, target]


def test_readers_go_to_the_mirror_and_come_home(trial: Trial, bindings: BindingStore) -> None:
    """Only the consumers of ``audit`` move, under load. No binding of ``shop``, which writes, is touched, so
    it never waits.
    """
    shop = bindings.document("shop")
    writer = next(spec for spec in trial.demo.world.clients if spec.name == "clicks-writer")
    for target in ("west", "east"):
        measured = trial.switch("audit", "audit-clicks", target, kind="read-split")
        assert measured.status == "succeeded", measured.outcome
        assert list(measured.stages) == ["precheck", "quiesce", "block", "catch_up", "forward", "verify"]
        bound = bindings.document("audit").binding_of(Identity("audit", "audit-clicks"))
        assert bound is not None
        assert bound.cluster == target
        assert bindings.document("shop") == shop, "with the epochs in which it was written"
        trial.log(f"{writer.name}: longest pause {longest_gap(trial.journal(writer), *measured.window)} s")


@pytest.mark.long
def test_the_writers_follow_their_readers(trial: Trial, bindings: BindingStore) -> None:
    """The readers are on west already when ``shop`` goes there; on the way back all readers come along."""
    assert trial.switch("audit", "audit-clicks", "west", kind="read-split").status == "succeeded"
    for target in ("west", "east"):
        measured = trial.switch("shop", None, target)
        assert measured.status == "succeeded", measured.outcome
        moved = [Identity("shop"), Identity("audit", "audit-clicks")]
        found = [bindings.document(identity.appid).binding_of(identity) for identity in moved]
        assert [binding.cluster for binding in found if binding is not None] == [target, target]


def test_nothing_was_lost_duplicated_or_out_of_order(trial: Trial) -> None:
    """In the journals of all clients, and in the logs of both clusters, which hold the same."""
    verdict = finish(trial)
    # (As a text: pytest would cut the list short.)
    assert missed(verdict) == [], "\n".join(explain(verdict))
    assert verdict["records_sent"] > 0

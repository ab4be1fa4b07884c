"""A cluster is lost for good, or so it seems: its clients go on without it, and what is lost is counted when it is back.

On a demo of its own: records are lost here, which the verdict over the other tests of this folder would not forgive.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from support.waiting import eventually

from hadash.sandbox.demo import Demo
from hadash.sandbox.errors import SandboxError
from hadash.sandbox.person import Person
from hadash.sandbox.trial import SWITCH_SECONDS, Measured, Trial

from .conftest import KILL_SECONDS, Workers, a_demo

pytestmark = [pytest.mark.stack, pytest.mark.long]

#: Connect keeps its own Topics on east: it is west that is lost.
LOST, LEFT = "west", "east"
FORCED = {
    "pair": "main",
    "scope": {"kind": "appid", "appid": "billing"},
    "target": LEFT,
    "kind": "forced",
    "reason": "The data centre is under water",
    "confirm": LOST,
}


@pytest.fixture(scope="module")
def demo() -> Iterator[Demo]:
    yield from a_demo()


@pytest.fixture(scope="module")
def trial(demo: Demo) -> Trial:
    prepared = Trial(demo, print)
    prepared.await_traffic()
    return prepared


def noted(demo: Demo) -> bool:
    """Whether hadash has noted where the groups of billing stand on the cluster that will be lost."""
    with psycopg.connect(demo.environment()["DATABASE_URL"]) as database:
        found = database.execute(
            "SELECT count(*) FROM mirroring_groupposition p JOIN inventory_cluster c ON c.id = p.cluster_id "
            "WHERE c.name = %s AND p.\"group\" LIKE 'billing%%' AND jsonb_array_length(p.offsets) > 0",
            [LOST],
        ).fetchone()
    return bool(found and found[0])


@pytest.fixture(scope="module")
def lost() -> list[int]:
    """Records in the tails of these tests: that many may be missing in the end."""
    return []


def move_to_lost(trial: Trial, rita: Person) -> Measured:
    """Billing to the cluster that will be lost, as soon as that one is a standby (again)."""

    def caught_up() -> bool:
        (pair,) = rita.call("GET", "pairs/")
        (mirror,) = [mirror for mirror in pair["mirrors"] if mirror["name"] == "billing"]
        return (
            mirror["state"] == "running"
            and mirror["lag_records"] is not None
            and mirror["lag_records"] < 1000
        )

    eventually(caught_up, "a mirror that has caught up", patience=120)

    def go() -> Measured | None:
        """A coordinator that was killed takes its members to be there until their sessions end."""
        try:
            return trial.switch("billing", None, LOST)
        except SandboxError as error:
            if "has members on" in str(error):
                return None
            raise

    return eventually(go, "the end of the sessions from before the loss", patience=120, every=2)


def ask_to_go_without(trial: Trial, rita: Person, bea: Person) -> str:
    """A forced switch away from the lost cluster, to its end; its key."""
    key: str = rita.call("POST", "switches/", FORCED)["key"]
    for person in (trial.approver, bea):
        assert rita.state(key)["status"] == "awaiting_approval"
        person.approve(key).raise_for_status()
    state = rita.await_end(key, SWITCH_SECONDS)
    assert state["status"] == "succeeded", state
    return key


def rebuild(rita: Person, key: str) -> int:
    """Let the lost side be built anew when it has reported its tail; how many records that has."""

    def show() -> dict[str, Any]:
        return rita.call("GET", f"switches/{key}/")

    eventually(lambda: show()["tail"]["status"] == "reported", "the report of the tail", patience=120)
    records: int = show()["tail"]["records"]
    rita.call("POST", f"switches/{key}/rebuild/", {"confirm": LOST, "note": "Sent again by the team"})
    eventually(
        lambda: show()["tail"]["status"] in ("rebuilt", "failed"), "the end of the rebuilding", patience=120
    )
    assert show()["tail"]["fault"] == ""
    return records


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
    assert rita.call("POST", f"switches/{key}/give-up/", given_up)["status"] == "closed"

    forced = ask_to_go_without(trial, rita, bea)
    trial.await_progress(billing, time.time())
    cluster.start(print)
    lost.append(rebuild(rita, forced))


def test_clients_go_on_without_their_cluster_and_come_back_when_it_is_rebuilt(
    demo: Demo, trial: Trial, lost: list[int]
) -> None:
    rita, bea = (Person(demo.url, name, demo.password) for name in ("rita", "bea"))
    billing = [spec for spec in demo.world.clients if spec.appid == "billing"]
    assert move_to_lost(trial, rita).status == "succeeded"

    with pytest.raises(SandboxError, match=f"{LOST} answers"):
        rita.call("POST", "switches/", FORCED)

    eventually(lambda: noted(demo), "a note of the groups' positions", patience=60)
    cluster = demo.stack.kafka[LOST]
    for process in cluster.processes:
        process.kill()
    key = ask_to_go_without(trial, rita, bea)
    trial.await_progress(billing, time.time())

    def show() -> dict[str, Any]:
        return rita.call("GET", f"switches/{key}/")

    found = show()
    assert found["tail"]["status"] == "waiting"
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

    eventually(settled, "all but the tail has been read, and of the others all", patience=60)
    others = [verdict for verdict in trial.judge() if not verdict.group.startswith("billing")]
    assert sum(verdict.duplicated for verdict in others) == 0

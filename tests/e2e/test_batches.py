"""A whole cluster in waves, with live clients: it moves there and back, and the first failure keeps the rest
where it is.

That nothing was lost, written twice or out of order says the last test of this folder, over all of them.
"""

from __future__ import annotations

from typing import Any

import pytest
from support.waiting import eventually

from hadash.bindings.model import Binding
from hadash.bindings.store import BindingStore
from hadash.identity.resolve import resolve
from hadash.kafka.connect import ConnectClient
from hadash_sandbox.demo import Demo
from hadash_sandbox.trial import SWITCH_SECONDS, Trial

pytestmark = [pytest.mark.stack, pytest.mark.in_turn]

#: Between two looks at what takes seconds, so that looking does not slow it down; and for a mirror to run again.
LOOK_SECONDS, MIRROR_SECONDS = 0.25, 60.0

APPIDS = ("audit", "billing", "shop")


def where(bindings: BindingStore) -> list[str]:
    """The cluster of each AppID as a whole."""
    return [resolve(bindings.document(name), "", Binding("east")).cluster for name in APPIDS]


def drawn(trial: Trial, target: str, **values: Any) -> dict[str, Any]:
    return trial.operator.call("POST", "batch-plans/", {"pair": "main", "target": target, **values})


def requested(trial: Trial, target: str, **values: Any) -> str:
    """The key of a batch of everything, one radius a wave."""
    wanted = {
        "pair": "main",
        "target": target,
        "wave_size": 1,
        "parallelism": 1,
        "reason": "In waves",
        **values,
    }
    return str(trial.operator.call("POST", "batches/", wanted)["key"])


def approved(trial: Trial, key: str) -> dict[str, Any]:
    """Approved as it is shown, and at its end, or where it has stopped."""
    digest = trial.approver.call("GET", f"batches/{key}/")["digest"]
    trial.approver.call("POST", f"batches/{key}/approve/", {"digest": digest})
    return at_rest(trial, key, 2 * SWITCH_SECONDS)


def at_rest(trial: Trial, key: str, seconds: float) -> dict[str, Any]:
    """The batch at its end, or where it has stopped."""

    def look() -> dict[str, Any] | None:
        batch: dict[str, Any] = trial.operator.call("GET", f"batches/{key}/")
        return None if batch["status"] in ("approved", "running") else batch

    found = eventually(look, f"the end of batch {key}", seconds, LOOK_SECONDS)
    assert found is not None
    return found


def items(trial: Trial, key: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = trial.operator.call("GET", f"batches/{key}/items/")["results"]
    return found


@pytest.fixture
def at_home(trial: Trial, bindings: BindingStore) -> None:
    """Everything is on east, whatever the other tests have moved."""
    if set(where(bindings)) != {"east"} or drawn(trial, "east")["radii"]:
        assert approved(trial, requested(trial, "east", leave_out=True))["status"] == "finished"


@pytest.mark.usefixtures("at_home")
def test_several_appids_move_in_two_waves_and_back(trial: Trial, bindings: BindingStore) -> None:
    shown = drawn(trial, "west", wave_size=1, parallelism=1)
    # (What audit reads, shop writes without an InstanceID: so audit brings shop along.)
    assert {row["what"] for row in shown["radii"]} == {"billing", "audit"}
    assert (shown["waves"], shown["against"]) == ([1, 1], 0)
    for target in ("west", "east"):
        key = requested(trial, target)
        batch = approved(trial, key)
        assert (batch["status"], batch["outcome"]) == ("finished", "All of it has moved (2 in all)."), batch
        assert where(bindings) == [target] * 3
        first, second = (
            trial.operator.call("GET", f"switches/{item['switch']}/") for item in items(trial, key)
        )
        assert first["status"] == second["status"] == "succeeded"
        assert first["ended_at"] <= second["started_at"], "the second wave has waited for the first"
        assert [approval["by"] for approval in second["approvals"]] == ["arne"]


@pytest.mark.usefixtures("at_home")
def test_the_first_failure_stops_it_and_then_it_goes_on(
    demo: Demo, trial: Trial, bindings: BindingStore
) -> None:
    """The mirror of billing is stopped between the request and the approval: its precheck says so."""
    key = requested(trial, "west", list=[{"name": "billing", "wave": 1}, {"name": "audit", "wave": 2}])
    connect = ConnectClient(demo.environment()["CONNECT_URL"])
    mirror = next(n for n in connect.names() if ".billing." in n and connect.status(n).running)
    connect.stop(mirror)
    try:
        batch = approved(trial, key)
        assert batch["status"] == "stopped", batch
        assert batch["outcome"].startswith("Stopped: billing (wave 1) failed.")
        assert [item["status"] for item in items(trial, key)] == ["failed", "waiting"]
        assert where(bindings) == ["east"] * 3
    finally:
        connect.resume(mirror)
        eventually(
            lambda: connect.status(mirror).running, "the mirror of billing", MIRROR_SECONDS, LOOK_SECONDS
        )
        connect.close()
    page = trial.operator.get(f"batches/{key}/").text
    assert "Mirror billing is not running" in page
    trial.operator.post(
        f"batches/{key}/resume/", without="on", reason="Billing has to wait"
    ).raise_for_status()
    batch = at_rest(trial, key, SWITCH_SECONDS)
    assert (batch["status"], batch["outcome"]) == ("finished", "Moved: 1. Left out: 1.")
    assert where(bindings) == ["west", "east", "west"]
    assert approved(trial, requested(trial, "east", leave_out=True))["status"] == "finished"
    assert where(bindings) == ["east"] * 3

"""What tests that lose a whole cluster share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import psycopg
from support.waiting import eventually

from hadash_sandbox.demo import Demo
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import Person
from hadash_sandbox.trial import SWITCH_SECONDS, Measured, Trial

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


def noted(demo: Demo) -> bool:
    """Whether hadash has noted where the groups of billing stand on the cluster that will be lost."""
    with psycopg.connect(demo.environment()["DATABASE_URL"]) as database:
        found = database.execute(
            "SELECT count(*) FROM mirroring_groupposition p JOIN inventory_cluster c ON c.id = p.cluster_id "
            "WHERE c.name = %s AND p.\"group\" LIKE 'billing%%' AND jsonb_array_length(p.offsets) > 0",
            [LOST],
        ).fetchone()
    return bool(found and found[0])


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


def ask_to_go_without(
    trial: Trial, rita: Person, bea: Person, meanwhile: Callable[[], object] = lambda: None
) -> str:
    """A forced switch away from the lost cluster, to its end; its key. ``meanwhile``: what happens while it runs."""
    key: str = rita.call("POST", "switches/", FORCED)["key"]
    for person in (trial.approver, bea):
        assert rita.state(key)["status"] == "awaiting_approval"
        person.approve(key).raise_for_status()
    meanwhile()
    state = rita.await_end(key, SWITCH_SECONDS)
    assert state["status"] == "succeeded", state
    return key


def rebuild(rita: Person, key: str) -> int:
    """Let the lost side be built again when it has reported its unreplicated records; how many records that has."""

    def show() -> dict[str, Any]:
        return rita.call("GET", f"switches/{key}/")

    eventually(
        lambda: show()["unreplicated"]["status"] == "reported",
        "the report of the unreplicated records",
        patience=120,
    )
    records: int = show()["unreplicated"]["records"]
    rita.call("POST", f"switches/{key}/rebuild/", {"confirm": LOST, "note": "Sent again by the team"})
    eventually(
        lambda: show()["unreplicated"]["status"] in ("rebuilt", "failed"),
        "the end of the rebuilding",
        patience=120,
    )
    assert show()["unreplicated"]["fault"] == ""
    return records

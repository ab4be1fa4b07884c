"""A migration to its end with live clients: they move, the old Topic and its mirror go, and they notice nothing.

It has a Topic, a mirror and two clients of its own: what is removed here is missed by no other test of this folder.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator

import httpx
import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from support.environment import Cluster
from support.waiting import eventually

from hadash_sandbox.demo import ROOT, Demo
from hadash_sandbox.ending import CATCH_UP_SECONDS
from hadash_sandbox.traffic.journal import Follower, Journal
from hadash_sandbox.traffic.verdict import judge
from hadash_sandbox.trial import LOOK_SECONDS, READY_SECONDS, SWITCH_SECONDS, Trial
from hadash_sandbox.world import ClientSpec

pytestmark = pytest.mark.stack

TOPIC, INSTANCE, GROUP, MIRROR = "audit.archive", "audit-archive", "audit.archive.readers", "archive"
WRITER = ClientSpec("archive-writer", "produce", "audit", (TOPIC,), INSTANCE)
READER = ClientSpec("archive-reader", "consume", "audit", (TOPIC,), INSTANCE, GROUP)

#: Seconds for the removal: Connect stops two connectors, and the controller deletes a Topic.
REMOVAL_SECONDS = 120.0


@pytest.fixture(scope="module")
def admins(demo: Demo) -> dict[str, AdminClient]:
    described = json.loads(demo.environment()["HADASH_SANDBOX_CLUSTERS"])
    return {
        d["name"]: AdminClient(
            Cluster(
                d["name"], d["id"], d["bootstrap_servers"], d["admin_user"], d["admin_password"]
            ).client_config()
        )
        for d in described
    }


@pytest.fixture(scope="module")
def journals(demo: Demo, trial: Trial, admins: dict[str, AdminClient]) -> Iterator[dict[str, Follower]]:
    """Two clients that write and read a Topic on east, mirrored to west; seen by hadash."""
    admins["east"].create_topics([NewTopic(TOPIC, 3, 1)])[TOPIC].result(30)
    subprocess.run(
        [sys.executable, "manage.py", "register_mirror", "main", MIRROR, TOPIC, "--source", "east"],
        cwd=ROOT,
        env=demo.environment() | {"PATH": "/usr/bin:/bin"},
        check=True,
        timeout=READY_SECONDS,
    )
    olga = trial.operator
    audit = olga.appid("audit")
    olga.call("POST", f"appids/{audit}/instances/", {"name": INSTANCE})
    followers = {}
    for spec in (WRITER, READER):
        demo.start_client(spec)
        followers[spec.name] = Follower(demo.data_dir / "journals" / f"{spec.name}.jsonl")

    def seen() -> set[str]:
        found = olga.call("GET", f"appids/{audit}/access/?page_size=200")["results"]
        return {use["resource"] for use in found if use["client_id"] == INSTANCE}

    eventually(lambda: {TOPIC, GROUP} <= seen(), "hadash has seen the clients", READY_SECONDS, LOOK_SECONDS)
    eventually(lambda: progress(followers)() > 0, "the reader reads", READY_SECONDS, LOOK_SECONDS)
    yield followers
    for spec in (WRITER, READER):
        demo.clients.pop(spec.name).stop()


def progress(journals: dict[str, Follower]) -> Callable[[], int]:
    """How many records were read so far; 0 before the first."""

    def count() -> int:
        try:
            return sum(run.last - run.first + 1 for run in journals[READER.name].journal().read)
        except FileNotFoundError:
            return 0

    return count


def connectors(demo: Demo) -> list[str]:
    answer = httpx.get(f"{demo.environment()['CONNECT_URL']}/connectors", timeout=30, trust_env=False)
    return [name for name in answer.json() if f".{MIRROR}." in name]


def test_a_migration_to_its_end(
    demo: Demo, trial: Trial, admins: dict[str, AdminClient], journals: dict[str, Follower]
) -> None:
    olga, arne = trial.operator, trial.approver
    made = olga.call(
        "POST",
        "switches/",
        {
            "pair": "main",
            "scope": {"kind": "instance", "appid": "audit", "instance_id": INSTANCE},
            "target": "west",
            "kind": "migration",
            "retire_after_days": 30,
            "reason": "West is newer",
        },
    )
    key = made["key"]
    assert (
        f"30 days after it has succeeded, these Topics and the mirror are deleted on east: {TOPIC}."
        in str(olga.call("GET", f"switches/{key}/log/"))
    )
    arne.approve(key).raise_for_status()
    state = arne.await_end(key, SWITCH_SECONDS)
    assert state["status"] == "succeeded", state["outcome"]
    assert olga.call("GET", f"switches/{key}/")["retirement"]["status"] == "waiting"
    assert TOPIC in admins["east"].list_topics(timeout=30).topics
    assert len(connectors(demo)) == 2

    pids = {name: demo.clients[name].pid for name in (WRITER.name, READER.name)}
    olga.call("POST", f"switches/{key}/retire/", {"confirm": "east"})

    def retirement() -> str:
        return str(olga.call("GET", f"switches/{key}/")["retirement"]["status"])

    eventually(lambda: retirement() != "running", "the old Topic is removed", REMOVAL_SECONDS, LOOK_SECONDS)
    held = olga.call("GET", f"switches/{key}/")["retirement"]
    assert (held["status"], held["removed"]) == ("done", ["mirrors", "groups", "topics", "denials"]), held
    assert TOPIC not in admins["east"].list_topics(timeout=30).topics
    assert connectors(demo) == []
    groups = admins["east"].list_consumer_groups().result(30).valid
    assert GROUP not in {group.group_id for group in groups}

    # The clients: on west, the same processes, and nothing is missing.
    count = progress(journals)
    before = count()
    eventually(lambda: count() > before, "the reader goes on", READY_SECONDS, LOOK_SECONDS)
    assert {name: demo.clients[name].pid for name in pids} == pids
    demo.clients[WRITER.name].stop()

    def verdict() -> tuple[int, int, int]:
        written: list[Journal] = [journals[WRITER.name].journal()]
        found = judge(GROUP, written, [journals[READER.name].journal()])
        return found.lost, found.duplicated, found.out_of_order

    eventually(lambda: verdict()[0] == 0, "the reader has caught up", CATCH_UP_SECONDS, LOOK_SECONDS)
    assert verdict() == (0, 0, 0)
    assert journals[WRITER.name].journal().failed == []

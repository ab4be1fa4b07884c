"""A consumer pool reads a Topic directly on its cluster; a switch moves it along, and back: nothing is lost, and
nothing handled twice, while a client writes through the Gateway all the time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from support.environment import Cluster
from support.noting_handle import NOTES
from support.waiting import eventually

from hadash_sandbox.demo import ROOT, Demo
from hadash_sandbox.pool import PoolProcesses
from hadash_sandbox.stack import DEMO_USERS
from hadash_sandbox.traffic.journal import Follower
from hadash_sandbox.trial import LOOK_SECONDS, READY_SECONDS, SWITCH_SECONDS, Trial
from hadash_sandbox.world import ClientSpec

pytestmark = pytest.mark.stack

TOPIC, INSTANCE, GROUP, MIRROR, POOL = (
    "audit.pooled", "audit-pooled", "audit.pooled.readers", "pooled", "pooled-readers",
)  # fmt: skip
WRITER = ClientSpec("pooled-writer", "produce", "audit", (TOPIC,), INSTANCE)
MEMBERS = ("reader-1", "reader-2")


@dataclass
class Estate:
    """The clusters' addresses, the pool, and what was written and handled."""

    servers: dict[str, str]
    pool: PoolProcesses
    notes: Path
    written: Follower

    def acknowledged(self) -> set[tuple[str, int]]:
        return {
            (run.key, number)
            for run in self.written.journal().acked
            for number in range(run.first, run.last + 1)
        }

    def handled(self) -> Counter[tuple[str, int]]:
        lines = (line.split() for line in self.notes.read_text().splitlines())
        return Counter((key, int(number)) for key, number, _member in lines)

    def is_on(self, cluster: str) -> bool:
        found = self.pool.assigned(TOPIC).document.consumer["bootstrap.servers"]
        return found == self.servers[cluster] and self.pool.is_stable(TOPIC)


@pytest.fixture(scope="module")
def estate(demo: Demo, trial: Trial, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    """A Topic on east with its mirror, a client that writes it through the Gateway, and a pool that reads it."""
    described = json.loads(demo.environment()["HADASH_SANDBOX_CLUSTERS"])
    servers = {each["name"]: each["bootstrap_servers"] for each in described}
    (east,) = (each for each in described if each["name"] == "east")
    admin = AdminClient(
        Cluster(
            "east", east["id"], servers["east"], east["admin_user"], east["admin_password"]
        ).client_config()
    )
    admin.create_topics([NewTopic(TOPIC, 3, 1)])[TOPIC].result(30)
    subprocess.run(
        [sys.executable, "manage.py", "register_mirror", "main", MIRROR, TOPIC, "--source", "east"],
        cwd=ROOT,
        env=demo.environment() | {"PATH": "/usr/bin:/bin"},
        check=True,
        timeout=READY_SECONDS,
    )
    folder = tmp_path_factory.mktemp("pool")
    notes, secrets = folder / "notes", folder / "secrets.json"
    notes.touch()
    secrets.write_text(json.dumps({"sasl.username": "audit", "sasl.password": DEMO_USERS["audit"]}))
    client = demo.stack.zookeeper.connect()
    more = {NOTES: str(notes), "HADASH_MEMBER_CONSUMER_FILE": str(secrets)}
    pool = PoolProcesses(folder, {**demo.stack.zookeeper.environment(), **more}, client, POOL)
    olga = trial.operator
    audit = olga.appid("audit")
    olga.call("POST", f"appids/{audit}/instances/", {"name": INSTANCE})
    try:
        pool.store.create()
        pool.coordinate()
        for member in MEMBERS:
            pool.join(member, "hadash.coordinator.member", "tests.support.noting_handle:handle")
        pool.store.register(
            TOPIC,
            {
                "bootstrap.servers": servers["east"],
                "group.id": GROUP,
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "auto.offset.reset": "earliest",
            },
            range(3),
        )
        demo.start_client(WRITER)
        found = Estate(servers, pool, notes, Follower(demo.data_dir / "journals" / f"{WRITER.name}.jsonl"))

        def is_seen() -> bool:
            uses = olga.call("GET", f"appids/{audit}/access/?page_size=200")["results"]
            return TOPIC in {use["resource"] for use in uses if use["client_id"] == INSTANCE}

        eventually(is_seen, "hadash has seen the writer", READY_SECONDS, LOOK_SECONDS)
        eventually(lambda: len(found.handled()) > 0, "the pool reads", READY_SECONDS, LOOK_SECONDS)
        yield found
    except BaseException:
        pool.show_logs()
        raise
    finally:
        demo.clients.pop(WRITER.name).stop()
        pool.stop()
        client.stop()
        client.close()


@pytest.mark.parametrize(("source", "target"), [("east", "west"), ("west", "east")])
def test_a_pool_moves_with_its_topic(
    demo: Demo, trial: Trial, estate: Estate, source: str, target: str
) -> None:
    olga, arne = trial.operator, trial.approver
    assert estate.is_on(source)
    page = olga.get(f"pools/{POOL}/").text
    assert TOPIC in page and GROUP in page
    made = olga.call(
        "POST",
        "switches/",
        {
            "pair": "main",
            "scope": {"kind": "instance", "appid": "audit", "instance_id": INSTANCE},
            "target": target,
            "reason": "Maintenance",
        },
    )
    key = made["key"]
    assert POOL in olga.get(f"switches/{key}/").text
    arne.approve(key).raise_for_status()
    state = arne.await_end(key, SWITCH_SECONDS)
    log = str(olga.call("GET", f"switches/{key}/log/"))
    assert state["status"] == "succeeded", (state["outcome"], log)
    assert f"The members of consumer pools have committed and stopped: {POOL} › {TOPIC}." in log
    assert estate.is_on(target) and estate.pool.store.read().holds == {}
    moved = estate.acknowledged()
    after = len(moved)

    def goes_on() -> bool:
        written = estate.acknowledged()
        return len(written) > after + 50 and not written - estate.handled().keys()

    eventually(goes_on, "what is written now is handled, too", READY_SECONDS, LOOK_SECONDS)
    handled = estate.handled()
    assert moved <= handled.keys()
    assert [record for record, times in handled.items() if times > 1] == []


def test_a_rehearsal_asks_the_pool_and_moves_nothing(demo: Demo, trial: Trial, estate: Estate) -> None:
    olga = trial.operator
    made = olga.call(
        "POST",
        "switches/",
        {
            "pair": "main",
            "scope": {"kind": "instance", "appid": "audit", "instance_id": INSTANCE},
            "target": "west",
            "kind": "rehearsal",
            "reason": "Before the maintenance",
        },
    )
    state = olga.await_end(made["key"], SWITCH_SECONDS)
    assert state["status"] == "succeeded", state["outcome"]
    assert estate.is_on("east")

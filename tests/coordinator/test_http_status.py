"""What coordinators and members say of themselves over HTTP."""

from __future__ import annotations

import httpx
import pytest
from support.waiting import eventually

from hadash.coordinator.http_side import HttpSide, build_app
from hadash.coordinator.http_status import metrics, status

from .pools import POOL, TOKEN, World

pytestmark = pytest.mark.stack
ALLOWED = {"Authorization": f"Bearer {TOKEN}"}


def test_a_member_tells_only_who_shows_the_token(world: World) -> None:
    world.join("a")
    world.coordinate()
    eventually(lambda: world.shares() == {"a": 8})
    url = world.members["a"].member.url
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN[:-1]}):
        assert httpx.get(f"{url}/status", headers=headers).status_code == 401
    said = httpx.get(f"{url}/status", headers=ALLOWED).json()
    assert (said["pool"], said["member"], said["listed"]) == (POOL, "a", True)
    assert said["topics"][World.TOPIC]["running"] == list(range(8))
    assert httpx.get(f"{url}/health").json() == {"well": True}


def test_who_has_not_its_name_is_not_well(world: World) -> None:
    """A discovery that asks for its health does not list it."""
    world.join("a")
    url = world.members["a"].member.url
    eventually(lambda: httpx.get(f"{url}/health").status_code == 200)
    world.members["a"].member._is_current = False
    world.members["a"].looks = False
    assert httpx.get(f"{url}/health").status_code == 503


def test_the_coordinator_that_decides_tells_of_its_pools(world: World) -> None:
    world.join("a", "b")
    running = world.coordinate("first")
    eventually(lambda: world.shares() == {"a": 4, "b": 4})
    world.store.isolate("b", "olga", "its disk is full")
    eventually(lambda: world.shares() == {"a": 8})
    app = build_app(
        TOKEN, lambda: status(running.coordinator, "first"), lambda: True, metrics(running.coordinator)
    )
    http = HttpSide(app, "127.0.0.1", 0)
    http.start()
    try:
        url = f"http://127.0.0.1:{http.port}"
        assert httpx.get(f"{url}/status").status_code == 401
        said = httpx.get(f"{url}/status", headers=ALLOWED).json()
        text = httpx.get(f"{url}/metrics").text
    finally:
        http.stop()
    pool = said["pools"][POOL]
    assert said["decides"] and pool["topics"][World.TOPIC]["state"] == "Stable"
    assert {name: found["isolated"] for name, found in pool["members"].items()} == {"a": False, "b": True}
    assert [taken["event"] for taken in pool["history"]][:2] == ["assign", "confirm start"]
    assert "hadash_coordinator_decides 1.0" in text
    assert f'hadash_coordinator_unstable_seconds{{pool="{POOL}",topic="orders"}} 0.0' in text
    assert f'hadash_coordinator_members{{kind="isolated",pool="{POOL}"}} 1.0' in text


def test_what_is_not_stable_for_long_is_told(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.join("a")
    running = world.coordinate(unstable_seconds=0.2)
    eventually(lambda: world.shares() == {"a": 8})
    world.members["a"].readers[World.TOPIC].is_held = True
    world.join("b")
    pool = running.coordinator.pools[POOL]
    eventually(lambda: pool.topics[World.TOPIC].is_overdue)
    eventually(lambda: "not Stable for" in caplog.text)  # (it is logged a moment later)
    assert "Waiting for members to stop partitions: a (4)." in caplog.text
    world.members["a"].readers[World.TOPIC].release()
    eventually(lambda: world.shares() == {"a": 4, "b": 4})
    eventually(lambda: not pool.topics[World.TOPIC].is_overdue)


def test_one_that_does_not_decide_says_so(world: World) -> None:
    first = world.coordinate("first")
    eventually(lambda: first.coordinator.fence)
    second = world.coordinate("second")
    eventually(lambda: second.coordinator.fence is None)
    said = status(second.coordinator, "second")
    assert (said["decides"], said["pools"]) == (False, {})

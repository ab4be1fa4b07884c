"""Pages of pools of consumers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone
from pools.parts import MEMBERS, SERVERS, assigned, requested, said, show, text_of, view

from hadash.accounts.roles import ensure_user
from hadash.changes import Status
from hadash.coordinator.documents import NOBODY, StateDocument
from hadash.coordinator.pool import Isolation, PoolSettings
from hadash.coordinator.states import State
from hadash.pools import applier, decisions
from hadash.pools.actions import Action
from hadash.pools.live import Pools, Said
from hadash.pools.models import PoolChange, PoolStep
from hadash.presentation import pools
from hadash.presentation.engines import SharedLook
from hadash.sentences import say
from hadash.switching.models.policies import Policy

from .parts import PASSWORD, signed_in

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def olga(fleet: Any) -> Any:
    return signed_in(ensure_user("olga", PASSWORD, "operator"))


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What was written to ZooKeeper."""
    done: list[Any] = []
    monkeypatch.setattr(applier, "write", lambda change, *_: done.append(change))
    monkeypatch.setattr(applier, "zookeeper", lambda: None)
    monkeypatch.setattr(applier, "claimed", lambda client: client)
    return done


def test_the_list_says_how_each_pool_is(olga: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch)
    page = text_of(olga.get("/pools/"))
    assert "readers Stable main 1 4 3 3.0 KB 9 sticky" in page
    assert "New pool" in page


def test_without_pools_the_list_says_what_they_are(olga: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "look", lambda user, **_: pools.PoolsLook())
    assert "There is no pool. Consumers that run hadash's member" in text_of(olga.get("/pools/"))


def test_a_pool_has_its_topics_members_and_partitions(olga: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch)
    page = text_of(olga.get("/pools/readers/"))
    assert "orders Stable east readers 4 0" in page
    assert "reader-1 reads 2 2 1.0 KB 3 Isolate" in page
    assert "读者-三 reads 1 1" in page
    assert "The members have 1 to 2 partitions each." in page


def test_what_moves_is_said_and_drawn(olga: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    moving = StateDocument(
        State.CLOSING,
        to_start={"reader-2": frozenset({1})},
        to_close={"reader-1": frozenset({1})},
    )
    show(
        monkeypatch,
        view(orders=assigned({**MEMBERS, 1: NOBODY}, moving)),
        said(
            why=say(
                "Waiting for members to stop partitions: %(members)s.", members=["reader-1 (1)"]
            ).to_json()
        ),
    )
    page = text_of(olga.get("/pools/readers/"))
    assert "Closing since" in page
    assert "Waiting for members to stop partitions: reader-1 (1)." in page
    assert "orders 1 reader-1 reader-2" in page
    assert "1 are being moved (hatched)." in page
    rows = olga.get("/pools/readers/?csv=partitions").getvalue().decode()
    assert "orders,1,reader-1,reader-2" in rows
    topics = olga.get("/pools/readers/?csv=topics").getvalue().decode().splitlines()
    assert topics[0] == "topic,state,cluster,group,partitions,nobody" and len(topics) > 1
    members = olga.get("/pools/readers/?csv=members").getvalue().decode().splitlines()
    assert members[0] == "member,state,assigned,reads,rate,lag" and len(members) > 1
    twin = olga.get("/pools/readers/?csv=assignment").getvalue().decode()
    assert "reader-1,1,0,1" in twin and "reader-2,1,1,0" in twin


def test_what_is_not_known_is_not_shown_as_fine(olga: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch, told=Said(fault=say("No coordinator decides now: start one.")))
    page = text_of(olga.get("/pools/readers/"))
    assert "No coordinator decides now: start one." in page
    assert "reader-1 not known 2 ? ? ?" in page
    monkeypatch.setattr(pools, "look", lambda user, **_: pools.PoolsLook(fault="no answer within 1.5 s"))
    for address in ("/pools/", "/pools/readers/"):
        page = text_of(olga.get(address))
        assert "ZooKeeper does not answer. no answer within 1.5 s" in page


@pytest.mark.parametrize(
    ("member", "isolation", "shown"),
    [
        ({"error": "timed out"}, None, "does not answer timed out 1"),
        ({"errors": {"orders": "no such group"}}, None, "reads no such group 1"),
        (None, None, "gone 1 ?"),
        ({}, Isolation("olga", "It hangs."), "isolated olga: It hangs. 1 1"),
        ({}, Isolation("olga", "It hangs.", is_ending=True), "coming back olga: It hangs. 1 1"),
    ],
)
def test_how_a_member_is(
    olga: Any,
    monkeypatch: pytest.MonkeyPatch,
    member: dict[str, Any] | None,
    isolation: Isolation | None,
    shown: str,
) -> None:
    told = said({"reader-1": {}, **({"reader-2": member} if member is not None else {})})
    isolated = {"reader-2": isolation} if isolation is not None else {}
    show(monkeypatch, view(isolated=isolated), told, registered=frozenset())
    assert f"reader-2 {shown}" in text_of(olga.get("/pools/readers/"))


def test_an_assignment_that_is_not_stable_for_too_long_is_bad(
    olga: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, view(orders=assigned(standing=StateDocument(State.STARTING))), said(overdue=True))
    assert "readers not Stable for too long" in text_of(olga.get("/pools/"))


def test_a_pool_that_is_stopped_says_who_stopped_it(olga: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch, view(PoolSettings(is_stopped=True, by="otto", reason="价格不对")))
    page = text_of(olga.get("/pools/readers/"))
    assert "All members are stopped, by otto. 价格不对" in page and "Let them read" in page


def test_the_shadow_strategy_is_compared(olga: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    shadow = {"moves": 2, "spread_now": 1.5, "spread_then": 1.0}
    show(monkeypatch, view(PoolSettings(shadow="weighted")), said(shadow=shadow))
    page = text_of(olga.get("/pools/readers/"))
    assert "would move 2 partitions the fullest member has 1.00× the mean, now 1.50×" in page


def test_steps_and_changes_are_listed(olga: Any, fleet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch)
    page = text_of(olga.get("/pools/readers/"))
    assert "Nothing is noted yet." in page and "Nobody has changed this pool here." in page
    PoolStep.objects.create(
        pool="readers", topic="orders", at=timezone.now(), event="move", state="Closing", moved=2
    )
    requested(ensure_user("otto", PASSWORD, "operator"), fleet.pair)
    page = text_of(olga.get("/pools/readers/"))
    assert "partitions move: their members are to stop Closing 2" in page
    assert "Isolate reader-2: its partitions go to others. awaiting approval It hangs. otto" in page


def test_isolating_a_member(
    olga: Any, written: list[Any], monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    show(monkeypatch)
    address = "/pools/readers/change/"
    page = text_of(olga.get(address, {"action": "isolate", "member": "reader-2"}))
    assert "It answers, and reads 1 partition." in page
    values = {"action": "isolate", "member": "reader-2", "reason": "It hangs.", "typed": "reader-1"}
    refused = olga.post(address, values)
    assert refused.status_code == 409 and "Type reader-2 to confirm it." in text_of(refused)
    assert "It hangs." in text_of(refused)  # what was typed is kept
    with django_capture_on_commit_callbacks(execute=True):
        olga.post(address, {**values, "typed": "reader-2"})
    assert [(change.action, change.member) for change in written] == [(Action.ISOLATE, "reader-2")]


def test_a_change_that_waits_has_a_page_for_those_who_decide(
    olga: Any,
    fleet: Any,
    written: list[Any],
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    found = show(monkeypatch)
    monkeypatch.setattr(decisions, "view_of", lambda *_: found)
    monkeypatch.setattr(decisions, "zookeeper", lambda: None)
    monkeypatch.setattr("hadash.dashboard.views.actions.refuse_without_zookeeper", lambda: None)
    Policy.objects.create(pair=fleet.pair, pool_approvals=1)
    page = text_of(olga.get("/pools/readers/change/?action=stop"))
    assert "1 other person has to approve it." in page and "Ask for it" in page
    arne = signed_in(ensure_user("arne", PASSWORD, "approver"))
    answer = olga.post(
        "/pools/readers/change/",
        {"action": "stop", "reason": "Wrong prices.", "typed": "readers"},
        follow=True,
    )
    held = PoolChange.objects.get()
    assert "You requested it, so somebody else decides on it: arne." in text_of(answer)
    inbox = text_of(arne.get("/switches/?inbox=waiting"))
    assert "Stop all members of the pool." in inbox and "No switch waits for you." in inbox
    file = arne.get("/switches/?inbox=waiting&format=pool-changes")
    assert held.key in b"".join(file.streaming_content).decode()
    page = text_of(arne.get(f"/pool-changes/{held.key}/"))
    assert "Stop all members of the pool. awaiting approval" in page and "Approve and write it" in page
    with django_capture_on_commit_callbacks(execute=True):
        arne.post(f"/pool-changes/{held.key}/approve/", {"digest": held.digest, "approvals": "0"})
    held.refresh_from_db()
    assert held.current is Status.APPLIED and [change.action for change in written] == [Action.STOP]
    assert "arne approved it" in text_of(arne.get(f"/pool-changes/{held.key}/"))


def test_a_new_pool(
    olga: Any, written: list[Any], monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    show(monkeypatch)
    assert "New pool" in text_of(olga.get("/new-pool/"))
    taken = olga.post("/new-pool/", {"name": "readers", "strategy": "range", "reason": "x"})
    assert taken.status_code == 409 and "There is a pool readers already." in text_of(taken)
    odd = olga.post("/new-pool/", {"name": "a/b", "strategy": "range", "reason": "x"})
    assert odd.status_code == 409 and "has no slash" in text_of(odd)
    with django_capture_on_commit_callbacks(execute=True):
        olga.post("/new-pool/", {"name": "新消费池", "strategy": "range", "reason": "x"})
    assert [(change.pool, change.strategy) for change in written] == [("新消费池", "range")]


def test_a_pool_that_was_created_a_moment_ago_has_its_page(
    olga: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read before is still shared: by this process, or by the one that the browser comes to next."""
    show(monkeypatch)
    looks = [Pools(), Pools({"readers": view()})]
    shared = SharedLook(lambda: looks.pop(0), seconds=60)
    monkeypatch.setattr(pools, "_in_zookeeper", shared)
    assert shared.get().views == {}
    assert olga.get("/pools/readers/").status_code == 200


def test_an_empty_pool_can_be_deleted(
    olga: Any, written: list[Any], monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    values = {"action": "delete", "reason": "Its service is gone.", "typed": "readers"}
    show(monkeypatch)
    assert "Delete the pool" not in text_of(olga.get("/pools/readers/"))
    refused = olga.post("/pools/readers/change/", values)
    assert refused.status_code == 409 and "The pool readers reads orders." in text_of(refused)
    show(monkeypatch, replace(view(), topics={}), said())
    busy = olga.post("/pools/readers/change/", values)
    assert "Members of the pool readers are there: reader-1, reader-2, 读者-三." in text_of(busy)
    show(monkeypatch, replace(view(), topics={}), said(members={}), registered=frozenset())
    assert "Delete the pool" in text_of(olga.get("/pools/readers/"))
    with django_capture_on_commit_callbacks(execute=True):
        olga.post("/pools/readers/change/", values)
    assert [change.action for change in written] == [Action.DELETE]


def test_a_topic_of_a_pool(
    olga: Any, written: list[Any], monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    from types import SimpleNamespace

    from hadash.pools import consumers

    known = {"carts": SimpleNamespace(leaders={0: 1, 1: 1})}
    monkeypatch.setattr(
        consumers,
        "cluster_client",
        lambda cluster: SimpleNamespace(topics=lambda names: {n: known[n] for n in names if n in known}),
    )
    show(monkeypatch)
    address = "/pools/readers/topics/add/"
    assert "Let it read a Topic" in text_of(olga.get(address))
    values = {"cluster": "east", "topic": "carts", "group": "readers", "reason": "x"}
    secret = olga.post(address, {**values, "more": "sasl.password=top"})
    assert secret.status_code == 409 and "sasl.password is a secret" in text_of(secret)
    unknown = olga.post(address, {**values, "topic": "cartz"})
    assert unknown.status_code == 409 and "There is no Topic cartz on east." in text_of(unknown)
    broken = olga.post(address, {**values, "more": "nonsense"})
    assert broken.status_code == 409 and "“nonsense” is not name=value." in text_of(broken)
    with django_capture_on_commit_callbacks(execute=True):
        olga.post(address, {**values, "more": "auto.offset.reset=earliest"})
    (change,) = written
    assert change.partitions == 2
    assert change.consumer["bootstrap.servers"] == SERVERS
    assert change.consumer["auto.offset.reset"] == "earliest"


def test_viewers_see_pools_and_change_nothing(fleet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch)
    vera = signed_in(ensure_user("vera", PASSWORD, "viewer"))
    page = text_of(vera.get("/pools/readers/"))
    assert "reader-1 reads" in page and "Isolate" not in page and "Stop all members" not in page
    assert vera.get("/pools/readers/change/?action=stop").status_code == 403


def test_a_pool_of_no_pair_is_seen_by_those_who_see_all(fleet: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch, view(orders=assigned(servers="elsewhere:9092")))
    everywhere = signed_in(ensure_user("vera", PASSWORD, "viewer"))
    assert "elsewhere:9092" in text_of(everywhere.get("/pools/readers/"))
    of_a_pair = signed_in(ensure_user("olaf", PASSWORD, "operator", pair=fleet.pair))
    assert of_a_pair.get("/pools/readers/").status_code == 404
    assert "readers" not in text_of(of_a_pair.get("/pools/"))


def test_pools_are_found_by_the_search(olga: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch)
    assert olga.get("/search/?q=readers")["Location"] == "/pools/readers/"  # (the only hit of that name)
    assert 'href="/pools/readers/"' in olga.get("/search/?q=reader").content.decode()

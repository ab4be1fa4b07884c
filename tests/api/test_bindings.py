"""Bindings by hand over the API, from the preview to ZooKeeper, with codes that say what happened."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from django.utils import timezone

from hadash.audit.models import Entry
from hadash.bindings.errors import StoreUnavailable
from hadash.bindings.model import Binding, BindingDocument
from hadash.bindings.native import NativeDialect
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity
from hadash.inventory.models import Declaration, InstanceID
from hadash.presentation.engines import Engines
from hadash.switching.binding_changes import applier
from hadash.switching.models.binding_changes import BindingChange

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

SHOP, CARTS = Identity("shop"), Identity("shop", "shop-carts")


@pytest.fixture
def wanted() -> dict[str, Any]:
    return {"pair": "main", "appid": "shop", "bind": [{"instance_id": "shop-carts"}]}


def test_from_the_preview_to_zookeeper(
    program: Callable[..., Any],
    fleet: Any,
    dialect: NativeDialect,
    wanted: dict[str, Any],
    handed: list[str],
    django_capture_on_commit_callbacks: Any,
) -> None:
    vera, olga, arne = program("vera"), program("olga"), program("arne")
    shown = vera.post("binding-changes/preview/", wanted).json()
    assert shown["edits"] == [{"identity": "shop+shop-carts", "cluster": "east"}]
    assert (shown["blockers"], shown["moves"]) == ([], [])

    asked = olga.post("binding-changes/", {**wanted, "reason": "One known client", "digest": shown["digest"]})
    assert asked.status_code == 201
    key = asked.json()["key"]
    assert [c["key"] for c in arne.get("binding-changes/?inbox=waiting").json()["results"]] == [key]
    assert olga.get("binding-changes/?inbox=waiting").json()["results"] == []
    assert [c["key"] for c in olga.get("binding-changes/?inbox=mine").json()["results"]] == [key]

    body = {"digest": shown["digest"], "approvals": 0}
    assert olga.post(f"binding-changes/{key}/approve/", body).status_code == 403
    assert arne.post(f"binding-changes/{key}/approve/", {"digest": "another"}).status_code == 412
    with django_capture_on_commit_callbacks(execute=True):
        answer = arne.post(f"binding-changes/{key}/approve/", body)
    assert (answer.status_code, answer.json()["status"], handed) == (202, "approved", [key])

    applier.apply(BindingChange.objects.get().pk)
    done = vera.get(f"binding-changes/{key}/").json()
    assert (done["status"], done["epoch"]) == ("applied", dialect.epoch())
    assert done["outcome"] == [f"In effect since epoch {done['epoch']}. Nobody has moved."]
    assert dialect.document("shop").instances["shop-carts"].cluster == "east"


def test_a_request_that_is_sent_again(
    program: Callable[..., Any], fleet: Any, dialect: Any, wanted: dict[str, Any]
) -> None:
    olga = program("olga")
    asked = {**wanted, "reason": "One known client"}
    first, second = (olga.post("binding-changes/", asked, Idempotency_Key="k1") for _ in range(2))
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert BindingChange.objects.count() == 1


def test_who_would_move_is_said(program: Callable[..., Any], fleet: Any, dialect: NativeDialect) -> None:
    dialect.change([Edit(SHOP, Binding("west"))])
    body = {"pair": "main", "appid": "shop", "unbind": [{}]}
    shown = program("vera").post("binding-changes/preview/", body).json()
    assert shown["moves"][0] == {
        "client_id": "",
        "topic": "carts",
        "group": None,
        "before": "west",
        "after": "east",
    }
    answer = program("olga").post("binding-changes/", {**body, "reason": "x"})
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:hadash:problem:refused")
    assert answer.json()["reasons"][-1] == "A change by hand moves nobody: request a switch for it."


def test_codes(
    program: Callable[..., Any],
    fleet: Any,
    dialect: NativeDialect,
    wanted: dict[str, Any],
    make_switch: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    olga = program("olga")

    def ask(**more: Any) -> tuple[int, str]:
        answer = olga.post("binding-changes/", {**wanted, "reason": "x", **more})
        return answer.status_code, answer.json()["type"].rpartition(":")[2]

    assert ask(bind=[{"instance_id": "a", "group": "b"}]) == (400, "bad-request")
    assert ask(bind=[{"instance_id": "unknown"}]) == (409, "refused")
    assert ask(appid="nobody") == (404, "not-found")
    assert ask(digest="another") == (412, "changed")
    switch = make_switch()
    assert ask() == (409, "busy")
    switch.delete()

    def away(appid: str) -> None:
        raise StoreUnavailable("ZooKeeper does not answer.")

    monkeypatch.setattr(dialect, "document", away)
    assert ask() == (503, "no-answer")


def test_declined_and_cancelled(program: Callable[..., Any], make_change: Any) -> None:
    one, other = make_change(), make_change()
    declined = program("arne").post(f"binding-changes/{one.key}/decline/", {"reason": "Not now"})
    assert (declined.status_code, declined.json()["decision_note"]) == (200, "Not now")
    cancelled = program("olga").post(f"binding-changes/{other.key}/cancel/", {"reason": "Not today."})
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    again = program("arne").post(f"binding-changes/{other.key}/decline/", {"reason": "x"})
    assert again.json()["reasons"] == ["This change is cancelled: it cannot be changed that way any more."]


def test_a_client_id_of_another_appid_is_not_registered(program: Callable[..., Any], fleet: Any) -> None:
    address = f"appids/{fleet.shop.pk}/instances/"
    assert program("olga").post(address, {"name": "HA#crm#people"}).json()["reasons"] == [
        "HA#crm#people names AppID crm: a Gateway refuses it from shop. Register it under crm."
    ]
    assert program("olga").post(address, {"name": "HA#shop#orders"}).status_code == 201


def test_what_is_registered_already_is_no_error(program: Callable[..., Any], fleet: Any) -> None:
    """A program that registers at each of its starts goes on; nothing has happened that an audit log could tell."""
    address, olga = f"appids/{fleet.shop.pk}/instances/", program("olga")
    first = olga.post(address, {"name": "web-1", "note": "The first"})
    entries = Entry.objects.count()
    again = olga.post(address, {"name": "web-1", "note": "The second"})
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    assert InstanceID.objects.get(name="web-1").note == "The first"
    assert Entry.objects.count() == entries


class TestGenerating:
    def test_one_for_each_topic(self, program: Callable[..., Any], fleet: Any) -> None:
        body = {"topics": ["orders", "carts"], "declare": ["produce"], "note": "asked for by Chen"}
        answer = program("olga").post(f"appids/{fleet.shop.pk}/instances/generate/", body)
        assert answer.status_code == 201
        made = answer.json()
        assert [each["topics"] for each in made] == [["orders"], ["carts"]]
        for each, topic in zip(made, ["orders", "carts"], strict=True):
            assert each["name"].startswith(f"shop-{topic}-")
            assert InstanceID.objects.get(name=each["name"]).note == "asked for by Chen"
            assert Declaration.objects.get(instance_id=each["name"]).resource == topic

    def test_one_for_several(self, program: Callable[..., Any], fleet: Any) -> None:
        body = {"topics": ["orders", "carts"], "one": True}
        (made,) = program("olga").post(f"appids/{fleet.shop.pk}/instances/generate/", body).json()
        assert made["name"].startswith("shop-2-topics-")
        assert InstanceID.objects.get(name=made["name"]).note == "orders, carts"
        assert not Declaration.objects.exists()

    def test_no_such_topic(self, program: Callable[..., Any], fleet: Any) -> None:
        answer = program("olga").post(f"appids/{fleet.shop.pk}/instances/generate/", {"topics": ["or ders"]})
        assert answer.status_code == 409
        assert "Kafka has no Topic of the name" in answer.json()["detail"]


class TestUnregistering:
    @pytest.fixture
    def take_back(self, program: Callable[..., Any], fleet: Any) -> Callable[[], Any]:
        return lambda: program("olga").send("DELETE", f"appids/{fleet.shop.pk}/instances/?name=shop-carts")

    def test_one_that_nothing_depends_on(self, take_back: Any, dialect: Any) -> None:
        assert take_back().status_code == 204
        assert not InstanceID.objects.filter(name="shop-carts").exists()
        assert Entry.objects.latest("number").verb == "unregister"
        assert take_back().status_code == 404

    def test_one_that_is_bound(self, take_back: Any, dialect: NativeDialect) -> None:
        dialect.change([Edit(CARTS, Binding("east"))])
        assert take_back().json()["reasons"] == ["shop › shop-carts is bound to east. Unbind it first."]

    def test_one_that_is_about_to_move_or_to_be_bound(
        self, take_back: Any, dialect: Any, make_switch: Any, make_change: Any
    ) -> None:
        switch = make_switch()
        assert take_back().json()["type"] == "urn:hadash:problem:busy"
        switch.delete()
        change = make_change()
        assert take_back().json()["reasons"] == [
            f"Change {change.key} of the bindings of shop is about it. Wait for its end or cancel it."
        ]

    def test_one_that_is_declared(self, take_back: Any, dialect: Any, fleet: SimpleNamespace) -> None:
        Declaration.objects.create(
            appid=fleet.shop, instance_id="shop-carts", kind="produce", resource="carts", source="hand"
        )
        assert take_back().json()["reasons"] == [
            "Relations of shop › shop-carts are declared (1). Withdraw them first."
        ]


def test_what_is_bound_can_be_unbound_as_it_is_listed(
    program: Any, fleet: SimpleNamespace, engines: SimpleNamespace, people: Any, make_change: Any
) -> None:
    change = make_change("applied", ended_at=timezone.now())
    document = BindingDocument("shop", Binding("east", epoch=2))
    document = document.with_binding(Identity("shop", topics=("a", "b")), Binding("east", epoch=4))
    document = document.with_binding(
        Identity("shop", group="readers"), Binding("west", epoch=5, switch=change.key)
    )
    engines.look = Engines({"shop": document}, 7, ())
    address = f"appids/{fleet.shop.pk}/bindings/"
    found = program("vera").get(address).json()
    assert found["count"] == 3
    assert [(b["topics"], b["group"], b["cluster"], b["epoch"]) for b in found["results"]] == [
        ([], "", "east", 2),
        (["a", "b"], "", "east", 4),
        ([], "readers", "west", 5),
    ]
    assert [b["change"] for b in found["results"]] == [None, None, change.key]
    engines.look = Engines(fault="no answer within 1.5 s")
    answer = program("vera").get(address)
    assert (answer.status_code, answer.json()["type"]) == (503, "urn:hadash:problem:no-answer")

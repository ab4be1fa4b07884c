"""Declared relations over the API: the same services as the pages, with codes that say what happened."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from hadash.audit.models import Entry
from hadash.inventory.models import AppID, Declaration, InstanceID
from hadash.inventory.relations import Relation
from hadash.inventory.selectors import declared

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

HEAD = "appid,instance_id,kind,resource,note\n"


@pytest.fixture
def shop(fleet: SimpleNamespace) -> AppID:
    found: AppID = fleet.shop
    return found


@pytest.fixture
def reka(program: Callable[..., Any], shop: AppID) -> Any:
    """A requester, who may declare."""
    return program("reka")


def of(shop: AppID, more: str = "") -> str:
    return f"appids/{shop.pk}/declarations/{more}"


class TestDeclaring:
    def test_one_instance_id_for_several_topics(self, reka: Any, shop: AppID) -> None:
        body = {
            "instance_id": "shop-web-1",
            "topics": ["orders", "carts"],
            "kinds": ["produce"],
            "groups": ["billing"],
            "note": "asked for by Chen",
        }
        answer = reka.post(of(shop), body)
        assert answer.status_code == 201, answer.content
        assert answer.json()["registered"] == ["shop-web-1"]
        assert set(declared(shop.pair)) == {
            Relation("shop", "shop-web-1", "produce", "orders"),
            Relation("shop", "shop-web-1", "produce", "carts"),
            Relation("shop", "shop-web-1", "group", "billing"),
        }
        assert Entry.objects.get(verb="declare").actor_name == "reka"

    def test_sent_again_it_is_declared_once(self, reka: Any, shop: AppID) -> None:
        body = {"topics": ["orders"], "kinds": ["consume"], "each": True}
        first = reka.post(of(shop), body, Idempotency_Key="one")
        again = reka.post(of(shop), body, Idempotency_Key="one")
        assert first.json() == again.json()
        assert InstanceID.objects.filter(name__startswith="shop-orders").count() == 1

    def test_what_cannot_be_declared_is_said(self, reka: Any, shop: AppID) -> None:
        answer = reka.post(of(shop), {"topics": ["订单"], "kinds": ["consume"]})
        assert (answer.status_code, answer["Content-Type"]) == (409, "application/problem+json")
        assert "Kafka has no Topic of the name “订单”" in answer.json()["detail"]
        assert reka.post(of(shop), {"kinds": ["read"]}).status_code == 400

    def test_what_was_seen_is_taken_over(self, reka: Any, shop: AppID) -> None:
        one = {"relations": [{"instance_id": "购物车", "kind": "group", "resource": "readers"}]}
        assert [r["resource"] for r in reka.post(of(shop, "adopt/"), one).json()["added"]] == ["readers"]
        assert reka.post(of(shop, "adopt/"), one).status_code == 409, "it is declared already"
        rest = reka.post(of(shop, "adopt/"), {"whole": True}).json()
        assert {(r["instance_id"], r["kind"]) for r in rest["added"]} == {("", "produce"), ("", "consume")}

    def test_it_is_taken_back(self, reka: Any, shop: AppID) -> None:
        reka.post(of(shop), {"topics": ["orders"], "kinds": ["consume"]})
        row = Declaration.objects.get()
        for _ in range(2):
            assert reka.send("DELETE", of(shop, f"{row.pk}/")).status_code == 204
        assert not Declaration.objects.exists()


class TestListing:
    @pytest.fixture(autouse=True)
    def _declared(self, reka: Any, shop: AppID) -> None:
        reka.post(
            of(shop), {"instance_id": "shop-carts", "topics": ["carts", "orders"], "kinds": ["produce"]}
        )

    def test_what_is_declared_stands_beside_what_was_seen(self, program: Callable[..., Any]) -> None:
        found = program("vera").get("pairs/main/declarations/").json()
        rows = {(r["instance_id"], r["kind"], r["resource"]): r for r in found["results"]}
        agreed = rows["shop-carts", "produce", "carts"]
        assert (agreed["state"], agreed["source"], agreed["declared_by"]) == ("agreed", "hand", "reka")
        assert agreed["last_seen"] is not None
        assert rows["shop-carts", "produce", "orders"]["state"] == "unseen"
        seen = rows["购物车", "group", "readers"]
        assert (seen["state"], seen["id"], seen["declared_by"]) == ("undeclared", None, None)
        assert found["count"] == 6

    def test_in_pages_and_filtered(self, program: Callable[..., Any]) -> None:
        vera = program("vera")
        first = vera.get("pairs/main/declarations/?page_size=4").json()
        second = vera.get("pairs/main/declarations/?page_size=4&page=2").json()
        assert (len(first["results"]), len(second["results"])) == (4, 2)
        for query, count in (("state=unseen", 1), ("q=sho", 6), ("appid=sho", 0), ("appid=shop", 6)):
            assert vera.get(f"pairs/main/declarations/?{query}").json()["count"] == count, query
        assert vera.get("pairs/main/declarations/?state=odd").status_code == 400

    def test_an_export_that_is_imported_changes_nothing(self, reka: Any) -> None:
        text = reka.get("pairs/main/declarations/export/").json()["csv"]
        assert text.splitlines()[1:] == ["shop,shop-carts,produce,carts,", "shop,shop-carts,produce,orders,"]
        found = reka.post("pairs/main/declarations/import/", {"csv": text, "whole": True}).json()
        assert (found["same"], found["added"], found["noted"], found["withdrawn"]) == (2, [], [], [])
        seen = reka.get("pairs/main/declarations/export/?state=undeclared").json()["csv"]
        assert "shop,购物车,group,readers," in seen


class TestImport:
    PATH = "pairs/main/declarations/import/"
    TEXT = HEAD + "shop,shop-web-1,produce,orders,asked for by Chen\nshop,,consume,people,\n"

    def test_first_the_differences_then_the_change(self, reka: Any, shop: AppID) -> None:
        dry = reka.post(self.PATH, {"csv": self.TEXT}).json()
        assert dry["done"] is False
        assert [r["note"] for r in dry["added"]] == ["", "asked for by Chen"]
        assert dry["registers"] == [{"appid": "shop", "instance_id": "shop-web-1"}]
        assert not Declaration.objects.exists()
        done = reka.post(self.PATH, {"csv": self.TEXT, "digest": dry["digest"]})
        assert (done.status_code, done.json()["done"]) == (200, True)
        assert Declaration.objects.count() == 2

    def test_what_has_changed_since_it_was_looked_at_is_looked_at_again(self, reka: Any, shop: AppID) -> None:
        digest = reka.post(self.PATH, {"csv": self.TEXT}).json()["digest"]
        reka.post(of(shop), {"topics": ["people"], "kinds": ["consume"]})
        answer = reka.post(self.PATH, {"csv": self.TEXT, "digest": digest})
        assert (answer.status_code, answer.json()["type"]) == (412, "urn:hadash:problem:changed")
        assert Declaration.objects.count() == 1

    def test_every_line_that_is_wrong_is_told(self, reka: Any) -> None:
        answer = reka.post(self.PATH, {"csv": f"{HEAD}crm,,consume,people,\nshop,,reads,people,\n"})
        assert answer.status_code == 409
        first, second = answer.json()["reasons"]
        assert first.startswith("Line 2: AppID “crm” is not in this pair.")
        assert second.startswith("Line 3: “reads” is no kind of use.")

    def test_not_by_everybody(self, program: Callable[..., Any], shop: AppID) -> None:
        assert program("arne").post(self.PATH, {"csv": self.TEXT}).status_code == 403
        assert program("reka", ["read"]).post(self.PATH, {"csv": self.TEXT}).status_code == 403

"""Bindings by hand on the pages: what is bound, the form with its preview, the review, and InstanceIDs."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import signed_in
from hadash.bindings.model import Binding, BindingDocument
from hadash.bindings.native import NativeDialect
from hadash.bindings.store import Edit
from hadash.identity.identity import Identity
from hadash.inventory.models import InstanceID
from hadash.presentation.engines import Engines
from hadash.switching.models.binding_changes import BindingChange

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

SHOP, CARTS = Identity("shop"), Identity("shop", "shop-carts")


def text(answer: Any) -> str:
    return answer.content.decode()


class TestTheAppID:
    def test_what_is_bound_and_by_whom(
        self, as_olga: Client, fleet: Any, engines: SimpleNamespace, make_switch: Any, make_change: Any
    ) -> None:
        switch, change = make_switch("succeeded"), make_change("applied")
        document = BindingDocument("shop", Binding("west", switch=switch.key, epoch=5))
        for identity, key in (
            (CARTS, change.key),
            (Identity("shop", topics=("a", "b")), ""),
            (Identity("shop", group="readers"), "unknown"),
        ):
            document = document.with_binding(identity, Binding("west", switch=key))
        engines.look = Engines({"shop": document}, 7)
        page = text(as_olga.get(f"/appids/{fleet.shop.pk}/"))
        section = page.partition('id="bindings"')[2].partition("</section>")[0]
        assert f'href="/switches/{switch.key}/"' in section
        assert f'href="/binding-changes/{change.key}/"' in section
        for words in ("Topic list", "shop#a, b", "shop##readers", "unknown", "?unbind=shop%2Bshop-carts"):
            assert words in section

    def test_nothing_is_bound(self, as_vera: Client, fleet: Any, engines: SimpleNamespace) -> None:
        engines.look = Engines({}, 7)
        answer = as_vera.get(f"/appids/{fleet.shop.pk}/")
        assert "Nothing is bound: all its clients are on east, the pair's default." in text(answer)
        assert reverse("bind", args=[fleet.shop.pk]) not in answer.content.decode(), "a viewer may not"

    def test_a_change_that_is_under_way(
        self, as_vera: Client, fleet: Any, engines: Any, make_change: Any
    ) -> None:
        change = make_change()
        make_change("declined")
        page = text(as_vera.get(f"/appids/{fleet.shop.pk}/"))
        assert f"Change {change.key}" in page
        assert page.count("/binding-changes/") == 1


class TestAsking:
    def test_the_preview_says_what_is_written_and_about_whom_it_decides(
        self, as_olga: Client, fleet: Any, engines: Any, dialect: Any
    ) -> None:
        shown = text(
            as_olga.get(
                f"/appids/{fleet.shop.pk}/bindings/preview/",
                {"action": "bind", "kind": "instance", "instance": "shop-carts"},
            )
        )
        for words in ("shop › shop-carts", "bound to", "east", "shop-carts", "produces", "carts"):
            assert words in shown
        assert 'name="digest"' in shown

    def test_what_would_move_somebody_leads_to_a_switch(
        self, as_olga: Client, fleet: Any, engines: Any, dialect: NativeDialect
    ) -> None:
        dialect.change([Edit(SHOP, Binding("west"))])
        shown = text(as_olga.get(f"/appids/{fleet.shop.pk}/bindings/preview/", {"unbind": "shop"}))
        assert "A change by hand moves nobody: request a switch for it." in shown
        assert f"/switches/request/?appid={fleet.shop.pk}&amp;scope=appid&amp;target=east" in shown
        assert 'name="digest"' not in shown

    def test_from_the_form_to_the_change(
        self, as_olga: Client, fleet: Any, engines: Any, dialect: Any
    ) -> None:
        address = f"/appids/{fleet.shop.pk}/bindings/change/"
        form = text(as_olga.get(f"{address}?instance=shop-carts"))
        assert 'value="shop-carts"' in form
        answer = as_olga.post(
            address, {"action": "bind", "kind": "instance", "instance": "shop-carts", "reason": "Known"}
        )
        change = BindingChange.objects.get()
        assert (answer.status_code, answer["Location"]) == (302, f"/binding-changes/{change.key}/")
        assert change.edits == {"shop+shop-carts": "east"}
        assert change.requested_in, "the browser is noted for four eyes"

    def test_a_refusal_keeps_what_was_typed(
        self, as_olga: Client, fleet: Any, engines: Any, dialect: Any
    ) -> None:
        address = f"/appids/{fleet.shop.pk}/bindings/change/"
        asked = {"action": "bind", "kind": "instance", "instance": "unknown-one", "reason": "Known"}
        answer = as_olga.post(address, asked)
        assert answer.status_code == 409
        assert "InstanceID unknown-one is not registered under shop." in text(answer)
        assert "Known</textarea>" in text(answer)
        assert as_olga.post(address, {**asked, "register": "on"}).status_code == 302
        assert InstanceID.objects.filter(name="unknown-one").exists()
        nothing = as_olga.post(address, {"action": "unbind", "reason": "x"})
        assert "Say what to bind or to unbind." in text(nothing)

    def test_without_zookeeper(
        self, as_olga: Client, fleet: Any, engines: SimpleNamespace, dialect: Any
    ) -> None:
        engines.look = Engines(fault="the connection is lost")
        address = f"/appids/{fleet.shop.pk}/bindings/change/"
        assert "ZooKeeper does not answer" in text(as_olga.get(f"{address}?instance=shop-carts"))
        answer = as_olga.post(address, {"instance": "shop-carts", "reason": "x"})
        assert "no binding can be changed" in text(answer)


class TestTheChange:
    def test_approved(
        self,
        as_arne: Client,
        as_olga: Client,
        engines: Any,
        dialect: Any,
        make_change: Any,
        handed: Any,
        django_capture_on_commit_callbacks: Any,
    ) -> None:
        change = make_change()
        address = f"/binding-changes/{change.key}/"
        assert "You requested it" in text(as_olga.get(address))
        assert "Approve and write it" in text(as_arne.get(address))
        with django_capture_on_commit_callbacks(execute=True):
            answer = as_arne.post(f"{address}approve/", {"digest": change.digest, "approvals": "0"})
        assert (answer.status_code, handed) == (302, [change.key])
        page = text(as_arne.get(address))
        assert 'hx-trigger="every 1s"' in page, "until it is written"
        assert "Arne Approver" in page
        BindingChange.objects.update(status="applied", ended_at=timezone.now())
        assert 'hx-trigger="every 1s"' in text(as_arne.get(address)), "until every engine has it"
        BindingChange.objects.update(ended_at=timezone.now() - timedelta(minutes=1))
        assert 'hx-trigger="every 1s"' not in text(as_arne.get(address))

    def test_what_has_changed_since_is_shown_and_refused(
        self, as_arne: Client, engines: Any, dialect: NativeDialect, make_change: Any
    ) -> None:
        change = make_change()
        dialect.change([Edit(CARTS, Binding("east"))])
        address = f"/binding-changes/{change.key}/"
        assert "shop › shop-carts is bound to east already." in text(as_arne.get(address))
        answer = as_arne.post(f"{address}approve/", {"digest": change.digest})
        assert answer.status_code == 409
        assert "has changed since the request. Look at it again." in text(answer)

    def test_declined_and_cancelled(
        self, as_arne: Client, as_olga: Client, engines: Any, dialect: Any, make_change: Any
    ) -> None:
        one, other = make_change(), make_change()
        as_arne.post(f"/binding-changes/{one.key}/decline/", {"reason": "Not now"})
        assert "Not now" in text(as_olga.get(f"/binding-changes/{one.key}/"))
        as_olga.post(f"/binding-changes/{other.key}/cancel/", {"reason": "Not today."})
        assert "olga cancelled it: Not today. Nothing was changed." in text(
            as_olga.get(f"/binding-changes/{other.key}/")
        )
        again = as_olga.post(f"/binding-changes/{other.key}/cancel/", {"reason": "Again"})
        assert again.status_code == 409

    def test_in_the_inboxes(self, as_arne: Client, as_olga: Client, engines: Any, make_change: Any) -> None:
        change = make_change()
        waiting = text(as_arne.get("/switches/?inbox=waiting"))
        assert f"/binding-changes/{change.key}/" in waiting
        assert "No switch waits for you." in waiting
        assert 'class="count waiting"' in waiting
        assert f"/binding-changes/{change.key}/" in text(as_arne.get("/"))
        assert f"/binding-changes/{change.key}/" in text(as_olga.get("/switches/?inbox=mine"))
        assert f"/binding-changes/{change.key}/" not in text(as_olga.get("/switches/?inbox=waiting"))

    def test_in_chinese(self, people: Any, engines: Any, dialect: Any, make_change: Any) -> None:
        page = text(signed_in(people.arne, "zh-hans").get(f"/binding-changes/{make_change().key}/"))
        assert "批准并写入" in page


class TestInstanceIDs:
    def test_generated(self, as_olga: Client, fleet: Any, engines: Any) -> None:
        answer = as_olga.post(
            f"/appids/{fleet.shop.pk}/instances/generate/", {"topics": "orders, carts", "one": "each"}
        )
        assert answer.status_code == 302
        assert fleet.shop.instances.filter(name__startswith="shop-orders-").count() == 1
        nothing = as_olga.post(f"/appids/{fleet.shop.pk}/instances/generate/", {"topics": " "})
        assert (nothing.status_code, "Say for which Topics." in text(nothing)) == (409, True)

    def test_unregistered_with_its_name_typed(
        self, as_olga: Client, fleet: Any, engines: Any, dialect: Any
    ) -> None:
        instance = fleet.shop.instances.get(name="shop-carts")
        address = f"/appids/{fleet.shop.pk}/instances/{instance.pk}/unregister/"
        assert "Unregister shop-carts" in text(as_olga.get(address))
        wrong = as_olga.post(address, {"typed": "shop"})
        assert (wrong.status_code, "Type shop-carts to confirm" in text(wrong)) == (409, True)
        assert as_olga.post(address, {"typed": "shop-carts"}).status_code == 302
        assert not InstanceID.objects.filter(name="shop-carts").exists()
        assert as_olga.get(address).status_code == 404

"""Tables that are ordered by a click at the head of a column."""

from __future__ import annotations

import html
import re
from types import SimpleNamespace
from typing import Any

import pytest
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import gateway
from hadash.audit.models import record
from hadash.dashboard.sorting import order_of, part_order
from hadash.dashboard.views.batches import ITEM_FIELDS
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.inventory.models import Access, AppID
from hadash.mirroring.models import Mirror
from hadash.outbox.models import Content, Delivery
from hadash.presentation.engines import Engines
from hadash.switching.models.switches import Switch

NOW = timezone.now()

#: Lists that are ordered so, by the name of their address.
LISTS = (
    "appids",
    "switches",
    "batches",
    "clusters",
    "gateways",
    "mirrors",
    "groups",
    "findings",
    "people",
    "audit",
    "pipeline",
    "deliveries",
)


def asked(query: str) -> HttpRequest:
    return RequestFactory().get(f"/?{query}")


class TestOrder:
    def test_a_column_turns_round_when_it_is_clicked_again(self) -> None:
        order = order_of(asked("q=shop&sort=name&page=3"), ["name", "lag"])
        assert (order.of("name"), order.of("lag")) == ("ascending", "")
        assert order.link("name") == "?q=shop&sort=-name", "from its first page"
        assert order.link("lag") == "?q=shop&sort=lag"

    def test_of_figures_the_largest_come_first(self) -> None:
        order = order_of(asked(""), ["lag"])
        assert order.link("lag", largest_first=True) == "?sort=-lag"
        assert order_of(asked("sort=-lag"), ["lag"]).link("lag", largest_first=True) == "?sort=lag"

    def test_a_column_that_does_not_exist_is_nobodys_choice(self) -> None:
        for query in ("sort=password", "sort=--name", "sort=-", "sort=%00"):
            assert order_of(asked(query), ["name"]).text == ""

    def test_one_of_several_tables_is_ordered_alone(self) -> None:
        request = asked("bound-sort=kind&connected=2")
        assert part_order(request, "connected", ["client"]).text == ""
        assert part_order(request, "bound", ["kind"]).text == "kind"
        assert part_order(request, "connected", ["client"], "/appids/1/").link("client") == (
            "/appids/1/?bound-sort=kind&connected-sort=client"
        )

    @pytest.mark.parametrize(
        ("query", "expected"), [("sort=n", [1, 2, None]), ("sort=-n", [2, 1, None]), ("", [2, None, 1])]
    )
    def test_what_has_no_value_comes_last_either_way(self, query: str, expected: list[int | None]) -> None:
        rows: list[int | None] = [2, None, 1]
        assert order_of(asked(query), ["n"]).rows(rows, {"n": lambda row: row}) == expected


@pytest.mark.stack
@pytest.mark.django_db
class TestPages:
    @pytest.mark.parametrize("name", LISTS)
    def test_every_head_of_a_list_leads_to_that_order(
        self,
        admin_client: Client,
        fleet: SimpleNamespace,
        finished: Switch,
        engines: SimpleNamespace,
        name: str,
        make_batch: Any,
    ) -> None:
        make_batch()
        Run.objects.create(job=Run.Job.TOPOLOGY, state=Run.State.PUBLISHED)
        record(None, "switch.requested", "shop")
        Finding.objects.create(
            appid="shop",
            name="web",
            pair="main",
            code="acks-not-all",
            weight=10,
            first_at=NOW,
            opened_at=NOW,
            last_run=1,
        )
        Delivery.objects.create(
            content=Content.objects.create(subject="The week"),
            asked_as="1",
            transport="mail",
            address="a@b.example",
            due_at=NOW,
        )
        engines.look = Engines({}, 7, (gateway("b"), gateway("a", live=False)))
        page = reverse(name)
        heads = links(text_of(admin_client, page))
        assert heads or name == "groups", "there are no groups here"
        for link in heads:
            for address in (link, link.replace("sort=", "sort=-").replace("--", "")):
                found = text_of(admin_client, page + address)
                assert found.count("aria-sort=") == 1, address

    def test_the_radii_of_a_batch(self, as_vera: Client, engines: SimpleNamespace, make_batch: Any) -> None:
        page = make_batch().get_absolute_url()
        heads = links(text_of(as_vera, page + "?wave=all"))
        assert {link.split("sort=")[-1].removeprefix("-") for link in heads} == set(ITEM_FIELDS)
        for link in heads:
            assert text_of(as_vera, link).count("aria-sort=") == 1, link

    def test_mirrors_by_their_tasks(
        self, as_vera: Client, fleet: SimpleNamespace, engines: SimpleNamespace
    ) -> None:
        """The database orders them by what it counts in a list of tasks."""
        tasks = {"a": [("RUNNING", 1)], "b": [("FAILED", 0), ("RUNNING", 7)], "c": []}
        for name, own in tasks.items():
            Mirror.objects.create(
                pair=fleet.pair,
                name=name,
                source=fleet.pair.first,
                tasks=[{"state": state, "restarts": restarts} for state, restarts in own],
            )
        for sort, first in (("-tasks", "b"), ("-restarts", "b"), ("restarts", "c")):
            page = as_vera.get(reverse("mirrors"), {"sort": sort, "pair": "main"})
            named = [row.mirror.name for row in page.context["rows"] if row.mirror.name in tasks]
            assert named[0] == first, sort

    def test_the_parts_of_an_appid(
        self, admin_client: Client, fleet: SimpleNamespace, engines: SimpleNamespace
    ) -> None:
        engines.connections = [
            {"appid": "shop", "client_id": name, "cluster": "east", "peer": "10.0.0.7:1"}
            for name in ("b", "a")
        ]
        page = reverse("appid", args=[fleet.shop.pk])
        heads = links(text_of(admin_client, page))
        assert {link.split("-sort=")[0].split("?")[-1] for link in heads} >= {"connected", "instances"}
        for link in heads:
            assert text_of(admin_client, link).count("aria-sort=") == 1, link

    def test_appids_by_name_both_ways(
        self, as_vera: Client, fleet: SimpleNamespace, engines: SimpleNamespace
    ) -> None:
        AppID.objects.create(name="aaa", pair=fleet.pair)
        for sort, first in (("name", "aaa"), ("-name", "shop")):
            page = as_vera.get(reverse("appids"), {"sort": sort})
            assert page.context["appids"][0].appid.name == first

    def test_a_filter_keeps_the_order(
        self, as_vera: Client, finished: Switch, engines: SimpleNamespace
    ) -> None:
        text = text_of(as_vera, reverse("switches") + "?sort=-by")
        assert '<input type="hidden" name="sort" value="-by">' in text


@pytest.mark.stack
@pytest.mark.django_db
class TestCsv:
    def lines(self, client: Client, address: str) -> list[str]:
        answer: Any = client.get(address)
        assert answer["Content-Type"].startswith("text/csv")
        return b"".join(answer.streaming_content).decode().splitlines()

    def test_of_appids(self, as_vera: Client, fleet: SimpleNamespace, engines: SimpleNamespace) -> None:
        Access.objects.all().delete()
        AppID.objects.create(name="=1+1", pair=fleet.pair, owner="购物组")
        head, first, *_more = self.lines(as_vera, reverse("appids") + "?format=csv&sort=name&q=1")
        assert head == "pair,appid,owner,critical,bound_to,binding,epoch,clients_seen,of_these_registered"
        assert first == "main,'=1+1,购物组,False,east,the pair's default,,0,0", (
            "and no spreadsheet takes it for a formula"
        )

    def test_of_appids_while_zookeeper_is_away(
        self, as_vera: Client, fleet: SimpleNamespace, engines: SimpleNamespace
    ) -> None:
        engines.look = Engines(fault="no answer")
        assert all(",,,," in line for line in self.lines(as_vera, reverse("appids") + "?format=csv")[1:])

    def test_of_switches(self, as_vera: Client, finished: Switch, engines: SimpleNamespace) -> None:
        head, line = self.lines(as_vera, reverse("switches") + "?format=csv&status=succeeded")
        assert head.startswith("key,kind,pair,appid,") and line.startswith(
            f"{finished.key},{finished.kind},main,shop,"
        )

    def test_of_changes_of_bindings(
        self, as_vera: Client, make_change: Any, engines: SimpleNamespace
    ) -> None:
        change = make_change()
        head, line = self.lines(as_vera, reverse("switches") + "?format=changes")
        assert head.startswith("key,pair,appid,identities,status,")
        assert line.startswith(f"{change.key},main,{change.appid},")

    def test_of_the_audit_log(self, as_arne: Client, people: SimpleNamespace) -> None:
        record(people.olga, "switch.requested", "shop", "10.0.0.7", reason="升级")
        head, line = self.lines(as_arne, reverse("audit") + "?format=csv&actor=olga")
        assert head == "number,at,actor,verb,subject,address,details,page"
        assert line.endswith(',olga,switch.requested,shop,10.0.0.7,"{""reason"": ""升级""}",')

    def test_of_clusters(self, as_vera: Client, fleet: SimpleNamespace) -> None:
        head, *lines = self.lines(as_vera, reverse("clusters") + "?format=csv&sort=-cluster")
        assert head.startswith("pair,cluster,state,milliseconds,brokers")
        assert [line.split(",")[1] for line in lines] == ["west", "east"]


def text_of(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def links(text: str) -> list[str]:
    """Where the heads of columns lead to."""
    return [html.unescape(link) for link in re.findall(r'<th[^>]*><a class="row" href="([^"]+)"', text)]

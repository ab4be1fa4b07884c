"""The page of an AppID, where everything about it meets."""

from __future__ import annotations

from email.message import Message
from email.utils import collapse_rfc2231_value
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from support.html import squeezed

from dashboard.graph_parts import publish_graph, uses_of
from hadash.dashboard import appid_csv, appid_parts
from hadash.dashboard.appid_parts import GroupLag, Right, TopicUse, compared
from hadash.dashboard.views.appids import PARTS, ROWS_SHOWN
from hadash.governance.models.findings import Finding
from hadash.inventory.models import Access, AppID, InstanceID
from hadash.kafka.errors import ClusterUnavailable
from hadash.lake import snapshots
from hadash.lake.store import Store
from hadash.mirroring.models import Mirror
from hadash.presentation.badges import State
from hadash.presentation.selectors import history_of
from hadash.switching.models.switches import Switch


def rule(cluster: str, operation: str = "READ", resource: str = "orders", **more: Any) -> dict[str, Any]:
    values = {
        "resource_type": "TOPIC",
        "pattern": "LITERAL",
        "principal": "User:shop",
        "host": "*",
        "permission": "ALLOW",
        "by_hadash": False,
    }
    return {"cluster": cluster, "operation": operation, "resource": resource, **values, **more}


class TestRights:
    def test_a_rule_that_both_have_is_one_row(self) -> None:
        found = compared([rule("east"), rule("west")], "east", "west")
        assert found == [Right("TOPIC", "orders", "LITERAL", "READ", "ALLOW", True, True)]

    def test_what_one_lacks_comes_first(self) -> None:
        found = compared([rule("east"), rule("west"), rule("east", "WRITE")], "east", "west")
        assert [(r.operation, r.second) for r in found] == [("WRITE", False), ("READ", True)]

    def test_what_hadash_has_made_to_keep_clients_off_a_standby_is_none_of_its_own(self) -> None:
        assert compared([rule("west", permission="DENY", by_hadash=True)], "east", "west") == []

    def test_the_same_from_another_host_is_another_rule(self) -> None:
        found = compared([rule("east", host="10.0.0.1"), rule("west")], "east", "west")
        assert {(each.host, each.first, each.second) for each in found} == {
            ("*", False, True), ("10.0.0.1", True, False),
        }  # fmt: skip


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(settings, "LAKE", str(tmp_path / "lake"))
    about = {
        "kafka_cluster_id": "x",
        "mode": "kraft",
        "version": "3.9",
        "controller": 1,
        "controller_epoch": 1,
    }
    snapshots.write(
        Store(settings.LAKE),
        timezone.now(),
        {
            "clusters": [
                {"cluster": "east", **about, "fault": "", "authorizer": True},
                {"cluster": "west", "fault": "away"},
            ],
            "acls": [rule("east"), rule("east", principal="User:somebody")],
            "groups": [
                {
                    "cluster": "east",
                    "group": "readers",
                    "state": "Stable",
                    "protocol": "range",
                    "coordinator": 1,
                }
            ],
        },
    )


@pytest.mark.stack
@pytest.mark.django_db
class TestThePage:
    def text(self, client: Client, fleet: SimpleNamespace) -> str:
        """Of the page with all parts that come after it."""
        page = client.get(reverse("appid", args=[fleet.shop.pk])).content.decode()
        parts = [reverse(name, args=[fleet.shop.pk]) for name, _heading in PARTS]
        assert all(f'hx-get="{address}"' in page for address in parts)
        return page + "".join(client.get(address).content.decode() for address in parts)

    def test_a_topic_without_a_mirror_stands_out(self, as_arne: Client, fleet: Any, engines: Any) -> None:
        assert "no mirror: it cannot be switched" not in self.text(as_arne, fleet)
        Mirror.objects.update(topics=["other"])
        assert "no mirror: it cannot be switched" in self.text(as_arne, fleet)

    def test_internal_topics_are_listed_when_they_are_asked_for(
        self, as_arne: Client, fleet: Any, engines: Any
    ) -> None:
        """They have no mirror, and nobody switches them."""
        now = timezone.now()
        Access.objects.create(
            pair=fleet.pair, appid="shop", client_id="audit", kind="consume", resource="__consumer_offsets",
            cluster="east", host="h", first_seen=now, last_seen=now,
        )  # fmt: skip
        address = reverse("appid-uses", args=[fleet.shop.pk])
        page = as_arne.get(address).content.decode()
        assert "__consumer_offsets" not in page and "1 internal Topic is not listed." in page
        assert "__consumer_offsets" in as_arne.get(address, {"internal": "1"}).content.decode()

    def test_what_would_move_is_as_the_last_run_has_counted(
        self, as_arne: Client, fleet: Any, engines: Any
    ) -> None:
        assert "not known" in self.text(as_arne, fleet)
        publish_graph(fleet.pair, [*uses_of("shop", produce=["carts"]), *uses_of("audit", consume=["carts"])])
        page = self.text(as_arne, fleet)
        assert "up to 3 things with one of its clients, 3 with all of it" in page
        assert "Who uses what" in page

    def test_its_graph_can_be_had_as_a_table(self, as_arne: Client, fleet: Any, engines: Any) -> None:
        """The part that shows it comes later; its button leads to the page."""
        publish_graph(fleet.pair, [*uses_of("shop", produce=["carts"])])
        answer = as_arne.get(reverse("appid", args=[fleet.shop.pk]), {"csv": "flows"})
        assert answer["Content-Type"].startswith("text/csv")
        assert "carts" in b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]

    def test_switches_of_something_else_that_it_came_along_with_are_its_own(
        self, as_arne: Client, fleet: Any, engines: Any, make_switch: Any
    ) -> None:
        for appid, moved in (
            ("crm", ["crm", "shop+shop-carts"]),
            ("", ["shop#carts"]),
            ("hr", ["shopping", "my-shop"]),
        ):
            switch = make_switch("succeeded", appid=appid)
            Switch.objects.filter(pk=switch.pk).update(plan={**switch.plan, "identities": moved})
        found = history_of(User.objects.get(username="arne"), fleet.shop)
        assert {switch.appid for switch in found} == {"crm", ""}
        listed = as_arne.get(reverse("switches"), {"of": fleet.shop.pk})
        assert {switch.appid for switch, _state in listed.context["rows"]} == {"crm", ""}
        assert "Switches that moved AppID shop" in listed.content.decode()
        assert as_arne.get(reverse("switches"), {"of": 2**62}).status_code == 404

    def test_when_it_has_more_switches_than_its_page_shows_there_is_a_way_to_all(
        self, as_arne: Client, fleet: Any, engines: Any, make_switch: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("hadash.dashboard.views.appids.SWITCHES_SHOWN", 1)
        make_switch("succeeded", appid="shop")
        link = f'href="/switches/?of={fleet.shop.pk}"'
        page = reverse("appid", args=[fleet.shop.pk])
        assert link not in as_arne.get(page).content.decode()
        make_switch("rolled_back", appid="shop")
        assert link in as_arne.get(page).content.decode()

    def test_rules_of_a_cluster_that_was_away_are_not_known(
        self, as_arne: Client, fleet: Any, engines: Any, lake: None
    ) -> None:
        rights = appid_parts.rights_of(fleet.shop)
        assert (len(rights.rows), rights.known) == (1, (True, False))
        page = self.text(as_arne, fleet)
        assert "missing" not in page, "nobody knows whether west has it"

    def test_its_findings(self, as_arne: Client, fleet: Any, engines: Any) -> None:
        now = timezone.now()
        values = {
            "pair": "main",
            "code": "acks-not-all",
            "weight": 10,
            "first_at": now,
            "opened_at": now,
            "last_run": 1,
        }
        Finding.objects.create(appid="shop", name="web", **values)
        Finding.objects.create(appid="other", name="strange", **values)
        page = self.text(as_arne, fleet)
        assert "open: 1" in page and "strange" not in page

    def test_queries_do_not_grow_with_what_it_uses(
        self, as_arne: Client, fleet: Any, engines: Any, django_assert_max_num_queries: Any
    ) -> None:
        now = timezone.now()
        for number in range(30):
            Access.objects.create(
                pair=fleet.pair, appid="shop", client_id="web", kind="produce", resource=f"t-{number}", cluster="east",
                first_seen=now, last_seen=now,
            )  # fmt: skip
        publish_graph(fleet.pair, uses_of("shop", produce=["carts"]))
        with django_assert_max_num_queries(54):  # of the page and its three parts
            self.text(as_arne, fleet)


@pytest.mark.stack
@pytest.mark.django_db
class TestLags:
    def test_groups_are_asked_after_the_page_is_there(
        self, as_arne: Client, fleet: Any, engines: Any, lake: None, monkeypatch: Any
    ) -> None:
        look = SimpleNamespace(info=SimpleNamespace(members=(1, 2)), total=77)
        monkeypatch.setattr(appid_parts, "look_at", lambda cluster, group: look)
        page = as_arne.get(reverse("appid-lags", args=[fleet.shop.pk])).content.decode()
        assert "readers" in page and ">77<" in squeezed(page)

    def test_a_cluster_that_is_away_is_asked_once(self, fleet: Any, lake: None, monkeypatch: Any) -> None:
        asked = []

        def away(cluster: Any, group: str) -> None:
            asked.append(group)
            raise ClusterUnavailable("Cluster east did not answer within 10 s.")

        monkeypatch.setattr(appid_parts, "look_at", away)
        rows = [SimpleNamespace(cluster="east"), SimpleNamespace(cluster="east")]
        uses = [appid_parts.GroupUse("readers", 1, tuple(rows))]  # type: ignore[arg-type]
        monkeypatch.setattr(appid_parts, "uses_of", lambda found: ([], uses))
        lags, left_out = appid_parts.lags_of(fleet.shop)
        assert (len(lags), len(asked), left_out) == (2, 1, 0)
        assert {lag.fault for lag in lags} == {"Cluster east did not answer within 10 s."}

    @pytest.mark.parametrize(
        ("page", "query", "head", "shown"),
        [
            ("appid", {"csv": "instances"}, "instance_id,note,registered_at", "shop-carts"),
            ("appid", {"csv": "seen"}, "client_id,does,resource,cluster,library,version,last_seen", "carts"),
            ("appid", {"csv": "bound"}, "kind,identity,cluster,state,epoch,put_there_by,at", ""),
            ("appid", {"csv": "connected"}, "client_id,connections,left_open,parked,library,hosts", ""),
            ("appid-uses", {"format": "csv"}, "topic,does,clients,mirror,mirror_state,lag_seconds", "carts"),
            (
                "appid-rights",
                {"format": "csv"},
                "resource_type,resource,pattern,operation,permission,host,east,west",
                "",
            ),
            ("appid-lags", {"format": "csv"}, "group,cluster,members,records_behind,fault", ""),
        ],
    )
    def test_each_table_can_be_had_as_csv(
        self, as_arne: Client, fleet: Any, engines: Any, page: str, query: dict[str, str], head: str, shown: str
    ) -> None:  # fmt: skip
        answer = as_arne.get(reverse(page, args=[fleet.shop.pk]), query)
        text = b"".join(answer.streaming_content).decode()  # type: ignore[attr-defined]
        assert text.splitlines()[0] == head
        assert shown in text

    @pytest.mark.parametrize("name", ["购物车", 'a"b', "plain"])
    def test_the_file_is_called_after_the_appid_whatever_its_name(
        self, as_arne: Client, fleet: Any, engines: Any, name: str
    ) -> None:
        AppID.objects.filter(pk=fleet.shop.pk).update(name=name)
        answer = as_arne.get(reverse("appid", args=[fleet.shop.pk]), {"csv": "instances"})
        message = Message()
        message["Content-Disposition"] = answer["Content-Disposition"]
        assert collapse_rfc2231_value(message.get_filename() or "").startswith(f"hadash-{name}-instances-")

    def test_the_csv_has_what_is_looked_for_of_all_pages(
        self, as_arne: Client, fleet: Any, engines: Any
    ) -> None:
        InstanceID.objects.bulk_create(
            InstanceID(appid=fleet.shop, name=f"web-{number:03d}") for number in range(ROWS_SHOWN + 1)
        )
        address = reverse("appid", args=[fleet.shop.pk])
        answer = as_arne.get(address, {"csv": "instances", "client": "WEB"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert len(lines) == 1 + ROWS_SHOWN + 1, "all of them, and none of another name"
        links = as_arne.get(address, {"client": "web"}).content.decode()
        assert f'href="{address}?client=web&amp;csv=instances"' in links


class TestItsTables:
    def test_what_a_mirror_said_last_is_no_lag_when_it_does_not_answer(self) -> None:
        state = State("unknown", "unknown", "not known")
        mirror = Mirror(name="carts", lag_seconds=3.0)
        use = TopicUse("carts", ("produce",), 1, mirror, state)
        assert appid_csv.TOPICS.row(use) == ("carts", ["produce"], 1, "carts", "not known", None)

    def test_a_group_that_is_not_known_has_no_figures(self) -> None:
        lag = GroupLag("readers", "east", 0, None, "east does not answer")
        assert appid_csv.LAGS.row(lag) == ("readers", "east", None, None, "east does not answer")

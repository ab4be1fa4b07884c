"""One search box for everything that has a page."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.graph_parts import FLEET, publish_graph
from dashboard.parts import NASTY, PASSWORD, cluster
from hadash.accounts.roles import ensure_user
from hadash.dashboard import searching
from hadash.dashboard.searching import search
from hadash.governance.models.findings import Finding
from hadash.inventory.models import AppID, InstanceID, Pair
from hadash.lake import snapshots
from hadash.lake.store import Store
from hadash.notices.models import Channel
from hadash.outbox.models import Endpoint, Transport
from hadash.reports.models import Kind, ReportEdition, ReportIssue, ReportSchedule
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.switches import Switch

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def names(user: Any, text: str) -> dict[str, list[str]]:
    return {str(hits.kind): [hit.name for hit in hits.hits] for hits in search(user, text)}


class TestWhatIsFound:
    def test_things_of_every_kind(self, people: Any, fleet: SimpleNamespace, finished: Switch) -> None:
        publish_graph(fleet.pair, FLEET)
        now = timezone.now()
        Finding.objects.create(
            pair="main",
            code="acks-not-all",
            appid="shop",
            name="shop-web",
            weight=10,
            first_at=now,
            opened_at=now,
            last_run=1,
        )
        found = names(people.vera, "shop")
        assert found["AppIDs"] == ["shop"]
        assert found["InstanceIDs"] == ["shop-carts"]
        assert found["Mirrors"] == ["shop"]
        assert found["Switches"] == [finished.key]
        assert found["Findings"] == ["shop-web"]
        assert names(people.vera, "order") == {"Topics": ["orders"]}
        assert names(people.vera, "AUDITORS") == {"Consumer groups": ["auditors"]}
        assert names(people.vera, "wes") == {"Clusters": ["west"]}

    def test_a_group_that_nobody_was_seen_in_is_found_in_the_newest_snapshot(
        self, people: Any, fleet: SimpleNamespace, settings: Any, tmp_path: Path
    ) -> None:
        publish_graph(fleet.pair, FLEET)
        settings.LAKE = str(tmp_path / "lake")
        groups = [
            {"cluster": cluster, "group": name, "state": "Empty", "protocol": "", "coordinator": 1}
            for cluster, name in (("east", "auditors"), ("east", "夜间/对账"), ("north", "对账"))
        ]
        snapshots.write(Store(settings.LAKE), timezone.now(), {"groups": groups, "members": []})
        [hits] = search(people.vera, "对账")
        assert [(hit.name, hit.href) for hit in hits.hits] == [
            ("夜间/对账", reverse("group", args=["east", "夜间/对账"]))
        ], "not that of a cluster of no pair"
        assert names(people.vera, "auditors") == {"Consumer groups": ["auditors"]}, "once"

    def test_owners_pairs_jobs_and_reports(self, people: Any, fleet: SimpleNamespace) -> None:
        AppID.objects.filter(name="shop").update(owner="Team Checkout")
        assert names(people.vera, "checkout") == {"Owners": ["Team Checkout"]}
        assert names(people.vera, "main")["Pairs"] == ["main"]
        assert names(people.vera, "topolog")["Jobs"] == ["Topology"]
        assert names(people.vera, "acks-not-all")["Rules"] == ["acks other than all"]

    def test_changes_of_bindings_and_runs(
        self, people: Any, fleet: SimpleNamespace, make_change: Callable[..., BindingChange]
    ) -> None:
        change = make_change(reason="moves to the new building")
        run = publish_graph(fleet.pair, FLEET)
        assert names(people.vera, "new building") == {"Changes of bindings": [change.key]}
        assert names(people.vera, change.key) == {"Changes of bindings": [change.key]}
        for text in (f"#{run.pk}", str(run.pk)):
            assert names(people.vera, text)["Runs"] == [str(run.pk)]

    def test_reports_are_found_by_their_readers_and_schedules_by_who_manages_them(
        self, people: Any, fleet: SimpleNamespace
    ) -> None:
        ada = ensure_user("ada", PASSWORD, "administrator", "Ada Administrator")
        weekly = ReportSchedule.objects.create(name="Posture on Mondays", kind=Kind.POSTURE, cron="0 7 * * 1")
        for days in (7, 0):
            due = timezone.now() - timedelta(days=days)
            issue = ReportIssue.objects.create(schedule=weekly, due_at=due, about=f"SW-{days}")
            for owner in ("", "team checkout"):
                ReportEdition.objects.create(issue=issue, pairs=["main"], owner=owner, report={})
        hidden = ReportIssue.objects.create(schedule=weekly, due_at=timezone.now() - timedelta(days=1))
        ReportEdition.objects.create(issue=hidden, pairs=["main", "of-others"], report={})
        [reports] = search(people.vera, "on mondays")
        assert [hit.at for hit in reports.hits] == list(
            weekly.issues.exclude(pk=hidden.pk).values_list("due_at", flat=True)
        ), "newest first"
        assert names(people.vera, "SW-7") == {"Reports": ["Posture on Mondays"]}
        assert names(people.vera, "team checkout") == {}, "an owner's report is for who manages reports"
        assert names(ada, "team checkout") == {"Reports": ["Posture on Mondays"] * 2}
        assert names(ada, "on mondays")["Schedules of reports"] == ["Posture on Mondays"]

    def test_people_and_channels_are_found_by_those_who_manage_them(
        self, people: Any, fleet: SimpleNamespace
    ) -> None:
        ada = ensure_user("ada", PASSWORD, "administrator", "Ada Administrator")
        Channel.objects.create(
            endpoint=Endpoint.objects.create(transport=Transport.WEBHOOK, name="night shift")
        )
        assert names(ada, "night") == {"Channels": ["night shift"]}
        assert names(ada, "viewer") == {"People": ["vera"]}, "by what a person is called, too"
        assert names(people.vera, "night") == names(people.vera, "arne") == {}

    def test_the_best_of_many_is_found_whatever_comes_before_it_by_name(
        self, people: Any, fleet: SimpleNamespace
    ) -> None:
        """More names hold the text than are read, and stand before it in the order of names."""
        many = [f"a-{number:03}-ledger" for number in range(2 * searching.READ)]
        for name in [*many, "ledger-2", "ledger"]:
            InstanceID.objects.create(appid=fleet.shop, name=name)
        best, second, *others = names(people.vera, "LEDGER")["InstanceIDs"]
        assert (best, second) == ("ledger", "ledger-2")
        assert others and set(others) <= set(many)

    def test_a_name_in_chinese(self, people: Any, fleet: SimpleNamespace) -> None:
        assert names(people.vera, "购物") == {"InstanceIDs": ["购物车"]}

    @pytest.mark.parametrize("text", ["%", "_", "\\", "'", NASTY, "\x00", "(" * 300])
    def test_whatever_somebody_types_is_a_name_and_nothing_else(
        self, as_arne: Client, fleet: Any, text: str
    ) -> None:
        assert as_arne.get(reverse("search"), {"q": text * 2}).status_code in (200, 302)
        for wild in ("%%", "___"):  # (two of the latter are in the title of a rule)
            assert as_arne.get(reverse("search"), {"q": wild}).content.decode().count('class="row"') == 0

    def test_what_begins_so_comes_first_and_what_is_exactly_so_before_all(
        self, people: Any, fleet: Any
    ) -> None:
        for name in ("my-shop", "shopping", "shop-2"):
            AppID.objects.create(name=name, pair=fleet.pair)
        assert names(people.vera, "shop")["AppIDs"] == ["shop", "shop-2", "shopping", "my-shop"]

    def test_of_many_a_few_are_shown(self, people: Any, fleet: Any) -> None:
        InstanceID.objects.bulk_create(InstanceID(appid=fleet.shop, name=f"much-{n:02d}") for n in range(30))
        [hits] = search(people.vera, "much-")
        assert (len(hits.hits), hits.left_out) == (searching.SHOWN, True)

    def test_what_somebody_may_not_see_is_not_found(self, people: Any, fleet: Any, finished: Switch) -> None:
        publish_graph(fleet.pair, FLEET)
        north, south = cluster("north", 8), cluster("south", 9)
        other = Pair.objects.create(name="other", first=north, second=south, default=north)
        pia = ensure_user("pia", PASSWORD, "viewer", pair=other)
        for text in ("shop", "orders", "east", finished.key):
            assert names(pia, text) == {}
        assert names(pia, "nort") == {"Clusters": ["north"]}

    def test_queries_do_not_grow_with_what_is_found(
        self, people: Any, fleet: Any, django_assert_max_num_queries: Any
    ) -> None:
        for number in range(30):
            AppID.objects.create(name=f"shop-{number}", pair=fleet.pair)
        publish_graph(fleet.pair, FLEET)
        with django_assert_max_num_queries(21):
            search(people.vera, "shop")


class TestThePage:
    def test_what_has_exactly_that_name_is_opened(self, as_arne: Client, fleet: SimpleNamespace) -> None:
        answer = as_arne.get(reverse("search"), {"q": "shop-carts"})
        assert answer.status_code == 302 and "kind=instance" in answer["Location"]
        assert as_arne.get(reverse("search"), {"q": "shop-carts", "list": "1"}).status_code == 200

    def test_a_schedule_is_opened_though_its_reports_have_its_name(
        self, people: Any, fleet: Any, client: Client
    ) -> None:
        client.force_login(ensure_user("ada", PASSWORD, "administrator", "Ada Administrator"))
        weekly = ReportSchedule.objects.create(name="Posture on Mondays", kind=Kind.POSTURE, cron="0 7 * * 1")
        issue = ReportIssue.objects.create(schedule=weekly, due_at=timezone.now())
        ReportEdition.objects.create(issue=issue, pairs=["main"], report={})
        answer = client.get(reverse("search"), {"q": weekly.name})
        assert (answer.status_code, answer["Location"]) == (302, reverse("report-schedule", args=[weekly.pk]))

    def test_of_several_with_that_name_a_list_is_shown(self, as_arne: Client, fleet: SimpleNamespace) -> None:
        assert as_arne.get(reverse("search"), {"q": "shop"}).status_code == 200, "the AppID and a mirror"

    def test_nothing_found_says_so(self, as_arne: Client, fleet: Any) -> None:
        page = as_arne.get(reverse("search"), {"q": "<b>nobody"}).content.decode()
        assert "Nothing that you may see has “&lt;b&gt;nobody” in its name." in page

    def test_a_single_letter_is_too_little(self, as_arne: Client, fleet: Any) -> None:
        assert "Type at least 2 letters." in as_arne.get(reverse("search"), {"q": "s"}).content.decode()

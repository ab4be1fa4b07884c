"""The pages of clusters: what the newest snapshot has of each, how it was before, and what differs from its twin."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from dashboard.parts import PASSWORD, cluster, signed_in
from hadash.accounts.roles import ensure_user
from hadash.dashboard.clusters import selectors, survey
from hadash.dashboard.clusters.selectors import changes_of
from hadash.dashboard.clusters.survey import (
    brokers_of,
    survey_of,
    troubles_of,
)
from hadash.dashboard.views import clusters as views
from hadash.inventory import cluster_states
from hadash.inventory.cluster_differences import Differing, differing_of, differing_quotas
from hadash.inventory.models import ClusterSample, ClusterState, GatewaySample, Pair
from hadash.kafka.errors import ClusterUnavailable
from hadash.kafka.values import QuotaEntity
from hadash.lake import snapshots
from hadash.lake.store import Store

AT = datetime(2026, 11, 25, 10, 0, tzinfo=UTC)


def partition(
    topic: str = "orders", leader: int = 1, replicas: Any = (1, 2), in_sync: Any = (1, 2)
) -> dict[str, Any]:
    return {
        "cluster": "east",
        "topic": topic,
        "partition": 0,
        "leader": leader,
        "replicas": list(replicas),
        "in_sync": list(in_sync),
    }


def broker(number: int, of: str = "east", **configs: str) -> dict[str, Any]:
    return {
        "cluster": of,
        "broker": number,
        "host": f"kafka-{number}",
        "port": 9092,
        "rack": None,
        "configs": configs,
    }


def topic(name: str, of: str = "east", **configs: str) -> dict[str, Any]:
    return {"cluster": of, "topic": name, "configs": configs}


class TestWhatIsWrong:
    def test_all_replicas_in_sync_is_no_trouble(self) -> None:
        assert troubles_of([partition()], {}) == []

    def test_the_worst_topics_come_first(self) -> None:
        found = troubles_of(
            [
                partition("slow", in_sync=(1,)),
                partition("refused", in_sync=(1,)),
                partition("away", leader=-1, in_sync=()),
            ],
            {"refused": 2},
        )
        assert [(t.topic, t.leaderless, t.under_min_isr, t.under_replicated) for t in found] == [
            ("away", 1, 1, 1),
            ("refused", 0, 1, 1),
            ("slow", 0, 0, 1),
        ]

    def test_a_topics_own_min_isr_goes_before_that_of_the_brokers(self) -> None:
        min_isr = {"min.insync.replicas": "2"}
        brokers = [broker(1, **min_isr), broker(2)]
        asked = cluster_states.min_isr_of(
            "east", [topic("a"), topic("b", **{"min.insync.replicas": "1"})], brokers
        )
        assert asked == {"a": 2, "b": 1}
        assert cluster_states.min_isr_of("east", [topic("a")], []) == {"a": 1}

    def test_a_broker_that_is_away_is_known_by_its_replicas(self) -> None:
        [here, away] = brokers_of([broker(1)], [partition(in_sync=(1,))], controller=1)
        assert (here.leads, here.holds, here.missing, here.is_controller) == (1, 1, 0, True)
        assert (away.id, away.address, away.missing) == (2, "", 1)


class TestWhatDiffers:
    def test_settings_of_topics_that_both_have(self) -> None:
        rows = [
            topic("orders", **{"retention.ms": "1"}),
            topic("orders", "west", **{"retention.ms": "2"}),
            topic("only-here", **{"retention.ms": "9"}),
        ]
        assert differing_of("east", "west", rows, []) == [Differing("orders", "retention.ms", "1", "2")]

    def test_settings_of_brokers_but_not_what_is_their_own(self) -> None:
        brokers = [
            broker(1, **{"broker.id": "1", "num.io.threads": "8"}),
            broker(2, **{"broker.id": "2", "num.io.threads": "16"}),
            broker(3, "west", **{"broker.id": "3"}),
        ]
        assert differing_of("east", "west", [], brokers) == [Differing("", "num.io.threads", "16 / 8", "")]

    def test_quotas(self) -> None:
        shop, default = QuotaEntity(user="shop"), QuotaEntity(client_id="x")
        found = differing_quotas(
            {
                shop: {"producer_byte_rate": 1024.0, "consumer_byte_rate": 5.0},
                default: {"request_percentage": 50.0},
            },
            {shop: {"producer_byte_rate": 2048.0, "consumer_byte_rate": 5.0}},
        )
        assert [(d.setting, d.here, d.there) for d in found] == [
            ("request_percentage", "50", ""),
            ("producer_byte_rate", "1024", "2048"),
        ]


def state(place: int, controller: int | None, epoch: int | None) -> ClusterState:
    return ClusterState(at=AT + timedelta(minutes=place), controller=controller, controller_epoch=epoch)


def test_a_controller_that_came_back_is_seen_by_its_epoch() -> None:
    found = changes_of([state(0, 1, 5), state(1, 1, 5), state(2, 2, 6), state(3, 2, 8), state(4, None, None)])
    assert [(c.before, c.now, c.epoch) for c in found] == [(2, None, None), (2, 2, 8), (1, 2, 6)]


def test_what_else_has_changed_and_the_unknown_is_no_change() -> None:
    first = {"brokers": 3, "version": "3.9", "mode": "zookeeper", "differing_quotas": 0}
    known = [
        ClusterState(at=AT, **first),
        ClusterState(at=AT + timedelta(days=1), **first | {"version": "", "differing_quotas": None}),
        ClusterState(at=AT + timedelta(days=2), **first),
        ClusterState(at=AT + timedelta(days=3), **first | {"brokers": 2, "differing_quotas": 4}),
    ]
    assert [(c.what, c.before, c.now, c.epoch) for c in changes_of(known)] == [
        ("differing_quotas", 0, 4, None),
        ("brokers", 3, 2, None),
    ]


TABLES: dict[str, list[dict[str, Any]]] = {
    "clusters": [
        {
            "cluster": "east",
            "kafka_cluster_id": "x",
            "mode": "kraft",
            "version": "3.9",
            "controller": 1,
            "controller_epoch": 7,
            "fault": "",
            "authorizer": True,
        },
        {"cluster": "west", "fault": "Cluster west did not answer within 10 s."},
    ],
    "brokers": [broker(1, **{"min.insync.replicas": "2"})],
    "topics": [topic("orders"), topic("clicks")],
    "partitions": [partition(in_sync=(1,)), partition("clicks"), partition("gone", leader=-1, in_sync=())],
}


@pytest.fixture
def lake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Store:
    monkeypatch.setattr(settings, "LAKE", str(tmp_path / "lake"))
    store = Store(settings.LAKE)
    snapshots.write(store, timezone.now(), TABLES)
    return store


class TestTheSnapshot:
    def test_it_is_read_once(self, lake: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        found = survey_of("east", "west")
        assert (found.mode, found.version, found.controller, found.topics, found.partitions) == (
            "kraft",
            "3.9",
            1,
            3,
            3,
        )
        assert [t.topic for t in found.troubles] == ["gone", "orders"]
        monkeypatch.setattr(survey.snapshots, "read", None)
        assert survey_of("east", "west") is found

    def test_a_cluster_that_was_away_says_why(self, lake: Store) -> None:
        assert str(survey_of("west", "east").fault) == "Cluster west did not answer within 10 s."

    def test_one_that_it_does_not_know_is_not_known(self, lake: Store) -> None:
        assert survey_of("north", "south") == survey.ClusterSurvey()


@pytest.mark.stack
@pytest.mark.django_db
class TestPages:
    def test_what_a_snapshot_says_is_kept(self, fleet: SimpleNamespace) -> None:
        cluster_states.note_clusters(AT, TABLES)
        [row] = ClusterState.objects.all()
        assert (row.cluster.name, row.controller_epoch, row.brokers, row.topics, row.partitions) == (
            "east",
            7,
            1,
            3,
            3,
        )
        assert (row.leaderless, row.under_replicated, row.under_min_isr) == (1, 2, 2)
        assert (row.differing_settings, row.differing_quotas) == (None, None), "west did not answer"

    def test_in_how_much_it_differs_from_its_twin(self, fleet: SimpleNamespace) -> None:
        west = {**TABLES["clusters"][0], "cluster": "west"}
        tables = {
            **TABLES,
            "clusters": [TABLES["clusters"][0], west],
            "topics": [topic("orders"), {**topic("orders", **{"retention.ms": "1"}), "cluster": "west"}],
            "brokers": [broker(1), {**broker(1), "cluster": "west"}],
        }
        limits = {QuotaEntity(user="shop"): {"producer_byte_rate": 1024.0}}
        cluster_states.note_clusters(AT, tables, {"east": limits, "west": {}})
        found = ClusterState.objects.values_list("differing_settings", "differing_quotas")
        assert list(found) == [(1, 1), (1, 1)]
        cluster_states.note_clusters(AT + timedelta(hours=1), tables, {"east": limits})
        assert ClusterState.objects.filter(differing_settings=1, differing_quotas=None).count() == 2

    def test_old_samples_are_removed_and_states_stay_longer(self, fleet: SimpleNamespace) -> None:
        for age in (timedelta(hours=1), timedelta(days=2), timedelta(days=60)):
            ClusterSample.objects.create(cluster=fleet.east, at=timezone.now() - age)
            ClusterState.objects.create(cluster=fleet.east, at=timezone.now() - age)
        cluster_states.trim()
        assert (ClusterSample.objects.count(), ClusterState.objects.count()) == (1, 2)

    def test_the_list(self, as_arne: Client, fleet: SimpleNamespace, lake: Store) -> None:
        cluster_states.note_clusters(timezone.now(), TABLES)
        page = as_arne.get(reverse("clusters")).content.decode()
        assert "no snapshot has it yet" in page, "west"
        assert "KRaft" in page, "east"
        assert "2 under min.insync" in " ".join(page.split()) and "writes with acks=all fail there" in page

    def test_which_gateways_reach_it(self, as_arne: Client, fleet: SimpleNamespace, lake: Store) -> None:
        now = timezone.now()
        values = {"started": now, "applied": 1, "parked": 0, "expired": 0, "overflowed": 0}
        for gateway, ago, reached in (
            ("gateway-1", 20, {"east": False}),
            ("gateway-1", 5, {"east": True, "west": False}),
            ("gateway-2", 5, {}),  # of an older version
            ("gateway-3", 5000, {"east": True}),
        ):
            GatewaySample.objects.create(
                gateway=gateway,
                at=now - timedelta(seconds=ago),
                reached=reached,
                connections={"east": 3, "west": 0},
                **values,
            )
        east, west = sorted(
            selectors.rows_for(User.objects.get(username="arne")), key=lambda row: row.cluster.name
        )
        assert (east.reached_by, east.missed_by) == (("gateway-1",), ())
        assert (west.reached_by, west.missed_by) == ((), ("gateway-1",)), "that it is configured says nothing"
        assert "gateway-1 does not reach it" in as_arne.get(reverse("clusters")).content.decode()

    def test_one_cluster(self, as_arne: Client, fleet: SimpleNamespace, lake: Store) -> None:
        cluster_states.note_clusters(timezone.now(), TABLES)
        ClusterSample.objects.create(cluster=fleet.east, at=timezone.now(), milliseconds=3.2, brokers=1)
        ClusterSample.objects.create(cluster=fleet.east, at=timezone.now())
        page = as_arne.get(reverse("cluster", args=["east"])).content.decode()
        assert "It did not answer 1 of 2 times." in page
        assert "gone" in page and "3 Topics, 3 partitions" in page
        for name, head in [
            ("answers", "at,milliseconds"),
            ("troubles", "topic,partitions,leaderless,under_min_isr,under_replicated,min_insync_replicas"),
            ("differing", "of,setting,east,west"),
            ("changes", "at,what,before,now,epoch"),
            ("brokers", "at,brokers"),
            ("twin", "at,settings,quotas"),
        ]:
            answer = as_arne.get(reverse("cluster", args=["east"]), {"csv": name})
            assert b"".join(answer.streaming_content).decode().splitlines()[0] == head  # type: ignore[attr-defined]

    def test_one_that_was_away_says_that_nothing_is_known(
        self, as_arne: Client, fleet: Any, lake: Store
    ) -> None:
        page = as_arne.get(reverse("cluster", args=["west"])).content.decode()
        assert "The newest snapshot lacks it: Cluster west did not answer within 10 s." in page
        assert "every partition has a leader" not in page

    def test_quotas_are_asked_and_a_cluster_that_is_away_is_no_fault_of_the_page(
        self, as_arne: Client, fleet: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        shop = QuotaEntity(user="shop")
        monkeypatch.setattr(
            views,
            "cluster_client",
            lambda c: SimpleNamespace(quotas=lambda: {shop: {"producer_byte_rate": c.number}}),
        )
        address = reverse("cluster-quotas", args=["east"])
        part = as_arne.get(address, {"quotas-sort": "-setting"}).content.decode()
        assert "producer_byte_rate" in part
        assert 'href="/clusters/east/?quotas-sort=setting"' in part, (
            "an order is of the page, not of the part"
        )

        def away() -> None:
            raise ClusterUnavailable("Cluster east did not answer within 10 s.")

        monkeypatch.setattr(views, "cluster_client", lambda c: SimpleNamespace(quotas=away))
        answer = as_arne.get(address)
        assert answer.status_code == 200 and "did not answer within 10 s" in answer.content.decode()
        file = as_arne.get(address, {"format": "csv"})
        assert (file.status_code, file["Content-Type"]) == (503, "text/plain; charset=utf-8"), (
            "a page is no CSV"
        )

    def test_another_pairs_clusters_are_not_there(
        self, people: SimpleNamespace, fleet: Any, lake: Store
    ) -> None:
        north, south = cluster("north", 8), cluster("south", 9)
        other = Pair.objects.create(name="other", first=north, second=south, default=north)
        client = signed_in(ensure_user("pia", PASSWORD, "viewer", pair=other))
        page = client.get(reverse("clusters")).content.decode()
        assert "north" in page and "east" not in page
        for address in ("cluster", "cluster-quotas"):
            assert client.get(reverse(address, args=["east"])).status_code == 404

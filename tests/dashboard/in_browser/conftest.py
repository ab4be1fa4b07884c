"""A fleet with all that pages with charts show, and a window onto it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone
from playwright.sync_api import Browser
from pools.parts import show_moving
from support.browser import STREAM, Window

from dashboard.graph_parts import FLEET, publish_graph, uses_of
from dashboard.parts import PASSWORD
from dashboard.test_clusters import TABLES
from dashboard.test_gateways import STATUS
from hadash.dashboard.groups.live import Lag, Look
from hadash.dashboard.views import clusters, groups
from hadash.governance.models.posture import Posture
from hadash.governance.models.published import AdviceStep, Coverage, CoverageCell, LagDay, Sharing
from hadash.governance.models.runs import Run
from hadash.inventory import gateway_samples
from hadash.inventory.models import AppID, Cluster, ClusterSample, ClusterState, Pair
from hadash.kafka.values import GroupInfo, GroupMember, Partition, QuotaEntity
from hadash.lake import snapshots
from hadash.lake.store import Store
from hadash.mirroring.models import LagSample, Mirror, PairLag

APPIDS, DAYS = 500, 30


@pytest.fixture
def published(
    fleet: SimpleNamespace, engines: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> SimpleNamespace:
    """What runs have published of 500 AppIDs, and how the pair has stood for thirty days."""
    now = timezone.now()
    runs = {
        job: Run.objects.create(job=job, state=Run.State.PUBLISHED, began_at=now, ended_at=now)
        for job in (Run.Job.TOPOLOGY, Run.Job.COVERAGE, Run.Job.ADVICE, Run.Job.LAG)
    }
    names = ["shop", "购物", *(f"app-{number:03d}" for number in range(APPIDS - 2))]
    AppID.objects.bulk_create(AppID(name=name, pair=fleet.pair) for name in names[1:])
    clients = [1 + 300 // (number + 1) for number in range(APPIDS)]
    Sharing.objects.bulk_create(
        Sharing(
            run=runs[Run.Job.TOPOLOGY], pair="main", appid=name, clients=many, hosts=2, libraries=1, groups=1, topics=3,
            applications=1 + many // 9, radius=2 + number % 40 * many // 3, radius_by_appid=60,
        )
        for number, (name, many) in enumerate(zip(names, clients, strict=True))
    )  # fmt: skip
    Coverage.objects.bulk_create(
        Coverage(
            run=runs[Run.Job.COVERAGE], pair="main", appid=name, clients=many, registered=many // 2, nameless=0,
            new_clients=1, days=7, duplicates=0, bypassing=0, topics=3, mirrored=3,
        )
        for name, many in zip(names, clients, strict=True)
    )  # fmt: skip
    CoverageCell.objects.bulk_create(
        CoverageCell(
            run=runs[Run.Job.COVERAGE],
            pair="main",
            appid=name,
            topic=f"{name}.topic-{topic}",
            clients=4,
            registered=4 if (number + topic) % 3 else 1,
            nameless=0,
            changing=int(number == 3),
            duplicates=int(number == 4),
            bypassing=int(number == 5),
        )
        for number, name in enumerate(names[:20])
        for topic in range(3)
    )
    AdviceStep.objects.bulk_create(
        AdviceStep(
            run=runs[Run.Job.ADVICE], pair="main", place=place, appid=names[place], before=90 - 8 * place,
            after=80 - 8 * place, island=1, clients=["web-1", "web-2"], hosts=["10.0.0.1"],
        )
        for place in range(1, 9)
    )  # fmt: skip
    today = now.date()
    for age in range(DAYS):
        day = today - timedelta(days=age)
        Posture.objects.create(
            pair="main",
            day=day,
            appids=500,
            mirrored_appids=500 - age,
            clients=2000,
            registered=1600 - 25 * age,
            shared_appids=300 + age,
            largest_radius=90 + age,
            largest_radius_by_appid=250,
            high=age // 5,
            medium=10,
            low=4,
        )
        for mirror in ("carts", "stock"):
            if age in (11, 12):
                continue  # nobody has sampled
            LagDay.objects.create(
                run=runs[Run.Job.LAG],
                pair="main",
                mirror=mirror,
                date=day,
                samples=1000,
                unknown=0,
                over_rpo=int(age == 20),
                seconds_p50=0.4,
                seconds_p95=1.5 + age % 4,
                seconds_most=45.0 if age == 20 else 8.0,
                records_most=900,
            )
    _samples(fleet.mirror)
    _graph(fleet.pair)
    _groups(monkeypatch, tmp_path)
    _gateways_and_clusters(fleet.east, monkeypatch)
    show_moving(monkeypatch)
    before = Run.objects.filter(job=Run.Job.TOPOLOGY, rows__has_key="edges").order_by("pk").first()
    return SimpleNamespace(
        pages={appid.name: appid.pk for appid in AppID.objects.all()} | {"before": before and before.pk}
    )


def _samples(mirror: Mirror) -> None:
    """An hour of lag of the pair, of which ten minutes are late, and ten minutes of one mirror: late for one of them,
    not known for another, and one without samples. A task has failed and runs again.
    """
    now = timezone.now()
    LagSample.objects.all().delete()
    for tens in range(300, 0, -1):
        late = 120 < tens < 180
        PairLag.objects.create(
            pair=mirror.pair,
            at=now - timedelta(seconds=10 * tens),
            seconds=41.0 if late else 0.4 * (tens % 5),
            records=9000 if late else tens % 5,
            unknown=int(60 < tens < 80),
            down=int(150 < tens < 160),
        )
    for place in range(300):
        at = now - timedelta(seconds=2 * (300 - place))
        if 60 <= place < 90:
            continue
        known = not 200 <= place < 230
        late = 120 <= place < 150
        LagSample.objects.create(
            mirror=mirror, at=at, records=(4000 if late else place % 7) if known else None,
            seconds=(41.0 if late else 0.3 * (place % 7)) if known else None, state="running" if known else "unknown",
            partitions={"carts-0": place % 7, "carts-1": 0, "carts-2": 12},
            partition_seconds={"carts-0": 0.3 * (place % 7), "carts-2": 41.0 if late else 1.5},
        )  # fmt: skip
    task = {
        "connector": "c",
        "id": 0,
        "state": "RUNNING",
        "worker": "10.0.0.7:8083",
        "since": now.isoformat(),
    }
    error = {
        "error": "org.apache.kafka.common.errors.TimeoutException: 磁盘已满",
        "error_at": now.isoformat(),
    }
    mirror.tasks = [{**task, **error, "restarts": 2, "counted_since": now.isoformat()}]
    mirror.known_ends = [["carts", number, 9000 + number] for number in range(4)]
    mirror.save()


def _gateways_and_clusters(east: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour of a Gateway that was restarted, a day of a cluster that was away, and a month of its partitions."""
    now = timezone.now()
    for place in range(240):
        at = now - timedelta(seconds=15 * (239 - place))
        since_start = place if place < 160 else place - 160
        fetched = 900 * since_start
        status = {
            **STATUS,
            "started": (
                now - timedelta(hours=2 if place < 160 else 0, minutes=0 if place < 160 else 20)
            ).timestamp(),
            "connections_by_cluster": {"east": 23 if place < 200 else 4, "west": 0 if place < 200 else 19},
            "requests": [
                ["FETCH", "east", fetched, 60 * fetched, 900 * fetched],
                ["PRODUCE", "east", 300 * since_start, 0, 0],
            ],
            "refused": {"unknown user": since_start // 30},
            "parked": 14 if place == 200 else 0,
            "cpu_seconds": 0.6 * since_start,
        }
        gateway_samples.sample_of("gateway-1", status, at).save()
        ClusterSample.objects.create(
            cluster=east, at=at, milliseconds=None if 90 <= place < 100 else 3 + place % 5
        )
    for day in range(30):
        at = now - timedelta(days=29 - day)
        ClusterState.objects.create(
            cluster=east,
            at=at,
            controller=1 + (day > 12),
            controller_epoch=5 + (day > 12),
            mode="kraft",
            version="3.9",
            brokers=2 if day == 13 else 3,
            differing_settings=None if day in (20, 21) else 3 + (day > 25),
            differing_quotas=None if day in (20, 21) else 1,
            topics=9,
            partitions=33,
            leaderless=int(day == 13),
            under_replicated=4 if day in (13, 14) else 0,
            under_min_isr=int(day == 13),
        )
    limits = {QuotaEntity(user="购物"): {"producer_byte_rate": 1024.0}}
    monkeypatch.setattr(
        clusters,
        "cluster_client",
        lambda cluster: SimpleNamespace(quotas=lambda: limits if cluster == east else {}),
    )


def _graph(pair: Pair) -> None:
    """Two runs of many islands; the newest is the one whose table of sharing is shown."""
    crowd = [
        use
        for number in range(60)
        for use in uses_of(
            f"app-{number:03d}",
            produce=[f"topic-{number}"],
            consume=[f"topic-{number // 9}"],
            group=f"group-{number}",
        )
    ]
    publish_graph(pair, [*FLEET, *crowd], at=timezone.now() - timedelta(days=1))
    now = publish_graph(pair, [*FLEET, *crowd[:-8], *uses_of("购物", consume=["orders"])], west=["bookings"])
    Sharing.objects.update(run=now)


def _groups(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A snapshot with groups, and one that its cluster tells of."""
    monkeypatch.setattr(settings, "LAKE", str(folder / "lake"))
    rows = [
        {
            "cluster": "east",
            "group": f"readers-{number:02d}",
            "state": "Stable",
            "protocol": "range",
            "coordinator": 1,
        }
        for number in range(60)
    ]
    snapshots.write(Store(settings.LAKE), timezone.now(), {**TABLES, "groups": rows})
    members = tuple(
        GroupMember(
            f"reader-{number}-7f3c", f"reader-{number}", f"10.0.0.{number}",
            tuple(Partition("orders", index) for index in range(number, 12, 3)), ("orders",),
        )
        for number in range(3)
    )  # fmt: skip
    lags = [
        Lag("orders", index, f"reader-{index % 3}", 90, 100 + index if index else None) for index in range(12)
    ]
    look = Look(
        GroupInfo("readers", "Stable", 1, members, "cooperative-sticky"), {"orders": 12}, frozenset(), lags
    )
    monkeypatch.setattr(groups, "look_at", lambda cluster, name: look)


@pytest.fixture
def olga(browser: Browser, live_server: Any, people: SimpleNamespace, published: Any) -> Iterator[Window]:
    window = Window(browser, f"{live_server.url}/")
    window.page.add_init_script(STREAM)
    window.sign_in("olga", PASSWORD)
    yield window
    window.close()

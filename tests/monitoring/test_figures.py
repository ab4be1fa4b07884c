"""The figures of the installation, as they are read from PostgreSQL, Redis and ZooKeeper; and those that are
counted on the way.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone
from kazoo.client import KazooClient
from prometheus_client.core import Metric

from hadash.audit.models import LastAnchor, record
from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.store import BindingStore, Edit
from hadash.governance.models.posture import Posture
from hadash.governance.models.runs import Run
from hadash.identity.identity import Identity
from hadash.inventory.models import Worker
from hadash.monitoring import fleet as figures
from hadash.monitoring import metrics
from hadash.outbox.models import Content, Delivery
from hadash.outbox.states import State
from hadash.switching.models.switches import Approval, StageRecord, Switch
from hadash.switching.recovery import strays

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

Read = dict[tuple[str, tuple[str, ...]], float]


def read(source: str = "postgresql") -> Read:
    """By name and the values of its labels."""
    families: list[Metric] = list(figures.SOURCES[source]())
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in families
        for sample in family.samples
    }


class TestSwitches:
    def test_by_where_they_are_with_none_as_zero(self, make_switch: Callable[..., Switch]) -> None:
        make_switch("running", started_at=timezone.now() - timedelta(seconds=40))
        found = read()
        assert found["hadash_switches", ("main", "running")] == 1
        assert found["hadash_switches", ("main", "needs_attention")] == 0
        assert 40 <= found["hadash_switch_oldest_seconds", ("running",)] < 400

    def test_those_that_have_ended_are_no_state_of_now(self, make_switch: Callable[..., Switch]) -> None:
        make_switch("succeeded")
        assert ("hadash_switches", ("main", "succeeded")) not in read()

    def test_what_waits_for_a_person(self, make_switch: Callable[..., Switch]) -> None:
        switch = make_switch()
        Switch.objects.filter(pk=switch.pk).update(requested_at=timezone.now() - timedelta(minutes=10))
        found = read()
        assert found["hadash_approvals_waiting", ("switch",)] == 1
        assert found["hadash_approvals_waiting", ("batch",)] == 0
        assert 600 <= found["hadash_approvals_oldest_seconds", ("switch",)] < 900
        assert 3000 < found["hadash_approvals_expire_seconds", ("switch",)] <= 3600


class TestMirrors:
    LABELS = ("main", "shop", "east")

    def test_what_is_known(self, fleet: SimpleNamespace) -> None:
        found = read()
        assert found["hadash_mirror_running", self.LABELS] == 1
        assert found["hadash_mirror_lag_records", self.LABELS] == 7
        assert found["hadash_rpo_seconds", ("main",)] > 0

    def test_what_is_not_known_is_missing_and_not_zero(self, fleet: SimpleNamespace) -> None:
        fleet.mirror.lag_records = fleet.mirror.looked_at = None
        fleet.mirror.state = "unknown"
        fleet.mirror.save()
        found = read()
        assert found["hadash_mirror_running", self.LABELS] == 0
        for name in (
            "hadash_mirror_lag_records",
            "hadash_mirror_lag_seconds",
            "hadash_mirror_look_age_seconds",
        ):
            assert (name, self.LABELS) not in found

    def test_a_generated_fleet_is_none_of_ours(self, fleet: SimpleNamespace) -> None:
        for cluster in (fleet.east, fleet.west):
            cluster.generated = True
            cluster.save()
        found = read()
        assert not [
            key for key in found if key[0].startswith(("hadash_mirror", "hadash_cluster", "hadash_rpo"))
        ]


def test_clusters_that_answered_and_others(fleet: SimpleNamespace) -> None:
    fleet.east.looked_at = fleet.west.looked_at = timezone.now()
    fleet.east.save()
    fleet.west.fault = "Cluster west does not answer."
    fleet.west.save()
    found = read()
    assert (found["hadash_cluster_up", ("east",)], found["hadash_cluster_up", ("west",)]) == (1, 0)


def test_risks_of_the_last_day_only(fleet: SimpleNamespace) -> None:
    today = timezone.now().date()
    Posture.objects.create(pair="main", day=today - timedelta(days=1), high=9, appids=4)
    Posture.objects.create(pair="main", day=today, high=2, medium=0, appids=5, mirrored_appids=3)
    found = read()
    assert found["hadash_findings", ("main", "high")] == 2
    assert found["hadash_findings", ("main", "medium")] == 0
    assert ("hadash_findings", ("main", "low")) not in found
    assert (found["hadash_appids", ("main",)], found["hadash_appids_mirrored", ("main",)]) == (5, 3)


def test_a_job_has_failed_until_it_has_published_again(fleet: SimpleNamespace) -> None:
    now = timezone.now()
    Run.objects.create(job="risk", state="published", ended_at=now - timedelta(hours=3))
    failed = Run.objects.create(job="risk", state="failed", ended_at=now - timedelta(hours=2))
    found = read()
    assert found["hadash_pipeline_failed", ("risk",)] == 1
    assert found["hadash_pipeline_published_age_seconds", ("risk",)] >= 3 * 3600
    Run.objects.create(job="risk", state="published", ended_at=failed.ended_at + timedelta(hours=1))
    assert read()["hadash_pipeline_failed", ("risk",)] == 0


def test_mail_that_should_have_been_sent(fleet: SimpleNamespace, settings: Any) -> None:
    settings.SMTP_HOST = "127.0.0.1"
    now = timezone.now()
    content = Content.objects.create(subject="s", text="t")
    for number, (state, due) in enumerate(
        [(State.QUEUED, -90), (State.DEFERRED, 600), (State.ACCEPTED, -500)]
    ):
        Delivery.objects.create(
            asked_as=str(number), content=content, address="a@example.org", state=state,
            wanted_at=now + timedelta(seconds=due), due_at=now + timedelta(seconds=due),
            settled_at=now if state is State.ACCEPTED else None,
        )  # fmt: skip
    found = read()
    assert found["hadash_outbox_deliveries", ("mail", "queued")] == 1
    assert found["hadash_outbox_deliveries", ("mail", "deferred")] == 1
    assert 90 <= found["hadash_outbox_late_seconds", ()] < 400
    assert found["hadash_outbox_settled_last_hour", ("mail", "accepted")] == 1
    settings.SMTP_HOST = ""
    assert read()["hadash_outbox_late_seconds", ()] == 0, "no server is named: nobody is to send it"


def test_mail_is_as_late_as_it_is_however_often_no_server_was_there(
    fleet: SimpleNamespace, settings: Any
) -> None:
    """Each look puts it off by a minute. One that a server has put off itself is no outage."""
    settings.SMTP_HOST = "127.0.0.1"
    now = timezone.now()
    content = Content.objects.create(subject="s", text="t")
    for tries, hours in ((0, 2), (1, 20)):
        Delivery.objects.create(
            asked_as=str(tries), content=content, address="a@example.org", state=State.DEFERRED, tries=tries,
            wanted_at=now - timedelta(hours=hours), due_at=now + timedelta(seconds=30),
        )  # fmt: skip
    assert 7200 <= read()["hadash_outbox_late_seconds", ()] < 7500


def test_the_audit_log_without_anchors_outside(fleet: SimpleNamespace, settings: Any) -> None:
    name = ("hadash_audit_unanchored_seconds", ())
    settings.AUDIT_ANCHORS = ""
    assert name not in read(), "nobody wants any"
    settings.AUDIT_ANCHORS = "/srv/anchors"
    LastAnchor.objects.create(number=record(None, "request", "switch 1").number)
    assert read()[name] == 0
    record(None, "approve", "switch 1")
    assert read()[name] > 0


def test_workers_by_queue_with_none_as_zero(fleet: SimpleNamespace) -> None:
    found = read()
    assert found["hadash_workers", ("celery",)] == 1
    assert found["hadash_workers", ("outbox",)] == 0
    Worker.objects.update(seen_at=timezone.now() - timedelta(hours=1))
    assert read()["hadash_workers", ("celery",)] == 0


@pytest.mark.parametrize(("lake", "jobs"), [("/lake", {"pipeline"}), ("", set())])
def test_queues_are_read_from_redis_that_of_jobs_where_there_is_a_lake(
    fleet: SimpleNamespace, settings: Any, lake: str, jobs: set[str]
) -> None:
    settings.LAKE = lake
    found = {key[1][0] for key in read("redis") if key[0] == "hadash_queue_length"}
    assert found == {"celery", "outbox"} | jobs


def test_gateways_are_read_from_zookeeper(fleet: SimpleNamespace) -> None:
    states = {key[1][0] for key in read("zookeeper") if key[0] == "hadash_gateways"}
    assert states == {"live", "away", "excluded"}


class TestStrayBindings:
    """Bindings of switches that PostgreSQL has forgotten: nobody else would notice that their clients wait."""

    def strays(self) -> dict[str, float]:
        return {
            key[1][0]: value for key, value in read("zookeeper").items() if key[0] == "hadash_stray_bindings"
        }

    @pytest.fixture
    def store(self, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> BindingStore:
        monkeypatch.setattr(strays, "zookeeper", lambda: zookeeper)
        return BindingStore(zookeeper)

    def test_none_is_zero(self, fleet: SimpleNamespace, store: BindingStore) -> None:
        assert self.strays() == {"waiting": 0, "moved": 0}

    def test_those_who_wait_and_those_who_were_sent_over(
        self, fleet: SimpleNamespace, store: BindingStore
    ) -> None:
        blocked = Binding("east", BindingState.BLOCK, switch="lost", stage="block")
        sent = Binding("west", switch="lost too", stage="forward")
        store.change([Edit(Identity("shop"), blocked), Edit(Identity("audit"), sent)])
        assert self.strays() == {"waiting": 1, "moved": 1}
        store.take_over("lost", "return", 1)
        back = Binding("east", switch="lost", stage="return")
        store.change([Edit(Identity("shop"), back)], Journal("lost", "return", 1))
        assert self.strays() == {"waiting": 0, "moved": 1}, "what has changed is looked at again"

    def test_without_postgresql_they_are_missing_and_the_gateways_are_not(
        self, fleet: SimpleNamespace, store: BindingStore, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def away() -> dict[str, str]:
            raise OperationalError("no answer")

        monkeypatch.setattr(strays, "_statuses", away)
        assert self.strays() == {} and read("zookeeper")


class TestCountedOnTheWay:
    def value(self, name: str, **labels: str) -> float:
        return metrics.REGISTRY.get_sample_value(name, labels) or 0.0

    def test_a_stage_when_it_has_ended(self, make_switch: Callable[..., Switch]) -> None:
        labels = {"stage": "drain", "kind": "planned", "result": "done"}
        before = self.value("hadash_switch_stage_seconds_count", **labels)
        now = timezone.now()
        record = StageRecord.objects.create(
            switch=make_switch("running"), stage="drain", token=1, started_at=now
        )
        assert self.value("hadash_switch_stage_seconds_count", **labels) == before
        record.result, record.ended_at = "done", now + timedelta(seconds=3)
        record.save()
        record.save(update_fields=["audited"])
        assert self.value("hadash_switch_stage_seconds_count", **labels) == before + 1

    def test_how_long_somebody_waited_for_an_approval(
        self, make_switch: Callable[..., Switch], people: SimpleNamespace
    ) -> None:
        before = self.value("hadash_approval_seconds_count", what="switch")
        switch = make_switch()
        Approval.objects.create(switch=switch, user=people.arne, digest=switch.plan_digest)
        assert self.value("hadash_approval_seconds_count", what="switch") == before + 1

    def test_a_switch_that_needs_somebody(self, make_switch: Callable[..., Switch]) -> None:
        before = self.value("hadash_switches_ended_total", kind="planned", status="needs_attention")
        switch = make_switch("running")
        switch.status = "needs_attention"
        switch.save(update_fields=["status", "outcome", "ended_at"])
        switch.save(update_fields=["reason"])
        assert (
            self.value("hadash_switches_ended_total", kind="planned", status="needs_attention") == before + 1
        )

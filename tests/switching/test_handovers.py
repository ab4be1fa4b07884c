"""How work comes to the workers is counted and said: what beat has to pick up cannot hide."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from kombu.exceptions import OperationalError

from hadash.bindings.errors import StoreUnavailable
from hadash.inventory.models import Cluster, Pair
from hadash.switching.execution import executor
from hadash.switching.execution.executor import _Execution
from hadash.switching.handovers import counting, handing_over
from hadash.switching.machines.switches import Stage, Status
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.handovers import HandoverCount, Way, Work
from hadash.switching.models.switches import Switch
from tasks import binding, switching
from tasks.app import app

from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def pair(db: None) -> Pair:
    east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west"), 1))
    return Pair.objects.create(name="main", first=east, second=west, default=east)


@pytest.fixture
def switch(pair: Pair) -> Switch:
    """Approved a moment ago."""
    return Switch.objects.create(
        pair=pair,
        appid="shop",
        asked=WHOLE.scope.to_json(),
        source=pair.first,
        target=pair.second,
        plan=WHOLE.to_json(),
        plan_digest=WHOLE.digest,
        reason="Test",
        requested_by=User.objects.create(username="olga"),
        expires_at=timezone.now() + timedelta(hours=1),
        started_at=timezone.now(),
        status=Status.RUNNING.value,
        stage=Stage.PRECHECK.value,
    )


@pytest.fixture
def redis(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What was given to Redis. No worker takes it."""
    given: list[tuple[Any, ...]] = []
    broker = SimpleNamespace(send_task=lambda name, arguments: given.append(arguments))
    monkeypatch.setattr(handing_over, "current_app", broker)
    return given


def no_redis(*arguments: Any) -> None:
    raise OperationalError("Connection refused")


@pytest.mark.parametrize("work", Work)
def test_every_kind_of_work_has_a_task(work: Work) -> None:
    assert handing_over.TASKS[work] in app.tasks


def time_passes(seconds: float) -> None:
    """For the lease of every switch."""
    for switch in Switch.objects.exclude(lease_until=None):
        switch.lease_until -= timedelta(seconds=seconds)
        switch.save()


def counted() -> dict[tuple[Work, Way], int]:
    return {(each.work, each.way): each.count for each in counting.counts()}


def said(switch: Switch) -> list[str]:
    return [str(event) for event in switch.events.all()]


def test_what_redis_takes_is_counted_and_nothing_is_said(
    switch: Switch, redis: list[tuple[Any, ...]]
) -> None:
    handing_over.start_switch(switch)
    assert redis == [(switch.pk, 1)]
    switching.pick_up_orphans()
    assert counted() == {(Work.STAGE, Way.HANDED_OVER): 1}
    assert counting.faults() == []
    assert said(switch) == []


def test_what_redis_does_not_take_is_counted_and_picked_up(
    switch: Switch, redis: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as away:
        away.setattr(handing_over, "current_app", SimpleNamespace(send_task=no_redis))
        handing_over.start_switch(switch)
    time_passes(6)
    switching.pick_up_orphans()
    assert redis == [(switch.pk, 2)]
    assert counted() == {
        (Work.STAGE, Way.REFUSED): 1,
        (Work.STAGE, Way.NEVER_TAKEN): 1,
        (Work.STAGE, Way.HANDED_OVER): 1,
    }
    [line] = said(switch)
    assert line.startswith("No worker took this stage for 6.")
    assert "beat picked it up" in line


def test_one_that_nobody_takes_again_is_counted_again(switch: Switch, redis: list[tuple[Any, ...]]) -> None:
    """Beat's own hand-over is one too: that it has picked the stage up does not make it the executor."""
    handing_over.start_switch(switch)
    for _ in range(2):
        time_passes(6)
        switching.pick_up_orphans()
    assert counted()[Work.STAGE, Way.NEVER_TAKEN] == 2


@pytest.fixture
def taken(
    switch: Switch, redis: list[tuple[Any, ...]], monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Any]:
    """A worker takes the stage, and something becomes of it."""

    def take(then: Callable[[_Execution], bool]) -> Any:
        monkeypatch.setattr(_Execution, "run", then)
        handing_over.start_switch(switch)
        return executor.run_stage(switch.pk, 1)

    return take


def test_a_worker_that_is_silent(switch: Switch, taken: Callable[..., Any]) -> None:
    taken(lambda execution: False)
    time_passes(7)
    switching.pick_up_orphans()
    assert counted()[Work.STAGE, Way.SILENT] == 1
    assert [
        line
        for line in said(switch)
        if line.startswith("The worker of this stage gave no sign of life for 7.")
    ]


def test_a_worker_that_is_dead_is_known_at_once(switch: Switch, taken: Callable[..., Any]) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    taken(lambda execution: False)
    Switch.objects.update(executor=f"{socket.gethostname()}:{process.pid}")
    switching.pick_up_orphans()
    assert counted()[Work.STAGE, Way.DEAD] == 1
    assert said(switch) == ["The process of the worker of this stage has ended; beat picked the stage up."]


def test_one_that_waits_for_a_server_is_no_fault_of_the_workers(
    switch: Switch, taken: Callable[..., Any]
) -> None:
    """Its executor has said why it let it go, and beat adds nothing."""

    def away(execution: _Execution) -> bool:
        raise StoreUnavailable("ZooKeeper does not answer.")

    taken(away)
    time_passes(6)
    switching.pick_up_orphans()
    assert counted()[Work.STAGE, Way.RETRIED] == 1
    assert counting.faults() == []
    assert said(switch) == ["ZooKeeper does not answer. The switch goes on as soon as it answers."]
    switch.refresh_from_db()
    assert not switch.released, "the next worker holds it"


def test_a_change_of_bindings_that_no_worker_has_taken(pair: Pair, redis: list[tuple[Any, ...]]) -> None:
    olga, arne = (User.objects.create(username=name) for name in ("olga", "arne"))
    now = timezone.now()
    change = BindingChange.objects.create(
        pair=pair,
        appid="shop",
        edits={},
        reason="Test",
        digest="d",
        requested_by=olga,
        decided_by=arne,
        decided_at=now,
        expires_at=now + timedelta(hours=1),
        status="approved",
    )
    binding.pick_up_changes()
    assert redis == [], "a worker may be about to take it"
    BindingChange.objects.update(decided_at=now - timedelta(seconds=2))
    binding.pick_up_changes()
    BindingChange.objects.update(token=1)
    binding.pick_up_changes()
    assert redis == [(change.pk,), (change.pk,)]
    assert counted() == {
        (Work.BINDING_CHANGE, Way.NEVER_TAKEN): 1,
        (Work.BINDING_CHANGE, Way.RETRIED): 1,
        (Work.BINDING_CHANGE, Way.HANDED_OVER): 2,
    }


def test_old_days_are_neither_shown_nor_kept(db: None) -> None:
    counting.count(Work.BATCH, Way.REFUSED)
    HandoverCount.objects.update(day=counting.first_day(3))
    assert counting.faults() == []
    assert [each.count for each in counting.faults(days=3)] == [1]
    counting.trim()
    assert HandoverCount.objects.count() == 1
    HandoverCount.objects.update(day=counting.first_day(counting.KEPT_DAYS + 1))
    counting.trim()
    assert HandoverCount.objects.count() == 0

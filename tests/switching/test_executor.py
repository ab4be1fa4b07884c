"""One executor at a time: taking a switch over uses its token up, and the executor before may change nothing more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, transaction
from django.utils import timezone
from kazoo.client import KazooClient

from hadash.audit.models import Entry
from hadash.bindings.errors import (
    BindingConflict,
    BindingError,
    NotConfigured,
    StaleWriter,
    StoreUnavailable,
    UnknownOutcome,
)
from hadash.bindings.model import Binding, BindingState, Journal
from hadash.bindings.store import BindingStore, Edit
from hadash.inventory import dialects, gateways
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.errors import ConnectUnavailable, KafkaError
from hadash.presentation import badges
from hadash.sentences import say
from hadash.shown import Look
from hadash.switching.execution import executor, leases
from hadash.switching.execution.executor import Attempt, _Execution
from hadash.switching.machines.switches import Stage, Status
from hadash.switching.models.switches import StageRecord, Switch
from hadash.switching.stages import commands as do
from hadash.switching.stages import ways
from hadash.switching.stages.run import StageFailed

from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def switch() -> Switch:
    """Running, in quiesce, with token 3."""
    east, west = (
        Cluster.objects.create(name=name, number=number) for number, name in enumerate(("east", "west"), 1)
    )
    return Switch.objects.create(
        pair=Pair.objects.create(name="main", first=east, second=west, default=east),
        appid="shop",
        asked=WHOLE.scope.to_json(),
        source=east,
        target=west,
        plan=WHOLE.to_json(),
        plan_digest=WHOLE.digest,
        reason="Test",
        requested_by=User.objects.create(username="olga"),
        expires_at=timezone.now() + timedelta(hours=1),
        status=Status.RUNNING.value,
        stage=Stage.QUIESCE.value,
        token=3,
    )


@pytest.fixture
def store(zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch) -> BindingStore:
    """The bindings at the test's own place, where the executor finds them too."""
    monkeypatch.setattr(dialects, "zookeeper", lambda: zookeeper)
    monkeypatch.setattr(gateways, "zookeeper", lambda: zookeeper)
    return BindingStore(zookeeper)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The tokens with which stages were run; each says that another one follows."""
    tokens: list[int] = []

    def run(execution: _Execution) -> bool:
        tokens.append(execution.token)
        return True

    monkeypatch.setattr(_Execution, "run", run)
    monkeypatch.setattr(leases.Renewal, "__enter__", lambda self: None)
    monkeypatch.setattr(leases.Renewal, "__exit__", lambda self, *exc: None)
    return tokens


def test_a_task_that_is_delivered_twice_runs_once(switch: Switch, ran: list[int]) -> None:
    """Redis does so when a worker's connection breaks, although the worker goes on."""
    assert executor.run_stage(switch.pk, 3) == 4
    assert executor.run_stage(switch.pk, 3) is None
    assert ran == [4]


def test_the_next_stage_is_run_with_the_token_of_the_last(switch: Switch, ran: list[int]) -> None:
    token = executor.run_stage(switch.pk, 3)
    assert token is not None
    executor.run_stage(switch.pk, token)
    assert ran == [4, 5]


def test_of_two_that_find_an_orphan_one_takes_it(switch: Switch) -> None:
    second = Switch.objects.get(pk=switch.pk)
    assert leases.claim(switch) == 4
    assert leases.claim(second) is None


@pytest.mark.parametrize("jump", [timedelta(hours=1), timedelta(hours=-1)], ids=["fast", "slow"])
def test_a_lease_lasts_as_long_whatever_the_clock_of_the_worker_says(
    switch: Switch, monkeypatch: pytest.MonkeyPatch, jump: timedelta
) -> None:
    """Else clients wait for an hour when a worker dies whose clock is fast, and two run a switch in turn when
    one is slow.
    """
    real = timezone.now
    with monkeypatch.context() as wrong:
        wrong.setattr(timezone, "now", lambda: real() + jump)
        assert leases.claim(switch) == 4
        assert leases.orphans() == []
    Switch.objects.filter(pk=switch.pk).update(executor="elsewhere:1")
    assert leases.orphans() == []
    switch.refresh_from_db()
    assert switch.lease_until is not None
    assert switch.lease_until < real() + timedelta(minutes=1)


@pytest.mark.parametrize("status", [Status.SUCCEEDED, Status.NEEDS_ATTENTION, Status.CANCELLED])
def test_what_does_not_run_is_not_run(switch: Switch, ran: list[int], status: Status) -> None:
    Switch.objects.filter(pk=switch.pk).update(status=status.value)
    assert executor.run_stage(switch.pk, 3) is None
    assert ran == []


class TestFence:
    """Before whatever it changes outside of ZooKeeper an executor makes sure that it is still the one."""

    @pytest.fixture
    def execution(self, switch: Switch) -> _Execution:
        return _Execution(switch, switch.token)

    def test_it_lets_the_executor_through(self, execution: _Execution) -> None:
        execution._fence()
        with transaction.atomic():
            execution._fence()

    @pytest.mark.parametrize("action", ["_fence", "_save"])
    def test_who_was_replaced_may_change_nothing(
        self, switch: Switch, execution: _Execution, action: str
    ) -> None:
        leases.claim(switch)
        actions: dict[str, Callable[[], None]] = {
            "_fence": execution._fence,
            "_save": lambda: execution._save_facts({"drained": []}),
        }
        with pytest.raises(StaleWriter, match=r"Executor 3 of switch .* was replaced"):
            actions[action]()


def test_while_zookeeper_is_away_the_switch_says_so_once_and_stays_an_orphan(
    switch: Switch, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(execution: _Execution) -> bool:
        raise StoreUnavailable("ZooKeeper cannot be reached (ConnectionLoss).")

    monkeypatch.setattr(_Execution, "run", away)
    monkeypatch.setattr(leases.Renewal, "__enter__", lambda self: None)
    monkeypatch.setattr(leases.Renewal, "__exit__", lambda self, *exc: None)
    assert executor.run_stage(switch.pk, 3) is None
    assert executor.run_stage(switch.pk, 4) is None
    assert [str(event) for event in switch.events.all()] == [
        "ZooKeeper cannot be reached (ConnectionLoss). The switch goes on as soon as it answers."
    ]
    switch.refresh_from_db()
    assert switch.current is Status.RUNNING


@pytest.mark.parametrize(
    "error",
    [
        BindingConflict("The journal of switch 1 changes faster than it can be taken over."),
        NotConfigured("Pair main names no ZooKeeper for east."),
    ],
)
def test_what_a_person_has_to_correct_is_said_once(
    switch: Switch, monkeypatch: pytest.MonkeyPatch, error: BindingError
) -> None:
    """Else its task would die every five seconds, and its log would say nothing."""

    def refuse(execution: _Execution) -> bool:
        raise error

    monkeypatch.setattr(_Execution, "run", refuse)
    monkeypatch.setattr(leases.Renewal, "__enter__", lambda self: None)
    monkeypatch.setattr(leases.Renewal, "__exit__", lambda self, *exc: None)
    assert executor.run_stage(switch.pk, 3) is None
    assert executor.run_stage(switch.pk, 4) is None
    assert [str(event) for event in switch.events.all()] == [
        f"{error} The switch goes on as soon as that is corrected."
    ]
    switch.refresh_from_db()
    assert switch.current is Status.RUNNING


def test_an_end_without_zookeeper_is_an_end(
    switch: Switch, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can be asked for the traffic around it, which is no reason to say that it goes on."""

    def away() -> Any:
        raise StoreUnavailable("ZooKeeper cannot be reached (ConnectionLoss).")

    def run(plan: Any, limits: Any) -> Any:
        raise StoreUnavailable("ZooKeeper cannot be reached (ConnectionLoss).")
        yield

    monkeypatch.setattr(dialects, "zookeeper", lambda: zookeeper)
    monkeypatch.setattr(gateways, "zookeeper", away)
    monkeypatch.setitem(ways.RUNS, Stage.PRECHECK, run)
    Switch.objects.filter(pk=switch.pk).update(stage=Stage.PRECHECK.value, started_at=timezone.now())
    assert executor.run_stage(switch.pk, 3) is None
    switch.refresh_from_db()
    assert switch.current is Status.ROLLED_BACK
    assert [str(event) for event in switch.events.all()] == ["ZooKeeper cannot be reached (ConnectionLoss)."]


def test_a_stage_whose_write_may_have_happened_is_not_called_failed(
    switch: Switch, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(plan: Any, limits: Any) -> Any:
        raise UnknownOutcome("ZooKeeper did not answer, and it could not be read what it has done.")
        yield

    monkeypatch.setattr(dialects, "zookeeper", lambda: zookeeper)
    monkeypatch.setitem(ways.RUNS, Stage.PRECHECK, run)
    Switch.objects.filter(pk=switch.pk).update(stage=Stage.PRECHECK.value, started_at=timezone.now())
    assert executor.run_stage(switch.pk, 3) is None
    [attempt] = switch.stages.all()
    assert attempt.result == StageRecord.Result.UNKNOWN
    assert badges.of_result(attempt.result).look is Look.UNKNOWN
    assert Entry.objects.filter(verb="stage unknown").count() == 1


@pytest.mark.parametrize("stage", [Stage.FORWARD, Stage.RETURN])
@pytest.mark.parametrize(("unreachable", "status"), [(True, Status.RUNNING), (False, Status.NEEDS_ATTENTION)])
def test_what_releases_the_clients_needs_nobody_while_zookeeper_is_away(
    switch: Switch,
    zookeeper: KazooClient,
    monkeypatch: pytest.MonkeyPatch,
    settings: Any,
    stage: Stage,
    unreachable: bool,
    status: Status,
) -> None:
    """It stays an orphan that is picked up again and again; any other failure asks for a person."""
    settings.SWITCH_FORWARD_SECONDS = 0
    monkeypatch.setattr("hadash.inventory.dialects.zookeeper", lambda: zookeeper)
    monkeypatch.setattr(leases.Renewal, "__enter__", lambda self: None)
    monkeypatch.setattr(leases.Renewal, "__exit__", lambda self, *exc: None)

    def fail(execution: _Execution) -> Attempt:
        return Attempt(False, say("%(error)s", error="It did not work."), unreachable=unreachable)

    monkeypatch.setattr(_Execution, "_attempt_once", fail)
    Switch.objects.filter(pk=switch.pk).update(stage=stage.value)
    assert executor.run_stage(switch.pk, 3) is None
    switch.refresh_from_db()
    assert (switch.current, switch.stage) == (status, stage)
    assert [record.result for record in switch.stages.all()] == [StageRecord.Result.FAILED]


@pytest.mark.parametrize("stage", [Stage.REVERSE, Stage.VERIFY])
def test_a_server_that_is_away_for_a_moment_after_forward_needs_nobody(
    switch: Switch,
    zookeeper: KazooClient,
    monkeypatch: pytest.MonkeyPatch,
    stage: Stage,
) -> None:
    """A broker or Connect is started again: nothing of this needs a person before a while has passed."""
    away = [KafkaError("broker 0 does not answer"), ConnectUnavailable("Kafka Connect does not answer")]

    def run(plan: Any, limits: Any) -> Any:
        if away:
            raise away.pop()
        return say("Done.")
        yield

    monkeypatch.setattr(dialects, "zookeeper", lambda: zookeeper)
    monkeypatch.setattr(executor, "AGAIN_SECONDS", 0)
    monkeypatch.setitem(ways.RUNS, stage, run)
    Switch.objects.filter(pk=switch.pk).update(stage=stage.value)
    executor.run_stage(switch.pk, 3)
    (record,) = switch.stages.all()
    assert (record.result, away) == (StageRecord.Result.DONE, [])
    said = [str(event) for event in switch.events.order_by("pk")]
    assert said == ["Kafka Connect does not answer", "broker 0 does not answer", "Done."]


class TestHolding:
    """While clients wait it is looked at before each command whether they have to wait any longer."""

    @pytest.fixture
    def steps(
        self, switch: Switch, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch
    ) -> list[Callable[[], object]]:
        """What happens at each command of translate; nothing of the world is touched."""
        happens: list[Callable[[], object]] = []

        def run(plan: Any, limits: Any) -> Any:
            for happen in happens:
                happen()
                yield do.Say(say("%(error)s", error="a step"))
            return say("Done.")

        def done(plan: Any, limits: Any) -> Any:
            return say("As before.")
            yield

        monkeypatch.setattr(dialects, "zookeeper", lambda: zookeeper)
        monkeypatch.setitem(ways.RUNS, Stage.TRANSLATE, run)
        for stage in (Stage.FORWARD, Stage.RETURN):
            monkeypatch.setitem(ways.RUNS, stage, done)
        Switch.objects.filter(pk=switch.pk).update(stage=Stage.TRANSLATE.value)
        return happens

    def blocked_for(self, switch: Switch, seconds: float) -> None:
        at = timezone.now() - timedelta(seconds=seconds)
        Switch.objects.filter(pk=switch.pk).update(facts={"blocked_at": at.isoformat()})

    def said(self, switch: Switch) -> list[str]:
        executor.run_stage(switch.pk, 3)
        return [str(event) for event in switch.events.order_by("pk")]

    def test_an_abort_is_heard_before_the_next_command(
        self, switch: Switch, steps: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(executor, "ABORT_READ_SECONDS", 0.0)
        olga = User.objects.get(username="olga")
        steps += [
            lambda: None,
            lambda: Switch.objects.filter(pk=switch.pk).update(abort_requested_by=olga),
            lambda: pytest.fail("it was not heard"),
        ]
        assert self.said(switch) == ["a step", "olga aborted the switch.", "As before."]

    def test_one_between_quick_commands_is_heard_at_the_end_of_the_stage(
        self, switch: Switch, steps: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """PostgreSQL is not asked before each of them: clients would wait for that, too."""
        monkeypatch.setattr(executor, "ABORT_READ_SECONDS", 60.0)
        olga = User.objects.get(username="olga")
        steps += [
            lambda: None,
            lambda: Switch.objects.filter(pk=switch.pk).update(abort_requested_by=olga),
            lambda: None,
        ]
        assert self.said(switch) == ["a step", "a step", "a step", "olga aborted the switch.", "As before."]

    def test_the_time_that_they_have_waited_goes_on_between_two_questions(
        self,
        switch: Switch,
        steps: list[Callable[[], object]],
        settings: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        clock = [1000.0]
        monkeypatch.setattr(executor, "ABORT_READ_SECONDS", 60.0)
        monkeypatch.setattr(executor.time, "monotonic", lambda: clock[0])
        self.blocked_for(switch, settings.SWITCH_BLOCKED_SECONDS - 5)

        def later() -> None:
            clock[0] += 6

        steps += [later, lambda: pytest.fail("it went on")]
        first, second = self.said(switch)
        assert "at most 25 s are allowed. They go on on east." in first
        assert second == "As before."

    def test_who_has_waited_for_too_long_goes_back(
        self, switch: Switch, steps: list[Callable[[], object]], settings: Any
    ) -> None:
        self.blocked_for(switch, settings.SWITCH_BLOCKED_SECONDS + 1)
        steps += [lambda: None, lambda: pytest.fail("it went on")]
        first, second = self.said(switch)
        assert "at most 25 s are allowed. They go on on east." in first
        assert second == "As before."
        switch.refresh_from_db()
        assert switch.current is Status.ROLLED_BACK

    def test_forward_is_never_held_up_by_it(
        self, switch: Switch, steps: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Once it has begun to write there is no way back."""

        def forward(plan: Any, limits: Any) -> Any:
            yield do.Say(say("%(error)s", error="forward"))
            return say("Done.")

        monkeypatch.setitem(ways.RUNS, Stage.FORWARD, forward)
        Switch.objects.filter(pk=switch.pk).update(stage=Stage.FORWARD.value)
        self.blocked_for(switch, 1000)
        assert self.said(switch) == ["forward", "Done."]

    def test_when_it_began_is_kept_before_the_block_is_written(
        self, switch: Switch, store: BindingStore
    ) -> None:
        store.take_over(switch.key, "quiesce", switch.token)
        execution = _Execution(switch, switch.token)
        execution.stage = Stage.BLOCK
        execution._check_holding(WHOLE, do.WriteBindings("east", BindingState.BLOCK))
        switch.refresh_from_db()
        began = switch.facts["blocked_at"]
        execution._check_holding(WHOLE, do.WriteBindings("east", BindingState.BLOCK))
        switch.refresh_from_db()
        assert switch.facts["blocked_at"] == began
        assert store.facts(switch.key)["blocked_at"] == began, "also for a PostgreSQL that forgets it"


class TestForgetfulDatabase:
    """PostgreSQL has failed over to a replica without the last commits; what ZooKeeper knows outranks it."""

    @pytest.fixture
    def ran(self, monkeypatch: pytest.MonkeyPatch, store: BindingStore) -> list[Stage]:
        """The stages that are run; nothing of the world is touched."""
        stages_run: list[Stage] = []
        for stage in Stage:

            def run(plan: Any, limits: Any, stage: Stage = stage) -> Any:
                stages_run.append(stage)
                return say("Done.")
                yield

            monkeypatch.setitem(ways.RUNS, stage, run)
        return stages_run

    def wrote(self, store: BindingStore, switch: Switch, token: int, *written: Stage) -> None:
        """The executor of ``token`` has run some stages."""
        store.take_over(switch.key, Stage.PRECHECK.value, token)
        self.write(store, switch, token, *written)

    def write(self, store: BindingStore, switch: Switch, token: int, *written: Stage) -> None:
        """Bindings of the whole plan as some stages write them."""
        for stage in written:
            cluster = "west" if stage is Stage.FORWARD else "east"
            state = BindingState(stage.value) if stage.value in set(BindingState) else BindingState.FORWARD
            binding = Binding(cluster, state, switch=switch.key, stage=stage.value)
            journal = Journal(switch.key, stage.value, token)
            store.change([Edit(identity, binding) for identity in WHOLE.identities], journal)

    def test_nobody_goes_back_behind_forward(
        self, switch: Switch, store: BindingStore, ran: list[Stage]
    ) -> None:
        self.wrote(store, switch, 9, Stage.QUIESCE, Stage.BLOCK, Stage.FORWARD)
        facts = {"number": 3, "seen": {}, "drained": [["orders", 0, 100, 60]]}
        store.keep_facts(Journal(switch.key, "drain", 9), facts)
        Switch.objects.filter(pk=switch.pk).update(stage="block", facts={"number": 1, "seen": {}})

        assert executor.run_stage(switch.pk, 3) == 10, "larger than any token that was given out"
        switch.refresh_from_db()
        assert ran == [Stage.FORWARD]
        assert (switch.stage, switch.facts) == ("reverse", facts)
        assert str(switch.events.order_by("pk")[0]) == (
            "PostgreSQL had forgotten that this switch had reached forward (it said block). ZooKeeper knows it, so the "
            "switch goes on from there."
        )
        entry = Entry.objects.get(verb="read back")
        assert entry.details == {"stage": "forward", "said": "block", "facts": ["drained", "number"]}

    def test_nor_forward_when_it_has_returned(
        self, switch: Switch, store: BindingStore, ran: list[Stage]
    ) -> None:
        self.wrote(store, switch, 9, Stage.QUIESCE, Stage.BLOCK, Stage.RETURN)
        Switch.objects.filter(pk=switch.pk).update(stage="block")
        assert executor.run_stage(switch.pk, 3) is None
        switch.refresh_from_db()
        assert (ran, switch.current) == ([Stage.RETURN], Status.ROLLED_BACK)

    def test_clients_that_wait_are_not_forgotten(
        self, switch: Switch, store: BindingStore, ran: list[Stage]
    ) -> None:
        """A precheck would fail, and end the switch, with its clients blocked for good."""
        self.wrote(store, switch, 9, Stage.QUIESCE, Stage.BLOCK)
        Switch.objects.filter(pk=switch.pk).update(stage="precheck")
        executor.run_stage(switch.pk, 3)
        assert ran == [Stage.BLOCK, Stage.DRAIN, Stage.TRANSLATE, Stage.FORWARD]

    def test_what_nobody_forgot_is_as_it_was(
        self, switch: Switch, store: BindingStore, ran: list[Stage]
    ) -> None:
        self.wrote(store, switch, 2, Stage.QUIESCE)
        assert executor.run_stage(switch.pk, 3) == 4
        assert ran == [Stage.QUIESCE, Stage.BLOCK, Stage.DRAIN, Stage.TRANSLATE, Stage.FORWARD]
        assert not Entry.objects.filter(verb="read back").exists()

    def test_an_executor_that_was_replaced_is_not_helped_by_it(
        self, switch: Switch, store: BindingStore, ran: list[Stage]
    ) -> None:
        """Its token is smaller than ZooKeeper's because another one has taken over, and PostgreSQL knows that."""
        leases.claim(switch)
        self.wrote(store, switch, 4)
        assert executor.run_stage(switch.pk, 3) is None
        assert ran == []
        journal = store.journal(switch.key)
        assert journal is not None
        assert journal.token == 4

    def test_a_stage_that_finds_its_forward_written_is_run_again_and_reads_back(
        self, switch: Switch, store: BindingStore, ran: list[Stage], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It must not fail: that would lead to the return."""

        def quiesce(plan: Any, limits: Any) -> Any:
            self.write(store, switch, 4, Stage.BLOCK, Stage.FORWARD)
            self.write(store, switch, 4, Stage.QUIESCE)
            yield

        monkeypatch.setitem(ways.RUNS, Stage.QUIESCE, quiesce)
        assert executor.run_stage(switch.pk, 3) == 4
        assert executor.run_stage(switch.pk, 4) == 5
        assert ran == [Stage.FORWARD]
        results = [(record.stage, record.result) for record in switch.stages.order_by("pk")]
        assert results == [("quiesce", "interrupted"), ("forward", "done")]


@pytest.mark.parametrize("stage", [Stage.REVERSE, Stage.VERIFY])
def test_what_a_stage_has_found_out_is_not_tried_again(
    switch: Switch, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch, stage: Stage
) -> None:
    """It has waited for as long as its own limit says."""
    attempts: list[Stage] = []

    def run(plan: Any, limits: Any) -> Any:
        attempts.append(stage)
        raise StageFailed(say("Clients are missing."))
        yield

    monkeypatch.setattr(dialects, "zookeeper", lambda: zookeeper)
    monkeypatch.setitem(ways.RUNS, stage, run)
    Switch.objects.filter(pk=switch.pk).update(stage=stage.value)
    assert executor.run_stage(switch.pk, 3) is None
    switch.refresh_from_db()
    assert (attempts, switch.current) == ([stage], Status.NEEDS_ATTENTION)


def test_without_the_database_a_stage_neither_fails_nor_ends(
    switch: Switch, zookeeper: KazooClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its executor goes; the switch is an orphan as soon as the lease has run out."""

    def run(plan: Any, limits: Any) -> Any:
        raise OperationalError("the connection is closed")
        yield

    monkeypatch.setattr(dialects, "zookeeper", lambda: zookeeper)
    monkeypatch.setitem(ways.RUNS, Stage.QUIESCE, run)
    with pytest.raises(OperationalError):
        executor.run_stage(switch.pk, 3)
    switch.refresh_from_db()
    assert (switch.current, switch.stage) == (Status.RUNNING, Stage.QUIESCE)
    Switch.objects.filter(pk=switch.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    assert leases.orphans() == [switch]

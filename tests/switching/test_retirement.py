"""Migrations and what people decide about the old Topics: in PostgreSQL, without ZooKeeper and Kafka."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from hadash.audit.models import Entry
from hadash.bindings.model import Binding
from hadash.inventory.models import Pair
from hadash.kafka.errors import ClusterUnavailable, ConnectError
from hadash.kafka.values import Partition
from hadash.mirroring import ending
from hadash.mirroring.models import Mirror, MirrorOffsetSync
from hadash.mirroring.services import MirrorError
from hadash.presentation import badges, selectors
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching import policy, requests
from hadash.switching.execution import ending as switch_ending
from hadash.switching.execution import operations
from hadash.switching.machines.retirements import OPEN, Status
from hadash.switching.machines.switches import Event, Kind
from hadash.switching.machines.switches import Status as SwitchStatus
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.refusals import Busy
from hadash.switching.retirement import reading, removing, services
from hadash.switching.retirement.checks import Truth

from .test_approval import approve, ask, in_hours, log, pair, people, planned, started
from .test_restoring import bound, go_back
from .waiting import nobody_starts
from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

DAYS = 10


@pytest.fixture
def migrate(pair: Pair, people: dict[str, User]) -> Callable[..., Switch]:
    """Ask for a migration of everything of ``shop`` to ``west``."""

    def act(days: int | None = DAYS) -> Switch:
        return requests.submit(
            requests.SwitchRequest(
                people["olga"],
                pair,
                WHOLE.scope,
                pair.second,
                "West is newer",
                kind=Kind.MIGRATION,
                retire_after_days=days,
            ),
            nobody_starts,
        )

    return act


@pytest.fixture
def migrated(migrate: Any, approve: Any) -> Switch:
    """One that has succeeded."""
    switch: Switch = approve("arne", migrate())
    return end(switch, Event.SUCCEED)


def end(switch: Switch, event: Event) -> Switch:
    switch_ending.end(switch, event, say("Every client works on %(cluster)s.", cluster="west"))
    return switch


def of(switch: Switch) -> Retirement:
    return Retirement.objects.get(switch=switch)


@pytest.fixture
def removals() -> list[int]:
    """The tokens with which removals were handed to a worker."""
    return []


@pytest.fixture
def retire(
    people: dict[str, User], removals: list[int], django_capture_on_commit_callbacks: Any
) -> Callable[..., Retirement]:
    def act(switch: Switch, user: str = "olga", typed: str = "east") -> Retirement:
        with django_capture_on_commit_callbacks(execute=True):
            return services.retire_now(people[user], switch, typed, lambda held: removals.append(held.token))

    return act


@pytest.fixture
def begin_due(removals: list[int], django_capture_on_commit_callbacks: Any) -> Callable[[], int]:
    def act() -> int:
        with django_capture_on_commit_callbacks(execute=True):
            return services.begin_due(lambda held: removals.append(held.token))

    return act


def make_due(switch: Switch) -> None:
    Retirement.objects.filter(switch=switch).update(due_at=timezone.now() - timedelta(minutes=1))


class TestAsking:
    def test_who_asks_and_approves_reads_what_is_deleted_and_when(self, migrate: Any) -> None:
        assert log(migrate())[-1] == (
            "10 days after it has succeeded, these Topics and the mirror are deleted on east: carts, orders. "
            "Until then the clients can go back."
        )

    def test_the_approval_stands_with_the_term_in_the_audit_log(self, migrated: Switch) -> None:
        for verb in ("request", "approve"):
            assert Entry.objects.get(verb=verb).details["retire_after_days"] == DAYS

    def test_without_a_term_it_is_the_settings(self, migrate: Any, settings: Any) -> None:
        assert migrate(None).retire_after_days == settings.RETIREMENT_DAYS

    @pytest.mark.parametrize("days", [-1, 0, 91])
    def test_the_term_has_limits(self, migrate: Any, days: int) -> None:
        with pytest.raises(Refused, match="The old Topics stay for 1 to 90 days"):
            migrate(days)


class TestItsEnd:
    def test_a_success_gives_the_old_topics_a_day(self, migrated: Switch) -> None:
        held = of(migrated)
        assert held.current is Status.WAITING
        assert migrated.ended_at is not None
        assert held.due_at == migrated.ended_at + timedelta(days=DAYS)
        assert log(migrated)[-1].startswith("The old Topics on east are removed on ")

    @pytest.mark.parametrize("event", [Event.ROLL_BACK, Event.NEED_A_PERSON])
    def test_anything_else_does_not(self, migrate: Any, approve: Any, event: Event) -> None:
        end(approve("arne", migrate()), event)
        assert not Retirement.objects.exists()

    def test_nor_does_another_kind(self, ask: Any, approve: Any) -> None:
        end(approve("arne", ask()), Event.SUCCEED)
        assert not Retirement.objects.exists()

    def test_a_restore_that_succeeds_keeps_them(
        self, migrated: Switch, go_back: Any, people: dict[str, User]
    ) -> None:
        restore = go_back(migrated)
        assert of(migrated).current is Status.WAITING, "it may be declined yet"
        restore.status = SwitchStatus.RUNNING.value
        restore.save()
        end(restore, Event.SUCCEED)
        assert of(migrated).current is Status.KEPT
        assert log(migrated)[-1] == f"Switch {restore.key} went back: the old Topics stay."

    def test_a_restore_that_is_closed_does_too(
        self, migrated: Switch, go_back: Any, people: dict[str, User], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        restore = go_back(migrated)
        restore.status, restore.stage = SwitchStatus.NEEDS_ATTENTION.value, "verify"
        restore.save()
        monkeypatch.setattr(operations, "_where_clients_are", lambda switch: ["east"])
        operations.close_as_it_is(people["olga"], restore, "One client was stopped")
        assert of(migrated).current is Status.KEPT

    def test_when_they_are_gone_there_is_nothing_to_go_back_to(self, migrated: Switch, go_back: Any) -> None:
        Retirement.objects.update(status=Status.DONE.value)
        with pytest.raises(Refused, match="there is nothing to go back to"):
            go_back(migrated)


class TestDeciding:
    def test_putting_off_moves_its_day_and_is_counted(
        self, migrated: Switch, people: dict[str, User]
    ) -> None:
        before = of(migrated).due_at
        for _ in range(2):
            services.postpone(people["olga"], migrated, 5, "The quarter ends")
        held = of(migrated)
        assert (held.due_at, held.postponed, held.decided_by) == (
            before + timedelta(days=10),
            2,
            people["olga"],
        )
        entry = Entry.objects.filter(verb="postpone").latest("number")
        assert (entry.details["days"], entry.details["reason"]) == (5, "The quarter ends")

    def test_one_that_is_overdue_is_put_off_from_now(self, migrated: Switch, people: dict[str, User]) -> None:
        make_due(migrated)
        held = services.postpone(people["olga"], migrated, 5, "x")
        assert held.due_at > timezone.now() + timedelta(days=4, hours=23)

    @pytest.mark.parametrize("days", [0, 91])
    def test_only_within_limits(self, migrated: Switch, people: dict[str, User], days: int) -> None:
        with pytest.raises(Refused, match="postponed by 1 to 90 days"):
            services.postpone(people["olga"], migrated, days, "x")

    def test_keeping_ends_it(self, migrated: Switch, people: dict[str, User], retire: Any) -> None:
        held = services.keep(people["olga"], migrated, "The auditors want them")
        assert held.current is Status.KEPT
        assert str(held.outcome_sentence) == "olga keeps the old Topics on east: The auditors want them"
        for act in (
            lambda: services.keep(people["olga"], migrated, "x"),
            lambda: services.postpone(people["olga"], migrated, 5, "x"),
            lambda: retire(migrated),
        ):
            with pytest.raises(Refused, match="is kept: that cannot be decided any more"):
                act()

    def test_a_reason_is_needed(self, migrated: Switch, people: dict[str, User]) -> None:
        with pytest.raises(Refused, match="Say why"):
            services.postpone(people["olga"], migrated, 5, " ")
        with pytest.raises(Refused, match="Say why"):
            services.keep(people["olga"], migrated, " ")
        assert of(migrated).current is Status.WAITING

    @pytest.mark.parametrize("typed", ["", "west", "East"])
    def test_removing_now_wants_the_old_clusters_name(
        self, migrated: Switch, retire: Any, typed: str
    ) -> None:
        with pytest.raises(Refused, match="Type east to confirm"):
            retire(migrated, typed=typed)

    def test_then_a_worker_gets_it(self, migrated: Switch, retire: Any, removals: list[int]) -> None:
        held = retire(migrated)
        assert (held.current, removals) == (Status.RUNNING, [held.token])

    def test_not_while_a_switch_holds_the_radius(self, migrated: Switch, retire: Any, go_back: Any) -> None:
        restore = go_back(migrated)
        with pytest.raises(Busy, match=f"Switch {restore.key} holds part of this radius"):
            retire(migrated)
        assert of(migrated).current is Status.WAITING

    def test_while_it_runs_no_switch_takes_the_radius(
        self, migrated: Switch, retire: Any, go_back: Any, removals: list[int]
    ) -> None:
        """Else clients would go back to Topics that are being deleted."""
        retire(migrated)
        with pytest.raises(Busy, match=f"old Topics of migration {migrated.key} are removed"):
            go_back(migrated)

    def test_not_in_a_blackout(
        self, migrated: Switch, retire: Any, pair: Pair, people: dict[str, User]
    ) -> None:
        policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        with pytest.raises(Refused, match="Year-end closing"):
            retire(migrated)

    @pytest.mark.parametrize("user", ["arne", "ada", "vera"])
    def test_only_operators(self, migrated: Switch, people: dict[str, User], retire: Any, user: str) -> None:
        for act in (
            lambda: services.postpone(people[user], migrated, 5, "x"),
            lambda: services.keep(people[user], migrated, "x"),
            lambda: retire(migrated, user=user),
        ):
            with pytest.raises(PermissionDenied):
                act()

    def test_of_a_switch_that_was_no_migration_there_is_nothing_to_decide(
        self, ask: Any, retire: Any
    ) -> None:
        with pytest.raises(Refused, match="No old Topics wait"):
            retire(ask())


class TestByItself:
    def test_not_before_its_day(self, migrated: Switch, begin_due: Any) -> None:
        assert begin_due() == 0
        make_due(migrated)
        assert begin_due() == 1
        assert of(migrated).current is Status.RUNNING
        assert begin_due() == 0

    def test_a_blackout_is_waited_for(
        self, migrated: Switch, begin_due: Any, pair: Pair, people: dict[str, User]
    ) -> None:
        make_due(migrated)
        blackout = policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        assert begin_due() == 0
        policy.end_blackout(people["ada"], blackout)
        assert begin_due() == 1

    def test_an_open_switch_fails_it_and_operators_hear_of_it(
        self, migrated: Switch, begin_due: Any, go_back: Any, people: dict[str, User]
    ) -> None:
        restore = go_back(migrated)
        make_due(migrated)
        assert begin_due() == 0
        assert of(migrated).current is Status.FAILED
        assert migrated in selectors.waiting_for(people["olga"])
        assert migrated not in selectors.waiting_for(people["arne"])
        assert badges.of_waiting(migrated).word == "old Topics not removed"
        restore.status = SwitchStatus.RUNNING.value
        restore.save()
        end(restore, Event.SUCCEED)
        assert of(migrated).current is Status.KEPT, "the clients went back"

    def test_one_whose_worker_is_lost_is_found(
        self, migrated: Switch, retire: Any, pair: Pair, people: dict[str, User]
    ) -> None:
        held = retire(migrated)
        assert services.orphans() == []
        Retirement.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        assert services.orphans() == [held]
        policy.add_blackout(people["ada"], pair, *in_hours(-1, 1), "Year-end closing")
        assert services.orphans() == [], "not in a blackout"

    def test_only_one_worker_gets_it(self, migrated: Switch, retire: Any) -> None:
        held = retire(migrated)
        assert services.take(held.pk, held.token) is not None
        assert services.take(held.pk, held.token) is None


class TestSeen:
    """Of who has moved only the Gateways know when it was on the old cluster last."""

    @pytest.fixture
    def facts(self, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        monkeypatch.setattr(reading, "ask_every", lambda path, key: found)
        return found

    @pytest.mark.parametrize(
        ("kind", "resource", "cluster", "minutes", "counts"),
        [
            ("produce", "orders", "east", 1, True),
            ("group", "billing", "east", 1, True),
            ("produce", "orders", "east", -1, False),
            ("produce", "orders", "west", 1, False),
            ("produce", "people", "east", 1, False),
            ("group", "orders", "east", 1, False),
        ],
    )
    def test_what_was_used_there_since_the_switch(
        self,
        migrated: Switch,
        facts: list[dict[str, Any]],
        kind: str,
        resource: str,
        cluster: str,
        minutes: int,
        counts: bool,
    ) -> None:
        assert migrated.ended_at is not None
        at = (migrated.ended_at + timedelta(minutes=minutes)).timestamp()
        who = {"appid": "shop", "client_id": "web-1", "cluster": cluster, "used_at": at}
        facts.append({**who, "kind": kind, "resource": resource, "last_seen": at + 3600})
        found = reading._seen(migrated, WHOLE)
        assert found == ([f"shop › web-1 {kind} {resource}"] if counts else [])


class TestRemoving:
    """What a worker does with what it meets; tests/clusters/test_removing.py has it on real servers."""

    @pytest.fixture
    def meets(self, monkeypatch: pytest.MonkeyPatch) -> Callable[[BaseException], None]:
        def arm(error: BaseException) -> None:
            def raising(*_: Any, **__: Any) -> Any:
                raise error

            monkeypatch.setattr(removing, "the_truth", raising)
            monkeypatch.setattr(removing.mirroring, "cluster_client", lambda cluster: None)

        return arm

    def test_a_server_that_does_not_answer_lets_it_wait(
        self, migrated: Switch, retire: Any, meets: Any, settings: Any
    ) -> None:
        meets(ClusterUnavailable("Cluster east does not answer."))
        held = retire(migrated)
        removing.remove(held.pk, held.token)
        after = of(migrated)
        assert after.current is Status.WAITING
        assert after.due_at > timezone.now() + timedelta(seconds=settings.RETIREMENT_RETRY_SECONDS - 60)
        assert str(after.outcome_sentence) == "Cluster east does not answer."

    @pytest.mark.parametrize("error", [Refused(say("Somebody reads it.")), ValueError("odd")])
    def test_what_stands_against_it_and_bugs_are_for_a_person(
        self, migrated: Switch, retire: Any, meets: Any, error: Exception
    ) -> None:
        meets(error)
        held = retire(migrated)
        removing.remove(held.pk, held.token)
        assert of(migrated).current is Status.FAILED
        assert Entry.objects.filter(verb="retire failed").count() == 1
        assert retire(migrated).current is Status.RUNNING, "and a person can have it tried again"

    def test_whoever_was_replaced_changes_nothing(self, migrated: Switch, retire: Any, meets: Any) -> None:
        meets(Refused(say("Somebody reads it.")))
        held = retire(migrated)
        assert services.take(held.pk, held.token) is not None
        removing.remove(held.pk, held.token)
        assert of(migrated).current is Status.RUNNING


class FakeConnect:
    """Connect with the connectors of two mirrors; ``broken`` are those whose offsets it does not forget."""

    def __init__(self) -> None:
        self.broken: set[str] = set()
        self.names = {f"main.{name}.west.east" for name in ("carts", "orders")}
        self.resumed: list[str] = []
        #: Those that do not run again.
        self.stuck: set[str] = set()

    def status(self, name: str) -> object | None:
        return name if name in self.names else None

    def stop(self, name: str) -> None: ...

    def offsets(self, name: str) -> dict[Partition, int]:
        return {Partition(name.split(".")[1], 0): 6}

    def forget_offsets(self, name: str) -> None:
        if name in self.broken:
            raise ConnectError("The group's members are not gone yet.")

    def delete(self, name: str) -> None:
        self.names.remove(name)

    def resume(self, name: str) -> None:
        if name in self.stuck:
            raise ConnectError("A rebalance is in progress.")
        self.resumed.append(name)


class TestBetweenTwoMirrors:
    """The first one is gone, the second one is not."""

    @pytest.fixture
    def connect(self, monkeypatch: pytest.MonkeyPatch) -> FakeConnect:
        connect = FakeConnect()
        monkeypatch.setattr(ending, "connect_client", lambda: connect)
        monkeypatch.setattr(ending, "status_of", lambda mirror: "stopped")
        monkeypatch.setattr(ending, "await_stopped", lambda name: None)
        monkeypatch.setattr(
            ending,
            "connector_of",
            lambda mirror, source: f"main.{mirror.name}.{source}.{mirror.pair.other(source)}",
        )
        return connect

    @pytest.fixture
    def looked(self, monkeypatch: pytest.MonkeyPatch, migrated: Switch) -> list[dict[str, Any]]:
        """With what is known everything is looked at; nothing blocks it. The old cluster is a bare one."""
        looks: list[dict[str, Any]] = []

        def look(switch: Switch, written: Any, **known: Any) -> Truth:
            looks.append({"written": written, **known})
            return Truth({identity: Binding("west") for identity in WHOLE.identities})

        cluster = SimpleNamespace(
            name="east",
            topics=dict,
            topic_configs=lambda topics: {},
            group_offsets=lambda groups: {},
            delete_topics=lambda topics: None,
        )
        monkeypatch.setattr(removing, "the_truth", look)
        monkeypatch.setattr(removing.mirroring, "cluster_client", lambda _: cluster)
        monkeypatch.setattr(removing.standby, "allow_writes", lambda cluster, topics: 0)
        plan = replace(WHOLE, mirrors=("carts", "orders"))
        Switch.objects.filter(pk=migrated.pk).update(plan=plan.to_json())
        for name in plan.mirrors:
            mirror = Mirror.objects.create(
                pair=migrated.pair, name=name, topics=[name], source=migrated.pair.second
            )
            MirrorOffsetSync.objects.create(
                mirror=mirror, topic=name, partition=0, source_offset=0, target_offset=0
            )
        return looks

    @pytest.fixture
    def half_done(
        self, migrated: Switch, retire: Any, connect: FakeConnect, looked: Any, settings: Any
    ) -> Switch:
        settings.RETIREMENT_MISSING_SECONDS = 0
        connect.broken = {"main.orders.west.east"}
        held = retire(migrated)
        removing.remove(held.pk, held.token)
        migrated.refresh_from_db()
        return migrated

    def audited(self) -> list[Any]:
        entries = Entry.objects.filter(verb="removed").order_by("number")
        return [(entry.details["what"], list(entry.details["before"])) for entry in entries]

    def test_the_other_one_does_not_run_again_and_how_far_both_have_written_stays_known(
        self, half_done: Switch, connect: FakeConnect
    ) -> None:
        held = of(half_done)
        assert (held.current, connect.resumed) == (Status.WAITING, [])
        assert held.facts["written"] == [["carts", 0, 7], ["orders", 0, 7]]
        assert held.removed == ["mirror carts", "mirror orders"], "what was begun cannot be taken back"
        assert self.audited() == [("mirrors", ["carts"])]
        assert any("the others stay stopped" in line for line in log(half_done))

    def test_what_they_had_written_counts_no_more_once_one_of_them_runs_again(
        self,
        migrated: Switch,
        retire: Any,
        connect: FakeConnect,
        looked: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """What a mirror copies from then on would be taken for the writing of somebody else."""

        look = removing.the_truth

        def away_once_they_are_stopped(*known: Any, **more: Any) -> Truth:
            if of(migrated).facts.get("written"):
                raise ClusterUnavailable("Cluster west does not answer.")
            return look(*known, **more)

        monkeypatch.setattr(removing, "the_truth", away_once_they_are_stopped)
        connect.stuck = {"main.carts.west.east"}
        held = retire(migrated)
        removing.remove(held.pk, held.token)
        assert connect.resumed == ["main.orders.west.east"], "also those after one that does not"
        assert (of(migrated).facts["written"], of(migrated).facts["stopping"]) == (None, True)
        assert any("Mirror carts was stopped and does not run again" in line for line in log(migrated))

    def test_later_the_rest_goes_and_both_are_looked_at_until_then(
        self, half_done: Switch, connect: FakeConnect, looked: list[dict[str, Any]], retire: Any
    ) -> None:
        connect.broken = set()
        del looked[:]
        held = retire(half_done)
        removing.remove(held.pk, held.token)
        assert of(half_done).current is Status.DONE
        assert [{p.topic for p in look["written"]} for look in looked] == [{"carts", "orders"}] * 4 + [set()]
        assert looked[0]["retired"] == {"carts", "orders"}
        assert self.audited()[:2] == [("mirrors", ["carts"]), ("mirrors", ["orders"])]
        assert [what for what, _ in self.audited()[2:]] == ["groups", "topics", "denials"]

    def test_whoever_keeps_them_reads_what_is_gone(self, half_done: Switch, people: dict[str, User]) -> None:
        services.keep(people["olga"], half_done, "x")
        assert Entry.objects.get(verb="keep").details["removed"] == ["mirror carts", "mirror orders"]
        assert "Removed already: mirror carts, mirror orders. What is left stays." in log(half_done)

    def test_before_anything_is_gone_they_run_again(
        self,
        migrated: Switch,
        retire: Any,
        connect: FakeConnect,
        looked: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        def refuse(name: str) -> None:
            raise MirrorError(f"Connector {name} has not stopped after 30 s.")

        monkeypatch.setattr(ending, "await_stopped", refuse)
        held = retire(migrated)
        removing.remove(held.pk, held.token)
        assert connect.resumed == ["main.carts.west.east", "main.orders.west.east"]
        assert (of(migrated).removed, of(migrated).facts["written"]) == ([], None)


class TestExisting:
    """A broker that has just been started says for a moment that its Topics do not exist."""

    @pytest.mark.parametrize(
        ("first", "second", "said"),
        [
            (["carts", "orders"], [], ["carts", "orders"]),
            ([], ["carts", "orders"], ["carts", "orders"]),
            (["carts"], [], ["carts"]),
            ([], [], []),
        ],
    )
    def test_a_topic_is_gone_when_it_is_missing_twice(
        self,
        first: list[str],
        second: list[str],
        said: list[str],
        settings: Any,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        answers, slept = [first, second], []
        client: Any = SimpleNamespace(topics=lambda: dict.fromkeys([*answers.pop(0), "people"]))
        monkeypatch.setattr(reading.time, "sleep", slept.append)
        assert reading.existing(client, ("carts", "orders")) == said
        assert slept == [settings.RETIREMENT_MISSING_SECONDS] * (first != ["carts", "orders"])


def test_pages_show_what_is_open(migrated: Switch, people: dict[str, User]) -> None:
    assert selectors.retirements(people["vera"]) == [of(migrated)]
    services.keep(people["olga"], migrated, "x")
    assert of(migrated).current not in OPEN
    assert selectors.retirements(people["vera"]) == []

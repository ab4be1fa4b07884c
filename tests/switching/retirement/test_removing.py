"""What a worker looks at and removes, and where it stops: in PostgreSQL, without ZooKeeper and Kafka."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from hadash.audit.models import Entry
from hadash.bindings.model import Binding
from hadash.kafka.errors import ClusterUnavailable, ConnectError
from hadash.kafka.values import Partition
from hadash.mirroring import ending
from hadash.mirroring.models import Mirror, MirrorOffsetSync
from hadash.mirroring.services import MirrorError
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching.machines.retirements import Status
from hadash.switching.models.switches import Switch
from hadash.switching.retirement import reading, removing, services
from hadash.switching.retirement.checks import OldClusterFacts

from ..test_approval import log
from ..world import WHOLE
from .parts import of

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


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

            monkeypatch.setattr(removing, "read_now", raising)
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

        def look(switch: Switch, written: Any, **known: Any) -> OldClusterFacts:
            looks.append({"written": written, **known})
            return OldClusterFacts({identity: Binding("west") for identity in WHOLE.identities})

        cluster = SimpleNamespace(
            name="east",
            topics=dict,
            topic_configs=lambda topics: {},
            group_offsets=lambda groups: {},
            delete_topics=lambda topics: None,
        )
        monkeypatch.setattr(removing, "read_now", look)
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

        look = removing.read_now

        def away_once_they_are_stopped(*known: Any, **more: Any) -> OldClusterFacts:
            if of(migrated).facts.get("written"):
                raise ClusterUnavailable("Cluster west does not answer.")
            return look(*known, **more)

        monkeypatch.setattr(removing, "read_now", away_once_they_are_stopped)
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

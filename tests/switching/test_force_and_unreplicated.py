"""Asking for a forced switch, and what becomes of the unreplicated records of its source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.utils import timezone

from hadash.audit.models import Entry
from hadash.inventory.models import Pair
from hadash.kafka.errors import ClusterUnavailable, TopicsUnknown
from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.mirroring.rebuild import NotReported
from hadash.mirroring.services import MirrorError
from hadash.refusals import Refused
from hadash.switching import policy, requests
from hadash.switching.execution.unreplicated import await_unreplicated
from hadash.switching.machines.switches import Kind, Status
from hadash.switching.models.policies import Blackout
from hadash.switching.models.switches import Switch
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.planning import overlaps
from hadash.switching.recovery import unreplicated
from hadash.switching.refusals import Busy

from .test_approval import approve, ask, in_hours, log, pair, people, planned, started
from .test_kinds import asked, ended
from .waiting import nobody_starts
from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

ORDERS = Partition("orders", 0)


@pytest.fixture
def forced(asked: Any) -> Callable[..., Switch]:
    return lambda user="rita", confirmed="east": requests.submit(
        asked(user, Kind.FORCED), nobody_starts, confirmed=confirmed
    )


class TestForce:
    def test_it_needs_one_approval_more_than_others(
        self, forced: Any, approve: Any, started: list[str], pair: Pair
    ) -> None:
        switch = forced()
        assert switch.approvals_needed == policy.policy_of(pair).approvals + 1 == 2
        assert approve("arne", switch).current is Status.AWAITING_APPROVAL
        assert started == []
        assert approve("bea", switch).current is Status.RUNNING
        assert started == [switch.key]

    @pytest.mark.parametrize("user", ["olga", "arne", "ada", "vera"])
    def test_only_those_who_may(self, forced: Any, user: str) -> None:
        with pytest.raises(PermissionDenied, match="force"):
            forced(user)

    @pytest.mark.parametrize("typed", ["", "west", "yes"])
    def test_the_lost_cluster_is_typed(self, forced: Any, typed: str) -> None:
        with pytest.raises(Refused, match="Type east to confirm that it is lost"):
            forced(confirmed=typed)

    def test_a_blackout_does_not_hold_it_up(
        self, forced: Any, approve: Any, started: list[str], pair: Pair, people: dict[str, User]
    ) -> None:
        begins, ends = in_hours(-1, 1)
        Blackout.objects.create(pair=pair, begins=begins, ends=ends, reason="Quarter end")
        switch = forced()
        approve("arne", switch)
        assert approve("bea", switch).current is Status.RUNNING


class TestUnreplicated:
    @pytest.fixture
    def missing(self, forced: Any) -> Unreplicated:
        """The unreplicated records of a forced switch that has ended."""
        switch = ended(forced())
        await_unreplicated(switch.key, {ORDERS: OffsetSync(100, 60)})
        await_unreplicated(
            switch.key, {ORDERS: OffsetSync(0, 0)}
        )  # a stage that is run again changes nothing
        return Unreplicated.objects.get(switch=switch)

    @pytest.fixture
    def source(self, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
        """What the lost source says: it is away, until somebody sets its ends."""
        said: dict[str, Any] = {"found": None, "denied": []}

        def deny(pair: Pair, cluster: Any, topics: Any) -> int:
            if said["found"] is None:
                raise ClusterUnavailable("Cluster east does not answer.")
            said["denied"].append(cluster.name)
            return 2

        monkeypatch.setattr(unreplicated, "deny_writes", deny)
        monkeypatch.setattr(unreplicated, "unreplicated_of", lambda cluster, points: said["found"])
        return said

    def test_while_the_source_is_away_it_waits_and_says_why(self, missing: Unreplicated, source: Any) -> None:
        unreplicated.look_for_unreplicated()
        missing.refresh_from_db()
        assert (missing.status, str(missing.fault)) == ("waiting", "Cluster east does not answer.")

    def test_when_it_is_back_it_is_closed_first_and_then_counted(
        self, missing: Unreplicated, source: Any
    ) -> None:
        source["found"] = {ORDERS: (100, 107)}
        unreplicated.look_for_unreplicated()
        missing.refresh_from_db()
        assert source["denied"] == ["east"]
        assert (missing.status, missing.records) == ("reported", 7)
        assert unreplicated.shown(missing) == [
            {"topic": "orders", "partition": 0, "first": 100, "end": 107, "records": 7}
        ]
        assert "It holds 7 records that were not mirrored" in log(missing.switch)[-1]
        assert Entry.objects.filter(verb="report unreplicated").count() == 1
        unreplicated.look_for_unreplicated()
        assert Entry.objects.filter(verb="report unreplicated").count() == 1

    @pytest.fixture
    def rebuild(
        self, people: dict[str, User], django_capture_on_commit_callbacks: Any
    ) -> Callable[..., list[Unreplicated]]:
        def action(
            missing: Unreplicated,
            user: str = "rita",
            confirmed: str = "east",
            note: str = "Sent again",
        ) -> list[Unreplicated]:
            handed: list[Unreplicated] = []
            with django_capture_on_commit_callbacks(execute=True):
                unreplicated.ask_to_rebuild(people[user], missing.switch, confirmed, note, handed.append)
            return handed

        return action

    def test_nothing_is_rebuilt_before_the_report(self, missing: Unreplicated, rebuild: Any) -> None:
        with pytest.raises(Refused, match="there is nothing to decide"):
            rebuild(missing)

    def test_a_rebuild_is_confirmed_by_word_with_what_became_of_the_records(
        self, missing: Unreplicated, source: Any, rebuild: Any
    ) -> None:
        source["found"] = {}
        unreplicated.look_for_unreplicated()
        with pytest.raises(Refused, match="Type east"):
            rebuild(missing, confirmed="west")
        with pytest.raises(Refused, match="Say what became"):
            rebuild(missing, note=" ")
        with pytest.raises(PermissionDenied):
            rebuild(missing, user="olga")
        assert [handed.pk for handed in rebuild(missing)] == [missing.pk]
        with pytest.raises(Refused, match="being rebuilt"):
            rebuild(missing)

    def test_one_that_goes_wrong_does_not_keep_the_others(
        self, missing: Unreplicated, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Neither asking nor rebuilding: each is somebody's lost cluster."""
        from tasks import switching

        other = Switch.objects.get(pk=missing.switch.pk)
        other.pk, other.key = None, "other"
        other.save()
        Unreplicated.objects.create(switch=other, points=[])
        Unreplicated.objects.update(status=Unreplicated.Status.REBUILDING)
        tried: list[int] = []

        def failing(*arguments: Any) -> None:
            tried.extend(one.pk for one in arguments)
            raise ValueError("odd")

        monkeypatch.setattr(unreplicated, "look_for_unreplicated", failing)
        monkeypatch.setattr(unreplicated, "carry_out", failing)
        switching.look_for_unreplicated()
        assert sorted(tried) == sorted(Unreplicated.objects.values_list("pk", flat=True))

    def test_a_rebuild_that_fails_is_told_and_can_be_asked_for_again(
        self, missing: Unreplicated, source: Any, rebuild: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source["found"] = {}
        unreplicated.look_for_unreplicated()
        rebuild(missing)

        def fail_with(error: Exception) -> Any:
            def fail(*arguments: Any) -> None:
                raise error

            return fail

        def tried(error: Exception) -> tuple[str, str]:
            monkeypatch.setattr(unreplicated, "rebuild", fail_with(error))
            unreplicated.carry_out(Unreplicated.objects.get(pk=missing.pk))
            missing.refresh_from_db()
            return missing.status, str(missing.fault)

        monkeypatch.setattr(unreplicated, "_mirrors_of", lambda switch: [SimpleNamespace(name="shop")])
        away = "Cluster east does not answer."
        assert tried(ClusterUnavailable(away)) == ("rebuilding", away), "it is tried again by itself"
        assert tried(MirrorError("Topic orders is not gone.")) == ("failed", "Topic orders is not gone.")
        monkeypatch.setattr(unreplicated, "rebuild", lambda *arguments: None)
        rebuild(missing)
        unreplicated.carry_out(Unreplicated.objects.get(pk=missing.pk))
        missing.refresh_from_db()
        assert (missing.status, str(missing.fault)) == ("rebuilt", "")

    def test_what_may_have_been_mirrored_is_said(self, missing: Unreplicated, source: Any) -> None:
        """By count the mirror holds up to 104, and up to 100 it is proved."""
        missing.switch.facts = {"drained": [["orders", 0, 104, 64]]}
        missing.switch.save()
        source["found"] = {ORDERS: (100, 107)}
        unreplicated.look_for_unreplicated()
        assert log(missing.switch)[-2:] == [
            "east is back. It holds 7 records that were not mirrored; nobody can write to it.",
            "Up to 4 of them may have been mirrored: that they were is not proved.",
        ]

    def test_what_came_after_the_report_is_reported_before_it_is_deleted(
        self, missing: Unreplicated, source: Any, rebuild: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source["found"] = {ORDERS: (100, 107)}
        unreplicated.look_for_unreplicated()
        rebuild(missing)
        missing.refresh_from_db()
        assert unreplicated.reported(missing) == {ORDERS: 107}

        def refuse(*arguments: Any) -> None:
            raise NotReported("orders-0 on cluster east ends at 110.")

        monkeypatch.setattr(unreplicated, "_mirrors_of", lambda switch: [SimpleNamespace(name="shop")])
        monkeypatch.setattr(unreplicated, "rebuild", refuse)
        unreplicated.carry_out(missing)
        missing.refresh_from_db()
        assert missing.status == "waiting"
        assert (
            "It is asked again for what it holds, and somebody has to decide again."
            in log(missing.switch)[-1]
        )
        source["found"] = {ORDERS: (100, 110)}
        unreplicated.look_for_unreplicated()
        missing.refresh_from_db()
        assert (missing.status, missing.records) == ("reported", 10)

    def test_asked_again_it_tells_only_of_what_is_not_rebuilt(
        self, missing: Unreplicated, source: Any, rebuild: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Clients may have gone back to what is rebuilt: nobody may be denied there, and what it holds is mirrored."""
        source["found"] = {ORDERS: (100, 107), Partition("carts", 0): (50, 54)}
        unreplicated.look_for_unreplicated()
        rebuild(missing)
        missing.refresh_from_db()
        mirrors = [SimpleNamespace(name=name, topics=[name]) for name in ("carts", "orders")]
        monkeypatch.setattr(unreplicated, "_mirrors_of", lambda switch: mirrors)

        def rebuild_carts_only(mirror: Any, *arguments: Any) -> None:
            if mirror.name == "orders":
                raise NotReported("orders-0 on cluster east ends at 110.")

        monkeypatch.setattr(unreplicated, "rebuild", rebuild_carts_only)
        unreplicated.carry_out(missing)
        carts = Partition("carts", 0)
        Unreplicated.objects.update(points=[["carts", 0, 50, 50], ["orders", 0, 100, 60]])
        denied, asked = [], []
        monkeypatch.setattr(unreplicated, "deny_writes", lambda pair, cluster, topics: denied.append(topics))

        def unreplicated_of(cluster: Any, points: Any) -> Any:
            asked.append(set(points))
            return {ORDERS: (100, 110)}

        monkeypatch.setattr(unreplicated, "unreplicated_of", unreplicated_of)
        unreplicated.look_for_unreplicated()
        missing.refresh_from_db()
        assert missing.deleted == 4, "what was reported of carts, which are rebuilt"
        assert (missing.rebuilt, missing.status) == (["carts"], "reported")
        assert (denied, asked) == ([["orders"]], [{ORDERS}])
        assert carts not in {Partition(row[0], row[1]) for row in missing.found}

    def test_a_source_that_does_not_know_its_topics_is_asked_again(
        self, missing: Unreplicated, source: Any, monkeypatch: pytest.MonkeyPatch, settings: Any
    ) -> None:
        """A cluster that starts says for a moment that its Topics do not exist: that does not mean 0 records."""

        def starting(cluster: Any, points: Any, gone: tuple[str, ...] = ()) -> Any:
            if not gone:
                raise TopicsUnknown("Cluster east does not know Topic orders.", ("orders",))
            return {}

        source["found"] = {}
        monkeypatch.setattr(unreplicated, "unreplicated_of", starting)
        unreplicated.look_for_unreplicated()
        unreplicated.look_for_unreplicated()
        missing.refresh_from_db()
        assert (missing.status, str(missing.fault)) == ("waiting", "Cluster east does not know Topic orders.")
        assert missing.unknown_since is not None
        settings.UNREPLICATED_UNKNOWN_SECONDS = 0
        unreplicated.look_for_unreplicated()
        missing.refresh_from_db()
        assert (missing.status, missing.gone) == ("reported", ["orders"])
        assert log(missing.switch)[-1] == (
            "orders do not exist on east any more: what was not mirrored of them is lost."
        )


class TestRebuilding:
    """Who deletes Topics has to be sure that nobody uses them."""

    BACK = replace(WHOLE, source="west", target="east")

    @pytest.fixture
    def missing(self, forced: Any) -> Unreplicated:
        """Of a radius with two mirrors, decided on."""
        switch = ended(forced())
        switch.plan = replace(WHOLE, mirrors=("carts", "shop")).to_json()
        switch.save()
        await_unreplicated(switch.key, {ORDERS: OffsetSync(100, 60)})
        Unreplicated.objects.update(status=Unreplicated.Status.REBUILDING, decided_at=timezone.now())
        return Unreplicated.objects.get()

    @pytest.fixture
    def rebuilt(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The mirrors that were rebuilt; a server is away for that of ``shop``."""
        done: list[str] = []

        def rebuild(mirror: Any, lost: Any, reported: Any) -> None:
            if mirror.name == "shop":
                raise ClusterUnavailable("Cluster east does not answer.")
            done.append(mirror.name)

        monkeypatch.setattr(unreplicated, "rebuild", rebuild)
        mirrors = [SimpleNamespace(name="carts"), SimpleNamespace(name="shop")]
        monkeypatch.setattr(unreplicated, "_mirrors_of", lambda switch: mirrors)
        return done

    def test_a_mirror_that_is_rebuilt_is_never_rebuilt_again(
        self, missing: Unreplicated, rebuilt: list[str]
    ) -> None:
        """Its clients may have gone back meanwhile: its Topics are those that everybody uses."""
        for _ in range(3):
            unreplicated.carry_out(Unreplicated.objects.get())
        assert rebuilt == ["carts"]
        missing.refresh_from_db()
        assert (missing.status, missing.rebuilt) == ("rebuilding", ["carts"])

    def test_it_is_not_tried_for_ever(self, missing: Unreplicated, rebuilt: list[str], settings: Any) -> None:
        """What is left may be needed otherwise by then: a person decides again."""
        settings.UNREPLICATED_REBUILD_SECONDS = 0
        unreplicated.carry_out(missing)
        missing.refresh_from_db()
        assert (missing.status, str(missing.fault)) == ("failed", "Cluster east does not answer.")

    @pytest.mark.parametrize("status", ["waiting", "reported", "rebuilding", "failed"])
    def test_nobody_goes_back_before(self, missing: Unreplicated, status: str) -> None:
        Unreplicated.objects.update(status=status)
        with pytest.raises(
            Busy, match=f"east was lost in switch {missing.switch.key} and is not rebuilt yet"
        ):
            overlaps.refuse_overlap(self.BACK)

    def test_whoever_has_a_mirror_again_goes_back(self, missing: Unreplicated, rebuilt: list[str]) -> None:
        unreplicated.carry_out(missing)
        overlaps.refuse_overlap(replace(self.BACK, mirrors=("carts",)))
        with pytest.raises(Busy):
            overlaps.refuse_overlap(self.BACK)
        Unreplicated.objects.update(status=Unreplicated.Status.REBUILT)
        overlaps.refuse_overlap(self.BACK)

    def test_it_is_not_decided_while_a_switch_holds_its_mirrors(
        self, missing: Unreplicated, ask: Any, people: dict[str, User]
    ) -> None:
        Unreplicated.objects.update(status=Unreplicated.Status.REBUILT)
        ask()
        Unreplicated.objects.update(status=Unreplicated.Status.REPORTED)
        with pytest.raises(Busy, match="holds part of this radius"):
            unreplicated.ask_to_rebuild(
                people["rita"], missing.switch, "east", "Sent again", lambda missing: None
            )

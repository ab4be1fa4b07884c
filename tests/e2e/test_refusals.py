"""What cannot be done is refused with the reason, and nothing is changed by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from support.waiting import eventually

from hadash.bindings.store import BindingStore
from hadash.kafka.connect import ConnectClient
from hadash_sandbox.demo import Demo
from hadash_sandbox.errors import SandboxError
from hadash_sandbox.person import Person
from hadash_sandbox.trial import Trial

pytestmark = pytest.mark.stack


@pytest.fixture
def nothing_changes(bindings: BindingStore) -> Iterator[None]:
    """The bindings and their epoch are the same afterwards."""
    before = bindings.epoch(), bindings.documents()
    yield
    assert (bindings.epoch(), bindings.documents()) == before


def other_side(bindings: BindingStore, appid: str, instance: str) -> str:
    binding = bindings.document(appid).instances.get(instance)
    return "west" if binding is None or binding.cluster == "east" else "east"


@pytest.mark.usefixtures("nothing_changes")
class TestRequests:
    def test_unknown_appid(self, trial: Trial) -> None:
        answer = trial.operator.post(
            "switches/request/", appid="999999", scope="appid", instance="", target="west", reason="?"
        )
        assert answer.status_code == 404
        assert "AppID" in answer.text

    def test_instance_that_is_bound_to_the_target_already(self, trial: Trial, bindings: BindingStore) -> None:
        here = "east" if other_side(bindings, "shop", "shop-stock") == "west" else "west"
        with pytest.raises(SandboxError, match=f"shop › shop-stock is bound to {here} already"):
            trial.operator.request("shop", "shop-stock", here, "It is there.")

    def test_topic_that_no_mirror_carries(self, trial: Trial) -> None:
        answer = trial.operator.post(
            "switches/request/",
            appid=trial.operator.appid("shop"),
            scope="topics",
            topics="shop.carts, shop.typo",
            target="west",
            reason="A new Topic.",
        )
        assert answer.status_code == 409
        assert "No mirror carries shop.typo. Create one first." in answer.text

    def test_without_a_reason(self, trial: Trial, bindings: BindingStore) -> None:
        with pytest.raises(SandboxError, match="Say why"):
            trial.operator.request("shop", "shop-stock", other_side(bindings, "shop", "shop-stock"), " ")

    def test_pair_with_a_dead_cluster(self, dead_cluster: None, trial: Trial) -> None:
        with pytest.raises(SandboxError, match="Cluster west does not answer"):
            trial.operator.request("billing", None, "west", "West is dead.")

    def test_mirror_that_is_not_running(
        self, mirror_stopped: str, trial: Trial, bindings: BindingStore
    ) -> None:
        with pytest.raises(SandboxError, match="Mirror stock is not running"):
            trial.operator.request(
                "shop", "shop-stock", other_side(bindings, "shop", "shop-stock"), mirror_stopped
            )

    @pytest.mark.parametrize("fault", ["dead_cluster", "mirror_stopped", "topic_without_mirror", None])
    def test_the_plan_says_what_the_request_is_refused_for(
        self, fault: str | None, request: pytest.FixtureRequest, trial: Trial, bindings: BindingStore
    ) -> None:
        """Or that nobody knows: with a fault it is never without blockers, and without one neither has any."""
        if fault is not None:
            request.getfixturevalue(fault)
        scope = {"kind": "instance", "appid": "shop", "instance_id": "shop-stock"}
        if fault == "topic_without_mirror":
            scope = {"kind": "topics", "topics": ["shop.stock", "shop.typo"]}
        asked = {"pair": "main", "scope": scope, "target": other_side(bindings, "shop", "shop-stock")}
        plan = outcome(trial.operator, "plans/", asked)
        made = outcome(trial.operator, "switches/", {**asked, "reason": "Is it so?"})
        if fault is None:
            trial.operator.post(f"switches/{made['key']}/cancel/", reason="It was.")
            assert (plan["checks"], plan["blockers"]) == ("hold", [])
        elif "blockers" in plan:
            assert plan["checks"] != "hold"
            assert facts(made["reasons"]) <= facts(plan["blockers"])
        else:
            assert facts(plan["reasons"]) == facts(made["reasons"]), "it could not even be planned"


def facts(sentences: list[str]) -> set[str]:
    """Without the words of Kafka's client, which calls the same silence a timeout or a failure of the transport."""
    return {sentence.split(":")[0] for sentence in sentences}


def outcome(person: Person, path: str, asked: dict[str, Any]) -> dict[str, Any]:
    """What the API answers, also when it refuses."""
    found: dict[str, Any] = person.answer("POST", path, asked).json()
    return found


@pytest.fixture
def dead_cluster(demo: Demo, trial: Trial, bindings: BindingStore) -> Iterator[None]:
    """West's broker answers nobody; afterwards hadash has seen that it answers again (its first questions find
    connections that have broken meanwhile)."""
    broker = demo.stack.kafka["west"].brokers[0]
    broker.pause()
    yield
    broker.resume()
    scope = {"kind": "instance", "appid": "shop", "instance_id": "shop-stock"}
    asked = {"pair": "main", "scope": scope, "target": other_side(bindings, "shop", "shop-stock")}
    eventually(
        lambda: outcome(trial.operator, "plans/", asked).get("checks") == "hold",
        "an answer of west",
        patience=60,
        every=1,
    )


@pytest.fixture
def topic_without_mirror() -> None:
    """The name of one is mistyped."""


@pytest.fixture
def mirror_stopped(demo: Demo) -> Iterator[str]:
    """The one of stock; why a switch is asked for all the same."""
    connect = ConnectClient(demo.environment()["CONNECT_URL"])
    name = next(n for n in connect.names() if ".stock." in n and connect.status(n).running)
    connect.stop(name)
    eventually(lambda: connect.status(name).stopped, "the mirror's end", patience=30)
    yield "Its mirror is stopped."
    connect.resume(name)
    eventually(lambda: connect.status(name).running, "the mirror's beginning", patience=30)
    connect.close()


class TestTwoPeople:
    @pytest.fixture
    def requested(self, trial: Trial, bindings: BindingStore) -> Iterator[str]:
        """A request that waits for approval; it is cancelled afterwards."""
        target = other_side(bindings, "shop", "shop-stock")
        key = trial.operator.request("shop", "shop-stock", target, "Somebody has to look at it.")
        yield key
        trial.operator.post(f"switches/{key}/cancel/", reason="not today")

    def test_second_switch_on_the_same_radius(
        self, trial: Trial, bindings: BindingStore, requested: str
    ) -> None:
        with pytest.raises(
            SandboxError, match=f"Switch {requested} of shop › shop-stock .* holds part of this radius"
        ):
            trial.operator.request("shop", "shop-stock", other_side(bindings, "shop", "shop-stock"), "Again.")

    def test_requester_cannot_approve(self, trial: Trial, requested: str) -> None:
        assert trial.operator.approve(requested).status_code == 403
        assert trial.operator.state(requested)["status"] == "awaiting_approval"

    def test_approver_cannot_request(self, trial: Trial) -> None:
        answer = trial.approver.post(
            "switches/request/",
            appid=trial.approver.appid("shop"),
            scope="instance",
            instance="shop-stock",
            target="west",
            reason="I want to.",
        )
        assert answer.status_code == 403

    def test_approving_another_plan_than_the_one_shown(self, trial: Trial, requested: str) -> None:
        answer = trial.approver.post(f"switches/{requested}/approve/", plan_digest="0" * 32)
        assert answer.status_code == 409
        assert "plan has changed" in answer.text
        assert trial.operator.state(requested)["status"] == "awaiting_approval"

    def test_decline_needs_a_reason_and_ends_the_request(self, trial: Trial, requested: str) -> None:
        assert trial.approver.post(f"switches/{requested}/decline/", reason="").status_code == 409
        trial.approver.post(f"switches/{requested}/decline/", reason="Not today.").raise_for_status()
        assert trial.operator.state(requested)["status"] == "declined"

    def test_nobody_gets_in_without_signing_in(self, demo: Demo) -> None:
        answer = httpx.get(demo.url, trust_env=False)
        assert answer.status_code == 302
        assert "sign-in" in answer.headers["location"]

    def test_wrong_password(self, demo: Demo) -> None:
        with pytest.raises(SandboxError, match="could not sign in"):
            Person(demo.url, "olga", "not the password")

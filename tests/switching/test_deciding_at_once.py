"""Two people who decide on the same request at the same moment, each with a connection of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.models import User
from django.db import connection

from hadash.accounts.roles import ensure_roles, ensure_user
from hadash.inventory.models import Cluster, Pair
from hadash.refusals import Refused
from hadash.switching import checking, requests
from hadash.switching.approvals import decisions
from hadash.switching.models.switches import Switch

from .waiting import nobody_starts
from .world import WHOLE

pytestmark = [pytest.mark.stack, pytest.mark.django_db(transaction=True)]

ROUNDS = 5


@pytest.fixture
def people(transactional_db: None) -> dict[str, User]:
    ensure_roles()
    roles = {"olga": "operator", "arne": "approver", "bea": "approver"}
    return {name: ensure_user(name, "secret-123", role) for name, role in roles.items()}


@pytest.fixture
def ask(people: dict[str, User], monkeypatch: pytest.MonkeyPatch) -> Callable[[], Switch]:
    for module in (requests, decisions):
        monkeypatch.setattr(module, "plan_for", lambda *_: WHOLE)
    monkeypatch.setattr(checking, "check_now", lambda plan: None)
    east, west = (
        Cluster.objects.create(name=name, number=number) for number, name in enumerate(("east", "west"), 1)
    )
    pair = Pair.objects.create(name="main", first=east, second=west, default=east)

    def make() -> Switch:
        Switch.objects.filter(status="running").update(status="succeeded")
        return requests.submit(
            requests.SwitchRequest(people["olga"], pair, WHOLE.scope, west, "Upgrade"), nobody_starts
        )

    return make


def at_once(*actions: Callable[[], object]) -> list[str]:
    """What came of each: "done", or why it was refused."""
    together = threading.Barrier(len(actions))

    def action(one: Callable[[], object]) -> str:
        try:
            together.wait()
            one()
        except Refused as refusal:
            return str(refusal)
        else:
            return "done"
        finally:
            connection.close()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(action, actions))


def test_it_runs_once_however_many_approve(ask: Callable[[], Switch], people: dict[str, User]) -> None:
    for _ in range(ROUNDS):
        switch, started = ask(), list[str]()

        def approve(name: str, switch: Switch = switch, started: list[str] = started) -> None:
            decisions.approve(people[name], switch, WHOLE.digest, lambda s: started.append(s.key))

        said = at_once(lambda: approve("arne"), lambda: approve("bea"))
        assert said.count("done") == 1, said
        assert started == [switch.key]
        assert switch.approvals.count() == 1


def test_it_is_approved_or_cancelled_and_never_both(
    ask: Callable[[], Switch], people: dict[str, User]
) -> None:
    for _ in range(ROUNDS):
        switch, started = ask(), list[str]()
        said = at_once(
            lambda: decisions.approve(people["arne"], switch, WHOLE.digest, lambda s: started.append(s.key)),  # noqa: B023
            lambda: decisions.cancel(people["olga"], switch, "Not today."),  # noqa: B023
        )
        assert said.count("done") == 1, said
        switch.refresh_from_db()
        assert (switch.status, started) in [("running", [switch.key]), ("cancelled", [])]

"""The commands against hadash's own API, in this process; tests/e2e has them against a running one."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from api.conftest import people, planned, started
from dashboard.conftest import (
    dialect,
    engines,
    finished,
    fleet,
    handed,
    make_batch,
    make_change,
    make_switch,
    plan,
    quick,
)
from django.test import Client
from rich.console import Console

from hadash.accounts import tokens
from hadash.accounts.roles import SCOPES
from hadash.cli import bindings
from hadash.cli.__main__ import ASKED_BY_KIND, _asked, _parser, main
from hadash.cli.client import Api
from hadash.identity.identity import Identity
from hadash.radius.nodes import node_of
from hadash.radius.scope import Member, Scope, ScopeKind, member_key
from hadash.refusals import Refused
from hadash.sentences import say
from hadash.switching import checking, requests
from hadash.switching.machines.switches import KINDS, Kind
from hadash.switching.models.batches import Batch
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.plan import Plan, PoolTopic
from hadash.switching.planning.overlaps import Holder
from hadash.switching.planning.radius import PlanProposal
from hadash.switching.refusals import EnginesAway

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

Run = Callable[..., tuple[int, str]]


class InProcess(httpx.BaseTransport):
    """Hands requests to Django. ``lost`` answers are thrown away after the work was done."""

    def __init__(self) -> None:
        self.lost = 0
        #: What a proxy answers instead, the work having been done; the next one first.
        self.proxied: list[int] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = {
            name: value for name, value in request.headers.items() if name not in ("content-length", "host")
        }
        answer = Client().generic(
            request.method,
            str(request.url.raw_path, "ascii"),
            request.read(),
            "application/json",
            headers=headers,
        )
        if self.lost:
            self.lost -= 1
            raise httpx.ReadError("the connection was reset")
        if self.proxied:
            return httpx.Response(self.proxied.pop(0), text="<h1>Bad gateway</h1>")
        return httpx.Response(answer.status_code, headers=dict(answer.headers), content=answer.content)


@pytest.fixture
def transport() -> InProcess:
    return InProcess()


@pytest.fixture
def run(people: SimpleNamespace, transport: InProcess) -> Iterator[Run]:
    """Run a command as one of the people: (exit code, what it printed)."""

    def command(name: str, *arguments: str, typed: str | Callable[[object], str] = "") -> tuple[int, str]:
        _, secret = tokens.issue(getattr(people, name), "cli", list(SCOPES), 1)
        printed = io.StringIO()
        console = Console(file=printed, width=200)
        console.input = typed if callable(typed) else lambda prompt: typed  # type: ignore[method-assign]
        code = main(arguments, console, Api("http://testserver", secret, transport=transport))
        return code, printed.getvalue()

    yield command


WANTED = ("--pair", "main", "--appid", "shop", "--to", "west")


def test_the_plan(run: Run, fleet: Any, planned: None, plan: Plan) -> None:
    code, text = run("vera", "plan", *WANTED)
    assert code == 0
    assert f"shop: east → west  {plan.digest}" in text
    assert "shop writes to it" in text
    assert "Not in the mirror yet: 7 records." in text
    assert "Consumer pools" not in text


def test_the_plan_names_the_consumer_pools_that_move(
    run: Run, fleet: Any, planned: None, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = replace(plan, pools=(PoolTopic("billing", "carts", "invoices"),))
    monkeypatch.setattr("hadash.api.views.switches.proposal_for", lambda *_: PlanProposal(read))
    _, text = run("vera", "plan", *WANTED)
    assert "Consumer pools whose members move: billing › carts" in text


@pytest.mark.parametrize(
    ("refusal", "code"), [(Refused(say("No mirror.")), 1), (EnginesAway(say("Connect is away.")), 3)]
)
def test_a_plan_that_could_not_be_checked_is_no_plan_that_is_refused(
    run: Run, fleet: Any, planned: None, monkeypatch: pytest.MonkeyPatch, refusal: Refused, code: int
) -> None:
    def check(plan: Plan) -> None:
        raise refusal

    monkeypatch.setattr(checking, "check_now", check)
    assert run("vera", "plan", *WANTED)[0] == code


def test_a_plan_that_is_held_says_so(run: Run, planned: None, make_switch: Any) -> None:
    switch = make_switch()
    code, text = run("vera", "plan", *WANTED)
    assert code == 1
    assert f"switch {switch.key} holds part of it" in text


def test_from_the_request_to_the_run(
    run: Run,
    fleet: Any,
    planned: None,
    plan: Plan,
    started: list[str],
    django_capture_on_commit_callbacks: Any,
) -> None:
    code, text = run("olga", "request", *WANTED, "--reason", "Upgrade", "--plan", plan.digest)
    switch = Switch.objects.get()
    assert code == 0
    assert f"{switch.key}: The switch is requested." in text
    assert switch.key in run("arne", "list", "--inbox", "waiting")[1]
    code, text = run("arne", "approve", switch.key, typed="no")
    assert (code, "Nothing was approved." in text) == (1, True)
    assert run("olga", "approve", switch.key, "--plan", plan.digest)[0] == 1
    with django_capture_on_commit_callbacks(execute=True):
        code, text = run("arne", "approve", switch.key, typed=switch.key)
    assert code == 0
    assert started == [switch.key]
    assert run("olga", "abort", switch.key)[0] == 0
    assert "olga asked to abort." in run("vera", "show", switch.key)[1]


def test_a_read_split(
    run: Run, fleet: Any, planned: None, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    split = replace(plan, kind=Kind.READ_SPLIT)
    monkeypatch.setattr(
        "hadash.api.views.switches.proposal_for", lambda *asked: PlanProposal(replace(plan, kind=asked[3]))
    )
    monkeypatch.setattr("hadash.switching.requests.plan_for", lambda *_: split)
    code, text = run("vera", "plan", *WANTED, "--kind", "read-split")
    assert (code, "Readers wait for about 0.4 s." in text) == (0, True)
    assert "Writes wait" in run("vera", "plan", *WANTED)[1]
    code, text = run(
        "olga", "request", *WANTED, "--reason", "Load", "--kind", "read-split", "--pause-after-precheck"
    )
    switch = Switch.objects.get()
    assert f"{switch.key}: The switch is requested. Somebody else has to approve it." in text
    assert (switch.the_kind, switch.pause_after_precheck) == (Kind.READ_SPLIT, True)
    code, text = run("arne", "approve", switch.key, typed="no")
    assert "Readers wait for about" in text, "the plan that is shown is one of the same kind"


def test_every_kind_but_the_way_back_is_asked_for_by_its_name() -> None:
    assert set(ASKED_BY_KIND) == set(Kind) - {Kind.RESTORE}, "of a restore the switch has to be named"
    for kind in ASKED_BY_KIND:
        options = _parser().parse_args(["request", *WANTED, "--reason", "Load", "--kind", kind])
        assert _asked(options)["kind"] == kind


@pytest.mark.parametrize("kind", [kind for kind, spec in KINDS.items() if spec.confirm])
def test_what_loses_records_or_runs_at_once_wants_the_name_once_more(
    run: Run, fleet: Any, planned: None, kind: Kind
) -> None:
    who = "rita" if kind is Kind.FORCED else "olga"
    code, text = run(who, "request", *WANTED, "--reason", "It burns", "--kind", kind)
    assert code == 1
    assert f"Type {'east' if kind.spec.confirm == 'source' else 'west'} to confirm" in text
    assert not Switch.objects.exists()


def test_watching_a_read_split_that_has_ended(run: Run, finished: Switch) -> None:
    Switch.objects.filter(pk=finished.pk).update(kind=Kind.READ_SPLIT.value)
    text = run("vera", "watch", finished.key)[1]
    assert "Readers waited for 0.30 s." in text
    assert "catch" in text
    assert "reverse" not in text


def test_watching_one_that_has_ended(run: Run, finished: Switch) -> None:
    code, text = run("vera", "watch", finished.key)
    assert code == 0
    assert "✓ precheck" in text
    assert "Writes were refused for 0.30 s." in text


def test_a_lost_answer_is_asked_for_again(
    run: Run,
    transport: InProcess,
    fleet: Any,
    planned: None,
) -> None:
    transport.lost = 1
    code, _ = run("olga", "request", *WANTED, "--reason", "Upgrade")
    assert code == 0
    assert Switch.objects.count() == 1, "carried out once"


def test_nobody_answers(run: Run, transport: InProcess) -> None:
    transport.lost = 99
    code, text = run("olga", "request", *WANTED, "--reason", "Upgrade")
    assert code == 3
    assert "does not answer" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "nothing"), "There is no switch nothing."),
        (("plan", "--pair", "main", "--to", "west"), "scope.appid: Needed for this kind."),
        (("plan", "--pair", "none", "--to", "west", "--appid", "shop"), "There is no pair none."),
        (("request", *WANTED, "--reason", "x"), "You may not request switches."),
    ],
)
def test_what_stands_against_it(
    run: Run,
    fleet: Any,
    planned: None,
    arguments: tuple[str, ...],
    said: str,
) -> None:
    code, text = run("vera", *arguments)
    assert code == 1
    assert said in text


def test_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HADASH_TOKEN", raising=False)
    printed = io.StringIO()
    assert main(["list"], Console(file=printed)) == 2
    assert "HADASH_TOKEN" in printed.getvalue()


@pytest.mark.parametrize(
    ("token", "url", "said"),
    [
        ("令牌", "http://127.0.0.1:1", "HADASH_TOKEN is no token"),
        ("hadash_secret\n", "http://127.0.0.1:1", "HADASH_TOKEN is no token"),
        ("hadash_secret", "foo", "'foo' is no address of hadash"),
        ("hadash_secret", "http://", "'http://' is no address of hadash"),
    ],
)
def test_what_cannot_be_a_token_or_an_address_is_said_without_the_token(
    monkeypatch: pytest.MonkeyPatch, token: str, url: str, said: str
) -> None:
    monkeypatch.setenv("HADASH_TOKEN", token)
    printed = io.StringIO()
    assert main(["--url", url, "list"], Console(file=printed, width=200)) == 2
    assert said in printed.getvalue()
    assert "secret" not in printed.getvalue()


def test_it_imports_no_django() -> None:
    import subprocess
    import sys

    check = "import sys, hadash.cli.__main__; sys.exit('django' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check]).returncode == 0


def test_a_restore_takes_what_a_switch_has_moved_back(
    run: Run, finished: Switch, planned: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hadash.bindings.model import Binding
    from hadash.switching.recovery import restoring

    monkeypatch.setattr(
        restoring, "bound_to", lambda pair, plan: {i: Binding("west") for i in plan.identities}
    )
    code, text = run("olga", "restore", finished.key, "--reason", "It is slow there")
    restore = Switch.objects.get(kind="restore")
    assert (code, restore.restores, restore.target.name) == (0, finished, "east")
    assert f"{restore.key}: Going back is requested." in text


def test_a_migration_and_what_becomes_of_the_old_topics(
    run: Run, fleet: SimpleNamespace, planned: None, finished: Switch
) -> None:
    from hadash.switching.retirement.services import switch_ended

    asked = ("--pair", "main", "--appid", "shop", "--to", "west", "--reason", "West is newer")
    code, text = run("olga", "request", *asked, "--kind", "migration", "--retire-after-days", "9")
    assert (code, Switch.objects.get(kind="migration").retire_after_days) == (0, 9)
    assert "Somebody else has to approve it." in text
    finished.kind, finished.retire_after_days = "migration", 9
    finished.save()
    switch_ended(finished)
    assert "Old Topics on east: waiting, deleted on " in run("olga", "show", finished.key)[1]
    code, text = run("olga", "postpone", finished.key, "--days", "5", "--reason", "The quarter ends")
    assert (code, Retirement.objects.get().postponed) == (0, 1)
    code, text = run("olga", "retire", finished.key, "--confirm", "west")
    assert code == 1
    assert "Type east to confirm" in text
    assert run("olga", "keep", finished.key, "--reason", "The auditors want them")[0] == 0
    assert "kept. olga keeps the old Topics on east" in run("olga", "show", finished.key)[1]


def test_bindings_by_hand(
    run: Run, fleet: Any, dialect: Any, handed: list[str], django_capture_on_commit_callbacks: Any
) -> None:
    code, text = run("olga", "bind", *WANTED[:4], "--instance", "shop-carts", "--reason", "One known client")
    change = BindingChange.objects.get()
    assert code == 0
    assert f"Change {change.key} is requested. Somebody else has to approve it." in text
    assert "shop+shop-carts" in run("arne", "changes", "--inbox", "waiting")[1]
    code, text = run("arne", "approve-change", change.key, typed="no")
    assert (code, "Nothing was approved." in text, handed) == (1, True, [])
    with django_capture_on_commit_callbacks(execute=True):
        code, text = run("arne", "approve-change", change.key, typed=change.key)
    assert (code, handed) == (0, [change.key])


def test_what_cannot_be_unbound_says_why(run: Run, fleet: Any, dialect: Any) -> None:
    code, text = run("olga", "unbind", *WANTED[:4], "--group", "readers", "--reason", "x")
    assert code == 1
    assert "shop##readers has no binding of its own to remove." in text


def test_a_change_declined_and_another_taken_back(run: Run, make_change: Any) -> None:
    one, other = make_change(), make_change()
    assert run("arne", "decline-change", one.key, "--reason", "Not now")[0] == 0
    assert "cancelled" in run("olga", "cancel-change", other.key, "--reason", "not today")[1]


class TestBatches:
    WEST = ("--pair", "main", "--to", "west")

    def test_the_plan_of_a_whole_cluster(self, run: Run, fleet: Any, planned: None) -> None:
        code, text = run("vera", "batch", "plan", *self.WEST, "--wave-size", "2")
        assert code == 0
        assert "5 radii in 3 waves: east → west, at most 4 at once" in text
        assert "ant" in text

    def test_from_a_list_to_its_end(
        self,
        run: Run,
        people: SimpleNamespace,
        fleet: Any,
        planned: None,
        started: list[str],
        tmp_path: Path,
        django_capture_on_commit_callbacks: Any,
    ) -> None:
        names = tmp_path / "names.txt"
        names.write_text("bee; 2\nant; 1\n")
        code, text = run(
            "olga", "batch", "request", *self.WEST, "--list", str(names), "--reason", "Relocation"
        )
        assert code == 0, text
        batch = Batch.objects.get()
        assert f"Batch {batch.key} is requested." in text
        assert [(item.wave, str(item.scope)) for item in batch.items.all()] == [(1, "ant"), (2, "bee")]
        assert batch.key in run("arne", "batch", "list", "--inbox", "waiting")[1]
        code, text = run("arne", "batch", "approve", batch.key, typed="something else")
        assert (code, "Nothing was approved." in text) == (1, True)
        with django_capture_on_commit_callbacks(execute=True):
            code, text = run("arne", "batch", "approve", batch.key, typed=batch.key)
        assert code == 0, text
        assert started == [batch.key]
        run("olga", "batch", "stop", batch.key)
        code, text = run("olga", "batch", "end", batch.key, "--reason", "Enough")
        assert "olga ended it before all had moved: Enough" in text
        code, text = run("vera", "batch", "watch", batch.key)
        assert (code, "olga requested the batch (radii: 2, waves: 2)." in text) == (1, True)

    def test_what_failed_is_shown_and_left_out(
        self, run: Run, people: SimpleNamespace, make_batch: Any, started: list[str]
    ) -> None:
        batch = make_batch("stopped")
        outcome = {"text": "Mirror %(mirror)s is not running.", "values": {"mirror": "shop"}}
        batch.items.filter(position=1).update(status="failed", outcome=outcome)
        assert (
            "Topic topic-1 failed: Mirror shop is not running." in run("vera", "batch", "show", batch.key)[1]
        )
        assert run("olga", "batch", "resume", batch.key, "--without")[0] == 1, "it takes a reason"
        assert run("olga", "batch", "resume", batch.key, "--without", "--reason", "Retired")[0] == 0
        batch.refresh_from_db()
        assert batch.status == "running"

    @pytest.mark.parametrize(("content", "expected"), [(b"ant; two", 1), (b"\xff\xfe", 2)])
    def test_a_list_that_cannot_be_read_is_not_sent(
        self, run: Run, fleet: Any, planned: None, tmp_path: Path, content: bytes, expected: int
    ) -> None:
        names = tmp_path / "names.txt"
        names.write_bytes(content)
        code, text = run("olga", "batch", "plan", *self.WEST, "--list", str(names))
        assert code == expected
        assert "Line 1: write a name" in text or "cannot be read" in text


def test_what_a_proxy_answers_is_a_lost_answer(
    run: Run, transport: InProcess, fleet: Any, planned: None
) -> None:
    transport.proxied = [502, 504]
    assert run("olga", "request", *WANTED, "--reason", "Upgrade")[0] == 0
    assert Switch.objects.count() == 1, "carried out once"


@pytest.mark.parametrize("code", [500, 502, 504])
def test_what_a_proxy_answers_again_and_again_is_not_refused(
    run: Run, transport: InProcess, fleet: Any, planned: None, code: int
) -> None:
    transport.proxied = [code] * 3
    assert run("olga", "request", *WANTED, "--reason", "Upgrade")[0] == 3


def test_watching_outlasts_what_a_proxy_answers(run: Run, transport: InProcess, finished: Switch) -> None:
    transport.proxied = [502, 503, 504]
    assert run("vera", "watch", finished.key)[0] == 0


def test_names_are_no_markup(
    run: Run, fleet: Any, planned: None, plan: Plan, make_switch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = (
        Member(member_key(node_of(Identity("shop", "web[blue]"))), "appid:shop", "instance"),
        Member("topic:[/x]", "appid:shop", "produce"),
    )
    monkeypatch.setattr(
        "hadash.api.views.switches.proposal_for", lambda *_: PlanProposal(replace(plan, members=members))
    )
    text = run("vera", "plan", *WANTED)[1]
    assert "web[blue]" in text
    assert "[/x]" in text
    make_switch(asked=Scope(ScopeKind.TOPICS, topics=("[/x]", "web[blue]")).to_json())
    assert "Topics [/x], web[blue]" in run("vera", "list")[1]


def test_names_in_a_change_of_bindings_are_no_markup() -> None:
    change = {
        "key": "k",
        "status": "applied",
        "digest": "d",
        "reason": "[/r]",
        "edits": [{"identity": "[/x]", "cluster": None}],
        "outcome": [],
    }
    console = Console(file=io.StringIO(), width=200)
    console.print(bindings.shown(change))
    assert "[/x]" in console.file.getvalue()  # type: ignore[attr-defined]


def test_changes_say_that_there_are_more(run: Run, make_change: Any) -> None:
    for _ in range(51):
        make_change()
    assert "51 in all; these are the newest." in run("arne", "changes")[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("batch", "plan", "--pair", "main", "--to", "west", "--list"),
        ("declarations", "import", "--pair", "main"),
    ],
)
def test_a_file_that_there_is_not(run: Run, fleet: Any, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    missing = tmp_path / "missing.txt"
    code, text = run("olga", *arguments, str(missing))
    assert (code, f"{missing} cannot be read: No such file" in text.replace("\n", " ")) == (2, True), text


def test_nobody_can_type(
    run: Run, planned: None, make_switch: Any, make_batch: Any, make_change: Any
) -> None:
    def nobody(prompt: object) -> str:
        raise EOFError

    for command, made, flag in (
        (("approve",), make_switch(), "--plan"),
        (("approve-change",), make_change(), "--digest"),
        (("batch", "approve"), make_batch(), "--digest"),
    ):
        code, text = run("arne", *command, made.key, typed=nobody)
        assert (code, f"approve it with {flag}" in text) == (2, True), text


def test_a_batch_that_holds_part_of_it_is_told_as_one(
    run: Run, planned: None, make_batch: Any, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = make_batch()
    holder = Holder(batch, plan.scope, plan)
    monkeypatch.setattr("hadash.api.representations.overlaps.overlapping", lambda plan: holder)
    code, text = run("vera", "plan", *WANTED)
    assert (code, f"✗ batch {batch.key} holds part of it" in text) == (1, True), text

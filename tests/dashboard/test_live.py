"""The live switch: what the snapshot says, and what the stream sends."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import Group, User
from django.contrib.sessions.models import Session
from django.db import OperationalError, connections
from django.test import AsyncClient, Client, RequestFactory
from django.urls import reverse
from django.utils import timezone, translation

from dashboard.parts import NASTY, PASSWORD, cluster
from hadash.accounts.models import PairRole
from hadash.accounts.roles import ensure_user
from hadash.dashboard.views import broadcast, stream, streaming
from hadash.dashboard.views.broadcast import Broadcast, News
from hadash.inventory.models import Pair
from hadash.presentation import engines as engines_module
from hadash.presentation import live
from hadash.presentation.engines import Engines, SharedLook
from hadash.sentences import say
from hadash.switching.models.switches import StageRecord, Switch, log_event

stack = pytest.mark.stack


#: When the stages of these tests began.
BEGAN = timezone.now()


def record(stage: str, begin: float, end: float | None, result: str = "done") -> StageRecord:
    now = BEGAN
    return StageRecord(
        stage=stage,
        result=result,
        started_at=now + timedelta(seconds=begin),
        ended_at=None if end is None else now + timedelta(seconds=end),
    )


def test_rto_is_from_block_to_forward() -> None:
    records = [record("quiesce", 0, 3), record("block", 3, 3.1), record("forward", 3.2, 3.3)]
    assert live.refused_seconds(records) == pytest.approx(0.3, abs=1e-3)
    assert live.refused_seconds(records[:2]) is None
    assert live.refused_seconds(records[:1]) is None


def test_rto_of_a_return() -> None:
    records = [record("block", 0, 1), record("drain", 1, 2, "failed"), record("return", 2, 2.5)]
    assert live.refused_seconds(records) == pytest.approx(2.5, abs=1e-3)


def test_rpo_is_said_only_when_proved() -> None:
    assert live.proved_equal([record("drain", 0, 1)])
    assert not live.proved_equal([record("drain", 0, 1, "failed")])


def test_a_gap_in_the_samples_is_no_pause() -> None:
    def sample(at: float, produced: int) -> dict[str, Any]:
        return {"at": at, "clusters": {"east": [produced, 0]}}

    steady = [sample(i / 2, 3) for i in range(6)]
    assert live.longest_pause(steady) == 0
    paused = [*steady, sample(3.0, 0), sample(3.5, 0), sample(4.0, 5)]
    assert live.longest_pause(paused) == pytest.approx(1.0)
    gap = [*steady, sample(20.0, 5), sample(20.5, 5)]
    assert live.longest_pause(gap) == 0
    assert live.longest_pause([]) is None


def test_the_rail_shows_the_newest_attempt_and_a_return_only_when_taken() -> None:
    records = [
        record("precheck", 0, 1),
        record("quiesce", 1, 2, "interrupted"),
        record("quiesce", 2, None, "running"),
    ]
    steps = live.steps(records)
    assert [step.stage.value for step in steps][-1] == "verify"
    quiesce = next(step for step in steps if step.stage == "quiesce")
    assert (quiesce.result, quiesce.attempts) == ("running", 2)
    phases = live.phases([*records, record("return", 3, 4)])
    assert [phase["name"] for phase in phases] == ["block", "forward", "verify", "return"]


def test_a_look_that_hangs_is_given_up_and_shared() -> None:
    import threading

    release, calls = threading.Event(), []

    def read() -> int:
        calls.append(1)
        release.wait(5)
        return 1

    look = SharedLook(read)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            look.get(patience=0.01)
    release.set()
    assert look.get(patience=2) == 1
    assert len(calls) == 1


@stack
def test_the_real_zookeeper_answers() -> None:
    look = engines_module.look()
    assert look.fault == ""
    assert look.epoch is not None


@stack
@pytest.mark.django_db
def test_state_json_for_scripts(as_vera: Client, finished: Switch) -> None:
    said = as_vera.get(reverse("switch-state", args=[finished.key])).json()
    assert said["key"] == finished.key
    assert said["status"] == "succeeded"
    assert said["requested_by"] == "olga" and said["decided_by"] == "arne"
    assert said["plan_digest"] == finished.plan_digest
    assert said["outcome"] == "Every client works on west (2 in all)."
    assert said["stages"][0].keys() >= {
        "stage",
        "phase",
        "result",
        "started_at",
        "ended_at",
        "seconds",
        "sentence",
    }
    assert said["log"][0]["sentence"] == "olga requested the switch."
    assert said["refused_seconds"] == pytest.approx(0.3, abs=1e-3)


@stack
@pytest.mark.django_db
def test_clients_of_the_switch(make_switch: Any, engines: SimpleNamespace) -> None:
    switch = make_switch()
    said = live.clients(switch)
    assert {c["id"]: c["registered"] for c in said["clients"]} == {
        "shop-carts": True,
        "购物车": True,
        NASTY: False,
    }
    assert said["clients"][0]["produced"] == pytest.approx(4 / live.SAMPLE_SECONDS)
    assert said["gateways"] == [
        {"id": "gateway-1", "live": True, "excluded": False, "answers": True, "applied": 7}
    ]


@stack
@pytest.mark.django_db
def test_a_client_is_where_its_connections_are_in_use(make_switch: Any, engines: SimpleNamespace) -> None:
    def connection(client_id: str, cluster: str, away: bool) -> dict[str, Any]:
        there = {"appid": "shop", "client_id": client_id, "cluster": cluster, "away": away}
        return {**there, "parked": "", "library": "x", "host": "h"}

    engines.clients = [
        *[connection("web-home", "west", True)] * 2,
        connection("web-home", "east", False),
        connection("web-late", "east", True),
    ]
    where = {client["client_id"]: client["clusters"] for client in live.clients(make_switch())["clients"]}
    assert where == {"web-home": {"east": 1}, "web-late": {"east": 1}}


@stack
@pytest.mark.django_db
def test_no_gateway_means_unknown_not_zero(make_switch: Any, engines: SimpleNamespace) -> None:
    engines.look = Engines(fault="away")
    assert live.clients(make_switch()) == {"fault": "away", "epoch": None, "gateways": [], "clients": []}


@pytest.fixture
async def as_vera_async(people: SimpleNamespace, one_thread: Any) -> AsyncIterator[AsyncClient]:
    """Vera, signed in; the connections of the threads that serve synchronous code are closed in the end."""
    loop = asyncio.get_running_loop()
    loop.set_default_executor(ThreadPoolExecutor(max_workers=1))  # where Django renders an error page
    client = AsyncClient()
    await client.aforce_login(people.vera)
    yield client
    await sync_to_async(connections.close_all)()
    await loop.run_in_executor(None, connections.close_all)


def parse(raw: bytes) -> list[tuple[str, str | None, Any]]:
    found = []
    for block in raw.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "event" in fields:
            found.append((fields["event"], fields.get("id"), json.loads(fields["data"])))
    return found


def told(news: list[News], user: Any) -> list[tuple[str, str | None, Any]]:
    """What one viewer gets of some news."""
    viewer = viewer_of(user)
    events = [b"".join(each.of_viewer(viewer)) if each.of_viewer else each.data for each in news]
    return parse(b"".join(events))


def viewer_of(user: Any, switch: Switch | None = None) -> stream.SwitchViewer:
    request = RequestFactory().get("/")
    request.user = User.objects.get(pk=user.pk)
    request.META["CSRF_COOKIE"] = f"{user.username:x<32}"
    viewer = stream.SwitchViewer(request, switch.key if switch else "")
    if switch is not None:
        viewer.rights = stream.SwitchBroadcast("en", switch.key).rights([user.pk]).get(user.pk)
    return viewer


@stack
@pytest.mark.django_db(transaction=True)
def test_what_has_changed_is_told_once(
    people: SimpleNamespace, make_switch: Any, engines: SimpleNamespace
) -> None:
    switch = make_switch("running", stage="quiesce", started_at=timezone.now())
    engines.samples = [{"at": timezone.now().timestamp(), "parked": 0, "clusters": {"east": [4, 2]}}]
    with translation.override("zh-hans"):
        watched = stream.SwitchBroadcast("zh-hans", switch.key)
        watched.look()
        watched.look_aside()
        first = told(watched.greeting(0), people.vera)
        assert [name for name, _, _ in first] == [
            "state",
            "parts",
            "counts",
            "log",
            "mirror",
            "clients",
            "behind",
            "traffic",
        ]
        assert "仍待复制" in first[6][2]["behind"]
        state, shown = first[0][2], first[1][2]
        assert state["stage"] == "quiesce" and state["digest"] == shown["of"]
        assert set(shown["parts"]) == {"head", "rail", "result"}
        assert first[3][2]["sentence"] == "olga 申请了切换。"
        assert "csrfmiddlewaretoken" not in shown["parts"]["head"]  # a viewer has nothing to send
        assert watched.look() == [] and watched.look_aside() == []

        Switch.objects.filter(pk=switch.pk).update(stage="block")
        log_event(switch, say("It goes on."))
        again = told(watched.look(), people.vera)
        assert [name for name, _, _ in again] == ["state", "log", "parts"] and again[0][2]["blocked"]

        resumed = told(watched.greeting(int(again[1][1] or 0)), people.vera)
        assert [name for name, _, _ in resumed] == [
            "state",
            "parts",
            "counts",
            "mirror",
            "clients",
            "behind",
            "traffic",
        ]


@stack
@pytest.mark.django_db(transaction=True)
def test_who_may_do_the_same_is_told_the_same_with_a_token_of_their_own(
    people: SimpleNamespace,
    make_switch: Any,
    engines: SimpleNamespace,
    django_assert_max_num_queries: Any,
) -> None:
    switch = make_switch("running", stage="precheck", started_at=timezone.now())
    bea = ensure_user("bea", PASSWORD, "approver", "Bea Approver")
    parts = stream.Parts(switch, "digest")

    def head(user: Any) -> str:
        [(_, _, said)] = parse(b"".join(parts.of(viewers[user.pk])))
        return str(said["parts"]["head"])

    viewers = {user.pk: viewer_of(user, switch) for user in (people.arne, bea, people.vera)}

    def token(html: str) -> str:
        [found] = set(re.findall(r'csrfmiddlewaretoken" value="([^"]+)"', html))
        return str(found)

    of_arne = head(people.arne)
    with django_assert_max_num_queries(0):
        of_bea = head(bea)
    assert token(of_arne) != token(of_bea)
    assert of_arne.replace(token(of_arne), "") == of_bea.replace(token(of_bea), "")
    assert "csrfmiddlewaretoken" not in head(people.vera)


@stack
@pytest.mark.django_db(transaction=True)
async def test_many_viewers_are_one_look(
    as_vera_async: AsyncClient, make_switch: Any, engines: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []
    look = stream.SwitchBroadcast.look

    def counted(self: stream.SwitchBroadcast) -> list[News]:
        looks.append(self.key)
        return look(self)

    monkeypatch.setattr(stream.SwitchBroadcast, "look", counted)
    monkeypatch.setattr(stream, "POLL_SECONDS", 3600.0)  # (however long they all take to come)
    switch = await sync_to_async(make_switch)("paused", started_at=timezone.now())
    address = reverse("switch-stream", args=[switch.key])
    viewers = []
    for _ in range(30):
        response = await as_vera_async.get(address)
        chunks = aiter(response.streaming_content)
        while b"event: state" not in await anext(chunks):
            pass
        viewers.append(chunks)
    assert looks == [switch.key]
    for chunks in viewers:
        await chunks.aclose()


@stack
@pytest.mark.django_db(transaction=True)
async def test_the_stream_ends_after_the_switch(
    as_vera_async: AsyncClient, finished: Switch, engines: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "LAST_SECONDS", 0.05)
    response = await as_vera_async.get(reverse("switch-stream", args=[finished.key]))
    assert response["Content-Type"] == "text/event-stream"
    assert response["X-Accel-Buffering"] == "no"
    raw = b"".join([chunk async for chunk in response.streaming_content])
    events = parse(raw)
    assert events[0][0] == "state" and events[0][2]["status"] == "succeeded"
    assert events[-1][0] == "end"


@stack
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    "loss", ["kept out", "signed out", "another password", "role taken", "role on another pair only"]
)
async def test_a_stream_ends_with_the_rights_of_its_viewer(
    as_vera_async: AsyncClient,
    people: SimpleNamespace,
    make_switch: Any,
    engines: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
    loss: str,
) -> None:
    """Else a page that was left open would go on for ten minutes."""
    monkeypatch.setattr(streaming, "RIGHTS_SECONDS", 0.0)
    switch = await sync_to_async(make_switch)("running", stage="quiesce", started_at=timezone.now())
    response = await as_vera_async.get(reverse("switch-stream", args=[switch.key]))
    chunks = aiter(response.streaming_content)
    while b"event: state" not in await anext(chunks):
        pass

    def lose() -> None:
        if loss == "kept out":
            User.objects.filter(pk=people.vera.pk).update(is_active=False)
        elif loss == "signed out":
            Session.objects.all().delete()
        elif loss == "another password":
            people.vera.set_password("another-password-of-hers")
            people.vera.save()
        else:
            people.vera.groups.clear()
        if loss == "role on another pair only":
            first, second = cluster("north", 3), cluster("south", 4)
            other = Pair.objects.create(name="other", first=first, second=second, default=first)
            PairRole.objects.create(user=people.vera, pair=other, group=Group.objects.get(name="viewer"))
        Switch.objects.filter(pk=switch.pk).update(stage="block")  # there is news that she may not have

    await sync_to_async(lose)()
    async for chunk in chunks:  # (what was read before may still come)
        assert b"event: state" not in chunk, "she was told what she may not see"
        assert b"event: end" not in chunk, "the switch goes on"


class Told(Broadcast):
    """Tells one thing, and may be seen by nobody any more."""

    poll_seconds = 0.0

    def __init__(self) -> None:
        super().__init__("en")

    def look(self) -> list[News]:
        return [News(b"secret")]

    def greeting(self, after: int) -> list[News]:
        return []

    def rights(self, users: Any) -> Any:
        return {}


async def test_while_nobody_knows_who_may_see_it_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcast, "UNKNOWN_SECONDS", 0.0)
    monkeypatch.setattr(streaming, "RIGHTS_SECONDS", 0.0)
    monkeypatch.setattr(broadcast, "close_old_connections", lambda: None)
    asked: list[set[str]] = []

    def signed_in(keys: set[str]) -> dict[str, User]:
        asked.append(keys)
        if len(asked) < 3:
            raise OperationalError("PostgreSQL is away")
        return {}

    monkeypatch.setattr(broadcast, "signed_in", signed_in)
    request = SimpleNamespace(session=SimpleNamespace(session_key="of vera"), user=User(pk=7))
    told = Told()
    queue = await told.join(stream.SwitchViewer(request, "a-switch"))  # type: ignore[arg-type]
    assert await queue.get() is None, "she is signed out, and the stream ends without a word of it"
    assert asked == [{"of vera"}] * 3


@stack
@pytest.mark.django_db(transaction=True)
async def test_a_stream_of_nothing_is_not_found(as_vera_async: AsyncClient) -> None:
    assert (await as_vera_async.get(reverse("switch-stream", args=["nothing"]))).status_code == 404

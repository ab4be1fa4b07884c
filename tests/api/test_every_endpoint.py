"""Every endpoint of the API and every page × every role: who gets in and who does not.

The tables are the specification. An endpoint that is not in them fails the first test.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.parts import PASSWORD, cluster, gateway, signed_in
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver
from django.utils import timezone

from hadash.accounts.models import PairRole
from hadash.accounts.roles import ON_ALL_PAIRS, REQUEST, SCOPES, ensure_user
from hadash.dashboard.engines import Engines
from hadash.governance.models import Finding, Run
from hadash.inventory.models import AppID, Declaration, InstanceID, Pair
from hadash.switching.drafts.models import RequestDraft
from hadash.switching.models import Blackout

from .conftest import NAMES, Program

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

ROLES = tuple(NAMES.values())
EVERYBODY = frozenset(ROLES)
ASKING = frozenset({"requester", "operator"})
REQUESTING = ASKING | {"rescuer"}
INVOLVED = REQUESTING | {"approver"}
RESCUER = frozenset({"rescuer"})
OPERATOR, APPROVER, ADMINISTRATOR = (
    frozenset({"operator"}),
    frozenset({"approver"}),
    frozenset({"administrator"}),
)

GOVERNING = OPERATOR | ADMINISTRATOR

#: (method, address under /api/v1/) → who may. ``{…}`` stands for what the fixtures have made.
API: dict[tuple[str, str], frozenset[str]] = {
    ("GET", "openapi.json"): EVERYBODY,
    ("GET", "me/"): EVERYBODY,
    ("GET", "tokens/"): EVERYBODY,
    # Only at a browser: see TOKENS below.
    ("POST", "tokens/"): frozenset(),
    ("DELETE", "tokens/{token}/"): EVERYBODY,
    ("GET", "people/"): ADMINISTRATOR,
    ("POST", "people/"): ADMINISTRATOR,
    ("PUT", "people/{username}/"): ADMINISTRATOR,
    ("POST", "people/{username}/roles/"): ADMINISTRATOR,
    ("DELETE", "people/{username}/roles/"): ADMINISTRATOR,
    ("GET", "pairs/"): EVERYBODY,
    ("GET", "pairs/{pair}/rules/"): EVERYBODY,
    ("PATCH", "pairs/{pair}/rules/"): ADMINISTRATOR,
    ("GET", "pairs/{pair}/blackouts/"): EVERYBODY,
    ("POST", "pairs/{pair}/blackouts/"): ADMINISTRATOR,
    ("DELETE", "pairs/{pair}/blackouts/{blackout}/"): ADMINISTRATOR,
    ("GET", "appids/"): EVERYBODY,
    ("GET", "appids/{appid}/"): EVERYBODY,
    ("PATCH", "appids/{appid}/"): GOVERNING,
    ("POST", "appids/{appid}/instances/"): ASKING,
    ("DELETE", "appids/{appid}/instances/"): ASKING,
    ("POST", "appids/{appid}/instances/generate/"): ASKING,
    ("GET", "appids/{appid}/access/"): EVERYBODY,
    ("GET", "appids/{appid}/bindings/"): EVERYBODY,
    ("POST", "appids/{appid}/declarations/"): ASKING,
    ("POST", "appids/{appid}/declarations/adopt/"): ASKING,
    ("DELETE", "appids/{appid}/declarations/{declaration}/"): ASKING,
    ("GET", "pairs/{pair}/declarations/"): EVERYBODY,
    ("POST", "pairs/{pair}/declarations/import/"): ASKING,
    ("GET", "pairs/{pair}/declarations/export/"): EVERYBODY,
    ("GET", "binding-changes/"): EVERYBODY,
    ("POST", "binding-changes/"): REQUESTING,
    ("POST", "binding-changes/preview/"): EVERYBODY,
    ("GET", "binding-changes/{change}/"): EVERYBODY,
    ("POST", "binding-changes/{change}/approve/"): APPROVER,
    ("POST", "binding-changes/{change}/decline/"): APPROVER,
    ("POST", "binding-changes/{change}/cancel/"): REQUESTING,
    ("GET", "gateways/"): EVERYBODY,
    ("POST", "gateways/{gateway}/exclude/"): OPERATOR,
    ("POST", "gateways/{gateway}/include/"): OPERATOR,
    ("POST", "plans/"): EVERYBODY,
    ("GET", "switches/"): EVERYBODY,
    ("POST", "switches/"): REQUESTING,
    ("GET", "switches/{switch}/"): EVERYBODY,
    ("GET", "switches/{switch}/log/"): EVERYBODY,
    ("POST", "switches/{switch}/approve/"): APPROVER,
    ("POST", "switches/{switch}/decline/"): APPROVER,
    ("POST", "switches/{switch}/cancel/"): REQUESTING,
    ("POST", "switches/{switch}/go/"): INVOLVED,
    ("POST", "switches/{switch}/review/"): APPROVER,
    ("POST", "switches/{switch}/give-up/"): RESCUER,
    ("POST", "switches/{switch}/rebuild/"): RESCUER,
    ("POST", "switches/{switch}/abort/"): INVOLVED,
    ("POST", "switches/{switch}/retry/"): OPERATOR,
    ("POST", "switches/{switch}/close/"): OPERATOR,
    ("POST", "switches/{switch}/put-off/"): OPERATOR,
    ("POST", "switches/{switch}/keep/"): OPERATOR,
    ("POST", "switches/{switch}/retire/"): OPERATOR,
    ("POST", "switches/{switch}/comment/"): INVOLVED,
    # One's own: whoever may not request any more still sees them, and can discard them at a browser.
    ("GET", "drafts/"): EVERYBODY,
    ("POST", "drafts/"): REQUESTING,
    ("GET", "drafts/{draft}/"): EVERYBODY,
    ("PUT", "drafts/{draft}/"): REQUESTING,
    ("DELETE", "drafts/{draft}/"): REQUESTING,
    ("POST", "batch-plans/"): EVERYBODY,
    ("GET", "batches/"): EVERYBODY,
    ("POST", "batches/"): REQUESTING,
    ("GET", "batches/{batch}/"): EVERYBODY,
    ("GET", "batches/{batch}/items/"): EVERYBODY,
    ("GET", "batches/{batch}/log/"): EVERYBODY,
    ("POST", "batches/{batch}/approve/"): APPROVER,
    ("POST", "batches/{batch}/decline/"): APPROVER,
    ("POST", "batches/{batch}/cancel/"): REQUESTING,
    ("POST", "batches/{batch}/stop/"): INVOLVED,
    ("POST", "batches/{batch}/go-on/"): OPERATOR,
    ("POST", "batches/{batch}/end/"): OPERATOR | RESCUER,
    ("GET", "findings/"): EVERYBODY,
    ("GET", "findings/{finding}/"): EVERYBODY,
    ("POST", "findings/{finding}/accept/"): GOVERNING,
    ("POST", "findings/{finding}/withdraw/"): GOVERNING,
    ("GET", "governance-rules/"): EVERYBODY,
    ("GET", "scores/"): EVERYBODY,
    ("GET", "tables/coverage/over-time/"): EVERYBODY,
    ("GET", "tables/{table}/"): EVERYBODY,
    ("GET", "jobs/"): EVERYBODY,
    ("PATCH", "jobs/{job}/"): ADMINISTRATOR,
    ("POST", "jobs/{job}/run/"): GOVERNING,
    ("GET", "runs/"): EVERYBODY,
    ("GET", "runs/{run}/"): EVERYBODY,
    ("GET", "runs/{run}/changes/"): EVERYBODY,
    ("GET", "audit/"): EVERYBODY,
}

#: (method, address of a page) → who may.
PAGES: dict[tuple[str, str], frozenset[str]] = {
    ("GET", ""): EVERYBODY,
    ("GET", "appids/"): EVERYBODY,
    ("GET", "appids/{appid}/"): EVERYBODY,
    ("POST", "appids/{appid}/critical/"): GOVERNING,
    ("POST", "appids/{appid}/instances/"): ASKING,
    ("POST", "appids/{appid}/instances/generate/"): ASKING,
    ("GET", "appids/{appid}/instances/{instance}/unregister/"): ASKING,
    ("POST", "appids/{appid}/instances/{instance}/unregister/"): ASKING,
    ("GET", "appids/{appid}/bindings/change/"): REQUESTING,
    ("POST", "appids/{appid}/bindings/change/"): REQUESTING,
    ("GET", "appids/{appid}/bindings/preview/"): EVERYBODY,
    ("GET", "binding-changes/{change}/"): EVERYBODY,
    ("POST", "binding-changes/{change}/approve/"): APPROVER,
    ("POST", "binding-changes/{change}/decline/"): APPROVER,
    ("POST", "binding-changes/{change}/cancel/"): REQUESTING,
    ("POST", "appids/{appid}/declarations/"): ASKING,
    ("POST", "appids/{appid}/declarations/adopt/"): ASKING,
    ("POST", "appids/{appid}/declarations/{declaration}/withdraw/"): ASKING,
    ("GET", "pairs/{pair_pk}/declarations/"): EVERYBODY,
    ("GET", "pairs/{pair_pk}/declarations/export.csv"): EVERYBODY,
    ("POST", "pairs/{pair_pk}/declarations/import/"): ASKING,
    ("GET", "switches/"): EVERYBODY,
    ("GET", "switches/request/"): REQUESTING,
    ("POST", "switches/request/"): REQUESTING,
    ("GET", "switches/request/preview/"): EVERYBODY,
    ("POST", "switches/drafts/{draft}/discard/"): EVERYBODY,
    ("GET", "switches/{switch}/"): EVERYBODY,
    ("GET", "switches/{switch}/state.json"): EVERYBODY,
    ("GET", "switches/{switch}/standing/"): EVERYBODY,
    ("POST", "switches/{switch}/approve/"): APPROVER,
    ("POST", "switches/{switch}/decline/"): APPROVER,
    ("POST", "switches/{switch}/cancel/"): REQUESTING,
    ("POST", "switches/{switch}/comment/"): INVOLVED,
    ("POST", "switches/{switch}/go/"): INVOLVED,
    ("POST", "switches/{switch}/review/"): APPROVER,
    ("POST", "switches/{switch}/give-up/"): RESCUER,
    ("POST", "switches/{switch}/rebuild/"): RESCUER,
    ("POST", "switches/{switch}/abort/"): INVOLVED,
    ("POST", "switches/{switch}/retry/"): OPERATOR,
    ("POST", "switches/{switch}/close/"): OPERATOR,
    ("POST", "switches/{switch}/put-off/"): OPERATOR,
    ("POST", "switches/{switch}/keep/"): OPERATOR,
    ("POST", "switches/{switch}/retire/"): OPERATOR,
    ("GET", "batches/"): EVERYBODY,
    ("GET", "batches/new/"): REQUESTING,
    ("POST", "batches/new/"): REQUESTING,
    ("GET", "batches/{batch}/"): EVERYBODY,
    ("POST", "batches/{batch}/approve/"): APPROVER,
    ("POST", "batches/{batch}/decline/"): APPROVER,
    ("POST", "batches/{batch}/cancel/"): REQUESTING,
    ("POST", "batches/{batch}/stop/"): INVOLVED,
    ("POST", "batches/{batch}/go-on/"): OPERATOR,
    ("POST", "batches/{batch}/end/"): OPERATOR | RESCUER,
    ("GET", "pairs/{pair_pk}/rules/"): EVERYBODY,
    ("POST", "pairs/{pair_pk}/rules/"): ADMINISTRATOR,
    ("POST", "pairs/{pair_pk}/blackouts/"): ADMINISTRATOR,
    ("POST", "blackouts/{blackout}/end/"): ADMINISTRATOR,
    ("GET", "gateways/exclude/"): OPERATOR,
    ("POST", "gateways/exclude/"): OPERATOR,
    ("GET", "tokens/"): EVERYBODY,
    ("POST", "tokens/"): EVERYBODY,
    ("GET", "people/"): ADMINISTRATOR,
    ("POST", "people/"): ADMINISTRATOR,
    ("POST", "people/{user_pk}/role/"): ADMINISTRATOR,
    ("POST", "people/{user_pk}/let-in/"): ADMINISTRATOR,
    ("GET", "governance/risks/"): EVERYBODY,
    ("GET", "governance/risks/{finding}/"): EVERYBODY,
    ("POST", "governance/risks/{finding}/accept/"): GOVERNING,
    ("POST", "governance/risks/{finding}/withdraw/"): GOVERNING,
    ("GET", "governance/rules/"): EVERYBODY,
    ("GET", "governance/tables/{table}/"): EVERYBODY,
    ("GET", "pipeline/"): EVERYBODY,
    ("GET", "pipeline/runs/{run}/"): EVERYBODY,
    ("GET", "pipeline/runs/{run}/compare/"): EVERYBODY,
    ("POST", "pipeline/jobs/{job}/run/"): GOVERNING,
    ("POST", "pipeline/jobs/{job}/schedule/"): ADMINISTRATOR,
    ("GET", "audit/"): EVERYBODY,
    ("GET", "audit/export.jsonl"): EVERYBODY,
}

#: Pages that have nothing to do with roles: tested where they belong.
OPEN = {"sign-in/", "sign-in/oidc/", "sign-in/oidc/return/", "sign-out/", "language/", "tokens/*/revoke/"}

#: The stream of a switch never ends: tests/dashboard/test_live.py reads it.
ENDLESS = {"switches/<slug:key>/stream/"}

#: Whatever has no address of its own.
ELSEWHERE = {"api/v1/"}


@pytest.fixture
def things(
    estate: Any,
    people: SimpleNamespace,
    engines: Any,
    planned: None,
    started: list[str],
    make_switch: Any,
    make_change: Any,
    make_batch: Any,
    dialect: Any,
    handed: list[str],
    plan: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> dict[str, Any]:
    """What the places of the addresses stand for, and bodies that are as described."""
    from hadash.api.views import gateways as gateways_api
    from hadash.switching import gateways

    monkeypatch.setattr(gateways_api, "gateway_members", lambda: [])
    monkeypatch.setattr(gateways, "gateway_members", lambda: [gateway("gateway-9", live=False)])
    monkeypatch.setattr(gateways, "set_excluded", lambda client, gateway, excluded: None)
    monkeypatch.setattr(gateways, "zookeeper", lambda: None)
    switch, change, batch = make_switch(), make_change(), make_batch()
    blackout = Blackout.objects.create(
        pair=estate.pair, begins="2030-01-01T00:00Z", ends="2030-01-02T00:00Z", reason="Holiday"
    )
    declaration = Declaration.objects.create(
        appid=estate.shop, kind="produce", resource="orders", source="hand"
    )
    somebody = ensure_user("somebody", PASSWORD, "viewer")
    now = timezone.now()
    finding = Finding.objects.create(
        pair="main",
        code="acks-not-all",
        appid="shop",
        name="web",
        weight=10,
        first_at=now,
        opened_at=now,
        last_run=1,
    )
    return {
        "finding": finding.pk,
        "table": "coverage",
        "job": "risk",
        "run": Run.objects.create(job="risk", state="published", began_at=now, ended_at=now).pk,
        "switch": switch.key,
        "change": change.key,
        "batch": batch.key,
        "batch_digest": batch.digest,
        "way": f"{estate.pair.pk}:west",
        "change_digest": change.digest,
        "instance": InstanceID.objects.get(name="shop-carts").pk,
        "appid": estate.shop.pk,
        "pair": "main",
        "pair_pk": estate.pair.pk,
        "blackout": blackout.pk,
        "declaration": declaration.pk,
        "gateway": "gateway-9",
        "username": "somebody",
        "user_pk": somebody.pk,
        "digest": plan.digest,
        "draft": 0,
    }


def draft_of(user: User) -> RequestDraft:
    """From when they could still request."""
    return RequestDraft.objects.create(
        owner=user, pair=Pair.objects.get(name="main"), saved_at=timezone.now()
    )


def bodies(things: dict[str, Any]) -> dict[str, Any]:
    """By the last word of an address: what is sent there."""
    return {
        "plans": {"pair": "main", "scope": {"kind": "appid", "appid": "shop"}, "target": "west"},
        "switches": {
            "pair": "main",
            "scope": {"kind": "appid", "appid": "shop"},
            "target": "west",
            "reason": "x",
        },
        "approve": {"plan_digest": things["digest"], "digest": things["change_digest"]},
        "binding-changes": {"pair": "main", "appid": "shop", "bind": [{}], "reason": "x"},
        "preview": {"pair": "main", "appid": "shop", "bind": [{}]},
        "generate": {"topics": ["orders"]},
        "batch-plans": {"pair": "main", "target": "west"},
        "batches": {"pair": "main", "target": "west", "reason": "x"},
        "decline": {"reason": "x"},
        "cancel": {"reason": "x"},
        "end": {"reason": "x"},
        "close": {"reason": "x"},
        "review": {"reason": "x"},
        "give-up": {"confirm": "west", "reason": "x"},
        "rebuild": {"confirm": "east", "note": "x"},
        "put-off": {"days": 7, "reason": "x"},
        "keep": {"reason": "x"},
        "retire": {"confirm": "east"},
        "comment": {"text": "x"},
        "instances": {"name": "new-one"},
        "exclude": {"confirm": "gateway-9", "reason": "x"},
        "blackouts": {"begins": "2030-02-01T00:00Z", "ends": "2030-02-02T00:00Z", "reason": "x"},
        "declarations": {"topics": ["orders"], "kinds": ["consume"]},
        "adopt": {},
        "import": {"csv": "appid,instance_id,kind,resource,note\nshop,,consume,orders,\n"},
        "rules": {"approvals": 2},
        "people": {"username": "new", "password": "a-long-password"},
        "somebody": {"active": False},
        "roles": {"role": "viewer", "pair": None},
        "tokens": {"name": "x"},
        "accept": {"until": f"{timezone.now():%Y-%m-%d}", "reason": "x"},
        "risk": {"enabled": False},
    }


def body_of(things: dict[str, Any], path: str) -> Any:
    """What is sent to an address (to those that end alike: what the thing before it needs)."""
    word = path.rstrip("/").rpartition("/")[2]
    if path.startswith("batches/") and word == "approve":
        return {"digest": things["batch_digest"]}
    if path.startswith("appids/") and path.count("/") == 2:
        return {"critical": True}
    if path.startswith("drafts/"):
        return {"pair": "main", "typed": {"reason": "x"}}
    return bodies(things).get(word)


def routes(resolver: Any, before: str = "") -> Iterator[tuple[str, URLPattern]]:
    for entry in resolver.url_patterns:
        if isinstance(entry, URLResolver):
            yield from routes(entry, before + str(entry.pattern))
        else:
            yield before + str(entry.pattern), entry


def shape(address: str) -> str:
    """An address with every place as ``*``: from the tables (``{x}``) or from Django's (``<slug:x>``)."""
    words = [("*" if word[:1] in ("{", "<") else word) for word in address.split("/")]
    return "/".join(words)


def test_no_endpoint_is_missing_here() -> None:
    told = {("api/v1/" + shape(address)) for _, address in API} | {shape(address) for _, address in PAGES}
    known = {shape(address) for address, _ in routes(get_resolver()) if address not in ENDLESS | ELSEWHERE}
    assert known - told == OPEN
    assert told - known == set()


def test_no_method_of_the_api_is_missing_here() -> None:
    told = {(method, shape(address)) for method, address in API}
    known = {
        (method.upper(), shape(address.removeprefix("api/v1/")))
        for address, route in routes(get_resolver())
        if address.startswith("api/v1/") and address not in ELSEWHERE
        for method in ("get", "post", "put", "patch", "delete")
        if hasattr(getattr(route.callback, "view_class"), method)  # noqa: B009
    }
    assert known == told


@pytest.mark.parametrize(("method", "address"), [*API], ids=lambda value: str(value))
def test_api(things: dict[str, Any], people: SimpleNamespace, method: str, address: str) -> None:
    for name, role in NAMES.items():
        user = User.objects.get(username=name)
        program = Program(user, list(SCOPES))
        token = user.tokens.get()  # type: ignore[attr-defined]
        path = address.format(**{**things, "draft": draft_of(user).pk}, token=token.pk)
        body = body_of(things, path)
        if method == "DELETE" and path.endswith("roles/"):
            path, body = f"{path}?role=viewer", None
        if method == "DELETE" and path.endswith("instances/"):
            path, body = f"{path}?name=shop-carts", None
        answer = program.send(method, path, body)
        allowed = role in API[method, address]
        assert (answer.status_code not in (401, 403, 404)) is allowed, (
            role,
            answer.status_code,
            answer.content,
        )
        assert answer.status_code < 500


@pytest.mark.parametrize(("method", "address"), [*API], ids=lambda value: str(value))
def test_api_without_any_role(things: dict[str, Any], method: str, address: str) -> None:
    nobu = Program(User.objects.create_user("nobu"), list(SCOPES))
    own = ("openapi.json", "me/", "tokens/", "tokens/{token}/")
    answer = nobu.send(method, address.format(**things, token=0), body_of(things, address))
    if address in own:
        return
    if answer.status_code == 200:
        assert answer.json() in ([], {"count": 0, "next": None, "previous": None, "results": []})
    else:
        assert answer.status_code in (403, 404)


@pytest.mark.parametrize(("method", "address"), [*API], ids=lambda value: str(value))
def test_api_for_nobody(things: dict[str, Any], method: str, address: str) -> None:
    answer = Client().generic(method, f"/api/v1/{address.format(**things, token=0)}")
    assert answer.status_code == 401


@pytest.mark.parametrize(("method", "address"), [*PAGES], ids=lambda value: str(value))
def test_pages(things: dict[str, Any], people: SimpleNamespace, method: str, address: str) -> None:
    forms = {
        "request": {"appid": things["appid"], "scope": "appid", "target": "west", "reason": "x"},
        "preview": {"appid": things["appid"]},
        "approve": {"plan_digest": things["digest"], "digest": things["change_digest"]},
        "change": {"act": "bind", "kind": "appid", "reason": "x"},
        "generate": {"topics": "orders"},
        "new": {"way": things["way"], "reason": "x"},
        "exclude": {"gateway": "gateway-9", "typed": "gateway-9", "reason": "x"},
        "rules": {"approvals": 2},
        "blackouts": {"begins": "2030-02-01T00:00", "ends": "2030-02-02T00:00", "reason": "x"},
        "instances": {"name": "new-one"},
        "role": {"act": "give", "role": "viewer"},
    }
    for name, role in NAMES.items():
        user = User.objects.get(username=name)
        client = signed_in(user)
        path = "/" + address.format(**{**things, "draft": draft_of(user).pk})
        values = forms.get(path.rstrip("/").rpartition("/")[2], {"reason": "x", "text": "x"})
        if path.startswith("/batches/") and path.endswith("approve/"):
            values = {"digest": things["batch_digest"]}
        answer = (
            client.generic(method, path)
            if method == "GET" and "preview" not in path
            else (client.get(path, values) if method == "GET" else client.post(path, values))
        )
        allowed = role in PAGES[method, address]
        assert (answer.status_code not in (403, 404)) is allowed, (role, answer.status_code)
        assert answer.status_code < 500


@pytest.mark.parametrize(("method", "address"), [*PAGES], ids=lambda value: str(value))
def test_pages_for_nobody(things: dict[str, Any], method: str, address: str) -> None:
    answer = Client().generic(method, "/" + address.format(**things))
    assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/sign-in/")


def test_a_role_on_one_pair_reaches_nothing_of_another(
    things: dict[str, Any], estate: Any, json_estate: dict[str, Any]
) -> None:
    mara = User.objects.create_user("mara")
    for role in ("operator", "approver", "administrator"):
        PairRole.objects.create(user=mara, group=Group.objects.get(name=role), pair=json_estate["pair"])
    program = Program(mara, list(SCOPES))
    for method, address in API:
        if not {"{switch}", "{change}", "{batch}", "{appid}", "{pair}"} & set(address.split("/")):
            continue
        answer = program.send(method, address.format(**things), body_of(things, address))
        assert answer.status_code == 404, (method, address, answer.status_code)
    page = signed_in(mara)
    for method, address in PAGES:
        places = {"{switch}", "{change}", "{batch}", "{appid}", "{pair_pk}", "{blackout}"}
        if not places & set(address.split("/")):
            continue
        answer = page.generic(method, "/" + address.format(**things))
        assert answer.status_code == 404, (method, address, answer.status_code)
    assert [pair["name"] for pair in program.get("pairs/").json()] == ["other"]
    for listed in ("switches/", "batches/", "appids/"):
        assert program.get(listed).json()["count"] == 0
    assert program.post("switches/", bodies(things)["switches"]).status_code == 404
    assert program.get("audit/").status_code == 403, "it holds what happens on all pairs"
    text = json.dumps(program.get("switches/").json())
    assert things["switch"] not in text


def test_links_that_a_role_on_one_pair_does_not_open_are_not_shown(
    things: dict[str, Any], json_estate: dict[str, Any]
) -> None:
    client, program = one_pair(json_estate["pair"])
    text = client.get("/").content.decode()
    for address in ("/audit/", "/people/", "/gateways/exclude/"):
        assert f'href="{address}' not in text
        assert client.get(address).status_code == 403
    permissions = set(program.get("me/").json()["permissions"])
    assert permissions & ON_ALL_PAIRS == set()
    assert REQUEST in permissions


def test_the_same_appid_in_two_pairs_is_two(
    things: dict[str, Any], engines: Any, json_estate: dict[str, Any]
) -> None:
    """Gateways serve all pairs: what they say of ``shop`` is mostly about the other one."""
    engines.look = Engines({}, 7, (gateway(),))
    other = json_estate["pair"]
    AppID.objects.create(name="shop", pair=other)
    own = {"appid": "shop", "client_id": "shop-north", "cluster": "north", "parked": ""}
    engines.clients.append(own)
    shop = AppID.objects.get(name="shop", pair=other)
    client, _ = one_pair(other)
    text = client.get(f"/appids/{shop.pk}/").content.decode()
    assert "shop-north" in text
    assert "shop-carts" not in text
    assert "east" not in text
    main, _ = one_pair(Pair.objects.get(name="main"), "mona")
    for address in (
        f"/switches/{things['switch']}/",
        f"/appids/{things['appid']}/",
        f"/switches/request/preview/?appid={things['appid']}",
    ):
        text = main.get(address).content.decode()
        assert "shop-carts" in text
        assert "north" not in text, address
        assert "south" not in text, address


def one_pair(pair: Pair, name: str = "mira") -> tuple[Client, Program]:
    """Somebody with three roles on one pair: at a browser, and as a program."""
    user = User.objects.create_user(name)
    for role in ("operator", "approver", "administrator"):
        PairRole.objects.create(user=user, group=Group.objects.get(name=role), pair=pair)
    return signed_in(user), Program(user, list(SCOPES))


#: What no table and no number takes.
BAD = ("%00", "a%00b", "²", "9" * 30, "0000000011000000", "-1")

#: Addresses that ask for something, with ``{bad}`` where it is said.
ASKED = (
    "appids/?q={bad}",
    "appids/?page={bad}",
    "appids/{appid}/bindings/change/?instance={bad}",
    "appids/{appid}/bindings/change/?topics={bad}&kind=topics",
    "appids/{appid}/bindings/change/?group={bad}",
    "appids/{appid}/bindings/change/?unbind={bad}",
    "appids/{appid}/bindings/change/?unbind=shop%2B{bad}",
    "appids/{appid}/bindings/preview/?instance={bad}",
    "appids/{appid}/bindings/preview/?act=unbind&unbind=shop%2B{bad}",
    "switches/?q={bad}",
    "switches/?status={bad}",
    "switches/?inbox={bad}",
    "switches/?page={bad}",
    "switches/request/?appid={bad}",
    "switches/request/?pair={bad}",
    "switches/request/?appid={appid}&restores={bad}",
    "switches/request/?appid={appid}&instance={bad}",
    "switches/request/?appid={appid}&topics={bad}",
    "switches/request/?appid={appid}&scope=several&roots=appid:{bad}",
    "switches/request/?appid={appid}&target={bad}",
    "switches/request/?appid={appid}&retire_after_days={bad}",
    "switches/request/preview/?appid={appid}&instance={bad}",
    "switches/request/preview/?appid={appid}&retire_after_days={bad}",
    "batches/?status={bad}",
    "batches/?page={bad}",
    "batches/new/?way={bad}",
    "batches/{batch}/?wave={bad}",
    "batches/{batch}/?status={bad}",
    "pairs/{pair_pk}/declarations/?q={bad}",
    "pairs/{pair_pk}/declarations/?state={bad}",
    "pairs/{pair_pk}/declarations/export.csv?q={bad}",
    "gateways/exclude/?gateway={bad}",
    "people/?q={bad}",
    "people/?page={bad}",
    "audit/?q={bad}",
    "audit/?actor={bad}",
    "api/v1/appids/?q={bad}",
    "api/v1/appids/?pair={bad}",
    "api/v1/appids/?page={bad}",
    "api/v1/appids/?page_size={bad}",
    "api/v1/appids/{appid}/bindings/?page={bad}",
    "api/v1/appids/{appid}/access/?page_size={bad}",
    "api/v1/pairs/{pair}/declarations/?q={bad}",
    "api/v1/switches/?appid={bad}",
    "api/v1/switches/?topic={bad}",
    "api/v1/switches/?pair={bad}",
    "api/v1/switches/{switch}/log/?after={bad}",
    "api/v1/batches/?page_size={bad}",
    "api/v1/batches/{batch}/items/?wave={bad}",
    "api/v1/batches/{batch}/log/?after={bad}",
    "api/v1/binding-changes/?appid={bad}",
    "api/v1/people/?page={bad}",
    "api/v1/tokens/?page_size={bad}",
    "api/v1/findings/?pair={bad}&code={bad}&severity={bad}&show={bad}&appid={bad}",
    "api/v1/tables/coverage/?pair={bad}&q={bad}&sort={bad}",
    "api/v1/tables/coverage/over-time/?pair={bad}&appid={bad}",
    "api/v1/runs/?job={bad}",
    "api/v1/runs/{run}/changes/?since={bad}",
    "governance/risks/?pair={bad}&code={bad}&severity={bad}&show={bad}&q={bad}&page={bad}",
    "governance/tables/radii/?pair={bad}&q={bad}&sort={bad}&page={bad}",
    "governance/tables/edges/?q={bad}&format=csv",
    "pipeline/?job={bad}&page={bad}",
    "pipeline/runs/{run}/compare/?with={bad}",
    "api/v1/audit/?q={bad}",
    "api/v1/audit/?actor={bad}",
    "api/v1/audit/?after={bad}",
)


@pytest.mark.parametrize("bad", BAD)
def test_what_nobody_can_mean_is_no_fault(things: dict[str, Any], bad: str) -> None:
    client = signed_in(User.objects.create_superuser("root"))
    client.raise_request_exception = False
    said = {address: client.get("/" + address.format(**things, bad=bad)).status_code for address in ASKED}
    assert {address: code for address, code in said.items() if code >= 500} == {}
    answer = client.put(f"/api/v1/people/{bad}/", {"active": False}, "application/json")
    assert answer.status_code == 404
    answer = client.get(f"/api/v1/appids/?page_size={bad}")
    assert answer.status_code == 400


@pytest.mark.parametrize("bad", ["a\0b", "²", "9" * 30])
def test_a_form_that_nobody_can_mean_is_no_fault(things: dict[str, Any], bad: str) -> None:
    client = signed_in(User.objects.create_superuser("root"))
    client.raise_request_exception = False
    names = (
        "reason text confirmed typed note name topics groups group instance instance_id days approvals digest"
    )
    names += " plan_digest restores role username password gateway one chosen unbind way names act wave kind scope until cron enabled"
    said = {}
    for method, address in PAGES:
        if method != "POST":
            continue
        for values in (dict.fromkeys(names.split(), bad), {"reason": bad}, {"topics": "orders", "one": bad}):
            code = client.post("/" + address.format(**things), values).status_code
            if code >= 500:
                said[address] = code
    assert said == {}


@pytest.fixture
def json_estate(db: None) -> dict[str, Any]:
    """Another pair beside the one of ``things``."""
    north, south = cluster("north", 3), cluster("south", 4)
    return {"pair": Pair.objects.create(name="other", first=north, second=south, default=north)}

"""Every endpoint of the API and every page × every role: who gets in and who does not.

The tables of :mod:`endpoints` are the specification. An endpoint that is not in them fails the first test.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.parts import signed_in
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver
from django.urls.resolvers import URLPattern, URLResolver
from django.utils import timezone

from hadash.accounts.roles import SCOPES
from hadash.inventory.models import Pair
from hadash.switching.models.drafts import RequestDraft

from .conftest import NAMES, Program
from .endpoints import API, ELSEWHERE, ENDLESS, OPEN, PAGES, body_of

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def draft_of(user: User) -> RequestDraft:
    """From when they could still request."""
    return RequestDraft.objects.create(
        owner=user, pair=Pair.objects.get(name="main"), saved_at=timezone.now()
    )


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
    """(In one test: what all of it is about takes longer to make than to ask.)"""
    nobody_is_let_in(things, method, address)
    without_a_role_there_is_nothing(things, method, address)
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


def nobody_is_let_in(things: dict[str, Any], method: str, address: str) -> None:
    answer = Client().generic(method, f"/api/v1/{address.format(**things, token=0)}")
    assert answer.status_code == 401


def without_a_role_there_is_nothing(things: dict[str, Any], method: str, address: str) -> None:
    nobu = Program(User.objects.create_user("nobu"), list(SCOPES))
    own = ("openapi.json", "me/", "tokens/", "tokens/{token}/")
    answer = nobu.send(method, address.format(**things, token=0), body_of(things, address))
    if address in own:
        return
    if answer.status_code == 200:
        assert answer.json() in ([], {"count": 0, "next": None, "previous": None, "results": []})
    else:
        assert answer.status_code in (403, 404)


@pytest.mark.parametrize(("method", "address"), [*PAGES], ids=lambda value: str(value))
def test_pages(things: dict[str, Any], people: SimpleNamespace, method: str, address: str) -> None:
    nobody_gets_a_page(things, method, address)
    forms = {
        "request": {"appid": things["appid"], "scope": "appid", "target": "west", "reason": "x"},
        "preview": {"appid": things["appid"], "kind": "posture"},
        "checks": {"appid": things["appid"]},
        "approve": {"plan_digest": things["digest"], "digest": things["change_digest"]},
        "change": {"act": "bind", "kind": "appid", "reason": "x"},
        "generate": {"topics": "orders"},
        "new": {"way": things["way"], "reason": "x"},
        "exclude": {"gateway": "gateway-9", "typed": "gateway-9", "reason": "x"},
        "rules": {"approvals": 2},
        "blackouts": {"begins": "2030-02-01T00:00", "ends": "2030-02-02T00:00", "reason": "x"},
        "instances": {"name": "new-one"},
        "owners": {"owner": "Team"},
        "role": {"act": "give", "role": "viewer"},
    }
    for name, role in NAMES.items():
        user = User.objects.get(username=name)
        client = signed_in(user)
        path = "/" + address.format(**{**things, "draft": draft_of(user).pk})
        values = forms.get(path.rstrip("/").rpartition("/")[2], {"reason": "x", "text": "x"})
        if path.startswith("/batches/") and path.endswith("approve/"):
            values = {"digest": things["batch_digest"]}
        if path.startswith("/pool-changes/") and path.endswith("approve/"):
            values = {"digest": things["pool_digest"]}
        answer = (
            client.generic(method, path)
            if method == "GET" and not path.endswith(("preview/", "checks/"))
            else (client.get(path, values) if method == "GET" else client.post(path, values))
        )
        allowed = role in PAGES[method, address]
        assert (answer.status_code not in (403, 404)) is allowed, (role, answer.status_code)
        assert answer.status_code < 500


def nobody_gets_a_page(things: dict[str, Any], method: str, address: str) -> None:
    answer = Client().generic(method, "/" + address.format(**things))
    assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/sign-in/")

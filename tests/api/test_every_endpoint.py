"""Every endpoint of the API and every page × every role: who gets in and who does not.

The tables of :mod:`endpoints` are the specification. An endpoint that is not in them fails the first test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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


def sections(table: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """What can only be read, by the first word of its address. (What all of it is about takes longer to make than to
    ask: it is made once for a section.)"""
    found: dict[str, list[str]] = {}
    for method, address in table:
        if method == "GET":
            found.setdefault(address.partition("/")[0] or "overview", []).append(address)
    return found


def changing(table: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """What changes something: each wants a world of its own."""
    return [(method, address) for method, address in table if method != "GET"]


class Programs:
    """One of each role, one of somebody without a role, and none: who asks the API."""

    def __init__(self, things: dict[str, Any]) -> None:
        self.things = things
        self.without_a_role = Program(User.objects.create_user("nobu"), list(SCOPES))
        self.of = {name: Program(User.objects.get(username=name), list(SCOPES)) for name in NAMES}

    def ask(self, method: str, address: str) -> None:
        """Let all of them ask, and expect of each answer what the table says."""
        self._nobody_is_let_in(method, address)
        self._without_a_role_there_is_nothing(method, address)
        for name, role in NAMES.items():
            user = User.objects.get(username=name)
            token = user.tokens.get()  # type: ignore[attr-defined]
            path = address.format(**{**self.things, "draft": draft_of(user).pk}, token=token.pk)
            body = body_of(self.things, path)
            if method == "DELETE" and path.endswith("roles/"):
                path, body = f"{path}?role=viewer", None
            if method == "DELETE" and path.endswith("instances/"):
                path, body = f"{path}?name=shop-carts", None
            answer = self.of[name].send(method, path, body)
            allowed = role in API[method, address]
            assert (answer.status_code not in (401, 403, 404)) is allowed, (
                role,
                answer.status_code,
                answer.content,
            )
            assert answer.status_code < 500

    def _nobody_is_let_in(self, method: str, address: str) -> None:
        answer = Client().generic(method, f"/api/v1/{address.format(**self.things, token=0)}")
        assert answer.status_code == 401

    def _without_a_role_there_is_nothing(self, method: str, address: str) -> None:
        path = address.format(**self.things, token=0)
        answer = self.without_a_role.send(method, path, body_of(self.things, address))
        if address in ("openapi.json", "me/", "tokens/", "tokens/{token}/"):  # their own
            return
        if answer.status_code == 200:
            assert answer.json() in ([], {"count": 0, "next": None, "previous": None, "results": []})
        else:
            assert answer.status_code in (403, 404)


@pytest.mark.parametrize("section", sections(API))
def test_who_may_read_the_api(
    things: dict[str, Any], people: SimpleNamespace, subtests: pytest.Subtests, section: str
) -> None:
    programs = Programs(things)
    for address in sections(API)[section]:
        with subtests.test(address=address):
            programs.ask("GET", address)


@pytest.mark.parametrize(("method", "address"), changing(API), ids=str)
def test_who_may_change_by_the_api(
    things: dict[str, Any], people: SimpleNamespace, method: str, address: str
) -> None:
    Programs(things).ask(method, address)


class Browsers:
    """One of each role, and one of nobody: who opens pages."""

    def __init__(self, things: dict[str, Any]) -> None:
        self.things = things
        self.forms = {
            "request": {"appid": things["appid"], "scope": "appid", "target": "west", "reason": "x"},
            "preview": {"appid": things["appid"], "kind": "posture"},
            "checks": {"appid": things["appid"]},
            "approve": {"plan_digest": things["digest"], "digest": things["change_digest"]},
            "change": {"action": "bind", "kind": "appid", "reason": "x"},
            "generate": {"topics": "orders"},
            "new": {"way": things["way"], "reason": "x"},
            "exclude": {"gateway": "gateway-9", "typed": "gateway-9", "reason": "x"},
            "rules": {"approvals": 2},
            "blackouts": {"begins": "2030-02-01T00:00", "ends": "2030-02-02T00:00", "reason": "x"},
            "instances": {"name": "new-one"},
            "owners": {"owner": "Team"},
            "role": {"action": "give", "role": "viewer"},
        }
        self.of = {name: signed_in(User.objects.get(username=name)) for name in NAMES}

    def open(self, method: str, address: str) -> None:
        """Let all of them open a page or send a form, and expect of each answer what the table says."""
        answer = Client().generic(method, "/" + address.format(**self.things))
        assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/sign-in/")
        for name, role in NAMES.items():
            draft = draft_of(User.objects.get(username=name))
            path = "/" + address.format(**{**self.things, "draft": draft.pk})
            answer = self._answer(self.of[name], method, path)
            allowed = role in PAGES[method, address]
            assert (answer.status_code not in (403, 404)) is allowed, (role, answer.status_code)
            assert answer.status_code < 500

    def _answer(self, client: Client, method: str, path: str) -> Any:
        values = self.forms.get(path.rstrip("/").rpartition("/")[2], {"reason": "x", "text": "x"})
        if path.startswith("/batches/") and path.endswith("approve/"):
            values = {"digest": self.things["batch_digest"]}
        if path.startswith("/pool-changes/") and path.endswith("approve/"):
            values = {"digest": self.things["pool_digest"]}
        if method != "GET":
            return client.post(path, values)
        return client.get(path, values) if path.endswith(("preview/", "checks/")) else client.get(path)


@pytest.mark.parametrize("section", sections(PAGES))
def test_who_may_open_pages(
    things: dict[str, Any], people: SimpleNamespace, subtests: pytest.Subtests, section: str
) -> None:
    browsers = Browsers(things)
    for address in sections(PAGES)[section]:
        with subtests.test(address=address):
            browsers.open("GET", address)


@pytest.mark.parametrize(("method", "address"), changing(PAGES), ids=str)
def test_who_may_send_forms(
    things: dict[str, Any], people: SimpleNamespace, method: str, address: str
) -> None:
    Browsers(things).open(method, address)

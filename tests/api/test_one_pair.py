"""Who has roles on one pair sees and reaches nothing of another."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dashboard.parts import gateway, signed_in
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from hadash.accounts.models import PairRole
from hadash.accounts.roles import ON_ALL_PAIRS, REQUEST, SCOPES
from hadash.governance.models.runs import Run
from hadash.inventory.models import AppID, Pair
from hadash.presentation.engines import Engines

from .conftest import Program
from .endpoints import API, PAGES, bodies, body_of

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_a_role_on_one_pair_reaches_nothing_of_another(
    things: dict[str, Any], fleet: Any, json_fleet: dict[str, Any]
) -> None:
    mara = User.objects.create_user("mara")
    for role in ("operator", "approver", "administrator"):
        PairRole.objects.create(user=mara, group=Group.objects.get(name=role), pair=json_fleet["pair"])
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
    things: dict[str, Any], json_fleet: dict[str, Any]
) -> None:
    client, program = one_pair(json_fleet["pair"])
    text = client.get("/").content.decode()
    for address in ("/audit/", "/people/", "/gateways/exclude/"):
        assert f'href="{address}' not in text
        assert client.get(address).status_code == 403
    permissions = set(program.get("me/").json()["permissions"])
    assert permissions & ON_ALL_PAIRS == set()
    assert REQUEST in permissions


def test_a_list_of_runs_asks_once_whose_names_may_be_shown(
    things: dict[str, Any], json_fleet: dict[str, Any]
) -> None:
    client, _ = one_pair(json_fleet["pair"])

    def asked() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/api/v1/runs/").status_code == 200
        return len(queries)

    asked()  # (what is asked once in the life of a process)
    asked()  # (permissions are read once for each person)
    of_one = asked()
    for _number in range(5):
        Run.objects.create(job="risk", state="published", began_at=timezone.now(), ended_at=timezone.now())
    assert asked() == of_one


def test_the_same_appid_in_two_pairs_is_two(
    things: dict[str, Any], engines: Any, json_fleet: dict[str, Any]
) -> None:
    """Gateways serve all pairs: what they say of ``shop`` is mostly about the other one."""
    engines.look = Engines({}, 7, (gateway(),))
    other = json_fleet["pair"]
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


def test_the_list_of_pairs_takes_as_many_queries_for_one_as_for_six(program: Any, fleet: Any) -> None:
    vera = program("vera")

    def asked() -> int:
        with CaptureQueriesContext(connection) as found:
            assert vera.get("pairs/").json()
        return len(found)

    asked()  # (permissions are read once for each person)
    of_one = asked()
    pair = Pair.objects.get()
    for number in range(5):
        Pair.objects.create(name=f"more-{number}", first=pair.first, second=pair.second, default=pair.default)
    assert asked() == of_one

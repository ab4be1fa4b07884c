"""What nobody can mean is refused, wherever it is typed: no endpoint and no page answers it with a fault."""

from __future__ import annotations

from typing import Any

import pytest
from dashboard.parts import signed_in
from django.contrib.auth.models import User

from .endpoints import PAGES

pytestmark = [pytest.mark.stack, pytest.mark.django_db, pytest.mark.in_turn]

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
    "appids/{appid}/bindings/preview/?action=unbind&unbind=shop%2B{bad}",
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
    "switches/request/checks/?appid={appid}&instance={bad}",
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


@pytest.mark.parametrize("page", ["", "last", "0", "-1", "²", "１", "1.0", "0" * 30])
def test_a_page_that_is_no_number_is_refused(things: dict[str, Any], page: str) -> None:
    client = signed_in(User.objects.create_superuser("root"))
    answer = client.get("/api/v1/appids/", {"page": page})
    assert (answer.status_code, answer.json()["errors"]) == (400, {"page": ["Pages are numbered from 1."]})


@pytest.mark.parametrize("bad", ["a\0b", "²", "9" * 30])
def test_a_form_that_nobody_can_mean_is_no_fault(things: dict[str, Any], bad: str) -> None:
    client = signed_in(User.objects.create_superuser("root"))
    client.raise_request_exception = False
    names = (
        "reason text confirmed typed note name topics groups group instance instance_id days approvals digest"
        " plan_digest restores role username password gateway one chosen unbind way names action wave kind scope until"
        " cron enabled"
    )
    said = {}
    for method, address in PAGES:
        if method != "POST":
            continue
        for values in (dict.fromkeys(names.split(), bad), {"reason": bad}, {"topics": "orders", "one": bad}):
            code = client.post("/" + address.format(**things), values).status_code
            if code >= 500:
                said[address] = code
    assert said == {}

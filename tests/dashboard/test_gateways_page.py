"""Excluding a Gateway on the page."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from dashboard.parts import gateway
from hadash.audit.models import Entry
from hadash.bindings.errors import UnknownOutcome
from hadash.presentation.engines import Engines
from hadash.switching.recovery import gateways

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool]]:
    found: list[tuple[str, bool]] = []
    known = [gateway(name, live=False) for name in ("gw-东", "gw-1", "gateway-1")]
    monkeypatch.setattr(gateways, "gateway_members", lambda: known)
    monkeypatch.setattr(gateways, "zookeeper", lambda: None)
    monkeypatch.setattr(gateways, "claimed", lambda client: client)
    monkeypatch.setattr(
        gateways, "set_excluded", lambda client, name, excluded: found.append((name, excluded))
    )
    return found


def test_only_one_that_does_not_answer_can_be_excluded(
    as_olga: Client, as_vera: Client, fleet: SimpleNamespace, engines: Any
) -> None:
    offer = reverse("exclude-gateway")
    engines.look = Engines({}, 7, (gateway(),))
    assert offer not in as_olga.get(reverse("overview")).content.decode()
    engines.look = Engines({}, 7, (gateway(live=False),))
    assert offer in as_olga.get(reverse("overview")).content.decode()
    assert offer not in as_vera.get(reverse("overview")).content.decode()


def test_it_wants_the_name_and_keeps_what_was_typed(
    as_olga: Client, engines: Any, calls: list[tuple[str, bool]]
) -> None:
    address = reverse("exclude-gateway")
    assert "Exclude Gateway gw-东" in as_olga.get(address, {"gateway": "gw-东"}).content.decode()
    answer = as_olga.post(address, {"gateway": "gw-东", "typed": "gw", "reason": "Burnt"})
    assert answer.status_code == 409
    text = answer.content.decode()
    assert "Type gw-东 to confirm" in text and 'value="Burnt"' in text
    assert calls == []
    assert as_olga.post(address, {"gateway": "gw-东", "typed": "gw-东", "reason": "Burnt"}).status_code == 302
    assert calls == [("gw-东", True)]


def test_it_can_be_taken_back(as_olga: Client, engines: Any, calls: list[tuple[str, bool]]) -> None:
    as_olga.post(reverse("exclude-gateway"), {"gateway": "gateway-1", "include": "1"})
    assert calls == [("gateway-1", False)]


def test_others_may_not(as_arne: Client, engines: Any, calls: list[tuple[str, bool]]) -> None:
    assert (
        as_arne.post(reverse("exclude-gateway"), {"gateway": "gateway-1", "include": "1"}).status_code == 403
    )
    assert as_arne.get(reverse("exclude-gateway"), {"gateway": "gateway-1"}).status_code == 403
    assert calls == []


def test_it_says_when_it_is_not_known_whether_it_was_done(
    as_olga: Client, engines: Any, calls: list[tuple[str, bool]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(client: object, name: str, excluded: bool) -> None:
        raise UnknownOutcome("the reply was lost")

    monkeypatch.setattr(gateways, "set_excluded", lost)
    body = {"gateway": "gw-1", "typed": "gw-1", "reason": "Burnt"}
    answer = as_olga.post(reverse("exclude-gateway"), body)
    assert answer.status_code == 503
    text = answer.content.decode()
    assert "it is not known whether switches wait for Gateway gw-1 now" in text
    assert "Nothing was changed" not in text
    assert [entry.details.get("outcome") for entry in Entry.objects.order_by("number")] == [
        None,
        "the reply was lost",
    ]

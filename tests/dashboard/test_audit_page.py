"""The audit log as a page and as a file."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from functools import partial

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import AsyncClient, Client
from django.urls import reverse
from django.utils import timezone

from hadash.accounts.roles import ensure_user
from hadash.audit import models
from hadash.audit.models import exported, record
from hadash.dashboard.audit_links import page_of
from hadash.dashboard.views import audit as view

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_it_shows_the_newest_digest_and_offers_the_whole_log(as_vera: Client) -> None:
    record(None, "expire", "switch 1")
    last = record(None, "expire", "switch 2", reason="订单")
    page = as_vera.get(reverse("audit")).content.decode()
    assert last.digest in page
    assert reverse("audit-export") in page


@pytest.mark.django_db(transaction=True)
async def test_the_export_is_the_whole_log(
    async_client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "CHUNK", 2)
    for number in range(5):
        await sync_to_async(record)(None, "expire", f"switch {number}", reason="订单")
    await async_client.aforce_login(await sync_to_async(ensure_user)("vera", "a-long-password", "viewer"))
    answer = await async_client.get(reverse("audit-export"))
    lines = b"".join([part async for part in answer.streaming_content]).decode().splitlines()
    assert [json.loads(line) for line in lines] == await sync_to_async(lambda: list(exported()))()
    assert len(lines) == 5
    assert 'filename="hadash-audit-' in answer["Content-Disposition"]
    await sync_to_async(connections.close_all)()  # of the thread in which it was used


def verbs_of(client: Client, **asked: str) -> list[str]:
    return [entry.verb for entry, _address in client.get(reverse("audit"), asked).context["entries"]]


def test_it_is_filtered_by_what_the_address_says(as_vera: Client) -> None:
    first = record(None, "expire", "switch abc (shop, east → west)")
    record(None, "stop", "batch def (east → west)")
    today, tomorrow = timezone.now().date(), timezone.now().date() + timedelta(days=1)
    assert verbs_of(as_vera, verb="expire") == ["expire"]
    assert verbs_of(as_vera, q="BATCH") == ["stop"]
    assert verbs_of(as_vera, number=str(first.number)) == ["expire"]
    assert verbs_of(as_vera, number="nonsense") == []
    assert verbs_of(as_vera, since=str(today), until=str(today)) == ["stop", "expire"]
    assert verbs_of(as_vera, since=str(tomorrow)) == []


def test_days_are_those_of_the_reader(as_vera: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    """23:00 UTC is the next day in Shanghai, and 01:00 UTC the day before in New York."""
    for verb, at in (("expire", "2026-11-20T23:00:00+00:00"), ("stop", "2026-11-21T01:00:00+00:00")):
        monkeypatch.setattr(models.timezone, "now", partial(datetime.fromisoformat, at))
        record(None, verb, "batch def")
    monkeypatch.undo()
    shanghai = {"since_offset": "-480", "until_offset": "-480"}
    new_york = {"since_offset": "300", "until_offset": "300"}
    assert verbs_of(as_vera, since="2026-11-20", until="2026-11-20") == ["expire"]
    assert verbs_of(as_vera, since="2026-11-21", until="2026-11-21", **shanghai) == ["stop", "expire"]
    assert verbs_of(as_vera, since="2026-11-20", until="2026-11-20", **new_york) == ["stop", "expire"]
    assert verbs_of(as_vera, since="2026-11-21", since_offset="a day") == ["stop"], "as without it"


def test_what_is_no_day_is_told(as_vera: Client) -> None:
    answer = as_vera.get(reverse("audit"), {"since": "昨天"})
    assert answer.status_code == 400
    assert "“昨天” is no day. Write it as 2026-11-30." in answer.content.decode()
    csv = as_vera.get(reverse("audit"), {"since": "昨天", "format": "csv"})
    assert csv.status_code == 400, "and not a file with more than was asked for"


def test_an_entry_leads_to_what_it_is_about_and_can_be_sent_to_others(as_vera: Client) -> None:
    entry = record(None, "expire", "switch abc (shop, east → west)")
    page = as_vera.get(reverse("audit")).content.decode()
    assert f'href="{reverse("switch", args=["abc"])}"' in page
    assert f'href="{reverse("audit")}?number={entry.number}"' in page


@pytest.mark.parametrize(
    ("subject", "page"),
    [
        ("batch abc (east → west)", "/batches/abc/"),
        ("binding change abc (shop)", "/binding-changes/abc/"),
        ("mirror carts of pair main", "/mirrors/main/carts/"),
        ("cluster east", "/clusters/east/"),
        ("InstanceID 购物 › web", ""),
        ("switching nothing", ""),
    ],
)
def test_what_has_a_page_of_its_own(subject: str, page: str) -> None:
    assert page_of(subject) == page


def test_nobody_gets_it_without_signing_in(client: Client) -> None:
    assert client.get(reverse("audit-export")).status_code == 302

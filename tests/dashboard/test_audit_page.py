"""The audit log as a page and as a file."""

from __future__ import annotations

import json

import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import AsyncClient, Client
from django.urls import reverse

from hadash.accounts.roles import ensure_user
from hadash.audit.models import exported, record
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


def test_nobody_gets_it_without_signing_in(client: Client) -> None:
    assert client.get(reverse("audit-export")).status_code == 302

"""The audit log as a page and as a file."""

from __future__ import annotations

import json

import pytest
from django.test import Client
from django.urls import reverse

from hadash.audit.models import exported, record

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_it_shows_the_newest_digest_and_offers_all_of_it(as_vera: Client) -> None:
    record(None, "expire", "switch 1")
    last = record(None, "expire", "switch 2", reason="订单")
    page = as_vera.get(reverse("audit")).content.decode()
    assert last.digest in page
    answer = as_vera.get(reverse("audit-export"))
    lines = b"".join(answer.streaming_content).decode().splitlines()
    assert [json.loads(line) for line in lines] == list(exported())
    assert 'filename="hadash-audit-' in answer["Content-Disposition"]


def test_nobody_gets_it_without_signing_in(client: Client) -> None:
    assert client.get(reverse("audit-export")).status_code == 302

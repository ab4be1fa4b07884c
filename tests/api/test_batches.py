"""Batches over the API."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hadash.switching.batches.plans import LEFT_OUT

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def test_what_is_left_out_is_named_without_its_plans(program: Any, make_batch: Any) -> None:
    """The plans of a large batch are megabytes, which nobody asked for."""
    batch = make_batch()
    batch.items.filter(wave=2).update(wave=LEFT_OUT)
    vera = program("vera")
    with CaptureQueriesContext(connection) as asked:
        answer = vera.get(f"batches/{batch.key}/").json()
    assert answer["left_out"] == ["Topic topic-3", "Topic topic-4"]
    assert [query for query in asked if '_batchitem"."plan"' in query["sql"]] == []

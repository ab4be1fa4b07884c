"""Lists read the columns that they show: never the passwords of people, nor what connects to clusters."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from hadash.accounts.roles import ensure_user
from hadash.inventory.models import Cluster, Pair
from hadash.joined import joined_only
from hadash.presentation import appid_rows, batches, changes, inbox, selectors
from hadash.switching.models.switches import Switch

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def viewer() -> Any:
    east, west = (Cluster.objects.create(name=name, number=n) for n, name in enumerate(("east", "west"), 1))
    Pair.objects.create(name="main", first=east, second=west, default=east)
    return ensure_user("vera", "a-long-Password-1", "viewer", "Vera Viewer")


@pytest.mark.parametrize(
    "found",
    [
        selectors.switches,
        selectors.pairs,
        lambda user: selectors.mirrors(selectors.pairs(user)),
        batches.batches,
        changes.changes,
        appid_rows.appids,
        appid_rows.listed_appids,
    ],
)
def test_a_list_reads_no_secret(viewer: Any, found: Any) -> None:
    with CaptureQueriesContext(connection) as asked:
        list(found(viewer))
    read = " ".join(query["sql"] for query in asked)
    assert "name" in read
    assert [word for word in ("password", "tls_key", "zookeeper_hosts") if word in read] == []


def test_what_is_left_out_is_read_when_it_is_asked_for(viewer: Any, django_assert_num_queries: Any) -> None:
    [pair] = joined_only(Pair.objects.select_related("first"), "first", "name")
    with django_assert_num_queries(0):
        assert (pair.first.name, pair.first.pk) == ("east", pair.first_id)
    with django_assert_num_queries(1):
        assert pair.first.number == 1


def test_a_way_that_leads_to_no_row_is_a_mistake() -> None:
    with pytest.raises(AssertionError, match="key leads to no row"):
        joined_only(Switch.objects.all(), "key")


def test_the_compiled_queries_that_are_kept_do_not_grow(viewer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "KEPT_QUERIES", 2)
    monkeypatch.setattr(inbox, "_queries", {})
    people = [viewer, *(ensure_user(name, "a-long-Password-1", "viewer") for name in ("wei", "xu"))]
    for person in people * 2:
        assert inbox.inbox_of(person) == inbox.Inbox()
        assert len(inbox._queries) <= 2

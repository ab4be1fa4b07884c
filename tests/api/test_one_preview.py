"""Ten tabs do not ask the clusters ten times at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace
from typing import Any

import pytest
from dashboard.parts import signed_in
from django.contrib.auth.models import User
from django.db import connections
from django.urls import reverse

from hadash.inventory.models import Pair
from hadash.switching.planning.one_preview import one_preview

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture(autouse=True)
def nobody_waits_for_long(settings: Any) -> None:
    settings.SWITCH_CHECK_SECONDS = 0.01


@pytest.fixture
def another_tab() -> Iterator[Callable[[User, Pair], Callable[[], None]]]:
    """Begin a preview in another process, as far as the database can tell; what is returned ends it."""
    pool = ThreadPoolExecutor(max_workers=1)

    def begin(user: User, pair: Pair) -> Callable[[], None]:
        running = ExitStack()
        pool.submit(running.enter_context, one_preview(user, pair)).result()
        return lambda: pool.submit(running.close).result()

    yield begin
    pool.submit(connections.close_all).result()
    pool.shutdown()


def test_one_person_has_one_preview_of_a_pair_at_a_time(
    program: Callable[..., Any],
    people: SimpleNamespace,
    fleet: SimpleNamespace,
    planned: None,
    wanted: dict[str, Any],
    another_tab: Callable[[User, Pair], Callable[[], None]],
) -> None:
    asked = {name: wanted[name] for name in ("pair", "scope", "target")}
    olga, vera = program("olga"), program("vera")
    end = another_tab(people.olga, fleet.pair)
    refused = olga.post("plans/", asked)
    assert (refused.status_code, refused.json()["type"]) == (429, "urn:hadash:problem:too-often")
    assert "is still being made, maybe in another tab" in refused.json()["detail"]
    assert vera.post("plans/", asked).status_code == 200, "somebody else need not wait"
    end()
    assert olga.post("plans/", asked).status_code == 200
    assert olga.post("plans/", asked).status_code == 200, "the one before has let it go"


def test_the_page_says_so(
    people: SimpleNamespace,
    fleet: SimpleNamespace,
    engines: SimpleNamespace,
    planned: None,
    another_tab: Callable[[User, Pair], Callable[[], None]],
) -> None:
    client = signed_in(people.olga)
    fields = {"appid": fleet.shop.pk, "scope": "appid"}
    end = another_tab(people.olga, fleet.pair)
    assert "Whole" in client.get(reverse("request-switch"), fields).content.decode(), (
        "what would move is shown meanwhile"
    )
    assert "is still being made" in client.get(reverse("request-checks"), fields).content.decode()
    end()
    assert "is still being made" not in client.get(reverse("request-checks"), fields).content.decode()

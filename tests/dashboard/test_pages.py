"""Every page, in both languages, for each of three people."""

from __future__ import annotations

import csv
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from support.html import squeezed

from dashboard.parts import NASTY, gateway, signed_in
from hadash.bindings.model import Binding, BindingDocument
from hadash.dashboard.views.appids import ROWS_SHOWN
from hadash.dashboard.views.common import PAGE_SIZE
from hadash.dashboard.views.switch_lists import SHOWN_CHANGES
from hadash.governance.models.published import Coverage
from hadash.governance.models.runs import Run
from hadash.inventory.models import Access, AppID, InstanceID
from hadash.presentation.declared import SHOWN
from hadash.presentation.engines import Engines
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.retirement.services import switch_ended

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


def addresses(fleet: SimpleNamespace, switch: Switch) -> list[str]:
    return [
        reverse("overview"),
        reverse("appids"),
        reverse("appid", args=[fleet.shop.pk]),
        reverse("switches"),
        reverse("switches") + "?inbox=waiting&status=running&q=shop&page=99",
        reverse("switches") + "?inbox=mine",
        reverse("switch", args=[switch.key]),
        reverse("switch-state", args=[switch.key]),
        reverse("audit"),
        reverse("about"),
        reverse("declarations", args=[fleet.pair.pk]),
        reverse("declarations", args=[fleet.pair.pk]) + "?q=shop&state=undeclared&page=99",
    ]


@pytest.mark.parametrize("language", ["en", "zh-hans"])
@pytest.mark.parametrize("who", ["olga", "arne", "vera"])
def test_every_page_is_shown(
    people: SimpleNamespace,
    fleet: SimpleNamespace,
    engines: SimpleNamespace,
    finished: Switch,
    who: str,
    language: str,
) -> None:
    client = signed_in(getattr(people, who), language)
    for address in addresses(fleet, finished):
        response = client.get(address)
        assert response.status_code == 200, address
        text = response.content.decode()
        assert NASTY not in text, address
        assert "secret-of" not in text, address
        if "json" not in response["Content-Type"]:
            assert f'<html lang="{language}"' in text
            assert "· hadash</title>" in text


@pytest.mark.parametrize(
    "status", ["awaiting_approval", "running", "needs_attention", "rolled_back", "declined"]
)
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_a_switch_in_every_state(
    people: SimpleNamespace, engines: SimpleNamespace, make_switch: Any, status: str, language: str
) -> None:
    switch = make_switch(status, stage="quiesce")
    for user in vars(people).values():
        assert signed_in(user, language).get(reverse("switch", args=[switch.key])).status_code == 200


def test_strangers_are_sent_to_sign_in(fleet: SimpleNamespace, finished: Switch) -> None:
    for address in [*addresses(fleet, finished), reverse("request-switch")]:
        response = Client().get(address)
        assert response.status_code == 302, address
        assert response["Location"].startswith(reverse("sign-in"))


def test_the_sign_in_page_says_what_hadash_is() -> None:
    text = Client().get(reverse("sign-in")).content.decode()
    assert "Moves Kafka clients from one cluster to its standby and back" in text
    assert '<html lang="en"' in text


def test_wrong_password_is_said(people: SimpleNamespace) -> None:
    response = Client().post(reverse("sign-in"), {"username": "olga", "password": "wrong"})
    assert "do not fit" in response.content.decode()


def test_the_language_is_switched_before_signing_in() -> None:
    client = Client()
    client.post(reverse("set_language"), {"language": "zh-hans", "next": reverse("sign-in")})
    assert "登录" in client.get(reverse("sign-in")).content.decode()


def test_titles_name_the_switch(as_olga: Client, engines: SimpleNamespace, finished: Switch) -> None:
    text = as_olga.get(reverse("switch", args=[finished.key])).content.decode()
    assert "<title>shop: east → west, succeeded · hadash</title>" in text


def test_unknown_things_have_a_page_that_helps(as_vera: Client) -> None:
    for address in ("/switches/nothing/", "/appids/999/", "/nowhere/"):
        response = as_vera.get(address)
        assert response.status_code == 404
        assert "All switches" in response.content.decode()
    assert "There is no switch nothing." in as_vera.get("/switches/nothing/").content.decode()


def test_zookeeper_away_is_said_and_nothing_is_made_up(
    as_olga: Client, fleet: SimpleNamespace, engines: SimpleNamespace, make_switch: Any
) -> None:
    engines.look = Engines(fault="no answer within 1.5 s")
    switch = make_switch()
    text = as_olga.get(reverse("overview")).content.decode()
    assert "ZooKeeper does not answer." in text
    assert "Gateways keep to what they last applied" in text
    assert "not known" in text
    for address in (reverse("appid", args=[fleet.shop.pk]), reverse("switch", args=[switch.key])):
        assert as_olga.get(address).status_code == 200


def test_a_gateway_that_does_not_answer_is_named(
    as_vera: Client, engines: SimpleNamespace, fleet: Any
) -> None:
    engines.silent = ["gateway-1"]
    assert "gateway-1 did not answer" in as_vera.get(reverse("overview")).content.decode()


def test_gateway_states(as_vera: Client, engines: SimpleNamespace, fleet: Any) -> None:
    engines.look = Engines(
        {}, 7, (gateway("a", live=False), gateway("b", applied=6), gateway("c", excluded=True), gateway("d"))
    )
    text = as_vera.get(reverse("overview")).content.decode()
    for word in ("does not answer", "applying", "excluded", "in effect"):
        assert word in text


def test_the_overview_refreshes_its_content_only(
    as_vera: Client, engines: SimpleNamespace, fleet: Any
) -> None:
    text = as_vera.get(reverse("overview"), headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in text
    assert "gateway-1" in text


def test_an_empty_hadash_says_what_to_do(as_olga: Client, engines: SimpleNamespace) -> None:
    engines.look = Engines({}, 0, ())
    text = as_olga.get(reverse("overview")).content.decode()
    assert "Register two clusters and a pair" in text
    assert "bootstrap.servers" in as_olga.get(reverse("appids")).content.decode()
    assert "No Gateway is a member. Start one" in text


def test_queries_do_not_grow_with_the_fleet(
    as_arne: Client,
    engines: SimpleNamespace,
    fleet: SimpleNamespace,
    finished: Switch,
    django_assert_max_num_queries: Any,
) -> None:
    for number in range(30):
        appid = AppID.objects.create(name=f"app-{number}", pair=fleet.pair)
        InstanceID.objects.create(appid=appid, name="one")
    for address, limit in [
        (reverse("overview"), 39),
        (reverse("appids"), 16),
        (reverse("appid", args=[fleet.shop.pk]), 29),
        (reverse("switches"), 18),
        (reverse("batches"), 11),
        (reverse("switch", args=[finished.key]), 26),
        (reverse("switch-state", args=[finished.key]), 8),
        (reverse("audit"), 12),
        (reverse("about"), 8),
        (reverse("declarations", args=[fleet.pair.pk]), 16),
    ]:
        with django_assert_max_num_queries(limit):
            as_arne.get(address)


def test_inboxes(people: SimpleNamespace, make_switch: Any, engines: SimpleNamespace) -> None:
    switch = make_switch()
    waiting = reverse("switches") + "?inbox=waiting"
    assert switch.key in signed_in(people.arne).get(waiting).content.decode()
    assert "Nothing waits for you." in signed_in(people.olga).get(waiting).content.decode()
    assert switch.key in signed_in(people.olga).get(reverse("switches") + "?inbox=mine").content.decode()


class TestWhatAnInboxSaysWithoutASwitch:
    def test_only_a_batch_waits(self, as_arne: Client, make_batch: Any, engines: SimpleNamespace) -> None:
        batch = make_batch()
        found = text(as_arne, reverse("switches") + "?inbox=waiting")
        assert batch.key in found
        assert "No switch waits for you." in found
        assert "Nothing waits for you." not in found

    @pytest.mark.parametrize("query", ["status=running", "q=nobody"])
    def test_nothing_of_what_waits_fits(
        self, as_arne: Client, make_switch: Any, make_batch: Any, engines: SimpleNamespace, query: str
    ) -> None:
        make_switch()
        make_batch()
        found = text(as_arne, f"{reverse('switches')}?inbox=waiting&{query}")
        assert "No switch fits." in found
        assert "waits for you." not in found
        assert f'href="{reverse("switches")}?inbox=waiting">Show all' in squeezed(found)

    def test_none_of_ones_own(self, as_vera: Client, make_switch: Any, engines: SimpleNamespace) -> None:
        make_switch()
        found = text(as_vera, reverse("switches") + "?inbox=mine")
        assert "You have not requested a switch." in found
        assert "No switch yet" not in found


def test_older_changes_of_bindings_are_on_other_pages(
    as_arne: Client, make_change: Any, engines: SimpleNamespace
) -> None:
    made = [make_change() for _ in range(SHOWN_CHANGES + 1)]
    address = reverse("switches") + "?inbox=waiting"
    found = text(as_arne, address)
    assert made[0].key not in found, "the oldest"
    assert 'href="?inbox=waiting&amp;changes=2"' in found
    assert made[0].key in text(as_arne, f"{address}&changes=2")


class TestManyClients:
    """One AppID with a thousand InstanceIDs, all of them seen."""

    COUNT = 1000

    @pytest.fixture
    def names(self, fleet: SimpleNamespace) -> list[str]:
        found = [f"web-{number:04}" for number in range(self.COUNT)]
        InstanceID.objects.bulk_create(InstanceID(appid=fleet.shop, name=name) for name in found)
        now = timezone.now()
        Access.objects.bulk_create(
            Access(
                pair=fleet.pair,
                appid="shop",
                client_id=name,
                kind="produce",
                resource="carts",
                cluster="east",
                first_seen=now,
                last_seen=now,
            )
            for name in found
        )
        return found

    def test_their_page_stays_small(
        self, as_olga: Client, engines: SimpleNamespace, fleet: SimpleNamespace, names: list[str]
    ) -> None:
        engines.clients = [
            {"appid": "shop", "client_id": name, "cluster": "east", "parked": "", "library": "x", "host": "h"}
            for name in names
        ]
        bindings = {name: Binding("east", epoch=3) for name in names}
        engines.look = Engines({"shop": BindingDocument("shop", None, bindings)}, 7, (gateway(),))
        address = reverse("appid", args=[fleet.shop.pk])
        whole = text(as_olga, address)
        live = as_olga.get(address, headers={"HX-Request": "true"}).content.decode()
        assert live.count("<tr") < 5 + 3 * ROWS_SHOWN
        assert "1002" in live, "the figures count all of them"
        assert whole.count("<tr") < live.count("<tr") + ROWS_SHOWN + 20 + SHOWN
        for table in ("instances", "connected", "bound", "seen"):
            assert f"{address}?{table}=2" in whole
        assert "web-0070" not in live
        assert "web-0070" in as_olga.get(f"{address}?seen=2").content.decode()

    def test_what_a_moved_client_has_left_open_is_told_apart(
        self, as_olga: Client, engines: SimpleNamespace, fleet: SimpleNamespace
    ) -> None:
        there = {"appid": "shop", "client_id": "web-1", "parked": "", "library": "x", "host": "h"}
        engines.clients = [
            {**there, "cluster": "east", "away": True},
            {**there, "cluster": "east", "away": True},
        ]
        address = reverse("appid", args=[fleet.shop.pk])
        assert "left open" not in text(as_olga, address), "it is nowhere else yet"
        engines.clients.append({**there, "cluster": "west", "away": False})
        assert "+ 2 left open to east" in text(as_olga, address)

    def test_they_are_searched(
        self, as_olga: Client, engines: SimpleNamespace, fleet: SimpleNamespace, names: list[str]
    ) -> None:
        address = reverse("appid", args=[fleet.shop.pk])
        found = text(as_olga, f"{address}?client=WEB-0999")
        live = as_olga.get(f"{address}?client=WEB-0999", headers={"HX-Request": "true"}).content.decode()
        assert 'name="client" value="WEB-0999"' in found
        assert f'hx-get="{address}?client=WEB-0999"' in found, "what refreshes is what is shown"
        assert "<b>web-0999</b>" in live
        assert "<b>web-0998</b>" not in live
        assert "No InstanceID has “nobody” in its name." in text(as_olga, f"{address}?client=nobody")


def test_whose_switch_it_is_to_be_is_searched_in_pages(
    as_olga: Client, engines: SimpleNamespace, fleet: SimpleNamespace
) -> None:
    AppID.objects.bulk_create(AppID(name=f"app-{number:04}", pair=fleet.pair) for number in range(60))
    address = reverse("request-switch")
    found = text(as_olga, address)
    assert found.count("?appid=") == PAGE_SIZE
    assert 'href="?page=2"' in found
    found = text(as_olga, f"{address}?q=APP-003&page=1")
    assert found.count("?appid=") == 10
    assert "2 InstanceIDs" in text(as_olga, f"{address}?q=shop")
    assert "No AppID has “nobody” in its name." in text(as_olga, f"{address}?q=nobody")


def test_appids_are_searched_and_ordered_by_owner(
    as_olga: Client, engines: SimpleNamespace, fleet: SimpleNamespace
) -> None:
    AppID.objects.all().update(owner="")
    AppID.objects.create(name="app-1", pair=fleet.pair, owner="物流")
    AppID.objects.create(name="app-2", pair=fleet.pair, owner="Billing team")
    address = reverse("appids")
    assert [row[1] for row in _csv(as_olga, f"{address}?q=billing&format=csv")] == ["app-2"]
    assert [row[1] for row in _csv(as_olga, f"{address}?q=%E7%89%A9&format=csv")] == ["app-1"]
    by_owner = [row[1] for row in _csv(as_olga, f"{address}?sort=owner&format=csv")]
    assert by_owner[:2] == ["app-2", "app-1"], "nobody's come last"
    assert [row[1] for row in _csv(as_olga, f"{address}?sort=-owner&format=csv")][:2] == ["app-1", "app-2"]


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("client", ["app-1", "app-2", ""]),
        ("-resource", ["app-1", "app-2", ""]),
        ("when", ["", "app-1", "app-2"]),
        ("-when", ["app-2", "app-1", ""]),
        ("library", ["app-2", "app-1", ""]),
    ],
)
def test_observed_access_is_ordered_by_its_columns(
    as_olga: Client, engines: SimpleNamespace, fleet: SimpleNamespace, order: str, expected: list[str]
) -> None:
    now = timezone.now()
    Access.objects.all().delete()
    for place, (client_id, topic, library) in enumerate(
        [("", "a", ""), ("app-1", "c", "sarama"), ("app-2", "b", "java")]
    ):
        Access.objects.create(
            pair=fleet.pair, appid="shop", client_id=client_id, kind="produce", resource=topic, cluster="east",
            library=library, first_seen=now, last_seen=now - timedelta(minutes=30 - place),
        )  # fmt: skip
    page = as_olga.get(f"{reverse('appid', args=[fleet.shop.pk])}?seen-sort={order}")
    assert [client.client_id for client in page.context["observed"]] == expected


def test_appids_are_ordered_by_where_they_are_bound(
    as_olga: Client, engines: SimpleNamespace, fleet: SimpleNamespace
) -> None:
    AppID.objects.create(name="app-west", pair=fleet.pair)
    engines.look = replace(
        engines.look,
        documents={
            "app-west": BindingDocument("app-west", default=Binding("west")),
            "gone": BindingDocument("gone"),
        },
    )
    address = reverse("appids")
    first, *_others = _csv(as_olga, f"{address}?sort=-bound&format=csv")
    *_others, last = _csv(as_olga, f"{address}?sort=bound&format=csv")
    assert first[1] == last[1] == "app-west"
    engines.look = Engines(fault="no answer within 1.5 s")
    page = text(as_olga, f"{address}?sort=bound")
    assert "aria-sort" not in page, "while nobody knows where they are bound they have no such order"


def test_appids_are_ordered_by_the_coverage_that_was_counted_last(
    as_olga: Client, engines: SimpleNamespace, fleet: SimpleNamespace
) -> None:
    address = reverse("appids")
    assert "No run has counted the coverage yet" in text(as_olga, f"{address}?sort=coverage")
    run = Run.objects.create(job=Run.Job.COVERAGE, state=Run.State.PUBLISHED, ended_at=timezone.now())
    for name, registered in (("half", 2), ("all", 4), ("none", 0)):
        AppID.objects.create(name=name, pair=fleet.pair)
        Coverage.objects.create(
            run=run, pair="main", appid=name, clients=4, registered=registered, nameless=0, new_clients=0, days=1,
            duplicates=0, bypassing=0,
        )  # fmt: skip
    ordered = [row[1] for row in _csv(as_olga, f"{address}?sort=-coverage&format=csv")]
    assert ordered[:3] == ["all", "half", "none"], "those that no run has counted come last"
    assert [row[1] for row in _csv(as_olga, f"{address}?sort=coverage&format=csv")][:3] == [
        "none",
        "half",
        "all",
    ]
    assert "Ordered by the coverage as it was counted" in text(as_olga, f"{address}?sort=coverage")


def _csv(client: Client, address: str) -> list[list[str]]:
    answer = client.get(address)
    lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
    return list(csv.reader(lines))[1:]


def test_of_a_page_about_old_topics_only_their_part_is_read_again(
    as_olga: Client, engines: SimpleNamespace, finished: Switch
) -> None:
    finished.kind, finished.retire_after_days = "migration", 9
    finished.save()
    switch_ended(finished)
    Retirement.objects.update(status="running")
    address = reverse("switch", args=[finished.key])
    section = as_olga.get(address, headers={"HX-Request": "true"}).content.decode()
    assert section.lstrip().startswith('<section class="card retirement" id="retirement"')
    assert "<!doctype" not in section.lower()
    assert "hx-select" not in section
    assert f'hx-get="{address}"' in section
    assert section.strip() in text(as_olga, address)


def text(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return answer.content.decode()

"""Whose clients are not registered, and what to send to their owner."""

from __future__ import annotations

import re
from types import SimpleNamespace
from urllib.parse import unquote

import pytest
from django.test import Client as Browser
from django.urls import reverse
from django.utils import timezone, translation

from dashboard.graph_parts import publish_graph
from hadash.governance.models.published import AdviceStep, Coverage
from hadash.governance.models.runs import Run
from hadash.inventory.models import AppID
from hadash.presentation import uncovered
from hadash.presentation.uncovered import Client, Uncovered
from hadash.radius.nodes import AccessEdge
from hadash.reports.models import OwnerAddress

ONE = Uncovered("main", "shop", "checkout@example.com", 1, 4, 2, (Client("web-1", 2), Client("", 1)), 40, 7)


class TestTheText:
    def test_it_says_who_what_it_would_change_and_what_to_do(self) -> None:
        assert "2 of 4 Kafka clients of AppID shop are not registered" in ONE.text
        assert "7 things move together at most instead of 40" in ONE.text
        assert "- web-1" in ONE.text
        assert "Please set client.id" in ONE.text, "one has none"

    def test_of_many_clients_a_few_are_named(self) -> None:
        many = Uncovered("main", "shop", "", 1, 99, 99, tuple(Client(f"web-{n}", 1) for n in range(99)))
        assert f"and {99 - uncovered.NAMED} more." in many.text

    def test_it_can_be_sent_as_a_mail_to_an_owner_who_has_an_address(self) -> None:
        assert ONE.mailto.startswith("mailto:checkout%40example.com?subject=Kafka%20clients%20of%20shop")

    def test_a_team_is_no_address(self) -> None:
        team = Uncovered("main", "shop", "Team Checkout", 1, 1, 1, ())
        assert team.mailto.startswith("mailto:?")

    def test_a_mail_has_as_many_names_as_a_mail_program_takes(self) -> None:
        long = Uncovered(
            "main", "shop", "", 1, 9, 9, tuple(Client("购物车" * 12 + str(n), 1) for n in range(9))
        )
        body = unquote(long.mailto)
        assert len(long.mailto) <= uncovered.MAX_MAILTO and "购物车" in body
        assert re.search(r"and \d more\.", body) and "more." not in long.text

    def test_of_names_that_are_too_long_for_any_mail_it_has_the_subject(self) -> None:
        long = Uncovered("main", "shop", "", 1, 1, 1, (Client("购物车" * 80, 1),))
        assert long.mailto.startswith("mailto:?subject=") and "body" not in long.mailto


@pytest.fixture
def published(fleet: SimpleNamespace) -> None:
    now = timezone.now()
    runs = {
        job: Run.objects.create(job=job, state=Run.State.PUBLISHED, began_at=now, ended_at=now)
        for job in (Run.Job.COVERAGE, Run.Job.ADVICE)
    }
    AppID.objects.create(name="known", pair=fleet.pair)
    for name, clients, registered in [("shop", 3, 1), ("known", 2, 2), ("购物", 9, 0)]:
        Coverage.objects.create(
            run=runs[Run.Job.COVERAGE],
            pair="main",
            appid=name,
            clients=clients,
            registered=registered,
            nameless=0,
            new_clients=0,
            days=7,
            duplicates=0,
            bypassing=0,
        )
    AdviceStep.objects.create(
        run=runs[Run.Job.ADVICE], pair="main", place=1, appid="shop", before=40, after=7, island=1
    )
    uses = [AccessEdge("shop", name, "produce", "carts") for name in ("shop-carts", "web-2", "")]
    publish_graph(fleet.pair, [*uses, *(AccessEdge("购物", f"c-{n}", "consume", "carts") for n in range(9))])


@pytest.mark.stack
@pytest.mark.django_db
class TestThePage:
    def test_those_with_the_most_come_first_and_registered_ones_are_left_out(
        self, as_arne: Browser, published: None
    ) -> None:
        first, second = uncovered.with_clients(uncovered.rows_of(["main"]))
        assert (first.appid, first.missing, len(first.clients)) == ("购物", 9, 9)
        assert [client.name for client in second.clients] == ["web-2", ""], "shop-carts is registered"
        assert (second.before, second.after, second.owner) == (40, 7, "Checkout")
        page = as_arne.get(reverse("uncovered")).content.decode()
        assert "moves together: 40 → 7" in page and "no owner is known" in page
        assert "known</a>" not in page

    def test_the_mail_goes_to_the_address_that_reports_know_in_the_owners_language(
        self, as_arne: Browser, published: None
    ) -> None:
        OwnerAddress.objects.create(owner="Checkout", address="checkout@bank.example", language="zh-hans")
        page = as_arne.get(reverse("uncovered"), {"q": "sho"}).content.decode()
        assert 'href="mailto:checkout%40bank.example?' in page
        assert "2 of 3 clients are not registered" in page, "the page is in the viewer's"
        with translation.override("zh-hans"):
            assert str(translation.gettext("Some clients have no client.id. Please set client.id to a name that is "
                "theirs alone and stays the same.")) in page  # fmt: skip

    def test_a_row_a_client_as_csv(self, as_arne: Browser, published: None) -> None:
        answer = as_arne.get(reverse("uncovered"), {"format": "csv", "q": "sho"})
        lines = b"".join(answer.streaming_content).decode().splitlines()  # type: ignore[attr-defined]
        assert lines[0] == ",".join(uncovered.COLUMNS) and len(lines) == 3

    def test_nothing_fits(self, as_arne: Browser, published: None) -> None:
        assert "Nothing fits." in as_arne.get(reverse("uncovered"), {"q": "nobody"}).content.decode()

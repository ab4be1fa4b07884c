"""The link at the end of a mail, for people and for their mailbox's program."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from hadash.outbox import services
from hadash.outbox.models import Delivery, Unsubscription
from hadash.outbox.services import Recipient

pytestmark = [pytest.mark.stack, pytest.mark.django_db]


@pytest.fixture
def delivery(db: None) -> Delivery:
    content = services.keep_content("main: 3 <risks>", "Text")
    services.queue(content, [Recipient("olga@example.org", "1")], topic="daily")
    return Delivery.objects.get()


@pytest.fixture
def address(delivery: Delivery) -> str:
    return reverse("unsubscribe", args=[delivery.unsubscribe_token])


def test_to_open_the_link_changes_nothing(client: Client, address: str) -> None:
    page = client.get(address).content.decode()
    assert "olga@example.org receives mail like this" in page
    assert "main: 3 &lt;risks&gt;" in page
    assert not Unsubscription.objects.exists()


def test_one_click_of_a_mailbox_unsubscribes_without_a_token_of_ours(address: str) -> None:
    """RFC 8058, 3.2: a POST of ``List-Unsubscribe=One-Click``, without cookies."""
    program = Client(enforce_csrf_checks=True)
    assert program.post(address, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert program.post(address, {"List-Unsubscribe": "One-Click"}).status_code == 200
    assert Unsubscription.objects.count() == 1


def test_it_can_be_taken_back(client: Client, address: str) -> None:
    page = client.post(address).content.decode()
    assert "no longer receives" in page
    assert "Subscribe again" in page
    assert "receives mail like this" in client.post(address, {"again": "1"}).content.decode()
    assert not Unsubscription.objects.exists()


def test_a_link_that_belongs_to_nothing(client: Client, delivery: Delivery) -> None:
    assert client.get(reverse("unsubscribe", args=["nothing"])).status_code == 404
    Delivery.objects.update(topic="")
    assert client.post(reverse("unsubscribe", args=[delivery.unsubscribe_token])).status_code == 404
    assert not Unsubscription.objects.exists()

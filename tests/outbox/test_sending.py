"""All that is due, sent to a real server by one sender, and what becomes of each."""

from __future__ import annotations

import socket
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from support.smtp import MailServer, mail_server

from hadash.outbox import sending, services
from hadash.outbox.backoff import RetryPlan
from hadash.outbox.models import Delivery
from hadash.outbox.services import Recipient
from hadash.outbox.states import State

from .conftest import server_at

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

PLAN = RetryPlan((60, 300))


class Clock:
    def __init__(self) -> None:
        self.now = timezone.now()

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@pytest.fixture
def clock() -> Clock:
    return Clock()


def queue(clock: Clock, *names: str, topic: str = "") -> None:
    content = services.keep_content("主题", "正文", list_id="daily")
    services.queue(content, [Recipient(f"{n}@example.org", f"1 {n}") for n in names], topic, due_at=clock())


def send(mail: MailServer, clock: Clock) -> Counter[State]:
    return sending.send_due(server_at(mail.port), PLAN, clock)


def states() -> dict[str, State]:
    found = Delivery.objects.values_list("address", "state")
    return {address.partition("@")[0]: State(state) for address, state in found}


@pytest.fixture
def mail() -> Iterator[MailServer]:
    with mail_server() as running:
        yield running


def test_all_are_sent_over_one_connection(mail: MailServer, clock: Clock) -> None:
    queue(clock, *(f"n{number}" for number in range(120)))
    assert send(mail, clock) == {State.ACCEPTED: 120}
    assert len(set(mail.recipients())) == len(mail.taken) == 120
    assert mail.connections == 2, "a hundred messages each"
    assert send(mail, clock) == {}


def test_one_recipient_s_refusal_is_nobody_else_s(mail: MailServer, clock: Clock) -> None:
    mail.to_recipient = lambda address: "550 5.1.1 no such user" if address.startswith("nobody") else None
    queue(clock, "olga", "nobody", "arne")
    send(mail, clock)
    assert states() == {"olga": State.ACCEPTED, "nobody": State.FAILED, "arne": State.ACCEPTED}
    assert Delivery.objects.get(address__startswith="nobody").said == "550 5.1.1 no such user"


def test_greylisting_lets_it_in_the_second_time(mail: MailServer, clock: Clock) -> None:
    seen: set[str] = set()

    def greylist(address: str) -> str | None:
        if address in seen:
            return None
        seen.add(address)
        return "451 4.7.1 Greylisted"

    mail.to_recipient = greylist
    queue(clock, "olga")
    assert send(mail, clock) == {State.DEFERRED: 1}
    assert send(mail, clock) == {}, "not before its time"
    clock.forward(60)
    assert send(mail, clock) == {State.ACCEPTED: 1}


def test_a_server_that_dies_in_the_midst_leaves_one_that_is_not_known(mail: MailServer, clock: Clock) -> None:
    mail.dies_after = {"olga@example.org"}
    queue(clock, "arne", "olga", "bea")
    send(mail, clock)
    assert states() == {"arne": State.ACCEPTED, "olga": State.UNCERTAIN, "bea": State.ACCEPTED}
    clock.forward(10**6)
    send(mail, clock)
    assert Counter(mail.recipients())["olga@example.org"] == 1


def test_a_server_that_dies_at_each_of_them_leaves_two_that_are_not_known(
    mail: MailServer, clock: Clock
) -> None:
    names = [f"n{number}" for number in range(120)]
    mail.dies_after = {f"{name}@example.org" for name in names}
    queue(clock, *names)
    assert send(mail, clock) == {State.UNCERTAIN: 2, State.DEFERRED: 118}
    mail.dies_after = set()
    clock.forward(60)
    assert send(mail, clock) == {State.ACCEPTED: 118}


@pytest.mark.in_turn
def test_the_longer_there_is_no_server_the_more_rarely_it_is_asked(clock: Clock, settings: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    queue(clock, "olga")
    tries = 0
    for _minute in range(6 * 60):
        tries += bool(sending.send_due(server_at(port), PLAN, clock))
        clock.forward(60)
    delivery = Delivery.objects.get()
    assert 30 < tries < 70, "each minute at first, then each ten"
    assert len(delivery.log) == 1, "what is said again and again is kept once"
    assert (delivery.tries, delivery.state) == (0, State.DEFERRED), "none of these was a try"


def test_a_round_ends_though_what_is_deferred_in_it_is_due_again_meanwhile() -> None:
    class Ticking(Clock):
        def __call__(self) -> datetime:
            self.forward(1)
            return self.now

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    clock = Ticking()
    queue(clock, *(f"n{number}" for number in range(120)))
    assert sending.send_due(server_at(port), PLAN, clock) == {State.DEFERRED: 120}


@pytest.mark.parametrize("sender", ["hadash <hadash@例子.中国>", "平台 <hadash@例子.中国>"])
def test_a_sender_in_other_letters(mail: MailServer, clock: Clock, settings: Any, sender: str) -> None:
    settings.MAIL_FROM = sender
    queue(clock, "olga")
    assert send(mail, clock) == {State.ACCEPTED: 1}
    assert mail.taken[0].sender == "hadash@xn--fsqu00a.xn--fiqs8s"


def test_without_a_server_everything_waits_and_is_sent_when_it_is_back(clock: Clock, settings: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    queue(clock, *(f"n{number}" for number in range(120)))
    done = sending.send_due(server_at(port), PLAN, clock)
    assert done == {State.DEFERRED: 120}
    with mail_server() as mail:
        clock.forward(60)
        assert send(mail, clock) == {State.ACCEPTED: 120}


def test_a_message_that_cannot_be_put_together_keeps_nobody_waiting(mail: MailServer, clock: Clock) -> None:
    queue(clock, "olga", "arne")
    Delivery.objects.filter(address__startswith="olga").update(address="ol\nga@example.org")
    send(mail, clock)
    broken, whole = Delivery.objects.order_by("pk")
    assert (broken.state, whole.state) == (State.FAILED, State.ACCEPTED)
    assert "could not be put together" in broken.said


def test_the_link_that_unsubscribes_is_the_recipient_s_own(
    mail: MailServer, clock: Clock, settings: Any
) -> None:
    settings.PUBLIC_URL = "https://hadash.example.org/"
    queue(clock, "olga", "arne", topic="daily")
    send(mail, clock)
    tokens = dict(Delivery.objects.values_list("address", "unsubscribe_token"))
    for received in mail.taken:
        link = f"<https://hadash.example.org/unsubscribe/{tokens[received.recipient]}/>"
        assert received.message["List-Unsubscribe"].strip() == link

"""Queueing and moving deliveries, in PostgreSQL."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.utils import timezone

from hadash.outbox import services
from hadash.outbox.backoff import RetryPlan
from hadash.outbox.models import SUBJECT_KEPT, Content, ContentPart, Delivery, Endpoint, Transport
from hadash.outbox.services import Part, Recipient
from hadash.outbox.states import State

pytestmark = [pytest.mark.stack, pytest.mark.django_db]

PLAN = RetryPlan((60, 300))


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def content(db: None) -> Content:
    return services.keep_content(
        "main: 3 risks", "Text", "<p>Text</p>", [Part("a.csv", "text/csv", b"a")], "daily"
    )


def recipients(*names: str) -> list[Recipient]:
    return [Recipient(f"{name}@example.org", f"report 1 to {name}") for name in names]


def one(content: Content, now: datetime) -> Delivery:
    services.queue(content, recipients("olga"), due_at=now)
    (delivery,) = services.claim_due(now, 10)
    return delivery


def stored(delivery: Delivery) -> Delivery:
    return Delivery.objects.get(pk=delivery.pk)


def test_what_is_asked_for_twice_is_queued_once(content: Content) -> None:
    assert services.queue(content, recipients("olga", "arne")) == 2
    assert services.queue(content, recipients("arne", "bea")) == 1
    assert Delivery.objects.count() == 3


def test_whoever_has_unsubscribed_is_left_out_and_gets_what_is_another_topic(
    content: Content, now: datetime
) -> None:
    services.queue(content, recipients("olga"), topic="daily", due_at=now + timedelta(hours=1))
    delivery = Delivery.objects.get()
    assert services.unsubscribe(delivery) == 1
    assert stored(delivery).state == State.CANCELLED
    assert services.unsubscribe(delivery) == 0, "a second click"
    again = [Recipient("olga@example.org", "tomorrow's")]
    assert services.queue(content, again, topic="daily") == 0
    assert services.queue(content, again, topic="weekly") == 1
    assert services.subscribe_again(delivery.address, "daily")
    assert not services.subscribe_again(delivery.address, "daily"), "a second click"
    assert services.queue(content, [Recipient("olga@example.org", "after that")], topic="daily") == 1


class TestClaiming:
    def test_each_is_claimed_once_the_oldest_first_and_nothing_before_its_time(
        self, content: Content, now: datetime
    ) -> None:
        for minutes, name in ((2, "late"), (-1, "second"), (-2, "first")):
            services.queue(content, recipients(name), due_at=now + timedelta(minutes=minutes))
        claimed = services.claim_due(now, 10)
        assert [each.address for each in claimed] == ["first@example.org", "second@example.org"]
        assert services.claim_due(now, 10) == []
        assert [each.address for each in services.claim_due(now + timedelta(minutes=2), 10)] == [
            "late@example.org"
        ]

    def test_no_more_than_asked_for(self, content: Content, now: datetime) -> None:
        services.queue(content, recipients(*"abcde"), due_at=now)
        assert [len(services.claim_due(now, 2)) for _ in range(4)] == [2, 2, 1, 0]

    def test_what_nobody_needs_any_more_has_failed(self, content: Content, now: datetime) -> None:
        services.queue(content, recipients("olga"), due_at=now, expires_at=now)
        assert services.claim_due(now, 10) == []
        delivery = Delivery.objects.get()
        assert (delivery.state, delivery.said) == (
            State.FAILED,
            "Its time was over before it could be sent.",
        )
        assert delivery.settled_at == now and delivery.log[-1][1] == State.FAILED

    def test_and_keeps_the_words_of_the_server(self, content: Content, now: datetime) -> None:
        services.queue(content, recipients("olga"), due_at=now, expires_at=now + timedelta(hours=20))
        (delivery,) = services.claim_due(now, 10)
        services.defer(delivery, now, "450 mailbox full", PLAN)
        assert services.claim_due(now + timedelta(hours=21), 10) == []
        assert stored(delivery).said == "Its time was over before it could be sent. 450 mailbox full"

    def test_the_content_comes_with_it(
        self, content: Content, now: datetime, django_assert_max_num_queries: object
    ) -> None:
        services.queue(content, recipients(*"abcde"), due_at=now)
        claimed = services.claim_due(now, 10)
        with django_assert_max_num_queries(0):  # type: ignore[operator]
            assert [bytes(part.data) for each in claimed for part in each.content.parts.all()] == [b"a"] * 5


class TestASenderThatHasEnded:
    def test_before_it_handed_over_the_next_one_sends_it(
        self, content: Content, now: datetime, settings: object
    ) -> None:
        delivery = one(content, now)
        assert services.release_expired_claims(now) == (0, 0), "it is still at it"
        later = now + timedelta(seconds=301)
        assert services.release_expired_claims(later) == (1, 0)
        assert [each.pk for each in services.claim_due(later, 10)] == [delivery.pk]
        assert services.hand_over(delivery, later) is False, "the one that was only slow finds it taken"

    def test_while_it_handed_over_nobody_sends_it_again(self, content: Content, now: datetime) -> None:
        delivery = one(content, now)
        assert services.hand_over(delivery, now)
        later = now + timedelta(days=1)
        assert services.release_expired_claims(later) == (0, 1)
        assert stored(delivery).state == State.UNCERTAIN
        assert services.claim_due(later, 10) == []
        assert services.accept(delivery, later, "250 OK") is False, (
            "too late: a person has been told that it is not known"
        )

    def test_a_person_sends_it_again_and_it_is_the_same_message(
        self, content: Content, now: datetime
    ) -> None:
        delivery = one(content, now)
        services.hand_over(delivery, now)
        services.release_expired_claims(now + timedelta(days=1))
        assert services.send_again(None, stored(delivery), now)
        (again,) = services.claim_due(now, 10)
        assert again.key == delivery.key
        assert services.send_again(None, again, now) is False, "a second click finds it under way"


class TestAnswers:
    def test_accepted(self, content: Content, now: datetime) -> None:
        delivery = one(content, now)
        assert services.hand_over(delivery, now)
        assert services.accept(delivery, now, "250 taken")
        found = stored(delivery)
        assert (found.state, found.said, found.settled_at) == (State.ACCEPTED, "250 taken", now)
        assert found.claim is None

    def test_deferred_comes_back_as_planned_and_fails_in_the_end(
        self, content: Content, now: datetime
    ) -> None:
        delivery = one(content, now)
        for delay in PLAN.delays:
            assert services.defer(delivery, now, "451 later", PLAN)
            assert services.claim_due(now + timedelta(seconds=delay - 1), 10) == []
            now += timedelta(seconds=delay)
            (delivery,) = services.claim_due(now, 10)
        assert services.defer(delivery, now, "451 never", PLAN)
        found = stored(delivery)
        assert (found.state, found.said, found.tries) == (State.FAILED, "451 never", 3)
        assert [each["said"] for each in found.tried()] == ["451 never", "451 later", "451 later"]

    def test_a_server_that_is_away_uses_up_no_try(self, content: Content, now: datetime) -> None:
        delivery = one(content, now)
        for _ in range(10):
            assert services.defer(delivery, now, "no server", PLAN, counts=False)
            now += timedelta(seconds=60)
            (delivery,) = services.claim_due(now, 10)
        assert delivery.tries == 0

    def test_what_a_server_says_has_an_end(self, content: Content, now: datetime) -> None:
        delivery = one(content, now)
        services.fail(delivery, now, "x" * 10_000)
        assert len(stored(delivery).said) == services.SAID_CHARACTERS


def test_what_was_settled_long_ago_is_forgotten_with_its_content(content: Content, now: datetime) -> None:
    delivery = one(content, now)
    services.fail(delivery, now, "550 no")
    assert services.trim(now + timedelta(days=89)) == 0
    assert services.trim(now + timedelta(days=91)) == 1
    assert (Content.objects.count(), ContentPart.objects.count()) == (0, 0)


class TestTheLastTry:
    """A report is of use for some hours: the plan may wait longer than that."""

    def test_it_is_tried_once_more_before_nobody_needs_it(self, now: datetime) -> None:
        expires = now + timedelta(hours=3)
        assert services.next_try(now, 3600.0, expires) == now + timedelta(hours=1)
        assert services.next_try(now, 6 * 3600.0, expires) == expires - timedelta(minutes=15)

    def test_and_not_again(self, now: datetime) -> None:
        assert services.next_try(now, 6 * 3600.0, now + timedelta(minutes=10)) is None
        assert services.next_try(now, None, now + timedelta(hours=3)) is None

    def test_without_an_end_the_plan_decides(self, now: datetime) -> None:
        assert services.next_try(now, 86_400.0, None) == now + timedelta(days=1)

    def test_what_is_not_tried_again_has_failed_with_the_servers_words(
        self, content: Content, now: datetime
    ) -> None:
        services.queue(content, recipients("olga"), due_at=now, expires_at=now + timedelta(seconds=30))
        (delivery,) = services.claim_due(now, 10)
        services.defer(delivery, now, "451 try again later", PLAN)
        assert (stored(delivery).state, stored(delivery).said) == (State.FAILED, "451 try again later")


def test_how_late_it_is_does_not_begin_anew_with_each_try(content: Content, now: datetime) -> None:
    services.queue(content, recipients("olga"), due_at=now)
    (delivery,) = services.claim_due(now, 10)
    services.defer(delivery, now, "no server", PLAN, counts=False)
    kept = stored(delivery)
    assert (kept.wanted_at, kept.tries) == (now, 0) and kept.due_at > now


def test_a_sender_that_was_killed_leaves_a_webhook_that_is_posted_again(
    content: Content, now: datetime
) -> None:
    """Its receiver knows it by its id; of a mail, and of a chat, nobody can tell."""
    for transport in (Transport.WEBHOOK, Transport.SLACK):
        endpoint = Endpoint.objects.create(
            name=transport.value, transport=transport, url="https://example.org"
        )
        services.queue(content, [Recipient(transport.value, transport.value, endpoint=endpoint)], due_at=now)
    for delivery in services.claim_due(now, 10, [Transport.WEBHOOK, Transport.SLACK]):
        services.hand_over(delivery, now)
    assert services.release_expired_claims(now + timedelta(hours=1)) == (1, 1)
    states = dict(Delivery.objects.values_list("transport", "state"))
    assert states == {Transport.WEBHOOK: State.DEFERRED, Transport.SLACK: State.UNCERTAIN}


def test_a_subject_that_is_too_long_is_cut(db: None) -> None:
    content = services.keep_content("理由" * 1000, "Text")
    content.refresh_from_db()
    assert len(content.subject) == SUBJECT_KEPT and content.subject.endswith("…")


def test_what_is_over_has_failed_and_delays_nothing(content: Content, now: datetime) -> None:
    services.queue(
        content, recipients("olga", "arne", "bea"), due_at=now - timedelta(hours=2), expires_at=now
    )
    services.queue(content, [Recipient("vera@example.org", "new")], due_at=now)
    assert [each.address for each in services.claim_due(now, 1)] == ["vera@example.org"]
    failed = Delivery.objects.filter(state=State.FAILED)
    assert {each.said for each in failed} == {"Its time was over before it could be sent."} and len(
        failed
    ) == 3


def test_who_has_unsubscribed_meanwhile_gets_nothing_again(content: Content, now: datetime) -> None:
    services.queue(content, recipients("olga"), topic="daily", due_at=now)
    (delivery,) = services.claim_due(now, 10)
    services.fail(delivery, now, "550 no")
    services.unsubscribe(delivery)
    with pytest.raises(services.Unsubscribed):
        services.send_again(None, delivery, now)
    assert stored(delivery).state == State.FAILED

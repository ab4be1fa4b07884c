"""Queues, claims and settles deliveries. Every change of state is a compare-and-set, which does nothing when
the state is not the expected one.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models.functions import Lower
from django.utils import timezone

from hadash.audit.models import record
from hadash.outbox.backoff import RetryPlan
from hadash.outbox.models import (
    REPEATABLE,
    SUBJECT_KEPT,
    Content,
    ContentPart,
    Delivery,
    Endpoint,
    Transport,
    Unsubscription,
)
from hadash.outbox.states import DUE, MACHINE, SETTLED, Event, State

#: Characters of a server's words that are kept, at most.
SAID_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Part:
    """An image in the HTML (with ``cid``), or an attachment."""

    name: str
    media_type: str
    data: bytes
    cid: str = ""


class Unsubscribed(Exception):
    """The address has unsubscribed from the topic of the message."""


@dataclass(frozen=True, slots=True)
class Recipient:
    """A recipient of a message. ``asked_as``: identifies this message to this recipient, however often it is
    queued.
    """

    address: str
    asked_as: str
    user_id: int | None = None
    #: The endpoint of a post.
    endpoint: Endpoint | None = None


def keep_content(
    subject: str,
    text: str,
    html: str = "",
    parts: Iterable[Part] = (),
    list_id: str = "",
    language: str = "en",
    data: dict[str, Any] | None = None,
) -> Content:
    """Store the content of a message, in the transaction of the caller. A subject that is too long is shortened."""
    content = Content.objects.create(
        subject=_cut(subject, SUBJECT_KEPT),
        text=text,
        html=html,
        list_id=list_id,
        language=language,
        data=data or {},
    )
    ContentPart.objects.bulk_create(
        ContentPart(
            content=content,
            name=part.name,
            media_type=part.media_type,
            cid=part.cid,
            data=part.data,
        )
        for part in parts
    )
    return content


def _cut(text: str, most: int) -> str:
    """Shorten a text to ``most`` characters.

    >>> _cut("four", 4), _cut("five!", 4)
    ('four', 'fiv…')
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def queue(
    content: Content,
    recipients: Iterable[Recipient],
    topic: str = "",
    due_at: datetime | None = None,
    expires_at: datetime | None = None,
) -> int:
    """Queue a message for its recipients, in the transaction of the event that it is about; return how many
    were new.

    Recipients that have unsubscribed from ``topic`` are skipped, and so are messages that were queued before
    with the same ``asked_as``.
    """
    wanted = list(recipients)
    without = unsubscribed(topic, [recipient.address for recipient in wanted])
    wanted_at = due_at or timezone.now()
    before = Delivery.objects.filter(asked_as__in=[r.asked_as for r in wanted])
    known = set(before.values_list("asked_as", flat=True))
    new = [r for r in wanted if r.address not in without and r.asked_as not in known]
    Delivery.objects.bulk_create(
        [
            Delivery(
                asked_as=recipient.asked_as,
                transport=recipient.endpoint.transport if recipient.endpoint else Transport.MAIL,
                endpoint=recipient.endpoint,
                content=content,
                user_id=recipient.user_id,
                address=recipient.address,
                topic=topic,
                wanted_at=wanted_at,
                due_at=wanted_at,
                expires_at=expires_at,
            )
            for recipient in new
        ],
        batch_size=1000,
        ignore_conflicts=True,  # another transaction may have queued the same meanwhile
    )
    return len(new)


def expire(now: datetime, transports: Iterable[Transport] = (Transport.MAIL,)) -> int:
    """Fail deliveries that have expired, with the server's last words; return how many."""
    late = Delivery.objects.filter(transport__in=list(transports), state__in=DUE, expires_at__lte=now)
    expired = 0
    for each in late.order_by("pk").iterator(chunk_size=500):
        said = f"Its time was over before it could be sent. {each.said}".strip()
        expired += _settle(each, Event.EXPIRE, now, said)
    return expired


def claim_due(
    now: datetime,
    limit: int,
    transports: Iterable[Transport] = (Transport.MAIL,),
    due_before: datetime | None = None,
) -> list[Delivery]:
    """Claim deliveries that are due, the oldest first, for ``OUTBOX_CLAIM_SECONDS``. Expired ones fail first.

    :param due_before: only those that were due by then; ``None``: all that are due now.
    """
    wanted = list(transports)
    expire(now, wanted)
    with transaction.atomic():
        found = Delivery.objects.select_for_update(skip_locked=True).filter(
            transport__in=wanted, state__in=DUE, due_at__lte=due_before or now
        )
        due = list(found.order_by("due_at", "pk")[:limit])
        claim, until = uuid.uuid4(), now + timedelta(seconds=settings.OUTBOX_CLAIM_SECONDS)
        Delivery.objects.filter(pk__in=[each.pk for each in due]).update(
            state=MACHINE.after(State.QUEUED, Event.CLAIM), claim=claim, claimed_until=until
        )
    claimed = (
        Delivery.objects.filter(claim=claim)
        .select_related("content", "endpoint")
        .prefetch_related("content__parts")
    )
    return list(claimed.order_by("due_at", "pk"))


def hand_over(delivery: Delivery, now: datetime) -> bool:
    """Record that a delivery is about to be handed over, before it is. ``False``: this sender no longer has it,
    and must not send it.
    """
    # (As long as a mail server may take for its answer: it must not become uncertain before. A post takes only
    # seconds in total.)
    is_mail = delivery.transport == Transport.MAIL
    answers = settings.SMTP_TAKING_SECONDS + settings.SMTP_TIMEOUT_SECONDS if is_mail else 0.0
    until = now + timedelta(seconds=max(settings.OUTBOX_CLAIM_SECONDS, answers))
    return _move(delivery, Event.HAND_OVER, claimed_until=until)


def accept(delivery: Delivery, now: datetime, said: str) -> bool:
    """Record that the server has accepted a delivery."""
    return _settle(delivery, Event.ACCEPT, now, said)


def fail(delivery: Delivery, now: datetime, said: str) -> bool:
    """Record that a delivery has failed permanently."""
    return _settle(delivery, Event.FAIL, now, said)


def lose_track(delivery: Delivery, now: datetime, said: str) -> bool:
    """Record that a delivery is uncertain: the connection ended before the server answered."""
    return _settle(delivery, Event.LOSE_TRACK, now, said)


def defer(
    delivery: Delivery,
    now: datetime,
    said: str,
    plan: RetryPlan,
    at_least: float = 0.0,
    *,
    counts: bool = True,
) -> bool:
    """Schedule a delivery for another try; it fails when its tries are used up.

    :param at_least: the seconds that the server has asked for.
    :param counts: whether this counts as a try. Without a server it does not; then the pause grows with the
        time that the delivery has waited.
    """
    tries = delivery.tries + counts
    if not counts:
        waited = (now - delivery.wanted_at).total_seconds()
        at_least = max(at_least, min(waited / 10, settings.OUTBOX_AWAY_SECONDS))
    delay = plan.delay_after(max(tries, 1), str(delivery.key), at_least)
    due_at = next_try(now, delay, delivery.expires_at)
    if due_at is None:
        return _settle(delivery, Event.FAIL, now, said, tries=tries)
    return _settle(delivery, Event.DEFER, now, said, tries=tries, due_at=due_at, settled_at=None)


def next_try(now: datetime, delay: float | None, expires_at: datetime | None) -> datetime | None:
    """Return when a delivery is tried again: after ``delay`` seconds, or for the last time
    ``OUTBOX_LAST_TRY_SECONDS`` before it expires; ``None``: never.

    :param delay: ``None``: the plan has no further try.
    """
    if delay is None:
        return None
    due_at = now + timedelta(seconds=delay)
    if expires_at is None or due_at < expires_at:
        return due_at
    last = expires_at - timedelta(seconds=settings.OUTBOX_LAST_TRY_SECONDS)
    return last if last > now else None


def bounce(key: uuid.UUID, now: datetime, said: str) -> bool:
    """Record that a server has returned a delivery. ``False``: it is unknown, or not in a state that allows this."""
    delivery = Delivery.objects.filter(key=key, state__in=MACHINE.allowing(Event.BOUNCE)).first()
    return delivery is not None and _settle(delivery, Event.BOUNCE, now, said)


def release_expired_claims(now: datetime) -> tuple[int, int]:
    """Release the claims of senders that have ended. Return the number of deliveries that are due again (nothing
    was handed over, or the receiver recognises duplicates), and of those that are uncertain.
    """
    left = Delivery.objects.filter(claimed_until__lte=now)
    unsent = left.filter(state=State.SENDING).update(
        state=MACHINE.after(State.SENDING, Event.RELEASE), claim=None, claimed_until=None
    )
    said = "The sender ended while the server was taking it: whether it has arrived is not known."
    uncertain = 0
    for delivery in left.filter(state=State.HANDED_OVER):
        if delivery.transport in REPEATABLE:
            unsent += _settle(delivery, Event.DEFER, now, said, due_at=now, settled_at=None)
        else:
            uncertain += _settle(delivery, Event.LOSE_TRACK, now, said)
    return unsent, uncertain


def set_aside(now: datetime) -> int:
    """Mark all waiting deliveries as uncertain after a restore, because they may have been sent after the dump
    was made; return how many. They are not sent automatically.
    """
    said = "The database was put back from a dump: whether it was sent after that was made is not known."
    waiting = Delivery.objects.filter(state__in=MACHINE.allowing(Event.SET_ASIDE)).order_by("pk")
    return sum(_settle(each, Event.SET_ASIDE, now, said) for each in waiting.iterator(chunk_size=500))


def send_again(actor: Any, delivery: Delivery, now: datetime, ip: str | None = None) -> bool:
    """Queue a delivery again on a user's request: a failed, uncertain, returned or deferred one. ``False``: its
    state does not allow that.

    :raises Unsubscribed: its recipient has unsubscribed.
    """
    if unsubscribed(delivery.topic, [delivery.address]):
        raise Unsubscribed(delivery.address)
    with transaction.atomic():
        found = Delivery.objects.filter(pk=delivery.pk, state__in=MACHINE.allowing(Event.SEND_AGAIN))
        moved = found.update(
            state=MACHINE.after(State.FAILED, Event.SEND_AGAIN),
            wanted_at=now,
            due_at=now,
            tries=0,
            claim=None,
            settled_at=None,
            expires_at=None,
        )
        if moved:
            subject = f"delivery {delivery.key}"
            record(actor, "mail sent again", subject, ip, to=delivery.address, before=delivery.state)
    return bool(moved)


def unsubscribe(delivery: Delivery) -> int:
    """Unsubscribe a delivery's address from its topic; cancel the messages of the topic that are queued for it,
    and return how many.
    """
    with transaction.atomic():
        if not unsubscribed(delivery.topic, [delivery.address]):
            Unsubscription.objects.get_or_create(address=delivery.address, topic=delivery.topic)
        waiting = Delivery.objects.filter(
            address__iexact=delivery.address, topic=delivery.topic, state__in=MACHINE.allowing(Event.CANCEL)
        )
        return waiting.update(
            state=MACHINE.after(State.QUEUED, Event.CANCEL),
            settled_at=timezone.now(),
            said="The recipient has unsubscribed.",
        )


def unsubscribed(topic: str, addresses: Collection[str]) -> set[str]:
    """Return those of the addresses that have unsubscribed from a topic, ignoring case: mailboxes do not
    distinguish Olga@ from olga@.
    """
    if not topic:
        return set()
    asked = {address.lower() for address in addresses}
    found = Unsubscription.objects.filter(topic=topic).annotate(small=Lower("address"))
    without = set(found.filter(small__in=list(asked)).values_list("small", flat=True))
    return {address for address in addresses if address.lower() in without}


def subscribe_again(address: str, topic: str) -> bool:
    """Subscribe an address to a topic again; return whether it had unsubscribed."""
    return bool(Unsubscription.objects.filter(address__iexact=address, topic=topic).delete()[0])


def is_unsubscribed(delivery: Delivery) -> bool:
    return bool(unsubscribed(delivery.topic, [delivery.address]))


def _settle(delivery: Delivery, event: Event, now: datetime, said: str, **values: Any) -> bool:
    state = MACHINE.after(delivery.current, event)
    said = said[:SAID_CHARACTERS]
    entry = [now.isoformat(timespec="seconds"), state.value, said]
    log = logged(delivery.log, entry, was_try=values.get("tries") != delivery.tries)
    given = {"settled_at": now, "said": said, "log": log, "claim": None, "claimed_until": None, **values}
    return _move(delivery, event, **given)


def logged(log: Sequence[list[str]], entry: list[str], *, was_try: bool) -> list[list[str]]:
    """Return the log with another entry (time, state, words). An entry that equals the last one, and was not a
    try, replaces it: an outage of a day would give a hundred entries.

    >>> logged([["7:00", "deferred", "away"]], ["7:01", "deferred", "away"], was_try=False)
    [['7:01', 'deferred', 'away']]
    """
    is_same = bool(log) and not was_try and list(log[-1][1:]) == entry[1:]
    kept = [*log[:-1], entry] if is_same else [*log, entry]
    return [list(each) for each in kept[-settings.OUTBOX_LOG_ENTRIES :]]


def _move(delivery: Delivery, event: Event, **values: Any) -> bool:
    """Compare and set: only from the state in which ``delivery`` was read, and only while its claim is the same."""
    state = MACHINE.after(delivery.current, event)
    found = Delivery.objects.filter(pk=delivery.pk, state=delivery.state, claim=delivery.claim)
    if not found.update(state=state, **values):
        return False
    delivery.state = state
    for name, value in values.items():
        setattr(delivery, name, value)
    return True


def switch_off(delivery: Delivery, why: str) -> None:
    """Disable a delivery's endpoint, which has answered that it is gone, until a user enables it again."""
    if delivery.endpoint_id is not None:
        Endpoint.objects.filter(pk=delivery.endpoint_id).update(enabled=False, fault=why[:SAID_CHARACTERS])


def trim(now: datetime) -> int:
    """Delete deliveries that were settled more than ``OUTBOX_KEPT_DAYS`` ago; return how many."""
    before = now - timedelta(days=settings.OUTBOX_KEPT_DAYS)
    gone, _ = Delivery.objects.filter(state__in=SETTLED, settled_at__lt=before).delete()
    Content.objects.filter(made_at__lt=before, deliveries=None).delete()
    return gone

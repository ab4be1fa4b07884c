"""Sends the mail that is due, over one connection. One sender at a time; a second one would find every message claimed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from urllib.parse import urljoin

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from hadash.outbox import services
from hadash.outbox.addresses import sender_of
from hadash.outbox.backoff import RetryPlan
from hadash.outbox.messages import message_of
from hadash.outbox.models import Delivery
from hadash.outbox.smtp import Connection, Deferred, NotOurs, Refused, Server, Unavailable, Untold
from hadash.outbox.states import State

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]


def send_due(server: Server, plan: RetryPlan, clock: Clock = timezone.now) -> Counter[State]:
    """Send all that is due now; how many deliveries came to which state.

    When the server is not there, the rest of what is claimed is deferred at once: nothing waits for one time-out after another.
    """
    services.release_expired_claims(clock())
    done: Counter[State] = Counter()
    with Connection(server, settings.SMTP_MESSAGES_EACH) as connection:
        while claimed := services.claim_due(clock(), settings.OUTBOX_CLAIMED_AT_ONCE):
            away = ""
            for delivery in claimed:
                if away:
                    services.defer(delivery, clock(), away, plan, counts=False)
                else:
                    away = _send(connection, delivery, plan, clock)
                done[delivery.the_state] += 1
    return done


def _send(connection: Connection, delivery: Delivery, plan: RetryPlan, clock: Clock) -> str:
    """Send one; why there is no server now, empty if there is one."""
    try:
        message = _put_together(delivery, clock())
    except Exception as error:  # one that is broken must not keep all others waiting
        log.exception("mail %s could not be put together", delivery.key)
        services.fail(delivery, clock(), f"It could not be put together: {error}")
        return ""
    sender = sender_of(settings.MAIL_FROM)[1]
    try:
        said = connection.send(
            sender, delivery.address, message, lambda: services.hand_over(delivery, clock())
        )
    except Unavailable as error:
        services.defer(delivery, clock(), str(error), plan, counts=False)
        log.warning("no mail can be sent: %s", error)
        return str(error)
    except Deferred as error:
        services.defer(delivery, clock(), str(error), plan)
    except Refused as error:
        services.fail(delivery, clock(), str(error))
        log.warning("mail %s is refused: %s", delivery.key, error)
    except Untold as error:
        services.lose_track(delivery, clock(), str(error))
        log.warning("whether mail %s has arrived is not known: %s", delivery.key, error)
    except NotOurs:
        pass
    else:
        services.accept(delivery, clock(), said)
    return ""


def _put_together(delivery: Delivery, now: datetime) -> bytes:
    content = delivery.content
    parts = list(content.parts.all())
    return message_of(delivery, content, parts, settings.MAIL_FROM, unsubscribe_url(delivery), now).as_bytes()


def unsubscribe_url(delivery: Delivery) -> str:
    if not delivery.topic:
        return ""
    return urljoin(settings.PUBLIC_URL, reverse("unsubscribe", args=[delivery.unsubscribe_token]))

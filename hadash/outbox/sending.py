"""Sends deliveries that are due, with one sender at a time for each transport; a second one would find all of
them claimed.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Protocol
from urllib.parse import urljoin

from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from hadash.outbox import services
from hadash.outbox.addresses import in_ascii, sender_of
from hadash.outbox.backoff import RetryPlan
from hadash.outbox.failures import Deferred, Gone, NotOurs, Refused, Unavailable, Untold
from hadash.outbox.messages import message_of
from hadash.outbox.models import REPEATABLE, Delivery, Transport
from hadash.outbox.smtp import Connection, Server
from hadash.outbox.states import State

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
#: Called when everything is ready, before anything is handed over; ``False``: another sender has the delivery.
HandOver = Callable[[], bool]


class Carrier(Protocol):
    """A way to send one message. It raises the errors in :mod:`hadash.outbox.failures`.

    ``one_server``: all its messages go to one server, so an outage is no message's fault.
    """

    one_server: bool

    def send(self, delivery: Delivery, now: datetime, before_hand_over: HandOver) -> str: ...


class MailCarrier:
    """Sends mail over one connection."""

    one_server = True

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def send(self, delivery: Delivery, now: datetime, before_hand_over: HandOver) -> str:
        content = delivery.content
        parts = list(content.parts.all())
        message = message_of(delivery, content, parts, settings.MAIL_FROM, unsubscribe_url(delivery), now)
        sender = in_ascii(settings.MAIL_RETURN or sender_of(settings.MAIL_FROM)[1])
        return self._connection.send(sender, delivery.address, message.as_bytes(), before_hand_over)


def send_due(server: Server, plan: RetryPlan, clock: Clock = timezone.now) -> Counter[State]:
    """Send all mail that is due now; return how many deliveries reached each state."""
    with Connection(server, settings.SMTP_MESSAGES_EACH) as connection:
        return carry_due(MailCarrier(connection), [Transport.MAIL], plan, clock)


def carry_due(
    carrier: Carrier, transports: Iterable[Transport], plan: RetryPlan, clock: Clock
) -> Counter[State]:
    """Send all deliveries that are due for some transports; return how many reached each state.

    When a server does not answer, its other due deliveries are deferred at once, so that there is only one
    timeout for each server. The same happens when a server several times in a row does not confirm whether it
    has accepted a message: then only these few are uncertain, and not all of them.
    """
    services.release_expired_claims(clock())
    done: Counter[State] = Counter()
    #: By server (``None`` for the only one): why it is unavailable, and the number of unconfirmed messages in a
    #: row.
    away: dict[int | None, str] = {}
    untold: Counter[int | None] = Counter()
    began, at_once = clock(), settings.OUTBOX_CLAIMED_AT_ONCE
    # (Deliveries deferred in this round may be due again before its end: they would be deferred for ever.)
    while claimed := services.claim_due(clock(), at_once, transports, began if away else None):
        for delivery in claimed:
            server = None if carrier.one_server else delivery.endpoint_id
            if server in away:
                services.defer(delivery, clock(), away[server], plan, counts=False)
            else:
                try:
                    _send(carrier, delivery, plan, clock)
                    untold[server] = 0
                except Unavailable as error:
                    away[server] = str(error)
                except Untold as error:
                    untold[server] += 1
                    if not carrier.one_server or untold[server] >= settings.OUTBOX_UNTOLD_IN_A_ROW:
                        away[server] = str(error)
            done[delivery.current] += 1
    return done


def _send(carrier: Carrier, delivery: Delivery, plan: RetryPlan, clock: Clock) -> None:
    """Send one delivery, and store the result.

    :raises Unavailable: its server accepts nothing now.
    :raises Untold: the server has not confirmed whether it has accepted it.
    """
    try:
        said = carrier.send(delivery, clock(), lambda: services.hand_over(delivery, clock()))
    except Unavailable as error:
        # (An outage of the mail server is no message's fault; an outage of one endpoint of many counts as a
        # try.)
        services.defer(delivery, clock(), str(error), plan, counts=not carrier.one_server)
        log.warning("%s cannot be sent: %s", delivery.transport, error)
        raise
    except Deferred as error:
        services.defer(delivery, clock(), str(error), plan, error.at_least)
    except Gone as error:
        services.fail(delivery, clock(), str(error))
        services.switch_off(delivery, str(error))
    except Refused as error:
        services.fail(delivery, clock(), str(error))
        log.warning("%s %s is refused: %s", delivery.transport, delivery.key, error)
    except Untold as error:
        if delivery.transport in REPEATABLE:
            services.defer(delivery, clock(), str(error), plan)
        else:
            services.lose_track(delivery, clock(), str(error))
        log.warning("whether %s %s has arrived is not known: %s", delivery.transport, delivery.key, error)
        raise
    except NotOurs:
        pass
    except Exception as error:  # one broken delivery must not stop the others
        log.exception("%s %s could not be put together", delivery.transport, delivery.key)
        services.fail(delivery, clock(), f"It could not be put together: {error}")
    else:
        services.accept(delivery, clock(), said)


def unsubscribe_url(delivery: Delivery) -> str:
    """Return the link that unsubscribes; empty where that is not possible."""
    if not delivery.topic:
        return ""
    return urljoin(settings.PUBLIC_URL, reverse("unsubscribe", args=[delivery.unsubscribe_token]))

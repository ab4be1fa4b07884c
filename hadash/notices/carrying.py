"""Posts deliveries that are due to webhooks and chat channels, each on a server of its own.
(:mod:`hadash.outbox` sends deliveries, but does not know their content.)
"""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime
from urllib.parse import urlencode

from django.conf import settings
from django.utils import timezone

from hadash.notices.kept import message_from_json
from hadash.notices.payloads import passes, post_for, refusal
from hadash.notices.signing import webhook_headers
from hadash.outbox.backoff import RetryPlan
from hadash.outbox.failures import Deferred, Refused
from hadash.outbox.models import POSTED, Delivery, Transport
from hadash.outbox.posting import BadEndpoint, checked, post
from hadash.outbox.sending import Clock, HandOver, carry_due
from hadash.outbox.states import State


class PostCarrier:
    """A :class:`hadash.outbox.sending.Carrier`."""

    one_server = False

    def send(self, delivery: Delivery, now: datetime, before_hand_over: HandOver) -> str:
        endpoint = delivery.endpoint
        if endpoint is None or not endpoint.enabled:
            raise Refused("Its channel is switched off.")
        transport = Transport(endpoint.transport)
        try:
            url = checked(endpoint.url, plain_allowed=settings.WEBHOOK_PLAIN)
        except BadEndpoint as error:
            raise Refused(str(error)) from None
        made = post_for(transport, message_from_json(delivery.content.data), endpoint.secret, now)
        body = json.dumps(made.body, ensure_ascii=False).encode()
        headers = (
            webhook_headers(endpoint.secret, f"msg_{delivery.key.hex}", now, body)
            if transport is Transport.WEBHOOK and endpoint.secret
            else {}
        )
        if made.query:
            url += ("&" if "?" in url else "?") + urlencode(made.query)
        answer = post(
            url,
            body,
            headers,
            before_hand_over,
            allowed=settings.WEBHOOK_NETWORKS,
            timeout=settings.WEBHOOK_TIMEOUT_SECONDS,
        )
        if told := refusal(transport, answer.body):
            raise Deferred(told) if passes(transport, answer.body) else Refused(told)
        return answer.said


def post_due(plan: RetryPlan, clock: Clock = timezone.now) -> Counter[State]:
    """Post all deliveries that are due now; return how many reached each state."""
    return carry_due(PostCarrier(), sorted(POSTED), plan, clock)

"""The only place that changes channels and personal wishes, and tests a channel."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from datetime import time
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.utils import timezone

from hadash.accounts.roles import MANAGE_REPORTS, may
from hadash.audit.models import record
from hadash.inventory.models import Pair
from hadash.notices.gathering import queue_for_channel
from hadash.notices.kinds import NoticeKind
from hadash.notices.models import Channel, Notice, PersonalWish
from hadash.notices.signing import BadSecret, key_of, new_secret
from hadash.outbox.models import POSTED, Delivery, Endpoint, Transport
from hadash.outbox.posting import BadEndpoint, checked, is_foreign
from hadash.reports.times import NoSuchZone, zone_named
from hadash.sentences import Sentence, say


class ChannelRefused(Exception):
    """A change of a channel is not possible; ``reasons`` are all faults."""

    def __init__(self, *reasons: Sentence) -> None:
        super().__init__(" ".join(map(str, reasons)))
        self.reasons = list(reasons)


@dataclass(frozen=True, slots=True)
class WantedWish:
    """A wish as a user set it. ``kinds``: ``None`` for the usual ones. ``everybodys``: kinds for which the user
    also wants notices that do not concern them. ``pairs``: names; empty for all.
    """

    kinds: Collection[NoticeKind] | None = None
    everybodys: Collection[NoticeKind] = ()
    pairs: Collection[str] = ()
    digest_minutes: int = 0
    quiet_from: time | None = None
    quiet_until: time | None = None


@dataclass(frozen=True, slots=True)
class WantedChannel:
    """A channel as a user entered it. ``url`` and ``secret``: empty keeps the current ones, which are never shown."""

    name: str
    transport: str
    url: str
    secret: str
    pair: Pair | None
    language: str
    zone: str
    wish: WantedWish
    enabled: bool = True


def save(actor: Any, wanted: WantedChannel, channel: Channel | None = None, ip: str | None = None) -> Channel:
    """Create a channel, or change one. A webhook without a secret gets one.

    :raises PermissionDenied: ``actor`` may not.
    :raises ChannelRefused: with all faults.
    """
    _may(actor)
    reasons = list(_faults(wanted, channel))
    if reasons:
        raise ChannelRefused(*reasons)
    with transaction.atomic():
        is_new = channel is None
        endpoint = channel.endpoint if channel is not None else Endpoint()
        if endpoint.transport != wanted.transport:
            endpoint.secret = ""  # (each kind signs in its own way: the old secret would be refused)
        endpoint.name, endpoint.transport, endpoint.enabled = (
            wanted.name.strip(),
            wanted.transport,
            wanted.enabled,
        )
        if wanted.enabled:
            endpoint.fault = ""
        endpoint.url = wanted.url.strip() or endpoint.url
        endpoint.secret = wanted.secret.strip() or endpoint.secret
        if wanted.transport == Transport.WEBHOOK and not endpoint.secret:
            endpoint.secret = new_secret()
        endpoint.save()
        channel = channel or Channel(endpoint=endpoint, created_by=actor)
        channel.pair, channel.language, channel.zone = wanted.pair, wanted.language, wanted.zone
        _put(channel, wanted.wish)
        channel.save()
        record(
            actor,
            "channel made" if is_new else "channel changed",
            f"channel {channel.pk}",
            ip,
            name=endpoint.name,
            transport=endpoint.transport,
            host=urlsplit(endpoint.url).hostname or "",
            pair=wanted.pair.name if wanted.pair else None,
            kinds=channel.kinds,
            enabled=endpoint.enabled,
        )
    return channel


def _faults(wanted: WantedChannel, channel: Channel | None) -> Any:
    name = wanted.name.strip()
    if not name or len(name) > 100:
        yield say("Give it a name of at most 100 characters.")
    others = Endpoint.objects.filter(name=name)
    if channel is not None:
        others = others.exclude(pk=channel.endpoint_id)
    if name and others.exists():
        yield say("There is a channel called %(name)s already.", name=name)
    if wanted.transport not in POSTED:
        yield say("Choose what kind of channel it is.")
    if wanted.url.strip():
        try:
            host = urlsplit(checked(wanted.url, plain_allowed=settings.WEBHOOK_PLAIN)).hostname or ""
            if not is_foreign(ipaddress.ip_address(host), settings.WEBHOOK_NETWORKS):
                yield say(
                    "%(host)s is in a network of our own: nothing is posted there. If it should be, name "
                    "the network in "
                    "%(setting)s.",
                    host=host,
                    setting="HADASH_WEBHOOK_NETWORKS",
                )
        except BadEndpoint as error:
            yield error.sentence
        except ValueError:
            pass  # a host name: it is resolved and checked for each post
    elif channel is None:
        yield say("Paste the address of the channel.")
    if wanted.transport == Transport.WEBHOOK and wanted.secret.strip():
        try:
            key_of(wanted.secret.strip())
        except BadSecret:
            yield say("A secret is whsec_ and 24 to 64 bytes in base64.")
    if wanted.zone:
        try:
            zone_named(wanted.zone)
        except NoSuchZone as error:
            yield error.sentence


def delete(actor: Any, channel: Channel, ip: str | None = None) -> None:
    """Delete a channel. :raises PermissionDenied: ``actor`` may not."""
    _may(actor)
    with transaction.atomic():
        record(actor, "channel deleted", f"channel {channel.pk}", ip, name=channel.endpoint.name)
        channel.endpoint.delete()


def try_out(actor: Any, channel: Channel, ip: str | None = None) -> Delivery:
    """Queue one test message, and return its delivery, which will show the result.

    :raises PermissionDenied: ``actor`` may not.
    """
    _may(actor)
    now = timezone.now()
    key = f"test of channel {channel.pk} at {now.isoformat()}"
    notice = Notice(
        kind=NoticeKind.SWITCH_ENDED.value,  # (for its urgency; programs get the kind "test")
        key=key,
        sentence=say("This is a test by %(person)s: the channel works.", person=str(actor)).to_json(),
        path="/notices/",
        at=now,
        pair=channel.pair,
    )
    with transaction.atomic():
        queue_for_channel(channel, [notice], key, now, is_test=True)
        record(actor, "channel tried", f"channel {channel.pk}", ip, name=channel.endpoint.name)
    return Delivery.objects.get(asked_as=key)


def set_own(user: Any, wish: WantedWish, *, by_mail: bool) -> None:
    """Store a user's own wish for notices by mail."""
    kept, _is_new = PersonalWish.objects.get_or_create(user=user)
    kept.by_mail = by_mail
    kept.everybodys = sorted(kind.value for kind in wish.everybodys) or None
    kept.pairs = sorted(wish.pairs) or None
    _put(kept, wish)
    kept.save()


def _put(kept: Any, wish: WantedWish) -> None:
    kept.kinds = None if wish.kinds is None else sorted(kind.value for kind in wish.kinds)
    kept.digest_minutes = wish.digest_minutes
    kept.quiet_from, kept.quiet_until = wish.quiet_from, wish.quiet_until


def _may(actor: Any) -> None:
    if not may(actor, MANAGE_REPORTS):
        raise PermissionDenied("You may not change channels.")

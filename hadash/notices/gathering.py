"""Combines the pending notices of a person or channel into one message, so that many events make one message."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urljoin
from zoneinfo import ZoneInfo

from django.conf import settings
from django.contrib.auth.models import User
from django.db import OperationalError, transaction
from django.utils import timezone, translation
from django.utils.translation import ngettext

from hadash.accounts.roles import VIEW, may, may_somewhere
from hadash.notices.html import html_of, text_of
from hadash.notices.kept import message_to_json
from hadash.notices.kinds import NOTICES, NoticeKind, Urgency
from hadash.notices.models import Channel, Notice, Pending, PersonalWish
from hadash.notices.payloads import MOST_LINES, Item, Message
from hadash.notices.timing import Wish, told_at
from hadash.outbox import services as outbox
from hadash.outbox.addresses import BadAddress, normalised
from hadash.outbox.services import Recipient
from hadash.presentation.localized import sentence
from hadash.reports.models import MailPreference

log = logging.getLogger(__name__)

#: The topic of mails with notices, from which a recipient can unsubscribe.
TOPIC = "notices"
#: The kind that programs get when a channel is tested.
TEST = "test"


def tell_due(now: datetime) -> int:
    """Queue a message for every person and channel that is due; return the number of messages."""
    by_person: dict[int, list[Pending]] = defaultdict(list)
    by_channel: dict[int, list[Pending]] = defaultdict(list)
    for each in Pending.objects.select_related("notice__pair", "user", "channel__endpoint").order_by("pk"):
        if each.user_id is not None:
            by_person[each.user_id].append(each)
        elif each.channel_id is not None:
            by_channel[each.channel_id].append(each)
    told = sum(_tell_safely(_tell_person, found, now) for found in by_person.values())
    return told + sum(_tell_safely(_tell_channel, found, now) for found in by_channel.values())


def _tell_safely(
    tell: Callable[[Sequence[Pending], datetime], bool], found: Sequence[Pending], now: datetime
) -> bool:
    """Queue one message; a failure is logged, does not stop the others, and is repeated in the next look."""
    try:
        return tell(found, now)
    except OperationalError:
        raise
    except Exception:
        log.exception("the message with %s could not be made", found[-1])
        return False


def _tell_person(found: Sequence[Pending], now: datetime) -> bool:
    user = found[0].user
    assert user is not None
    kept, _is_new = PersonalWish.objects.get_or_create(user=user)
    preference = MailPreference.objects.filter(user=user).first() or MailPreference()
    language = preference.language or settings.LANGUAGE_CODE
    zone = ZoneInfo(preference.zone or settings.REPORT_ZONE)
    notices = [each.notice for each in found]
    if not _is_due(kept, zone, notices, now):
        return False
    with transaction.atomic():
        if not _take(found):
            return False
        # (A day may have passed since the event: users who have lost access, or no longer want mail, are not
        # told.)
        notices = [notice for notice in notices if _may_still(user, notice)] if kept.by_mail else []
        if not notices:
            return False
        PersonalWish.objects.filter(pk=kept.pk).update(told_at=now)
        try:
            address = normalised(user.email)
        except BadAddress:
            return False
        with translation.override(language), timezone.override(zone):
            message = message_of(notices)
            content = outbox.keep_content(
                message.title, text_of(message), html_of(message), list_id="hadash-notices", language=language
            )
        recipient = Recipient(address, f"notices {notices[-1].pk} and before to user {user.pk}", user.pk)
        outbox.queue(content, [recipient], TOPIC, now, _expiry(now))
    return True


def _may_still(user: User, notice: Notice) -> bool:
    if not user.is_active:
        return False
    return may(user, VIEW, notice.pair) if notice.pair is not None else may_somewhere(user, VIEW)


def _tell_channel(found: Sequence[Pending], now: datetime) -> bool:
    channel = found[0].channel
    assert channel is not None
    notices = [each.notice for each in found]
    if not _is_due(channel, ZoneInfo(channel.zone or settings.REPORT_ZONE), notices, now):
        return False
    with transaction.atomic():
        if not _take(found):
            return False
        Channel.objects.filter(pk=channel.pk).update(told_at=now)
        queue_for_channel(
            channel, notices, f"notices {notices[-1].pk} and before to channel {channel.pk}", now
        )
    return True


def queue_for_channel(
    channel: Channel, notices: Sequence[Notice], asked_as: str, now: datetime, *, is_test: bool = False
) -> None:
    """Queue one message with notices for a channel.

    :param is_test: mark the items as a test for programs.
    """
    language = channel.language or settings.LANGUAGE_CODE
    with translation.override(language), timezone.override(ZoneInfo(channel.zone or settings.REPORT_ZONE)):
        message = message_of(notices)
    if is_test:
        message = replace(message, items=[replace(item, kind=TEST) for item in message.items])
    content = outbox.keep_content(message.title, "", language=language, data=message_to_json(message))
    recipient = Recipient(channel.endpoint.name, asked_as, endpoint=channel.endpoint)
    outbox.queue(content, [recipient], due_at=now, expires_at=_expiry(now))


def _expiry(now: datetime) -> datetime:
    return now + timedelta(hours=settings.NOTICE_EXPIRY_HOURS)


def _take(found: Sequence[Pending]) -> bool:
    """Delete pending notices; return ``False`` if another worker has taken some of them meanwhile."""
    keys = [each.pk for each in found]
    held = Pending.objects.select_for_update(skip_locked=True).filter(pk__in=keys)
    if len(list(held.values_list("pk", flat=True))) != len(keys):
        return False
    Pending.objects.filter(pk__in=keys).delete()
    return True


def _is_due(kept: Any, zone: ZoneInfo, notices: Sequence[Notice], now: datetime) -> bool:
    quiet = (kept.quiet_from, kept.quiet_until) if kept.quiet_from and kept.quiet_until else None
    wish = Wish(
        timedelta(seconds=settings.NOTICE_GAP_SECONDS), timedelta(minutes=kept.digest_minutes), quiet, zone
    )
    urgent = any(NOTICES[NoticeKind(notice.kind)].urgency is Urgency.NOW for notice in notices)
    return told_at(wish, min(notice.at for notice in notices), kept.told_at, is_urgent=urgent) <= now


def _said(notice: Notice) -> str:
    told = [sentence(notice.sentence), sentence(notice.detail) if notice.detail else ""]
    return " ".join(filter(None, told))


def message_of(notices: Sequence[Notice]) -> Message:
    """Return the message about some notices in the active language, with the urgent ones first."""
    items = [
        Item(
            notice.kind,
            _said(notice),
            urljoin(settings.PUBLIC_URL, notice.path),
            notice.pair.name if notice.pair else "",
            notice.at,
            NOTICES[NoticeKind(notice.kind)].urgency is Urgency.NOW,
        )
        for notice in notices
    ]
    items.sort(key=lambda item: not item.is_urgent)
    left_out = len(items) - MOST_LINES
    more = ngettext("and %(n)s more", "and %(n)s more", left_out) % {"n": left_out} if left_out > 0 else ""
    if len(items) == 1:
        return Message(items[0].text, items)
    title = ngettext("%(n)s notice: %(first)s", "%(n)s notices: %(first)s", len(items)) % {
        "n": len(items),
        "first": items[0].text,
    }
    return Message(title, items, more)

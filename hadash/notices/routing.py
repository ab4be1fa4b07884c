"""Decides who gets a notice: people by their wishes or the defaults, and channels."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from hadash.accounts.roles import VIEW, people_who
from hadash.notices.kinds import NOTICES, NoticeKind
from hadash.notices.models import Channel, Notice, Pending, PersonalWish

#: Notices that are routed in one transaction, at most.
AT_ONCE = 100


def route_new(now: datetime) -> int:
    """Make pending notices for the recipients of new notices; return the number of notices."""
    with transaction.atomic():
        new = list(
            Notice.objects.select_for_update(skip_locked=True, of=("self",))
            .filter(routed_at=None)
            .select_related("pair")
            .order_by("pk")[:AT_ONCE]
        )
        if not new:
            return 0
        wishes = {wish.user_id: wish for wish in PersonalWish.objects.all()}
        channels = list(Channel.objects.filter(endpoint__enabled=True))
        pending: list[Pending] = []
        for notice in new:
            pending += [Pending(notice=notice, user=user) for user in people_for(notice, wishes)]
            pending += [Pending(notice=notice, channel=channel) for channel in channels_for(notice, channels)]
        Pending.objects.bulk_create(pending, ignore_conflicts=True)
        Notice.objects.filter(pk__in=[notice.pk for notice in new]).update(routed_at=now)
    return len(new)


def set_aside(now: datetime) -> int:
    """Drop all pending notices after a restore, because they may have been sent after the dump was made; return
    their number.
    """
    Notice.objects.filter(routed_at=None).update(routed_at=now)
    return Pending.objects.all().delete()[0]


def trim(now: datetime) -> int:
    """Delete notices older than ``NOTICE_KEPT_DAYS``; return how many."""
    old = Notice.objects.filter(at__lt=now - timedelta(days=settings.NOTICE_KEPT_DAYS))
    count = old.count()
    old.delete()
    return count


def people_for(notice: Notice, wishes: dict[int, PersonalWish]) -> list[User]:
    """Return the users who may see a notice, want it, have an address, and have not done it themselves."""
    kind = NoticeKind(notice.kind)
    about = NOTICES[kind]
    usual = {user.pk for user in notice.involved.all()} if about.involved else set()
    if about.may:
        usual |= set(people_who(about.may, notice.pair).values_list("pk", flat=True))
    found = []
    for user in people_who(VIEW, notice.pair).filter(is_active=True).exclude(email=""):
        if user.pk == notice.actor_id:
            continue
        if _wants(wishes.get(user.pk) or PersonalWish(), notice, user.pk in usual):
            found.append(user)
    return found


def _wants(wish: PersonalWish, notice: Notice, is_usual: bool) -> bool:
    """Return whether a person wants a notice.

    :param is_usual: whether it concerns the person: by a permission, or because they take part in it.
    """
    if not wish.by_mail or (wish.pairs and notice.pair is not None and notice.pair.name not in wish.pairs):
        return False
    if wish.kinds is None:
        return is_usual
    about = NOTICES[NoticeKind(notice.kind)]
    if notice.kind in (wish.everybodys or ()):
        return True
    return notice.kind in wish.kinds and (is_usual or not (about.may or about.involved))


def channels_for(notice: Notice, channels: Iterable[Channel]) -> list[Channel]:
    """Return the channels for a notice: those of its pair, and those of all pairs. A notice without a pair
    (such as a failed job) goes to the channels of every pair.
    """
    return [
        channel
        for channel in channels
        if (channel.pair_id is None or notice.pair_id is None or channel.pair_id == notice.pair_id)
        and (channel.kinds is None or notice.kind in channel.kinds)
    ]

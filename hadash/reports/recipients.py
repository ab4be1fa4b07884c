"""Who gets a report: recipients of a schedule as readers with an address, a language, a zone and what they may see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q

from hadash.accounts.roles import pairs_where
from hadash.inventory.models import AppID, Pair
from hadash.outbox.addresses import BadAddress, normalised
from hadash.reports.models import MailPreference, OwnerAddress, ReportRecipient, ReportSchedule
from hadash.sentences import Sentence, say


@dataclass(frozen=True, slots=True)
class View:
    """What a reader sees, and how: readers of one view get the same edition. ``owner``: only what is this owner's; empty for all."""

    language: str
    zone: str
    pairs: tuple[str, ...]
    owner: str = ""


@dataclass(frozen=True, slots=True)
class Reader:
    address: str
    view: View
    user_id: int | None = None


@dataclass(frozen=True, slots=True)
class Readers:
    """``left_out``: why somebody who should get it does not."""

    found: tuple[Reader, ...]
    left_out: tuple[Sentence, ...]


def readers_of(schedule: ReportSchedule) -> Readers:
    """Each address once, however often it is meant. Six queries at most for each way."""
    found: dict[tuple[str, str], Reader] = {}
    left_out: list[Sentence] = []
    for recipient in schedule.recipients.select_related("user"):
        for each in _readers(schedule, recipient):
            if isinstance(each, Sentence):
                left_out.append(each)
            else:
                found.setdefault((each.address, each.view.owner), each)
    return Readers(tuple(found.values()), tuple({str(sentence): sentence for sentence in left_out}.values()))


def _readers(schedule: ReportSchedule, recipient: ReportRecipient) -> Iterator[Reader | Sentence]:
    match ReportRecipient.Way(recipient.way):
        case ReportRecipient.Way.PERSON if recipient.user is not None:
            yield _person(schedule, recipient.user)
        case ReportRecipient.Way.ROLE:
            for user in _with_role(schedule.pair, recipient.value):
                yield _person(schedule, user)
        case ReportRecipient.Way.OWNER:
            yield from _owners(schedule, recipient.value)
        case ReportRecipient.Way.ADDRESS:
            yield _addressed(recipient.value, recipient.language, "", _pairs(schedule))


def _person(schedule: ReportSchedule, user: User) -> Reader | Sentence:
    name = user.get_full_name() or user.get_username()
    if not user.is_active:
        return say("%(person)s has no access any more.", person=name)
    if not user.email:
        return say("%(person)s has no address of mail.", person=name)
    may_see = set(pairs_where(user).values_list("name", flat=True))
    pairs = tuple(pair for pair in _pairs(schedule) if pair in may_see)
    if not pairs:
        return say("%(person)s may not see what it tells of.", person=name)
    wanted = MailPreference.objects.filter(user=user).first() or MailPreference()
    reader = _addressed(user.email, wanted.language, wanted.zone, pairs)
    return Reader(reader.address, reader.view, user.pk) if isinstance(reader, Reader) else reader


def _with_role(pair: Pair | None, role: str) -> list[User]:
    """Who has a role on all pairs, or on this one (on any, without one)."""
    on_pair = Q(pair_roles__group__name=role) & (Q(pair_roles__pair=pair) if pair is not None else Q())
    found = User.objects.filter(Q(groups__name=role) | on_pair, is_active=True)
    return list(found.distinct().order_by("username"))


def _owners(schedule: ReportSchedule, owner: str) -> Iterator[Reader | Sentence]:
    pairs = _pairs(schedule)
    owners = (
        AppID.objects.filter(pair__name__in=pairs)
        .exclude(owner="")
        .values_list("owner", flat=True)
        .distinct()
    )
    wanted = sorted({owner} & set(owners) if owner else set(owners))
    known = {each.owner: each for each in OwnerAddress.objects.filter(owner__in=wanted)}
    for name in wanted:
        if name not in known:
            yield say("Owner %(owner)s has no address of mail.", owner=name)
        else:
            yield _addressed(known[name].address, known[name].language, known[name].zone, pairs, name)


def _addressed(
    address: str, language: str, zone: str, pairs: tuple[str, ...], owner: str = ""
) -> Reader | Sentence:
    try:
        known = normalised(address)
    except BadAddress as error:
        return say("%(error)s", error=error)
    view = View(language or settings.LANGUAGE_CODE, zone or settings.REPORT_ZONE, pairs, owner)
    return Reader(known, view)


def _pairs(schedule: ReportSchedule) -> tuple[str, ...]:
    if schedule.pair is not None:
        return (schedule.pair.name,)
    return tuple(Pair.objects.order_by("name").values_list("name", flat=True))

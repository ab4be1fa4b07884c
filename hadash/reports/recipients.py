"""Resolves the recipients of a schedule to readers, with an address, a language, a zone and the pairs they may
see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q

from hadash.accounts.roles import VIEW, people_who
from hadash.inventory.models import AppID, Pair
from hadash.outbox.addresses import BadAddress, normalised
from hadash.outbox.services import unsubscribed
from hadash.reports.models import MailPreference, OwnerAddress, ReportRecipient, ReportSchedule
from hadash.sentences import Sentence, say


@dataclass(frozen=True, slots=True)
class View:
    """The content and form of a reader's report: readers with the same view get the same edition. ``owner``:
    only this owner's AppIDs; empty: all.
    """

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
    """The readers of a report. ``left_out``: sentences that say why recipients were skipped."""

    found: tuple[Reader, ...]
    left_out: tuple[Sentence, ...]


def readers_of(schedule: ReportSchedule, about: Pair | None = None) -> Readers:
    """Return the readers of a schedule, each address once. The number of queries depends on recipients and
    pairs, not on people.

    :param about: the pair of the event that the report is about, if there is one.
    """
    directory = _Directory(schedule, about or schedule.pair)
    found: dict[tuple[str, str], Reader] = {}
    left_out: list[Sentence] = []
    for recipient in schedule.recipients.select_related("user"):
        for each in directory.readers(recipient):
            if isinstance(each, Sentence):
                left_out.append(each)
            else:
                # (Mailboxes do not distinguish Olga@ from olga@.)
                found.setdefault((each.address.lower(), each.view.owner), each)
    without = unsubscribed(schedule.topic, [reader.address for reader in found.values()])
    left_out += [say("%(address)s has unsubscribed.", address=address) for address in sorted(without)]
    found = {key: reader for key, reader in found.items() if reader.address not in without}
    return Readers(tuple(found.values()), tuple({str(said): said for said in left_out}.values()))


class _Directory:
    """The data that are queried once for all people of a schedule."""

    def __init__(self, schedule: ReportSchedule, pair: Pair | None) -> None:
        """Prepare the queries. :param pair: the only pair of the report; ``None``: all."""
        self._schedule = schedule
        self._pair = pair

    @cached_property
    def _pairs(self) -> tuple[Pair, ...]:
        """The pairs of the report."""
        if self._pair is not None:
            return (self._pair,)
        return tuple(Pair.objects.order_by("name"))

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(pair.name for pair in self._pairs)

    @cached_property
    def _viewers(self) -> dict[str, set[int]]:
        """The ids of the users who may see each pair, by its name."""
        return {pair.name: set(people_who(VIEW, pair).values_list("pk", flat=True)) for pair in self._pairs}

    @cached_property
    def _preferences(self) -> dict[int, MailPreference]:
        return {wanted.user_id: wanted for wanted in MailPreference.objects.all()}

    def readers(self, recipient: ReportRecipient) -> Iterator[Reader | Sentence]:
        match ReportRecipient.Way(recipient.way):
            case ReportRecipient.Way.PERSON if recipient.user is not None:
                yield self._person(recipient.user)
            case ReportRecipient.Way.ROLE:
                for user in self._with_role(recipient.value):
                    yield self._person(user)
            case ReportRecipient.Way.PAIR:
                for user in self._of_pair(recipient.value):
                    yield self._person(user)
            case ReportRecipient.Way.OWNER:
                yield from self._owners(recipient.value)
            case ReportRecipient.Way.ADDRESS:
                yield _addressed(recipient.value, recipient.language, recipient.zone, self._names)

    def _person(self, user: User) -> Reader | Sentence:
        name = user.get_full_name() or user.get_username()
        if not user.is_active:
            return say("%(person)s has no access any more.", person=name)
        if not user.email:
            return say("%(person)s has no address of mail.", person=name)
        pairs = tuple(pair for pair in self._names if user.pk in self._viewers[pair])
        if not pairs:
            return say("%(person)s may not see what it tells of.", person=name)
        wanted = self._preferences.get(user.pk) or MailPreference()
        reader = _addressed(user.email, wanted.language, wanted.zone, pairs)
        return Reader(reader.address, reader.view, user.pk) if isinstance(reader, Reader) else reader

    def _with_role(self, role: str) -> Iterator[User]:
        """Return the users with a role on all pairs, or on the report's pair (without one, on any)."""
        pair = self._pair
        on_pair = Q(pair_roles__group__name=role) & (Q(pair_roles__pair=pair) if pair is not None else Q())
        found = User.objects.filter(Q(groups__name=role) | on_pair, is_active=True)
        return found.distinct().order_by("username").iterator()

    def _of_pair(self, name: str) -> Iterator[User]:
        """Return the users who may see a pair, also by a role on all pairs; none when the pair no longer exists."""
        pair = Pair.objects.filter(name=name).first()
        found = people_who(VIEW, pair) if pair is not None else User.objects.none()
        return found.order_by("username").iterator()

    def _owners(self, owner: str) -> Iterator[Reader | Sentence]:
        owned = AppID.objects.filter(pair__in=self._pairs).exclude(owner="")
        owners = set(owned.values_list("owner", flat=True).distinct())
        wanted = sorted({owner} & owners if owner else owners)
        if owner and owner not in owners:
            yield say("No AppID that it tells of belongs to %(owner)s.", owner=owner)
        known = {each.owner: each for each in OwnerAddress.objects.filter(owner__in=wanted)}
        for name in wanted:
            if name not in known:
                yield say("Owner %(owner)s has no address of mail.", owner=name)
            else:
                told = known[name]
                yield _addressed(told.address, told.language, told.zone, self._names, name)


def _addressed(
    address: str, language: str, zone: str, pairs: tuple[str, ...], owner: str = ""
) -> Reader | Sentence:
    try:
        known = normalised(address)
    except BadAddress as error:
        return error.sentence
    view = View(language or settings.LANGUAGE_CODE, zone or settings.REPORT_ZONE, pairs, owner)
    return Reader(known, view)

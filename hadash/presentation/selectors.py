"""Reads for pages and the API. Nothing here changes anything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db.models import (
    Count,
    Q,
    QuerySet,
    Window,
)
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import RowNumber

from hadash.accounts import roles
from hadash.accounts.roles import DECIDE, OPERATE, REQUEST, on_pairs, pairs_where
from hadash.identity.identity import Identity
from hadash.inventory.models import AppID, Pair
from hadash.inventory.selectors import without_access
from hadash.joined import joined_only, with_names
from hadash.mirroring.models import Mirror
from hadash.switching.approvals.four_eyes import undecided_by
from hadash.switching.machines.retirements import Status as RetirementStatus
from hadash.switching.machines.switches import ENDED, Kind, Status
from hadash.switching.models.retirements import Retirement
from hadash.switching.models.switches import Switch
from hadash.switching.retirement.services import open_of


def hues() -> dict[str, str]:
    """Return cluster name → ``first`` or ``second``: the only meaning of blue and orange."""
    found: dict[str, str] = {}
    for first, second in Pair.objects.values_list("first__name", "second__name"):
        found.setdefault(first, "first")
        found.setdefault(second, "second")
    return found


def generated_pairs(user: Any) -> list[str]:
    """Return the names of the generated pairs that ``user`` may see."""
    return list(pairs_where(user).filter(first__generated=True).values_list("name", flat=True))


# -- switches ----------------------------------------------------------------------------------------------------


def switches(user: Any) -> QuerySet[Switch]:
    """Return the switches that ``user`` may see, with all that a line about a switch shows; without bulky columns."""
    return with_relations(Switch.objects.filter(on_pairs(user))).defer("traffic", "facts", "plan", "pauses")


def with_relations(found: Any) -> QuerySet[Switch]:
    """Return switches with the related rows that a page about a switch shows."""
    shown: QuerySet[Switch] = found.select_related(
        "source", "target", "pair", "requested_by", "decided_by", "restores"
    )
    shown = joined_only(without_access(shown, "source", "target"), "restores", "key")
    return with_names(shown, "requested_by", "decided_by")


def waiting_for(user: User) -> QuerySet[Switch]:
    """Return the switches that wait for ``user``: to decide on, review, resume, or run again."""
    reviewed = [kind.value for kind in Kind if kind.spec.reviewed]
    unreviewed = Q(kind__in=reviewed, reviewed_by=None, status__in=[s.value for s in ENDED])
    stuck = Q(status=Status.NEEDS_ATTENTION.value) | Q(retirement__status=RetirementStatus.FAILED.value)
    ready = Q(status=Status.PAUSED.value)
    return switches(user).filter(
        (undecided_by(user) | (unreviewed & ~Q(requested_by=user))) & on_pairs(user, DECIDE)
        | stuck & on_pairs(user, OPERATE)
        | ready & on_pairs(user, REQUEST)
    )


def running(user: Any) -> QuerySet[Switch]:
    """Return the switches that are approved or running and that ``user`` may see."""
    return switches(user).filter(status__in=[Status.APPROVED.value, Status.RUNNING.value])


def recent(user: Any, count: int = 6) -> QuerySet[Switch]:
    """Return the last ended switches that ``user`` may see."""
    return switches(user).filter(status__in=[s.value for s in ENDED]).order_by("-ended_at")[:count]


def people_who(permission: str, pair: Pair | None, *besides: User | None) -> list[str]:
    """Return names of people with a permission on a pair, for a sentence that says whom to ask; at most 12.

    :param besides: people to leave out.
    """
    people = roles.people_who(permission, pair).exclude(
        pk__in=[user.pk for user in besides if user is not None]
    )
    return [name_of(person) for person in people.order_by("username")[:12]]


def name_of(user: Any) -> str:
    """Return a user's full name, or user name; ``hadash`` for hadash itself (``None``)."""
    if user is None:
        return "hadash"
    return user.get_full_name() or user.get_username()


def retirements(user: Any, appid: AppID | None = None) -> list[Retirement]:
    """Return the retirements that are not finished, the next one first; with ``appid`` only of switches that
    moved it.
    """
    found = open_of(pairs_where(user) if appid is None else [appid.pair_id])
    return [one for one in found if appid is None or appid.name in one.switch.the_plan().appids]


# -- what the overview shows -------------------------------------------------------------------------------------


#: Most mirrors of each pair in a list of pairs; all of them have a list of their own.
LISTED_MIRRORS = 20


def pairs(user: Any) -> Sequence[Pair]:
    """Return the pairs that ``user`` may see, with both clusters, ``the_mirrors`` (the first :data:`LISTED_MIRRORS`
    by name) and ``mirror_count``. Two queries.
    """
    visible = pairs_where(user).select_related("first", "second", "default")
    visible = without_access(visible, "first", "second", "default")
    found = list(visible.annotate(mirror_count=Count("mirrors")))
    place = Window(RowNumber(), partition_by="pair", order_by="name")
    first = mirrors(found).annotate(place=place).filter(place__lte=LISTED_MIRRORS)
    by_pair: dict[int, list[Mirror]] = defaultdict(list)
    for mirror in first:
        by_pair[mirror.pair_id].append(mirror)
    for pair in found:
        pair.the_mirrors = by_pair[pair.pk]  # type: ignore[attr-defined]
    return found


def mirrors(pairs: Sequence[Pair]) -> QuerySet[Mirror]:
    """Return the mirrors of some pairs, with all that a line about a mirror shows."""
    found = Mirror.objects.filter(pair__in=pairs).select_related("source", "pair__first", "pair__second")
    return without_access(found, "source", "pair__first", "pair__second")


def history_of(user: Any, appid: AppID) -> QuerySet[Switch]:
    """Return the switches that were requested for an AppID, and others that it moved along with, newest first."""
    key = Identity(appid.name).key
    # (A key ends after the AppID, or + or # and a name within the AppID follow: hadash.identity.identity.)
    moved = Q(moved__contains=f'"{key}"') | Q(moved__contains=f'"{key}+') | Q(moved__contains=f'"{key}#')
    found = switches(user).filter(pair=appid.pair).annotate(moved=KeyTextTransform("identities", "plan"))
    return found.filter(Q(appid=appid.name) | moved)

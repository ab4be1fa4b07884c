"""How long the old Topics of a migration stay, and the sentence that tells requesters and approvers."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from hadash.refusals import Refused
from hadash.sentences import Sentence, say
from hadash.switching.models.switches import Switch


def days_of(asked: int | None) -> int:
    """The term in days: what was asked for, else the setting's."""
    return settings.RETIREMENT_DAYS if asked is None else asked


def check(days: int | None) -> None:
    """:raises Refused: the term is shorter or longer than the settings allow."""
    if not settings.RETIREMENT_MIN_DAYS <= days_of(days) <= settings.RETIREMENT_MAX_DAYS:
        raise Refused(
            say(
                "The old Topics stay for %(least)s to %(most)s days. Choose a term within that.",
                least=settings.RETIREMENT_MIN_DAYS,
                most=settings.RETIREMENT_MAX_DAYS,
            )
        )


def expected(days: int, start: datetime | None = None) -> datetime:
    """When the old Topics are removed if the migration succeeds at ``start`` (without it, or in the past: now)."""
    now = timezone.now()
    return max(start or now, now) + timedelta(days=days)


def said(switch: Switch) -> Sentence:
    """The sentence about the term that the approver of a migration agrees to."""
    days = days_of(switch.retire_after_days)
    values = {"cluster": switch.source, "topics": list(switch.the_plan().topics)}
    if days == 1:
        return say(
            "One day after it has succeeded, these Topics and the mirror are deleted on %(cluster)s: %(topics)s. "
            "Until then the clients can go back.",
            **values,
        )
    return say(
        "%(days)s days after it has succeeded, these Topics and the mirror are deleted on %(cluster)s: %(topics)s. "
        "Until then the clients can go back.",
        days=days,
        **values,
    )

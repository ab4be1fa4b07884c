"""Context for the frame around every page."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from hadash.dashboard.sections import section_of
from hadash.pipeline import schedules
from hadash.presentation import batches, changes, selectors


def waiting_count(user: Any) -> int:
    """Return how many switches, changes of bindings and batches wait for a user. One query."""
    of_switches, *others = (
        found.order_by().values_list("key")
        for found in (selectors.waiting_for(user), changes.waiting_for(user), batches.waiting_for(user))
    )
    return of_switches.union(*others, all=True).count()


def frame(request: HttpRequest) -> dict[str, Any]:
    """Return the navigation's current entry and counts, the hue of each cluster, and the generated pairs.

    Counts, hues and generated pairs are read only when a template uses them, with at most four queries each.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    return {
        "nav": {
            "section": section_of(request.path_info),
            "waiting": SimpleLazyObject(lambda: waiting_count(user)),
            "running": SimpleLazyObject(lambda: selectors.running(user).count()),
            "alarms": SimpleLazyObject(schedules.alarms),
            "batches": SimpleLazyObject(lambda: batches.running(user).count()),
        },
        "demo_mail": bool(settings.DEMO_MAIL),
        "hues": SimpleLazyObject(selectors.hues),
        "generated": SimpleLazyObject(lambda: selectors.generated_pairs(user)),
    }

"""Context for the frame around every page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from hadash.dashboard.sections import section_of
from hadash.pipeline import schedules
from hadash.pipeline.schedules import Scheduled
from hadash.presentation import selectors
from hadash.presentation.inbox import Inbox, inbox_of


def frame(
    request: HttpRequest, inbox: Inbox | None = None, jobs: Sequence[Scheduled] | None = None
) -> dict[str, Any]:
    """Return the navigation's current entry and counts, the hue of each cluster, and the generated pairs.

    Counts, hues and generated pairs are read only when a template uses them, with at most three queries each.

    :param inbox: the person's inbox, and
    :param jobs: all jobs, if the page has read them already.
    """
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    counted = SimpleLazyObject(lambda: inbox if inbox is not None else inbox_of(user))
    return {
        "nav": {
            "section": section_of(request.path_info),
            "waiting": SimpleLazyObject(lambda: counted.waiting),
            "running": SimpleLazyObject(lambda: len(counted.running_switches)),
            "alarms": SimpleLazyObject(lambda: schedules.alarms(jobs)),
            "batches": SimpleLazyObject(lambda: len(counted.running_batches)),
        },
        "demo_mail": bool(settings.DEMO_MAIL),
        "hues": SimpleLazyObject(selectors.hues),
        "generated": SimpleLazyObject(lambda: selectors.generated_pairs(user)),
    }

"""What the frame around every page shows."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from hadash.dashboard import batches, selectors


def frame(request: HttpRequest) -> dict[str, Any]:
    """Counts for the navigation and the hue of each cluster. Read only when a template asks; at most two queries each."""
    user = getattr(request, "user", None)
    if user is None or not user.is_authenticated:
        return {}
    return {
        "nav": {
            "waiting": SimpleLazyObject(lambda: _waiting(user)),
            "running": SimpleLazyObject(lambda: selectors.running(user).count()),
            "batches": SimpleLazyObject(lambda: batches.running(user).count()),
        },
        "hues": SimpleLazyObject(selectors.hues),
    }


def _waiting(user: Any) -> int:
    return selectors.waiting_for(user).count() + batches.waiting_for(user).count()

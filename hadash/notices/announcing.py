"""Announces an event: writes one row, in the transaction of the event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.utils import timezone

from hadash.inventory.models import Pair
from hadash.notices.kinds import NoticeKind
from hadash.notices.models import Notice
from hadash.sentences import Sentence


def announce(
    kind: NoticeKind,
    key: str,
    sentence: Sentence,
    path: str,
    pair: Pair | None = None,
    involved: Iterable[Any] = (),
    actor: Any = None,
    detail: Sentence | None = None,
) -> bool:
    """Create a notice; return ``False`` if it was announced before.

    :param key: identifies the event among those of its kind.
    :param path: the path of the page that shows it.
    :param involved: the users that take part in it; ``None`` is ignored.
    :param actor: the user that did it, who is not told.
    """
    notice, is_new = Notice.objects.get_or_create(
        key=f"{kind}:{key}"[:200],
        defaults={
            "kind": kind.value,
            "pair": pair,
            "sentence": sentence.to_json(),
            "detail": detail.to_json() if detail is not None else {},
            "path": path,
            "actor": actor,
            "at": timezone.now(),
        },
    )
    if is_new:
        notice.involved.set({user for user in involved if user is not None})
    return is_new

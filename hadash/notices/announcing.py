"""Announcing what has happened: one row, in the transaction of what has happened."""

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
    """:param key: what makes it one and the same; ``False``: it was announced before.

    :param path: of the page that shows it.
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

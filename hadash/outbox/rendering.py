"""A mail's HTML as a browser can show it by itself: its pictures stand in it."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from hadash.outbox.messages import UNSUBSCRIBE_MARK
from hadash.outbox.models import ContentPart


def as_in_a_browser(html: str, parts: Iterable[ContentPart]) -> str:
    """Pictures that it names by ``cid:`` become data; the link that unsubscribes, which is each reader's own,
    leads nowhere.
    """
    for part in parts:
        if part.cid:
            data = base64.b64encode(bytes(part.data)).decode()
            html = html.replace(f"cid:{part.cid}", f"data:{part.media_type};base64,{data}")
    return html.replace(UNSUBSCRIBE_MARK, "#")

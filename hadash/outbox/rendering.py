"""Converts a mail's HTML for browsers, with its images embedded."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from hadash.outbox.messages import UNSUBSCRIBE_MARK
from hadash.outbox.models import ContentPart


def as_in_a_browser(html: str, parts: Iterable[ContentPart]) -> str:
    """Return HTML whose ``cid:`` images are replaced by data URLs. The unsubscribe link, which is personal,
    leads nowhere.
    """
    for part in parts:
        if part.cid:
            data = base64.b64encode(bytes(part.data)).decode()
            html = html.replace(f"cid:{part.cid}", f"data:{part.media_type};base64,{data}")
    return html.replace(UNSUBSCRIBE_MARK, "#")

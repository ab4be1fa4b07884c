"""HTML without the whitespace that its template is laid out with."""

from __future__ import annotations

import re


def squeezed(html: str) -> str:
    """One space for each run of whitespace, and none beside tags: what a test looks for does not depend on where
    a template breaks its lines.

    >>> squeezed('<a class="row"\\n  href="/">\\n  orders\\n  <b>3</b></a>')
    '<a class="row" href="/">orders<b>3</b></a>'
    """
    text = " ".join(html.split())
    return re.sub(r"\s*([<>])\s*", r"\1", text)

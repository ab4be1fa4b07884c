"""Links from entries of the audit log to the pages of their subjects. Pure but for the addresses of pages.

An entry keeps its subject as text, because the object itself may be gone: then the link leads to "not found".
"""

from __future__ import annotations

import re
from collections.abc import Callable

from django.urls import reverse

#: (a pattern for subjects such as ``switch 3f2a (shop, east → west)``, the page for the name in it).
_PAGES: tuple[tuple[re.Pattern[str], Callable[[str], str]], ...] = (
    (re.compile(r"switch ([\w-]+)(?: |$)"), lambda key: reverse("switch", args=[key])),
    (re.compile(r"batch ([\w-]+)(?: |$)"), lambda key: reverse("batch", args=[key])),
    (re.compile(r"binding change ([\w-]+)(?: |$)"), lambda key: reverse("binding-change", args=[key])),
    (re.compile(r"cluster ([\w-]+)$"), lambda name: reverse("cluster", args=[name])),
    (re.compile(r"job ([\w-]+)$"), lambda _name: reverse("pipeline")),
    (re.compile(r"report schedule \d+$"), lambda _key: reverse("reports")),
)
_MIRROR = re.compile(r"mirror ([\w-]+) of pair ([\w-]+)$")


def page_of(subject: str) -> str:
    """Return the address of a subject's page; empty for a subject without one.

    >>> page_of("switch 3f2a91 (shop, east → west)"), page_of("mirror carts of pair main"), page_of("owner Checkout")
    ('/switches/3f2a91/', '/mirrors/main/carts/', '')
    """
    if (mirror := _MIRROR.match(subject)) is not None:
        return reverse("mirror", args=[mirror[2], mirror[1]])
    for pattern, page in _PAGES:
        if (found := pattern.match(subject)) is not None:
            return page(found[1] if found.groups() else "")
    return ""

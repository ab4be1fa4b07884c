"""Which part of the navigation a page belongs to."""

from __future__ import annotations

#: What an address begins with → the entry of the navigation, by the name of the page that it leads to. Entries are the
#: parts that people think in; addresses tell what a thing is, so some of them stand below another entry.
SECTIONS: dict[str, str] = {
    "": "overview",
    "pairs": "overview",
    "blackouts": "overview",
    "gateways": "gateways",
    "clusters": "clusters",
    "switches": "switches",
    "batches": "batches",
    "appids": "appids",
    "binding-changes": "appids",
    "graph": "graph",
    "mirrors": "mirrors",
    "groups": "groups",
    "governance": "findings",
    "pipeline": "pipeline",
    "notices": "notices",
    "reports": "reports",
    "audit": "audit",
    "people": "people",
}

#: What leads everywhere, belongs to the signed-in user, or to nobody yet.
OWN = frozenset({"search", "sign-in", "sign-out", "language", "tokens", "password", "unsubscribe"})


def section_of(path: str) -> str:
    """The name of the entry that is shown as current; empty for a page that is below none.

    >>> section_of("/binding-changes/0a1b2c/"), section_of("/"), section_of("/tokens/")
    ('appids', 'overview', '')
    """
    return SECTIONS.get(path.lstrip("/").partition("/")[0], "")

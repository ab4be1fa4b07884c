"""The entry of the navigation that a page belongs to."""

from __future__ import annotations

#: The first part of an address → the entry of the navigation, by the name of the page that it leads to. Entries
#: are the topics that people think in, and addresses name kinds of things, so the two sometimes differ.
SECTIONS: dict[str, str] = {
    "": "overview",
    "pairs": "overview",
    "blackouts": "overview",
    "clients": "gateways",
    "gateways": "gateways",
    "clusters": "clusters",
    "switches": "switches",
    "batches": "batches",
    "appids": "appids",
    "binding-changes": "appids",
    "graph": "graph",
    "mirrors": "mirrors",
    "groups": "groups",
    "pools": "pools",
    "new-pool": "pools",
    "pool-changes": "pools",
    "governance": "findings",
    "pipeline": "pipeline",
    "notices": "notices",
    "reports": "reports",
    "audit": "audit",
    "people": "people",
}

#: Addresses without an entry: they lead everywhere, belong to the signed-in user, or to people not signed in yet.
OWN = frozenset({"about", "search", "sign-in", "sign-out", "language", "tokens", "password", "unsubscribe"})


def section_of(path: str) -> str:
    """Return the name of the current entry; empty for a page that belongs to none.

    >>> section_of("/binding-changes/0a1b2c/"), section_of("/"), section_of("/tokens/")
    ('appids', 'overview', '')
    """
    return SECTIONS.get(path.lstrip("/").partition("/")[0], "")

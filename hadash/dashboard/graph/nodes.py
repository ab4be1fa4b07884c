"""The words for things of the graph, and the addresses of their pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from urllib.parse import urlencode

from django.urls import get_script_prefix, reverse

from hadash.radius.nodes import APPID, BOUND_GROUP, BOUND_TOPICS, GROUP, INSTANCE, TOPIC

#: kind of a thing → its symbol on the map.
SYMBOLS: dict[str, str] = {
    APPID: "circle",
    INSTANCE: "circle",
    BOUND_TOPICS: "circle",
    BOUND_GROUP: "circle",
    TOPIC: "square",
    GROUP: "diamond",
}


@cache
def _page(prefix: str) -> str:
    """The address of the page of one thing. Cached: a page has thousands of such links.

    :param prefix: the path below which hadash is served.
    """
    return reverse("graph-focus")


@dataclass(frozen=True, slots=True)
class Focus:
    """The thing that a page is about.

    :param kind: appid, instance, topic or group.
    :param appid: empty for a Topic or group.
    :param name: empty for a whole AppID.
    :param run: the number of the run whose data is shown; ``None`` for the newest.
    """

    pair: str
    kind: str
    appid: str = ""
    name: str = ""
    run: int | None = None

    @property
    def word(self) -> str:
        """The name of the thing for people.
        >>> Focus("main", "instance", "shop", "web-1").word, Focus("main", "topic", name="orders").word
        ('shop › web-1', 'orders')
        """
        return " › ".join(part for part in (self.appid, self.name) if part)

    @property
    def href(self) -> str:
        values = {
            "pair": self.pair,
            "kind": self.kind,
            "appid": self.appid,
            "name": self.name,
            "run": self.run,
        }
        return f"{_page(get_script_prefix())}?{urlencode({k: v for k, v in values.items() if v})}"


def focus_of(pair: str, kind: str, appid: str, names: Sequence[str], run: int | None = None) -> Focus:
    """Return the focus for a thing of a run. (Topics or a group that an AppID has bound by themselves are shown with
    the AppID.)
    """
    if kind in (TOPIC, GROUP):
        return Focus(pair, kind, name=names[0] if names else "", run=run)
    if kind == INSTANCE and names:
        return Focus(pair, INSTANCE, appid, names[0], run)
    return Focus(pair, APPID, appid, run=run)


def word_of(kind: str, appid: str, names: Sequence[str]) -> str:
    """Return the name of a thing for people.
    >>> word_of("bound topics", "shop", ["orders", "people"]), word_of("appid", "shop", [])
    ('shop › orders, people', 'shop')
    """
    shown = ", ".join(names)
    return " › ".join(part for part in (appid, shown) if part) or "–"

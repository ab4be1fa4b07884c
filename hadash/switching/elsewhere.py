"""AppIDs that are in another pair too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from hadash.inventory.models import AppID, Pair
from hadash.sentences import Sentence, say


def known_elsewhere(pair: Pair, appids: Iterable[str]) -> dict[str, Sentence]:
    """What stands against writing bindings of ``appids`` because of their clients in other pairs, by AppID.

    The document of an AppID is one for all pairs: Gateways there would read of a cluster that they do not have.
    """
    pairs: dict[str, list[str]] = defaultdict(list)
    others = AppID.objects.filter(name__in=set(appids)).exclude(pair=pair)
    for appid, other in others.order_by("name", "pair__name").values_list("name", "pair__name"):
        pairs[appid].append(other)
    return {
        appid: say(
            "%(appid)s is known in pair %(pairs)s too, and its bindings would be obeyed there as well. Let it sign in as another "
            "user in one of them.",
            appid=appid,
            pairs=found,
        )
        for appid, found in pairs.items()
    }

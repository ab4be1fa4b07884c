"""Where producer ids and group members come from.

Both are handed out by one cluster and mean nothing, or something else, on the other. The Gateway remembers
which cluster knows them, so that none reaches the other cluster unnoticed.
"""

from __future__ import annotations

from collections import OrderedDict

#: Entries kept of each kind. Beyond it the least recently used go: a producer or member that has been silent
#: for as long as it takes a hundred thousand others to appear.
MAX_ENTRIES = 100_000


class Origins:
    """A bounded map from a key to the cluster that knows it."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._clusters: OrderedDict[tuple[str | int, ...], str] = OrderedDict()
        self._max_entries = max_entries

    def of(self, *key: str | int) -> str | None:
        """The cluster that knows ``key``; ``None`` when it has not been seen."""
        cluster = self._clusters.get(key)
        if cluster is not None:
            self._clusters.move_to_end(key)
        return cluster

    def remember(self, cluster: str, *key: str | int) -> None:
        self._clusters[key] = cluster
        self._clusters.move_to_end(key)
        while len(self._clusters) > self._max_entries:
            self._clusters.popitem(last=False)

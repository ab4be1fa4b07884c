"""How long each client of a switch was without a record: from its last one before its bindings forward again to the
first one after.

An AppID is watched from the first stop of its bindings on. Nothing is recorded about other clients: a record costs
them only the check whether any AppID is watched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

#: Seconds that the records of an AppID are kept; hadash stores them when the switch has ended.
KEPT_SECONDS = 900.0
#: The most AppIDs that are watched at a time, and the most clients of each.
MOST_APPIDS, MOST_CLIENTS = 5_000, 10_000


class Doing(NamedTuple):
    """A client, and whether it writes (``produce``) or reads (``consume``)."""

    client_id: str
    kind: str


@dataclass(slots=True)
class _Watch:
    began: float
    #: When all of the AppID's bindings forwarded again; ``None`` as long as one does not.
    released: float | None = None
    #: When records of each client moved last before that, and first after it. (Seconds since 1970.)
    before: dict[Doing, float] = field(default_factory=dict)
    after: dict[Doing, float] = field(default_factory=dict)


class Pauses:
    """The pauses of all watched AppIDs.

    :param clock: returns seconds since 1970.
    :param moved: returns when records of each client of an AppID moved last.
    """

    def __init__(self, clock: Callable[[], float], moved: Callable[[str], Mapping[Doing, float]]) -> None:
        self._clock = clock
        self._moved = moved
        #: By AppID. It is empty nearly always, and every record that moves checks it.
        self.watched: dict[str, _Watch] = {}

    def bindings_changed(self, appid: str, *, stopped: bool) -> None:
        """Begin to watch an AppID when its bindings stop, and note when they all forward again.

        :param stopped: whether a switch holds, quiesces or blocks some of its bindings.
        """
        watch = self.watched.get(appid)
        if stopped:
            if watch is None or watch.released is not None:
                self._begin(appid)
        elif watch is not None and watch.released is None:
            watch.released = self._clock()

    def moved(self, appid: str, client_id: str, kind: str) -> None:
        """Note that records of a client have moved. (Called only while any AppID is watched.)"""
        watch = self.watched.get(appid)
        if watch is None:
            return
        doing = Doing(client_id, kind)
        if watch.released is None:
            if doing in watch.before or len(watch.before) < MOST_CLIENTS:
                watch.before[doing] = self._clock()
        elif doing in watch.before and doing not in watch.after:
            watch.after[doing] = self._clock()

    def entries(self, appid: str | None = None) -> list[dict[str, Any]]:
        """Return one entry for each client of an AppID, or of all: ``since``, and ``until``, which is null as long as
        no record has moved again.
        """
        self._forget_old()
        return [
            {"appid": name, **doing._asdict(), "since": since, "until": watch.after.get(doing)}
            for name, watch in self._chosen(appid)
            if watch.released is not None
            for doing, since in watch.before.items()
        ]

    def _chosen(self, appid: str | None) -> Iterator[tuple[str, _Watch]]:
        if appid is None:
            yield from self.watched.items()
        elif appid in self.watched:
            yield appid, self.watched[appid]

    def _begin(self, appid: str) -> None:
        self._forget_old()
        self.watched.pop(appid, None)
        if len(self.watched) < MOST_APPIDS:
            self.watched[appid] = _Watch(self._clock(), before=dict(self._moved(appid)))

    def _forget_old(self) -> None:
        oldest = self._clock() - KEPT_SECONDS
        for appid in [name for name, watch in self.watched.items() if watch.began < oldest]:
            del self.watched[appid]

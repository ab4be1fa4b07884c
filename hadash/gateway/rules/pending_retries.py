"""Clients that were cut off before they had all their answers: they come back and send the same again.

What was not answered may have been written. Sent again to the same cluster it is what Kafka clients have
always done (and an idempotent producer's cluster knows it). Sent to the other cluster, beside the copy that
the mirror has made of the first, it is there twice, and no cluster can know. So nobody who may still come
back is moved: see :mod:`hadash.gateway.rules.binding_applier`.
"""

from __future__ import annotations

#: Above so many the ones whose time is over are forgotten.
FORGET_ABOVE = 1000


class Returning:
    """Until when clients are expected back, in seconds of the clock that the caller uses."""

    def __init__(self) -> None:
        self._clients: dict[str, dict[tuple[str, str], float]] = {}
        self._count = 0
        self._everybody = 0.0

    def expect(self, appid: str, client_id: str, cluster: str, now: float, until: float) -> None:
        """This client had writes under way to ``cluster`` when its connection ended."""
        if self._count >= FORGET_ABOVE:
            self._forget(now)
        clients = self._clients.setdefault(appid, {})
        key = (client_id, cluster)
        self._count += key not in clients
        clients[key] = max(until, clients.get(key, 0.0))

    def expect_everybody(self, until: float) -> None:
        """Nobody knows who had writes under way."""
        self._everybody = max(until, self._everybody)

    def everybody(self, now: float) -> float:
        """Until when anybody may come back; 0 when that is over.

        >>> returning = Returning(); returning.expect_everybody(30.0)
        >>> returning.everybody(29.0), returning.everybody(30.0)
        (30.0, 0.0)
        """
        return self._everybody if self._everybody > now else 0.0

    def of(self, appid: str, now: float) -> dict[tuple[str, str], float]:
        """Who of an AppID is expected back (client.id, and the cluster that may have its writes), and until when.

        >>> returning = Returning(); returning.expect("shop", "web-1", "east", 0.0, 30.0)
        >>> returning.of("shop", 29.0), returning.of("shop", 30.0), returning.of("billing", 0.0)
        ({('web-1', 'east'): 30.0}, {}, {})
        """
        return {key: until for key, until in self._clients.get(appid, {}).items() if until > now}

    def all(self, now: float) -> dict[str, dict[tuple[str, str], float]]:
        """:meth:`of` each AppID that somebody is expected of.

        >>> returning = Returning(); returning.expect("shop", "web-1", "east", 0.0, 30.0)
        >>> returning.all(29.0), returning.all(30.0)
        ({'shop': {('web-1', 'east'): 30.0}}, {})
        """
        return {appid: here for appid in self._clients if (here := self.of(appid, now))}

    def _forget(self, now: float) -> None:
        self._clients = self.all(now)
        self._count = sum(len(clients) for clients in self._clients.values())

"""Clients that were cut off before they had all their answers: they come back and send the same requests again.

Requests without an answer may have been written. Sending them again to the same cluster is what Kafka clients have
always done (and the cluster recognizes an idempotent producer's). Sent to the other cluster, beside the mirror's copy
of the first attempt, they would be there twice, which no cluster can detect. So no client that may still come back is
moved: see :mod:`hadash.gateway.clients.binding_applier`.
"""

from __future__ import annotations

from collections.abc import Set

from hadash.gateway.protocol.codec import ErrorCode

#: When more clients than this are expected, those whose time is over are forgotten.
FORGET_ABOVE = 1000


def seconds_expected(errors: Set[int], retry: float, return_: float) -> float:
    """Return for how long a client is expected back to which a broker has answered a write with ``errors``.

    A broker that no longer leads a partition says so for every write, and the client is back in a moment (``retry``).
    After any other error, also of another partition in the same answer, it may wait longer (``return_``).

    >>> moved, late = ErrorCode.not_leader_or_follower, ErrorCode.request_timed_out
    >>> seconds_expected({moved}, 5.0, 30.0), seconds_expected({moved, late}, 5.0, 30.0)
    (5.0, 30.0)
    """
    return retry if errors == {ErrorCode.not_leader_or_follower} else return_


class PendingRetries:
    """Until when clients are expected back, in seconds by the caller's clock."""

    def __init__(self) -> None:
        self._clients: dict[str, dict[tuple[str, str], float]] = {}
        self._count = 0
        self._everybody = 0.0
        #: The number of clients at which the past ones are looked for: when a broker restarts, thousands are added
        #: before any of them is past, and each look costs as much as there are.
        self._forget_at = FORGET_ABOVE

    def expect(self, appid: str, client_id: str, cluster: str, now: float, until: float) -> bool:
        """Expect a client back until ``until``: it had writes under way to ``cluster`` when its connection ended.

        Return whether it was not expected before.
        """
        if self._count >= self._forget_at:
            self._forget(now)
        clients = self._clients.setdefault(appid, {})
        key = (client_id, cluster)
        before = clients.get(key)
        self._count += before is None
        clients[key] = until if before is None else max(until, before)
        return before is None or before <= now

    def expect_everybody(self, until: float) -> None:
        """Expect every client back until ``until``: it is unknown which clients had writes under way."""
        self._everybody = max(until, self._everybody)

    def everybody(self, now: float) -> float:
        """Return until when any client may come back; 0 when that is over.

        >>> retries = PendingRetries(); retries.expect_everybody(30.0)
        >>> retries.everybody(29.0), retries.everybody(30.0)
        (30.0, 0.0)
        """
        return self._everybody if self._everybody > now else 0.0

    def of(self, appid: str, now: float) -> dict[tuple[str, str], float]:
        """Return the clients of an AppID that are expected back (client.id, and the cluster that may have their
        writes), and until when.

        >>> retries = PendingRetries(); _ = retries.expect("shop", "web-1", "east", 0.0, 30.0)
        >>> retries.of("shop", 29.0), retries.of("shop", 30.0), retries.of("billing", 0.0)
        ({('web-1', 'east'): 30.0}, {}, {})
        """
        return {key: until for key, until in self._clients.get(appid, {}).items() if until > now}

    def all(self, now: float) -> dict[str, dict[tuple[str, str], float]]:
        """Return :meth:`of` for each AppID that has clients expected back.

        >>> retries = PendingRetries(); _ = retries.expect("shop", "web-1", "east", 0.0, 30.0)
        >>> retries.all(29.0), retries.all(30.0)
        ({'shop': {('web-1', 'east'): 30.0}}, {})
        """
        return {appid: here for appid in self._clients if (here := self.of(appid, now))}

    def _forget(self, now: float) -> None:
        self._clients = self.all(now)
        self._count = sum(len(clients) for clients in self._clients.values())
        self._forget_at = max(FORGET_ABOVE, 2 * self._count)

"""The API versions that both clusters serve: read from them again and again, since brokers are upgraded."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection

from hadash.gateway.brokers.upstream import UpstreamUnavailable, read_api_versions
from hadash.gateway.brokers.upstreams import Upstreams
from hadash.gateway.protocol.api_keys import TRANSACTIONS, ApiKey
from hadash.gateway.protocol.versions import CachedAnswers, Ranges, intersection
from hadash.gateway.protocol.wire import WireError

log = logging.getLogger(__name__)


class ClusterVersions:
    """What each cluster serves, and the answer to clients: what all of them serve.

    :param reached: where it is noted of each cluster whether it has answered.
    :param transactions: whether transactional producers are served.
    :param seconds: how long a cluster may take to answer.
    """

    def __init__(
        self,
        clusters: Collection[str],
        upstreams: Upstreams,
        reached: dict[str, bool],
        *,
        transactions: bool,
        seconds: float,
    ) -> None:
        self._clusters = clusters
        self._upstreams = upstreams
        self._reached = reached
        self._withheld = () if transactions else TRANSACTIONS
        self._seconds = seconds
        self._ranges: dict[str, Ranges] = {}
        self.answers = CachedAnswers(self._served())

    def _served(self) -> dict[ApiKey, tuple[int, int]]:
        return intersection(self._ranges.values(), self._withheld)

    async def refresh(self) -> None:
        """Ask each cluster. Of one that does not answer, what it has served before counts."""
        for name in self._clusters:
            self._reached[name] = await self._read(name)
        self.answers.serve(self._served())

    async def _read(self, cluster: str) -> bool:
        """Return whether the cluster has answered."""
        try:
            upstream = await self._upstreams.open_cluster(cluster)
        except UpstreamUnavailable as error:
            log.warning("%s", error)
            return False
        try:
            self._ranges[cluster] = await asyncio.wait_for(read_api_versions(upstream), self._seconds)
        except (WireError, UpstreamUnavailable, TimeoutError, OSError) as error:
            log.warning("API versions of cluster %s cannot be read: %s", cluster, error)
            return False
        finally:
            upstream.close()
        return True

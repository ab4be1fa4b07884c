"""Looks up Topics and groups on the clusters, with the Gateway's own accounts.

A client's connection is signed in to one cluster. Its questions about Topics or groups that are bound to the other one
are asked here. The accounts may describe, and nothing more; the client's own cluster decides which Topics it sees.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from hadash.bindings.model import Broker
from hadash.gateway.brokers.nodes import NodeMap
from hadash.gateway.brokers.upstream import Upstream, UpstreamUnavailable
from hadash.gateway.brokers.upstream_auth import CLIENT_ID
from hadash.gateway.brokers.upstreams import Upstreams
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import (
    ErrorCode,
    build,
    decode_response,
    encode_request,
    nested_class,
    request_class,
)
from hadash.gateway.protocol.wire import WireError
from hadash.gateway.virtual import metadata
from hadash.gateway.virtual.known_topics import KnownTopics
from hadash.gateway.waiting.slices import Slices

log = logging.getLogger(__name__)


class Lookups:
    """One connection to each cluster, opened at the first question. Questions are pipelined."""

    def __init__(
        self,
        upstreams: Upstreams,
        nodes: NodeMap,
        known_topics: KnownTopics,
        slices: Slices,
        learn_brokers: Callable[[str, tuple[Broker, ...]], None],
        spawn: Callable[[Any], asyncio.Task[Any]],
    ) -> None:
        """
        :param learn_brokers: called with the brokers that an answer names.
        :param spawn: runs a coroutine in the background.
        """
        self._upstreams = upstreams
        self._nodes = nodes
        self._known_topics = known_topics
        self._slices = slices
        self._learn_brokers = learn_brokers
        self._spawn = spawn
        self._clusters: dict[str, _Cluster] = {}

    def can_ask(self, cluster: str) -> bool:
        """Whether there is an account for ``cluster``."""
        return self._upstreams.can_look_up(cluster)

    def _cluster(self, name: str) -> _Cluster:
        return self._clusters.setdefault(name, _Cluster(self._upstreams, self._spawn, name))

    async def topics(self, cluster: str, version: int, names: Iterable[str]) -> dict[str, metadata.Topic]:
        """Return the Topics that ``cluster`` has, with the virtual cluster's node ids; others are missing.

        :raises UpstreamUnavailable: the cluster cannot be asked.
        """
        request = request_class(ApiKey.METADATA, version)
        entry = nested_class(request, "MetadataRequestTopic")
        asked = build(
            request,
            topics=tuple(build(entry, name=name) for name in sorted(names)),
            allow_auto_topic_creation=False,
            include_cluster_authorized_operations=False,
            include_topic_authorized_operations=False,
        )
        payload = await self._cluster(cluster).ask(ApiKey.METADATA, version, asked)
        answered: asyncio.Future[metadata.Answer] = asyncio.get_running_loop().create_future()
        self._slices.run(
            self._read(cluster, payload, version),
            answered.set_result,
            answered.set_exception,
        )
        answer = await answered
        self._learn_brokers(cluster, answer.brokers)
        absent = (int(ErrorCode.unknown_topic_or_partition), int(ErrorCode.invalid_topic_exception))
        return {topic.name: topic for topic in answer.topics if topic.error not in absent}

    def _read(self, cluster: str, payload: bytes, version: int) -> metadata.Sliced[metadata.Answer]:
        """Read an answer of ``cluster``, corrected by the Topics that are known to exist."""
        answer = yield from metadata.read(payload, version, self._nodes.base(cluster))
        yield from self._known_topics.check(cluster, answer)
        return answer

    async def coordinators(self, cluster: str, groups: Sequence[str]) -> dict[str, tuple[ErrorCode, Broker]]:
        """Return the coordinator of each of ``groups`` on ``cluster``, with the error of the answer.

        :raises UpstreamUnavailable: the cluster cannot be asked.
        """
        connection = self._cluster(cluster)
        answers = await asyncio.gather(*(connection.coordinator(group) for group in groups))
        return dict(zip(groups, answers, strict=True))

    def close(self) -> None:
        for cluster in self._clusters.values():
            cluster.close()


class _Cluster:
    """The connection to one cluster."""

    def __init__(self, upstreams: Upstreams, spawn: Callable[[Any], asyncio.Task[Any]], name: str) -> None:
        self._upstreams = upstreams
        self._spawn = spawn
        self._name = name
        self._upstream: Upstream | None = None
        self._opening: asyncio.Task[Upstream] | None = None
        self._waiting: set[asyncio.Future[bytes]] = set()
        self._numbers = 0

    async def ask(self, kind: ApiKey, version: int, message: Any) -> bytes:
        """Ask the cluster, and return its answer.

        :raises UpstreamUnavailable: the cluster cannot be asked, or does not answer in time.
        """
        upstream = await self._open()
        answered: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting.add(answered)
        self._numbers += 1

        def answer(payload: bytes) -> None:
            if not answered.done():
                answered.set_result(payload)

        data = encode_request(kind, version, self._numbers, CLIENT_ID, message)
        upstream.send((data,), self._numbers, answer)
        try:
            return await asyncio.wait_for(answered, self._upstreams.connect_seconds)
        except TimeoutError:
            why = f"cluster {self._name} does not answer {kind.name}"
            if self._upstream is upstream:
                # Another broker may answer. Answers come in order, so those to later questions do not come either.
                self.close()
                self.upstream_lost(why)
            raise UpstreamUnavailable(why) from None
        finally:
            self._waiting.discard(answered)

    async def coordinator(self, group: str) -> tuple[ErrorCode, Broker]:
        message = build(request_class(ApiKey.FIND_COORDINATOR, 2), key=group, key_type=0)
        payload = await self.ask(ApiKey.FIND_COORDINATOR, 2, message)
        found = decode_response(ApiKey.FIND_COORDINATOR, 2, payload)
        return found.error_code, Broker(int(found.node_id), found.host, int(found.port))

    async def _open(self) -> Upstream:
        if self._upstream is not None:
            return self._upstream
        if self._opening is None:
            self._opening = self._spawn(self._connect())
        try:
            return await asyncio.shield(self._opening)
        finally:
            if self._opening is not None and self._opening.done():
                self._opening = None

    async def _connect(self) -> Upstream:
        upstream = await self._upstreams.open_cluster(self._name)
        try:
            await asyncio.wait_for(
                self._upstreams.sign_in_to_look_up(upstream), self._upstreams.connect_seconds
            )
        except (UpstreamUnavailable, WireError, TimeoutError, OSError) as error:
            upstream.close()
            raise UpstreamUnavailable(
                f"the look-up account of cluster {self._name} cannot sign in ({error or type(error).__name__})"
            ) from None
        upstream.owner = self
        self._upstream = upstream
        return upstream

    def upstream_lost(self, why: str) -> None:
        """Called when the broker has hung up; the next question opens a new connection."""
        self._upstream = None
        for answered in self._waiting:
            if not answered.done():
                answered.set_exception(
                    UpstreamUnavailable(why or f"cluster {self._name} closed the look-up connection")
                )

    def upstream_paused(self) -> None:
        """Do nothing: questions are small and few."""

    def upstream_resumed(self) -> None:
        pass

    def close(self) -> None:
        if self._upstream is not None:
            upstream, self._upstream = self._upstream, None
            upstream.owner = None
            upstream.close()

"""Answers METADATA and FIND_COORDINATOR for one client: each Topic and group from the cluster that it is bound to.

The client's own cluster is asked in the client's name, so its ACLs decide what the client sees. Topics and groups that
are bound to the other cluster are taken from the placement of the switch that moved them, while that is recent, else
looked up with the Gateway's look-up account. If there is neither, they have no leader (or coordinator) for now, and the
client asks again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from hadash.bindings.model import Binding, Broker, Placement
from hadash.gateway.brokers.upstream import Upstream, UpstreamUnavailable
from hadash.gateway.clients.observer import Observer
from hadash.gateway.clients.signed_in import SignedIn
from hadash.gateway.context import GatewayContext
from hadash.gateway.protocol.api_keys import ApiKey
from hadash.gateway.protocol.codec import ErrorCode, decode_response, encode_request, encode_response
from hadash.gateway.protocol.since import FindCoordinator, Metadata
from hadash.gateway.protocol.wire import Request, WireError, length_of
from hadash.gateway.virtual import metadata, rewrite
from hadash.gateway.virtual.metadata import Sliced, Topic
from hadash.gateway.virtual.unasked import HIGHEST_METADATA, LaterReply, metadata_request
from hadash.gateway.waiting.replies import Reply, ReplyQueue

log = logging.getLogger(__name__)

#: The errors by which a cluster says that the client may not see a Topic or group: no other source is asked then.
_FORBIDDEN = (ErrorCode.topic_authorization_failed, ErrorCode.group_authorization_failed)


def is_transaction(message: Any) -> bool:
    """Whether a FIND_COORDINATOR is for a transaction; version 0 knows groups only."""
    return bool(getattr(message, "key_type", 0))


class Asking(Protocol):
    """The parts of a client's relay that are needed to answer the client."""

    @property
    def context(self) -> GatewayContext: ...

    @property
    def signed(self) -> SignedIn: ...

    @property
    def cluster(self) -> str: ...

    @property
    def replies(self) -> ReplyQueue: ...

    @property
    def observer(self) -> Observer: ...

    @property
    def upstream(self) -> Upstream: ...

    @property
    def moved_recently(self) -> bool: ...

    def broken(self, error: Exception) -> None: ...


class Directory:
    """The directory for one client, on the connection that is signed in as it."""

    def __init__(self, relay: Asking) -> None:
        self._relay = relay
        self._context = relay.context
        self._cluster = relay.cluster
        self._appid = relay.signed.appid
        self._client_id = relay.signed.client_id

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run ``work`` in the background. An error ends the connection: its client must not wait for ever."""

        async def guarded() -> None:
            try:
                await work
            except Exception as error:
                self._relay.broken(error)
                raise

        self._context.spawn(guarded())

    # -- METADATA ------------------------------------------------------------------------------------------------

    def answer_metadata(self, request: Request, message: Any) -> None:
        """Ask the client's cluster, and merge what the other cluster answers for the Topics that are bound to it."""
        place = self._relay.replies.open()
        reply: Reply | LaterReply = place
        if request.version > HIGHEST_METADATA:
            reply = LaterReply(place, request.version, self._context.slices, self._relay.broken)
            request, message = metadata_request(request, message)
        counter = self._relay.observer.counter(ApiKey.METADATA)
        every = message.topics is None or (request.version < Metadata.CONTROLLER and not message.topics)
        if not (every or message.topics):
            # A client that asks for no Topic wants the nodes, and these are the Gateway's own.
            self._answer(reply, metadata.Answer(request.version, request.correlation_id, 0, (), []), {})
            return

        def on_answer(payload: bytes) -> None:
            counter.bytes_out += len(payload)
            self._context.slices.run(
                self._read(payload, request.version, every),
                partial(self._merge, reply, every),
                self._relay.broken,
            )

        if every:
            self._relay.observer.lists()
        asked = rewrite.without_topic_creation(message)
        frame = request.frame
        data: tuple[bytes, ...] = (length_of(frame), frame)
        if asked is not message:
            data = (
                encode_request(
                    ApiKey.METADATA, request.version, request.correlation_id, request.client_id, asked
                ),
            )
        self._relay.upstream.send(data, request.correlation_id, on_answer)

    def _read(self, payload: bytes, version: int, every: bool) -> Sliced[metadata.Answer]:
        """Read the answer of the client's cluster, corrected by the Topics that are known to exist."""
        answer = yield from metadata.read(payload, version, self._context.nodes.base(self._cluster))
        used = self._context.traffic.topics_used(self._appid, self._cluster) if every else frozenset()
        yield from self._context.known_topics.check(self._cluster, answer, used)
        return answer

    def _merge(self, reply: Reply | LaterReply, every: bool, answer: metadata.Answer) -> None:
        self._context.ports.learn(self._cluster, answer.brokers)
        away = self._away(answer, every)
        if not away:
            self._answer(reply, answer, {})
            return
        found, unknown = self._from_placements(answer, away)
        clusters = {away[name].cluster for name in unknown}
        if any(self._context.lookups.can_ask(cluster) for cluster in clusters):
            self._spawn(self._look_up(reply, answer, away, found, unknown))
        else:
            if unknown:
                self._cannot_ask(clusters)
            self._answer(reply, answer, {**dict.fromkeys(away), **found})

    def _away(self, answer: metadata.Answer, every: bool) -> dict[str, Binding]:
        """Return the Topics that are bound to another cluster: those of the answer, and those of the AppID's document
        when the client asks for all."""
        table = self._context.table
        names = {topic.name for topic in answer.topics}
        if every:
            names |= table.topics_named(self._appid)
        bindings = table.bindings(self._appid, self._client_id, names)
        forbidden = {topic.name for topic in answer.topics if topic.error in _FORBIDDEN}
        return {
            name: binding
            for name, binding in bindings.items()
            if binding.cluster != self._cluster and name not in forbidden
        }

    def _from_placements(
        self, answer: metadata.Answer, away: dict[str, Binding]
    ) -> tuple[dict[str, Topic], set[str]]:
        """Return the Topics that the switches' placements have, and the names of those that none has."""
        found: dict[str, Topic] = {}
        topics = {topic.name: topic for topic in answer.topics}
        for name, binding in away.items():
            placement = self._placement(binding)
            topic = topics.get(name)
            if placement is not None and topic is not None and (leaders := placement.leaders.get(name)):
                base = self._context.nodes.base(placement.cluster)
                found[name] = metadata.with_leaders(topic, answer.version, leaders, base)
        return found, set(away) - set(found)

    def _placement(self, binding: Binding) -> Placement | None:
        """Return the placement of ``binding``'s switch, unless it is outdated and an account could ask instead."""
        if not self._relay.moved_recently and self._context.lookups.can_ask(binding.cluster):
            return None
        return self._context.table.placement(binding)

    async def _look_up(
        self,
        reply: Reply | LaterReply,
        answer: metadata.Answer,
        away: dict[str, Binding],
        found: dict[str, Topic],
        unknown: set[str],
    ) -> None:
        for cluster in {away[name].cluster for name in unknown}:
            names = {name for name in unknown if away[name].cluster == cluster}
            try:
                found |= await self._context.lookups.topics(cluster, answer.version, names)
            except (UpstreamUnavailable, WireError) as error:
                log.warning("Topics of %s on %s cannot be looked up: %s", self._appid, cluster, error)
        self._answer(reply, answer, {**dict.fromkeys(away), **found})

    def _answer(
        self, reply: Reply | LaterReply, answer: metadata.Answer, instead: dict[str, Topic | None]
    ) -> None:
        """Complete the reply.

        :param instead: Topics that replace those of the answer; ``None`` for one without leaders.
        """
        context = self._context
        topics: Iterable[Topic] = answer.topics
        if instead:
            topics = list(self._with(answer, instead))
        brokers = context.nodes.brokers(self._cluster)
        controller = context.nodes.node_id(self._cluster, brokers[0].id) if brokers else -1
        cluster_id = rewrite.virtual_cluster_id(context.settings.pair)
        reply.complete(metadata.compose(answer, topics, cluster_id, controller, context.nodes))

    @staticmethod
    def _with(answer: metadata.Answer, instead: dict[str, Topic | None]) -> Generator[Topic, None, None]:
        own = {topic.name for topic in answer.topics}
        for topic in answer.topics:
            found = instead.get(topic.name, topic)
            yield found or metadata.with_leaders(topic, answer.version, (), 0)
        for name, found in instead.items():
            if name not in own and found is not None:
                yield found

    def _cannot_ask(self, clusters: Iterable[str]) -> None:
        for cluster in clusters:
            self._context.notes.once(
                f"{self._appid} has Topics or groups on both clusters, and there is no account to look them up on "
                f"{cluster} with: set HADASH_GATEWAY_ACCOUNTS"
            )

    # -- FIND_COORDINATOR ----------------------------------------------------------------------------------------

    def answer_coordinators(self, request: Request, message: Any) -> None:
        """Ask the client's cluster for the groups that are bound to it, and look up the others."""
        keys: Sequence[str] = (
            message.coordinator_keys if request.version >= FindCoordinator.KEYS else (message.key,)
        )
        table = self._context.table
        # A transaction's coordinator is found by transactional id, which no binding names.
        group_of = {key: None if is_transaction(message) else key for key in keys}
        bindings = {
            key: table.binding(self._appid, self._client_id, group=group) for key, group in group_of.items()
        }
        here = [key for key in keys if bindings[key].cluster == self._cluster]
        reply = self._relay.replies.open()
        if len(here) == len(keys):
            self._ask_own(request, message, partial(self._own_only, request, reply))
        elif not here:
            self._spawn(self._find_away(request, reply, keys, bindings, {}))
        else:
            asked = replace(message, coordinator_keys=tuple(here))
            self._ask_own(request, asked, partial(self._own_and_away, request, reply, keys, bindings))

    def _ask_own(self, request: Request, message: Any, on_answer: Callable[[bytes], None]) -> None:
        data = encode_request(
            request.kind, request.version, request.correlation_id, request.client_id, message
        )
        counter = self._relay.observer.counter(ApiKey.FIND_COORDINATOR)

        def answered(payload: bytes) -> None:
            counter.bytes_out += len(payload)
            on_answer(payload)

        self._relay.upstream.send((data,), request.correlation_id, answered)

    def _own_only(self, request: Request, reply: Reply, payload: bytes) -> None:
        response = decode_response(ApiKey.FIND_COORDINATOR, request.version, payload)
        changed = rewrite.find_coordinator(response, request.version, self._cluster, self._context.nodes)
        reply.complete(encode_response(request.kind, request.version, request.correlation_id, changed))

    def _own_and_away(
        self,
        request: Request,
        reply: Reply,
        keys: Sequence[str],
        bindings: dict[str, Binding],
        payload: bytes,
    ) -> None:
        response = decode_response(ApiKey.FIND_COORDINATOR, request.version, payload)
        changed = rewrite.find_coordinator(response, request.version, self._cluster, self._context.nodes)
        own = {found.key: found for found in changed.coordinators}
        self._spawn(self._find_away(request, reply, keys, bindings, own))

    async def _find_away(
        self,
        request: Request,
        reply: Reply,
        keys: Sequence[str],
        bindings: dict[str, Binding],
        own: dict[str, Any],
    ) -> None:
        """Complete the answer; ``own`` holds what the client's cluster has already answered, by group."""
        found: dict[str, tuple[ErrorCode, str, Broker]] = {}
        for key in keys:
            if key not in own:
                found[key] = await self._coordinator(key, bindings[key])
        response = rewrite.coordinators(request.version, keys, own, found, self._context.nodes)
        reply.complete(encode_response(request.kind, request.version, request.correlation_id, response))

    async def _coordinator(self, group: str, binding: Binding) -> tuple[ErrorCode, str, Broker]:
        """Return the coordinator of a group that is bound to another cluster: error, cluster and broker."""
        placement = self._placement(binding)
        if placement is not None and group in placement.coordinators:
            return ErrorCode.none, placement.cluster, Broker(placement.coordinators[group], "", 0)
        if self._context.lookups.can_ask(binding.cluster):
            try:
                answers = await self._context.lookups.coordinators(binding.cluster, (group,))
                code, broker = answers[group]
                return code, binding.cluster, broker
            except (UpstreamUnavailable, WireError) as error:
                log.warning("group %s cannot be looked up on %s: %s", group, binding.cluster, error)
        else:
            self._cannot_ask((binding.cluster,))
        return ErrorCode.coordinator_not_available, binding.cluster, Broker(-1, "", -1)

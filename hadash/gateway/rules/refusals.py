"""Answers that the Gateway gives instead of a cluster. Pure: a request and an error in, a framed response out.

The error is the one that makes the request's client look up metadata or the coordinator again and retry
(docs/kafka-clients.md): NOT_LEADER_OR_FOLLOWER or NOT_COORDINATOR, never BROKER_NOT_AVAILABLE.
"""

from __future__ import annotations

from typing import Any

from hadash.gateway.protocol.api_keys import GROUP, TRANSACTIONS, ApiKey
from hadash.gateway.protocol.codec import ErrorCode, build, decode_request, encode_response, response_module
from hadash.gateway.protocol.since import Fetch, FindCoordinator, OffsetFetch
from hadash.gateway.protocol.wire import Request


def retriable_error(kind: ApiKey) -> ErrorCode:
    """Return the error that makes the client of a request of this kind look for the right node."""
    if kind in GROUP or kind in TRANSACTIONS:
        return ErrorCode.not_coordinator
    if kind is ApiKey.INIT_PRODUCER_ID:
        return ErrorCode.coordinator_not_available
    return ErrorCode.not_leader_or_follower


def refuse(request: Request, error: ErrorCode | None = None, message: Any = None) -> bytes:
    """Return the framed response to ``request`` that reports ``error`` for everything in it.

    :param error: the default is :func:`retriable_error`.
    :param message: the decoded request, when the caller already has it.
    :raises MalformedFrame: the request cannot be read.
    """
    kind, version = request.kind, request.version
    code = retriable_error(kind) if error is None else error
    if message is None:
        message = decode_request(request)
    module: Any = response_module(kind, version)
    response = _BUILDERS[kind](module, message, version, code)
    return encode_response(kind, version, request.correlation_id, response)


def _produce(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(
        module.ProduceResponse,
        responses=tuple(
            build(
                module.TopicProduceResponse,
                name=topic.name,
                partition_responses=tuple(
                    build(
                        module.PartitionProduceResponse,
                        index=p.index,
                        error_code=code,
                        base_offset=-1,
                        log_append_time=None,
                        record_errors=(),
                    )
                    for p in topic.partition_data
                ),
            )
            for topic in message.topic_data
        ),
    )


def is_incremental(version: int, message: Any) -> bool:
    """Whether a FETCH names only what has changed in its fetch session."""
    return version >= Fetch.SESSION and message.session_id != 0 and bool(message.session_epoch > 0)


def _fetch(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    if is_incremental(version, message):
        # An incremental fetch names only what changed, so there is nothing to put an error on. The client responds
        # to this error with a full fetch, which then gets the partition errors.
        return build(module.FetchResponse, error_code=ErrorCode.fetch_session_id_not_found, responses=())
    return build(
        module.FetchResponse,
        error_code=ErrorCode.none,
        session_id=0,
        responses=tuple(
            build(
                module.FetchableTopicResponse,
                topic=topic.topic,
                partitions=tuple(
                    build(
                        module.PartitionData,
                        partition_index=p.partition,
                        error_code=code,
                        high_watermark=-1,
                        aborted_transactions=None,
                        # Not null, although Kafka's schema allows it: Java's consumer before 3.0 fails on it.
                        records=b"",
                    )
                    for p in topic.partitions
                ),
            )
            for topic in message.topics
        ),
    )


def _list_offsets(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(
        module.ListOffsetsResponse,
        topics=tuple(
            build(
                module.ListOffsetsTopicResponse,
                name=topic.name,
                partitions=tuple(
                    build(
                        module.ListOffsetsPartitionResponse,
                        partition_index=p.partition_index,
                        error_code=code,
                    )
                    for p in topic.partitions
                ),
            )
            for topic in message.topics
        ),
    )


def _offset_commit(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(
        module.OffsetCommitResponse,
        topics=tuple(
            build(
                module.OffsetCommitResponseTopic,
                name=topic.name,
                partitions=tuple(
                    build(
                        module.OffsetCommitResponsePartition,
                        partition_index=p.partition_index,
                        error_code=code,
                    )
                    for p in topic.partitions
                ),
            )
            for topic in message.topics
        ),
    )


def _offset_fetch(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    if version >= OffsetFetch.GROUPS:
        groups = tuple(
            build(module.OffsetFetchResponseGroup, group_id=g.group_id, topics=(), error_code=code)
            for g in message.groups
        )
        return build(module.OffsetFetchResponse, groups=groups)
    if version >= OffsetFetch.ERROR:
        return build(module.OffsetFetchResponse, topics=(), error_code=code)
    return build(
        module.OffsetFetchResponse,
        topics=tuple(
            build(
                module.OffsetFetchResponseTopic,
                name=topic.name,
                partitions=tuple(
                    build(
                        module.OffsetFetchResponsePartition,
                        partition_index=index,
                        committed_offset=-1,
                        metadata="",
                        error_code=code,
                    )
                    for index in topic.partition_indexes
                ),
            )
            for topic in message.topics
        ),
    )


def _join_group(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(
        module.JoinGroupResponse,
        error_code=code,
        generation_id=-1,
        protocol_name="",
        leader="",
        member_id=message.member_id,
        members=(),
    )


def _sync_group(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(module.SyncGroupResponse, error_code=code, assignment=b"")


def _heartbeat(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(module.HeartbeatResponse, error_code=code)


def _leave_group(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(module.LeaveGroupResponse, error_code=code, members=())


def _find_coordinator(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    empty = {"node_id": -1, "host": "", "port": -1, "error_code": code, "error_message": _TRANSACTIONS}
    if version >= FindCoordinator.KEYS:
        found = tuple(build(module.Coordinator, key=key, **empty) for key in message.coordinator_keys)
        return build(module.FindCoordinatorResponse, coordinators=found)
    return build(module.FindCoordinatorResponse, **empty)


def _init_producer_id(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(module.InitProducerIdResponse, error_code=code, producer_id=-1, producer_epoch=-1)


def _offset_for_leader_epoch(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(
        module.OffsetForLeaderEpochResponse,
        topics=tuple(
            build(
                module.OffsetForLeaderTopicResult,
                topic=topic.topic,
                partitions=tuple(
                    build(module.EpochEndOffset, partition=p.partition, error_code=code)
                    for p in topic.partitions
                ),
            )
            for topic in message.topics
        ),
    )


def _add_partitions_to_txn(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(
        module.AddPartitionsToTxnResponse,
        results_by_topic_v3_and_below=tuple(
            build(
                module.AddPartitionsToTxnTopicResult,
                name=topic.name,
                results_by_partition=tuple(
                    build(
                        module.AddPartitionsToTxnPartitionResult,
                        partition_index=index,
                        partition_error_code=code,
                    )
                    for index in topic.partitions
                ),
            )
            for topic in message.v3_and_below_topics
        ),
    )


def _add_offsets_to_txn(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(module.AddOffsetsToTxnResponse, error_code=code)


def _end_txn(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(module.EndTxnResponse, error_code=code)


def _txn_offset_commit(module: Any, message: Any, version: int, code: ErrorCode) -> Any:
    return build(
        module.TxnOffsetCommitResponse,
        topics=tuple(
            build(
                module.TxnOffsetCommitResponseTopic,
                name=topic.name,
                partitions=tuple(
                    build(
                        module.TxnOffsetCommitResponsePartition,
                        partition_index=p.partition_index,
                        error_code=code,
                    )
                    for p in topic.partitions
                ),
            )
            for topic in message.topics
        ),
    )


#: The error message of a refused FIND_COORDINATOR. Only one for a transaction is refused.
_TRANSACTIONS = "hadash does not move transactions: use this client without a transactional.id."

_BUILDERS = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.SYNC_GROUP: _sync_group,
    ApiKey.HEARTBEAT: _heartbeat,
    ApiKey.LEAVE_GROUP: _leave_group,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: _add_offsets_to_txn,
    ApiKey.END_TXN: _end_txn,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
}

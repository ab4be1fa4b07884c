"""Kafka messages for tests: one example request of every kind, in any version that has it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from kafka.record.default_records import DefaultRecordBatchBuilder

from hadash.gateway.protocol.api_keys import OFFERED, ApiKey
from hadash.gateway.protocol.codec import build, encode_request, request_class
from hadash.gateway.protocol.wire import Request, parse_request

#: Every (kind, version) that a Gateway offers.
OFFERED_VERSIONS = [
    (kind, version) for kind, (low, high) in OFFERED.items() for version in range(low, high + 1)
]

#: A Topic whose name is not ASCII: its length in bytes differs from that in characters.
TOPICS = {"orders": (0, 1, 2), "订单": (5,)}


def batch(*values: bytes, producer_id: int = -1, epoch: int = -1, sequence: int = -1) -> bytes:
    """A record batch (magic 2) with a right checksum."""
    builder = DefaultRecordBatchBuilder(2, 0, False, producer_id, epoch, sequence, 1 << 20)
    for offset, value in enumerate(values):
        builder.append(offset, None, None, value, [])
    return bytes(builder.build())


def nested(kind: ApiKey, version: int, name: str) -> Any:
    """A class that a request's message holds, such as ``TopicProduceData``."""
    import sys

    return getattr(sys.modules[request_class(kind, version).__module__], name)


def request(
    kind: ApiKey, version: int, client_id: str = "test", correlation_id: int = 7, **values: Any
) -> Request:
    """A request as the Gateway reads it."""
    message = build(request_class(kind, version), **values)
    return parse_request(encode_request(kind, version, correlation_id, client_id, message)[4:])


def produce(
    version: int,
    records: dict[str, dict[int, bytes | None]],
    *,
    acks: int = -1,
    transactional_id: str | None = None,
    **header: Any,
) -> Request:
    """A PRODUCE with the record batches of each partition."""
    topic_class, partition_class = (
        nested(ApiKey.PRODUCE, version, name) for name in ("TopicProduceData", "PartitionProduceData")
    )
    return request(
        ApiKey.PRODUCE,
        version,
        transactional_id=transactional_id,
        acks=acks,
        timeout=timedelta(seconds=30),
        topic_data=tuple(
            build(
                topic_class,
                name=topic,
                partition_data=tuple(
                    build(partition_class, index=index, records=data) for index, data in partitions.items()
                ),
            )
            for topic, partitions in records.items()
        ),
        **header,
    )


def example(kind: ApiKey, version: int) -> Request:
    """A usual request, naming all of :data:`TOPICS` or the group ``workers`` where the kind names any."""
    return _EXAMPLES.get(kind, _other)(kind, version)


def _topics(kind: ApiKey, version: int, topic: str, partition: str, **values: Any) -> tuple[Any, ...]:
    topic_class, partition_class = nested(kind, version, topic), nested(kind, version, partition)
    return tuple(
        build(
            topic_class,
            name=name,
            topic=name,
            partitions=tuple(
                build(partition_class, partition_index=index, partition=index, **values) for index in indexes
            ),
        )
        for name, indexes in TOPICS.items()
    )


def _produce(kind: ApiKey, version: int) -> Request:
    return produce(version, {topic: dict.fromkeys(indexes, batch(b"a")) for topic, indexes in TOPICS.items()})


def fetch(version: int, session_id: int = 0, session_epoch: int = -1) -> Request:
    """A FETCH; a full one unless it names a session."""
    return request(
        ApiKey.FETCH,
        version,
        replica_id=-1,
        max_wait=timedelta(milliseconds=500),
        min_bytes=1,
        session_id=session_id,
        session_epoch=session_epoch,
        topics=_topics(
            ApiKey.FETCH, version, "FetchTopic", "FetchPartition", fetch_offset=0, partition_max_bytes=1 << 20
        ),
        forgotten_topics_data=(),
    )


def _list_offsets(kind: ApiKey, version: int) -> Request:
    topics = _topics(kind, version, "ListOffsetsTopic", "ListOffsetsPartition", timestamp=-1)
    return request(kind, version, replica_id=-1, isolation_level=0, topics=topics)


def _metadata(kind: ApiKey, version: int) -> Request:
    topic_class = nested(kind, version, "MetadataRequestTopic")
    return request(
        kind,
        version,
        topics=tuple(build(topic_class, name=name, topic_id=None) for name in TOPICS),
        allow_auto_topic_creation=True,
        include_cluster_authorized_operations=False,
        include_topic_authorized_operations=False,
    )


def _offset_commit(kind: ApiKey, version: int) -> Request:
    return request(
        kind,
        version,
        group_id="workers",
        generation_id_or_member_epoch=3,
        member_id="m-1",
        retention_time=timedelta(milliseconds=-1),
        topics=_topics(
            kind,
            version,
            "OffsetCommitRequestTopic",
            "OffsetCommitRequestPartition",
            committed_offset=10,
            committed_leader_epoch=4,
            committed_metadata="",
        ),
    )


def _offset_fetch(kind: ApiKey, version: int) -> Request:
    topic_class = nested(
        kind, version, "OffsetFetchRequestTopics" if version >= 8 else "OffsetFetchRequestTopic"
    )
    topics = tuple(
        build(topic_class, name=name, partition_indexes=indexes) for name, indexes in TOPICS.items()
    )
    if version < 8:
        return request(kind, version, group_id="workers", topics=topics)
    group_class = nested(kind, version, "OffsetFetchRequestGroup")
    groups = tuple(build(group_class, group_id=name, topics=topics) for name in ("workers", "others"))
    return request(kind, version, groups=groups)


def _find_coordinator(kind: ApiKey, version: int) -> Request:
    return request(kind, version, key="workers", key_type=0, coordinator_keys=("workers", "others"))


def _join_group(kind: ApiKey, version: int) -> Request:
    protocol = build(nested(kind, version, "JoinGroupRequestProtocol"), name="range", metadata=b"\0")
    return request(
        kind,
        version,
        group_id="workers",
        session_timeout=timedelta(seconds=45),
        rebalance_timeout=timedelta(seconds=300),
        member_id="m-1",
        protocol_type="consumer",
        protocols=(protocol,),
    )


def _member(kind: ApiKey, version: int) -> Request:
    """HEARTBEAT, SYNC_GROUP and LEAVE_GROUP name the same member."""
    values: dict[str, Any] = {
        "group_id": "workers",
        "generation_id": 3,
        "member_id": "m-1",
        "assignments": (),
    }
    if kind is ApiKey.LEAVE_GROUP and version >= 3:
        values["members"] = (build(nested(kind, version, "MemberIdentity"), member_id="m-1"),)
    return request(kind, version, **values)


def _init_producer_id(kind: ApiKey, version: int) -> Request:
    return request(kind, version, transactional_id=None, transaction_timeout=timedelta(milliseconds=-1))


def _offset_for_leader_epoch(kind: ApiKey, version: int) -> Request:
    topics = _topics(kind, version, "OffsetForLeaderTopic", "OffsetForLeaderPartition", leader_epoch=4)
    return request(kind, version, replica_id=-1, topics=topics)


_TRANSACTION = {"transactional_id": "tx", "producer_id": 4000, "producer_epoch": 0}


def _add_partitions_to_txn(kind: ApiKey, version: int) -> Request:
    topic_class = nested(kind, version, "AddPartitionsToTxnTopic")
    return request(
        kind,
        version,
        v3_and_below_transactional_id="tx",
        v3_and_below_producer_id=4000,
        v3_and_below_producer_epoch=0,
        v3_and_below_topics=tuple(
            build(topic_class, name=name, partitions=indexes) for name, indexes in TOPICS.items()
        ),
    )


def _transaction(kind: ApiKey, version: int) -> Request:
    """ADD_OFFSETS_TO_TXN and END_TXN."""
    return request(kind, version, group_id="workers", committed=True, **_TRANSACTION)


def _txn_offset_commit(kind: ApiKey, version: int) -> Request:
    topics = _topics(
        kind,
        version,
        "TxnOffsetCommitRequestTopic",
        "TxnOffsetCommitRequestPartition",
        committed_offset=10,
        committed_leader_epoch=4,
        committed_metadata="",
    )
    return request(kind, version, group_id="workers", topics=topics, **_TRANSACTION)


def _other(kind: ApiKey, version: int) -> Request:
    """The kinds that pass unread: all that any of them has to be told."""
    return request(
        kind,
        version,
        groups=("workers",),
        include_authorized_operations=False,
        states_filter=(),
        mechanism="PLAIN",
        client_software_name="test",
        client_software_version="1.0",
        resources=(),
        include_synonyms=False,
        auth_bytes=b"\0shop\0secret",
        include_cluster_authorized_operations=False,
    )


_EXAMPLES: dict[ApiKey, Any] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: lambda kind, version: fetch(version),
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.METADATA: _metadata,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.JOIN_GROUP: _join_group,
    ApiKey.SYNC_GROUP: _member,
    ApiKey.HEARTBEAT: _member,
    ApiKey.LEAVE_GROUP: _member,
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: _offset_for_leader_epoch,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: _transaction,
    ApiKey.END_TXN: _transaction,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
}

"""Requests about consumer groups, each as a function of kafka-python's admin client."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from kafka import errors
from kafka.protocol.consumer.metadata import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafka.structs import OffsetAndMetadata, TopicPartition

from hadash.kafka.group_admin import Admin
from hadash.kafka.values import Committed, GroupInfo, GroupMember, Partition

log = logging.getLogger(__name__)


def described(names: list[str], admin: Admin) -> dict[str, GroupInfo]:
    return {
        name: GroupInfo(
            name,
            group.group_state,
            admin.coordinator_of(name),
            tuple(_member(group.protocol_type, member) for member in group.members),
            group.protocol_data,
        )
        for name, group in admin.describe_groups(names).items()
    }


def _member(protocol_type: str, told: Any) -> GroupMember:
    subscription = _subscription(protocol_type, told.member_metadata)
    return GroupMember(
        told.member_id,
        told.client_id,
        told.client_host.lstrip("/"),
        _assigned(protocol_type, told.member_assignment),
        None if subscription is None else tuple(sorted(subscription.topics)),
        told.group_instance_id or None,
        (getattr(subscription, "rack_id", None) or None) if subscription is not None else None,
    )


def _assigned(protocol_type: str, assignment: bytes) -> tuple[Partition, ...]:
    """Return the partitions of a member's assignment; none for members that are not consumers, and for an
    assignment that cannot be decoded.
    """
    if protocol_type != "consumer" or not assignment:
        return ()
    try:
        found = ConsumerProtocolAssignment.decode(assignment)
    except Exception as error:  # the library's decoder raises many kinds of errors
        log.debug("an assignment of %d bytes cannot be read: %r", len(assignment), error)
        return ()
    return tuple(
        sorted(
            Partition(each.topic, index) for each in found.assigned_partitions for index in each.partitions
        )
    )


def _subscription(protocol_type: str, metadata: bytes) -> ConsumerProtocolSubscription | None:
    """Return the subscription that a member sent when it joined; ``None`` for one that is not a consumer or
    cannot be decoded. (Brokers report it only for stable groups.)
    """
    if protocol_type != "consumer" or not metadata:
        return None
    try:
        return ConsumerProtocolSubscription.decode(metadata)
    except Exception as error:  # the library's decoder raises many kinds of errors
        log.debug("a subscription of %d bytes cannot be read: %r", len(metadata), error)
        return None


def group_names(admin: Admin) -> list[str]:
    return sorted({group["group_id"] for group in admin.list_groups()})


def commits(names: list[str], admin: Admin) -> dict[str, dict[Partition, Committed]]:
    found = admin.list_group_offsets(names)
    return {
        name: {
            Partition(p.topic, p.partition): Committed(committed.offset, committed.metadata or "")
            for p, committed in found.get(name, {}).items()
            if committed.offset >= 0
        }
        for name in names
    }


def commit(group: str, commits: Mapping[Partition, Committed], admin: Admin) -> None:
    offsets = {
        TopicPartition(p.topic, p.partition): OffsetAndMetadata(committed.offset, committed.metadata, -1)
        for p, committed in commits.items()
    }
    _raise_first(admin.alter_group_offsets(group, offsets))


def remove(group: str, partitions: Sequence[Partition], admin: Admin) -> None:
    try:
        results = admin.delete_group_offsets(
            group, [TopicPartition(p.topic, p.partition) for p in partitions]
        )
    except errors.GroupIdNotFoundError:
        return
    _raise_first(results)


class Deletion:
    """The deletion of one group. It may be called again: the group is gone already when the first answer was lost."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._asked = False

    def __call__(self, admin: Admin) -> None:
        again, self._asked = self._asked, True
        said = admin.delete_groups([self._group])[self._group]
        if said == "OK" or (again and said == errors.GroupIdNotFoundError.__name__):
            return
        raise getattr(errors, said, errors.BrokerResponseError)(self._group)


def _raise_first(results: Mapping[TopicPartition, type[errors.KafkaError]]) -> None:
    for p, error in sorted(results.items()):
        if error is not errors.NoError:
            raise error(f"{p.topic}-{p.partition}")

"""The two Topic settings that hadash keeps itself, because the standby's differ from those of the active side. Pure.

``message.timestamp.type``: a standby Topic has ``CreateTime``, so that each copy keeps the time of its original,
also where the active side's broker sets it (``LogAppendTime``). ``max.message.bytes``: a copy is stored
uncompressed, so a standby Topic takes more. When a side becomes active it gets what is meant for clients, which the
mirror's row remembers: by then no cluster may be left that says it (a switch without its source), and a switch may
be cut off when both sides are standbys.
"""

from __future__ import annotations

from collections.abc import Mapping

from hadash.mirroring.limits import record_limit

TIMESTAMP_TYPE = "message.timestamp.type"
MAX_MESSAGE_BYTES = "max.message.bytes"
KEPT = (TIMESTAMP_TYPE, MAX_MESSAGE_BYTES)

CREATE_TIME = "CreateTime"

#: Settings by Topic.
TopicSettings = Mapping[str, Mapping[str, str]]

#: What MirrorMaker leaves out of its copying of Topic settings by itself (``DefaultConfigPropertyFilter`` of Kafka
#: 3.9), and what hadash keeps. MirrorMaker would take a standby's larger limit away wherever the source has the
#: broker's default.
EXCLUDED = (
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    "message.timestamp.difference.max.ms",
    TIMESTAMP_TYPE,
    "unclean.leader.election.enable",
    "min.insync.replicas",
    MAX_MESSAGE_BYTES,
)


def for_standby(active: Mapping[str, str], factor: float, request_limit: int) -> dict[str, str]:
    """What a standby Topic is set to, by what is in effect on the active side.

    >>> active = {"message.timestamp.type": "LogAppendTime", "max.message.bytes": "1000000"}
    >>> for_standby(active, 8, 100_000_000)
    {'message.timestamp.type': 'CreateTime', 'max.message.bytes': '8000000'}
    """
    limit = record_limit(int(active[MAX_MESSAGE_BYTES]), factor, request_limit)
    return {TIMESTAMP_TYPE: CREATE_TIME, MAX_MESSAGE_BYTES: str(limit)}


def to_change_on_standby(held: TopicSettings, wanted: TopicSettings) -> dict[str, dict[str, str]]:
    """Settings of standby Topics that have to change. A limit that is higher than it has to be stays."""
    changes = {}
    for topic, settings in wanted.items():
        now = held.get(topic, {})
        changed = {
            key: value
            for key, value in settings.items()
            if (int(now.get(key, 0)) < int(value) if key == MAX_MESSAGE_BYTES else now.get(key) != value)
        }
        if changed:
            changes[topic] = changed
    return changes


def to_change_on_active(held: TopicSettings, meant: TopicSettings) -> dict[str, dict[str, str]]:
    """Settings of Topics that become active and are not yet as they are meant for clients."""
    changes = {
        topic: {key: value for key, value in settings.items() if held.get(topic, {}).get(key) != value}
        for topic, settings in meant.items()
    }
    return {topic: changed for topic, changed in changes.items() if changed}

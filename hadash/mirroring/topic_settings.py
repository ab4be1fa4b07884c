"""The Topic settings that hadash keeps itself, because the standby's differ from those of the active side. Pure.

``message.timestamp.type``: a standby Topic has ``CreateTime``, so that each copy keeps the time of its
original, even where the active side's broker sets it (``LogAppendTime``). ``max.message.bytes``: copies are
stored uncompressed, so a standby Topic has a higher limit. ``message.timestamp.*.max.ms``: how far a record's
time may be from the broker's; a copy has the time of its original, which may be years old, so a standby Topic
accepts every time. (Which of these exist depends on the broker's version: ``difference`` before Kafka 4.0,
``before`` and ``after`` from 3.6 on. Unknown ones are left out.) A side that becomes active gets the settings
for clients. They are stored in the mirror's row, because then no cluster may be left that has them (a switch
without its source), and an interrupted switch may leave both sides as standbys.
"""

from __future__ import annotations

from collections.abc import Mapping

from hadash.mirroring.limits import record_limit

TIMESTAMP_TYPE = "message.timestamp.type"
MAX_MESSAGE_BYTES = "max.message.bytes"
TIME_LIMITS = (
    "message.timestamp.difference.max.ms",
    "message.timestamp.before.max.ms",
    "message.timestamp.after.max.ms",
)
KEPT = (TIMESTAMP_TYPE, MAX_MESSAGE_BYTES, *TIME_LIMITS)

CREATE_TIME = "CreateTime"

#: Kafka's largest number of milliseconds: no limit.
NO_LIMIT_MS = str(2**63 - 1)
NO_TIME_LIMITS = dict.fromkeys(TIME_LIMITS, NO_LIMIT_MS)

#: Settings by Topic.
TopicSettings = Mapping[str, Mapping[str, str]]

#: The Topic settings that MirrorMaker must not copy: those that it excludes by default
#: (``DefaultConfigPropertyFilter`` of Kafka 3.9), and those that hadash keeps. MirrorMaker would remove a
#: standby's larger limit wherever the source has the broker's default.
EXCLUDED = (
    "follower.replication.throttled.replicas",
    "leader.replication.throttled.replicas",
    *TIME_LIMITS,
    TIMESTAMP_TYPE,
    "unclean.leader.election.enable",
    "min.insync.replicas",
    MAX_MESSAGE_BYTES,
)


def for_standby(active: Mapping[str, str], factor: float, request_limit: int) -> dict[str, str]:
    """Return the settings of a standby Topic, from those in effect on the active side.

    >>> active = {"message.timestamp.type": "LogAppendTime", "max.message.bytes": "1000000"}
    >>> for_standby(active, 8, 100_000_000)
    {'message.timestamp.type': 'CreateTime', 'max.message.bytes': '8000000'}
    """
    limit = record_limit(int(active[MAX_MESSAGE_BYTES]), factor, request_limit)
    return {TIMESTAMP_TYPE: CREATE_TIME, MAX_MESSAGE_BYTES: str(limit)}


def new_configs(active: Mapping[str, str], standby: Mapping[str, str]) -> dict[str, str]:
    """Return the configs with which a standby Topic is created: those of the active side, except for the
    settings that hadash keeps. The limits of time are set later: a broker that does not know one would refuse
    to create the Topic.

    :param active: the configs set on the active side's Topic.
    :param standby: the result of :func:`for_standby`.
    """
    return {key: value for key, value in {**active, **standby}.items() if key not in TIME_LIMITS}


def _known(held: Mapping[str, str], wanted: Mapping[str, str]) -> dict[str, str]:
    """Return ``wanted`` without the limits of time that the broker does not know, which are not in ``held``."""
    return {key: value for key, value in wanted.items() if key in held or key not in TIME_LIMITS}


def to_change_on_standby(held: TopicSettings, wanted: TopicSettings) -> dict[str, dict[str, str]]:
    """Return the settings of standby Topics that have to change. A limit that is higher than needed stays."""
    changes = {}
    for topic, settings in wanted.items():
        now = held.get(topic, {})
        changed = {
            key: value
            for key, value in _known(now, {**settings, **NO_TIME_LIMITS}).items()
            if (int(now.get(key, 0)) < int(value) if key == MAX_MESSAGE_BYTES else now.get(key) != value)
        }
        if changed:
            changes[topic] = changed
    return changes


def to_change_on_active(held: TopicSettings, meant: TopicSettings) -> dict[str, dict[str, str]]:
    """Return the settings that Topics which become active need for clients and do not have yet."""
    changes = {
        topic: {
            key: value
            for key, value in _known(held.get(topic, {}), settings).items()
            if held.get(topic, {}).get(key) != value
        }
        for topic, settings in meant.items()
    }
    return {topic: changed for topic, changed in changes.items() if changed}

"""From the settings of a Kafka consumer, by the names that Java's has, to those of librdkafka. Pure.

Source: librdkafka's ``CONFIGURATION.md`` (2.10).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: Java's names whose meaning librdkafka has under another name.
_RENAMED = {
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "ssl.truststore.location": "ssl.ca.location",
}

#: Java's names that have no meaning here: how records are parsed, and what a group's own assignment would need.
_MEANINGLESS = frozenset(
    {
        "key.deserializer",
        "value.deserializer",
        "max.poll.records",
        "max.poll.interval.ms",
        "partition.assignment.strategy",
        "group.instance.id",
        "enable.auto.commit",
        "auto.commit.interval.ms",
        "interceptor.classes",
        "default.api.timeout.ms",
        "exclude.internal.topics",
    }
)

#: librdkafka would write to stderr what callers report, too.
_QUIET = {"log_level": 0}

#: What only a consumer needs, not a client that asks for metadata.
_OF_CONSUMERS = frozenset({"group.id", "auto.offset.reset"})
_OF_CONSUMERS_BEGIN = ("fetch.", "max.partition.", "isolation.", "check.crcs", "queued.")


def consuming(consumer: Mapping[str, Any], secrets: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a librdkafka consumer.

    :param consumer: settings by Kafka's names, as a Topic's document has them. :param secrets: those that it must not
        have; they count more.

    >>> consuming({"bootstrap.servers": "k:9092", "group.id": "a", "fetch.max.wait.ms": 50, "max.poll.records": 9}, {})
    {'log_level': 0, 'bootstrap.servers': 'k:9092', 'group.id': 'a', 'fetch.wait.max.ms': 50}
    """
    named = {
        _RENAMED.get(name, name): value
        for name, value in {**consumer, **secrets}.items()
        if name not in _MEANINGLESS
    }
    if named.get("auto.offset.reset") == "none":
        named["auto.offset.reset"] = "error"  # librdkafka's word for it
    return {**_QUIET, **named}


def connecting(consumer: Mapping[str, Any], secrets: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a client that only asks for metadata.

    >>> connecting({"bootstrap.servers": "k:9092", "group.id": "a", "fetch.max.wait.ms": 50}, {"sasl.password": "p"})
    {'log_level': 0, 'bootstrap.servers': 'k:9092', 'sasl.password': 'p'}
    """
    return {
        name: value
        for name, value in consuming(consumer, secrets).items()
        if name not in _OF_CONSUMERS and not name.startswith(_OF_CONSUMERS_BEGIN)
    }

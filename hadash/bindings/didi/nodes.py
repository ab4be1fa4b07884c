"""The config nodes of Kafka's ZooKeeper tree as immutable values (docs/didi-engine.md 1).

A node ``/config/<type>/<name>`` holds ``{"version":1,"config":{key: text}}``. It is shared: a user's node also holds
SCRAM credentials and quotas, a cluster's node tuning that hadash does not know. hadash keeps everything that it does
not change itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

USERS = "users"
HA_TOPICS = "ha-topics"
HA_CLUSTERS = "ha-clusters"

ACTIVE_CLUSTER = "didi.ha.active.cluster"
#: The value of :data:`ACTIVE_CLUSTER` that blocks: text, not JSON's null.
BLOCKED = "None"
REMOTE_CLUSTER = "didi.ha.remote.cluster"
REMOTE_TOPIC = "didi.ha.remote.topic"
SYNC_PARTITIONS = "didi.ha.sync.topic.partitions.enabled"
SYNC_CONFIGS = "didi.ha.sync.topic.configs.enabled"
SYNC_ACLS = "didi.ha.sync.topic.acls.enabled"

_CLUSTER_ID = re.compile(r"0|[1-9]\d{0,9}")


class NotAConfigNode(ValueError):
    """A node's content is not a config node of Kafka, and is never overwritten. The message names no content: it may be
    a credential."""


def is_cluster_id(text: str) -> bool:
    """Whether ``text`` is a cluster id: an integer (1.1).

    >>> is_cluster_id("2"), is_cluster_id("None"), is_cluster_id("02")
    (True, False, False)
    """
    return _CLUSTER_ID.fullmatch(text) is not None


def _is_flag(text: str) -> bool:
    return text in ("true", "false")


#: The values that hadash may write, as a check by key: the engine drops a node with any other value.
_VALID: Mapping[str, Callable[[str], bool]] = {
    ACTIVE_CLUSTER: lambda text: text == BLOCKED or is_cluster_id(text),
    REMOTE_CLUSTER: is_cluster_id,
    REMOTE_TOPIC: bool,
    SYNC_PARTITIONS: _is_flag,
    SYNC_CONFIGS: _is_flag,
    SYNC_ACLS: _is_flag,
    "didi.kafka.enable": _is_flag,
    "bootstrap.servers": bool,
    "security.protocol": lambda text: text in ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    "sasl.mechanism": bool,
    "sasl.jaas.config": bool,
}


def validated(changes: Mapping[str, str | None]) -> Mapping[str, str | None]:
    """Return ``changes`` if the engine accepts them; ``None`` removes a key.

    :raises ValueError: a key is unknown, and DiDi's engine rejects it (1.1), or a value is not valid for its key. The
        message does not name the value: it may be a password.
    """
    for key, value in changes.items():
        if key not in _VALID or (value is not None and not _VALID[key](value)):
            raise ValueError(
                f"{key} cannot be written: DiDi's engine does not take it, or not with this value."
            )
    return changes


def _empty() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ConfigNode:
    """One node. ``rest`` holds members beside ``config``, for their writers. Its ``repr`` shows no values."""

    config: Mapping[str, str] = field(default_factory=_empty, repr=False)
    rest: Mapping[str, Any] = field(default_factory=_empty, repr=False)

    def with_keys(self, changes: Mapping[str, str | None]) -> ConfigNode:
        """Return the node with keys set, or removed for ``None``; all other keys are unchanged.

        >>> node = ConfigNode.from_bytes(b'{"version":1,"config":{"SCRAM-SHA-256":"s"}}')
        >>> node.with_keys({ACTIVE_CLUSTER: "2"}).to_bytes()
        b'{"version":1,"config":{"SCRAM-SHA-256":"s","didi.ha.active.cluster":"2"}}'
        """
        config = dict(self.config)
        for key, value in validated(changes).items():
            if value is None:
                config.pop(key, None)
            else:
                config[key] = value
        return ConfigNode(MappingProxyType(config), self.rest)

    def to_bytes(self) -> bytes:
        value = {"version": 1, "config": dict(self.config), **self.rest}
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes | None) -> ConfigNode:
        """Parse a node. Empty data is an empty config: Kafka writes it when only a node below is set.

        :raises NotAConfigNode: anything else that Kafka would not read.

        >>> ConfigNode.from_bytes(b"") == ConfigNode()
        True
        >>> ConfigNode.from_bytes(b'{"version":2,"config":{}}')
        Traceback (most recent call last):
        hadash.bindings.didi.nodes.NotAConfigNode: it is no config node of version 1
        """
        if not data:
            return cls()
        try:
            value = json.loads(data)
            config = value.get("config", {})
            if value.get("version") != 1 or not all(isinstance(text, str) for text in config.values()):
                raise NotAConfigNode("it is no config node of version 1")
            rest = {name: member for name, member in value.items() if name not in ("version", "config")}
        except (ValueError, AttributeError, TypeError, RecursionError):
            # (Not "from error": a JSON error carries the text that could not be parsed.)
            raise NotAConfigNode("it is no config node of version 1") from None
        return cls(MappingProxyType(config), MappingProxyType(rest))

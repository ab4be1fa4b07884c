"""A switch that moves a Topic holds it: the members of a pool stop reading it, and go on elsewhere. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hadash.coordinator.documents import parsed, unreadable
from hadash.sentences import Sentence, say


@dataclass(frozen=True, slots=True)
class Hold:
    """A switch has the members of a pool stop reading a Topic, until it says where they go on.

    :param switch: its key. :param consumer: settings of the members' Kafka consumers that change, such as
        ``bootstrap.servers``: with them they go on; ``None``: they wait.
    """

    switch: str
    consumer: Mapping[str, str] | None = None

    def is_open(self, consumer: Mapping[str, Any]) -> bool:
        """Whether members with these settings are where the switch wants them."""
        return self.consumer is not None and all(
            consumer.get(name) == value for name, value in self.consumer.items()
        )

    def by_its_switch(self, pool: str, topic: str) -> Sentence:
        """Why nobody else changes a Topic of a pool now."""
        return say(
            "Topic %(topic)s of pool %(pool)s is held by switch %(switch)s.",
            topic=topic,
            pool=pool,
            switch=self.switch,
        )

    def to_bytes(self) -> bytes:
        return json.dumps({"switch": self.switch, "consumer": self.consumer}, ensure_ascii=False).encode()

    @classmethod
    def parse(cls, path: str, value: bytes) -> Hold:
        """Parse the content of a node. :raises DocumentError: it is none."""
        found = parsed(path, value)
        consumer = found.get("consumer")
        if consumer is not None and not (
            isinstance(consumer, dict) and all(isinstance(each, str) for each in consumer.values())
        ):
            raise unreadable(path, "consumer")
        return cls(str(found.get("switch", "")), consumer)

"""What a switch moves, fixed when it is requested and hashed for its approval. Pure."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any

from hadash.identity.identity import Identity


@dataclass(frozen=True, slots=True)
class Plan:
    """The radius of one switch.

    ``instances`` are the InstanceIDs whose own bindings move: the one that was asked for, or, when a whole AppID
    moves, all that are bound, so that no narrower binding stays behind.
    """

    pair: str
    appid: str
    instance_id: str | None
    source: str
    target: str
    topics: tuple[str, ...]
    groups: tuple[str, ...]
    mirrors: tuple[str, ...]
    instances: tuple[str, ...] = ()

    @property
    def identities(self) -> tuple[Identity, ...]:
        """Everything whose binding is written."""
        named = tuple(Identity(self.appid, instance) for instance in self.instances)
        return named if self.instance_id is not None else (Identity(self.appid), *named)

    @property
    def scope(self) -> Identity:
        """What was asked for."""
        return Identity(self.appid, self.instance_id)

    def covers(self, client_id: str) -> bool:
        """Whether a client of this AppID moves."""
        return self.instance_id is None or client_id == self.instance_id

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Plan:
        """:raises KeyError, TypeError: the value is no plan."""
        lists = ("topics", "groups", "mirrors", "instances")
        fields: dict[str, Any] = {
            name: tuple(value[name]) if name in lists else value[name] for name in cls.__dataclass_fields__
        }
        return cls(**fields)

    @property
    def digest(self) -> str:
        """What an approval is given to: the same radius has the same digest."""
        text = json.dumps(self.to_json(), sort_keys=True, ensure_ascii=False)
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()

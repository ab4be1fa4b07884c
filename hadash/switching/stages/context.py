"""What the stages of a switch keep for each other. The executor stores it, in PostgreSQL and in ZooKeeper."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hadash.bindings.journals import FACTS_BYTES, packed
from hadash.kafka.values import Partition
from hadash.mirroring.acls import Denied
from hadash.mirroring.offsets import OffsetSync
from hadash.switching.stages import commands as do
from hadash.switching.stages.resuming import NUMBER

#: The largest offset that is reckoned with when it is asked whether the facts of a switch will fit: ten
#: trillion records.
MOST_OFFSET = 10**13


class StageContext:
    """Values by name, and their number: see :data:`hadash.switching.stages.resuming.NUMBER`. A dry run forgets them."""

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        save: Callable[[dict[str, Any]], None] | None = None,
    ):
        self.values = dict(values or {})
        self._save = save

    def put(self, name: str, value: Any) -> None:
        self.values = with_fact(self.values, name, value)
        if self._save is not None:
            self._save(self.values)


def with_fact(values: Mapping[str, Any], name: str, value: Any) -> dict[str, Any]:
    """``values`` with one more fact, or another value of it.

    >>> with_fact({"number": 3}, "loss", None)
    {'number': 4, 'loss': None}
    """
    return {**values, name: value, NUMBER: values.get(NUMBER, 0) + 1}


def seen_to_json(seen: do.RecordSeen) -> dict[str, Any]:
    """As a switch's facts keep it, under ``seen``."""
    return {
        "clients": list(seen.clients),
        "groups": list(seen.groups),
        "activity": [list(pair) for pair in seen.activity],
    }


def with_denied(values: Mapping[str, Any], cluster: str, rules: Iterable[Denied]) -> dict[str, Any] | None:
    """What facts keep, under ``denied``, when a switch is about to make write denials on ``cluster``: those
    that it made before stay. ``None`` if ZooKeeper has no room for that.
    """
    kept: dict[str, Any] = dict(values.get("denied", {}))
    kept[cluster] = sorted({*denied_of(values, cluster), *rules})
    return kept if len(packed(with_fact(values, "denied", kept))) <= FACTS_BYTES else None


def denied_of(values: Mapping[str, Any], cluster: str) -> list[Denied]:
    """The write denials that a switch has made on ``cluster``, or was about to.

    >>> denied_of({"denied": {"east": [["orders", "User:shop"]]}}, "east"), denied_of({}, "east")
    ([('orders', 'User:shop')], [])
    """
    return [(topic, principal) for topic, principal in values.get("denied", {}).get(cluster, ())]


def points_to_json(points: Mapping[Partition, OffsetSync]) -> list[list[Any]]:
    """As a switch's facts, and its tail, keep points of partitions."""
    return [[p.topic, p.partition, point.source, point.target] for p, point in sorted(points.items())]


def points_from_json(value: Iterable[Any]) -> dict[Partition, OffsetSync]:
    """What :func:`points_to_json` has made.

    >>> points_from_json([["orders", 0, 100, 60]])
    {Partition(topic='orders', partition=0): OffsetSync(source=100, target=60)}
    """
    return {Partition(t, p): OffsetSync(source, target) for t, p, source, target in value}


def room_for(values: Mapping[str, Any], partitions: Iterable[Partition], forced: bool = False) -> int | None:
    """How many partitions ZooKeeper's node has room for, if it has none for all of ``partitions``; ``None`` if it has.

    :param values: what is kept when clients begin to wait. Offsets follow, which hardly compress.
    :param forced: what is lost is kept too.
    """
    wanted = list(partitions)
    before = len(packed(values))
    points = [[p.topic, p.partition, _offset(p, "source"), _offset(p, "target")] for p in wanted]
    kept = {**values, "drained": points, "blocked_at": "0" * 32}
    if forced:
        lost = [[p.topic, p.partition, _offset(p, "lost")] for p in wanted]
        proved = [[p.topic, p.partition, _offset(p, "proved"), _offset(p, "target")] for p in wanted]
        kept["loss"] = {"records": lost, "age": 0.0, "proved": proved}
    after = len(packed(kept))
    if after <= FACTS_BYTES:
        return None
    return int(max(FACTS_BYTES - before, 0) * len(wanted) / max(after - before, 1))


def _offset(partition: Partition, side: str) -> int:
    """One with as many digits as any will have, and as hard to compress."""
    digest = hashlib.blake2b(f"{partition} {side}".encode(), digest_size=8).digest()
    return MOST_OFFSET - int.from_bytes(digest) % (MOST_OFFSET // 10)

"""Facts that the stages of a switch store for each other. The executor saves them in PostgreSQL and in ZooKeeper."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hadash.bindings.journals import FACTS_BYTES, packed
from hadash.kafka.values import Partition
from hadash.mirroring.acls import Denied
from hadash.mirroring.offsets import OffsetSync
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import LastRecordsCompared
from hadash.switching.stages.resuming import NUMBER

#: The largest offset that is assumed when the size of a switch's facts is estimated: ten trillion records.
MOST_OFFSET = 10**13


@dataclass(frozen=True, slots=True)
class Loss:
    """The known loss of a forced switch.

    ``records``: by partition, how many the source was seen to hold and the target is not proved to.
    ``seen_seconds_ago``: the age of that sighting when the loss was assessed (``None``: the source was never seen).
    ``proved``: up to where both sides are known to correspond.
    """

    records: Mapping[Partition, int]
    seen_seconds_ago: float | None
    proved: Mapping[Partition, OffsetSync]


class StageContext:
    """The stored facts, by name. A dry run forgets them.

    :param values: the stored JSON, with its number (:data:`hadash.switching.stages.resuming.NUMBER`).
    :param save: called with the new values after every change.
    """

    def __init__(
        self,
        values: Mapping[str, Any] | None = None,
        save: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.values = dict(values or {})
        self._save = save

    def _keep(self, name: str, value: Any) -> None:
        self.values = {**self.values, name: value, NUMBER: self.values.get(NUMBER, 0) + 1}
        if self._save is not None:
            self._save(self.values)

    @property
    def blocked_at(self) -> datetime | None:
        """When the first Gateway learned of the block; ``None`` before that."""
        kept = self.values.get("blocked_at")
        return None if kept is None else datetime.fromisoformat(kept)

    def keep_blocked_at(self, at: datetime) -> None:
        self._keep("blocked_at", at.isoformat())

    @property
    def seen(self) -> do.RecordSeen:
        """The state before the move; empty if none was stored."""
        kept = self.values.get("seen", {})
        return do.RecordSeen(
            tuple(kept.get("clients", ())),
            tuple(kept.get("groups", ())),
            tuple((kind, topic) for kind, topic in kept.get("activity", ())),
        )

    def keep_seen(self, seen: do.RecordSeen) -> None:
        self._keep("seen", _seen_to_json(seen))

    @property
    def reading(self) -> dict[str, dict[Partition, int]] | None:
        """Where members read partitions that their groups have not committed; ``None`` before that was noted."""
        kept = self.values.get("reading")
        if kept is None:
            return None
        found: dict[str, dict[Partition, int]] = {}
        for group, topic, index, offset in kept:
            found.setdefault(group, {})[Partition(topic, index)] = offset
        return found

    def keep_reading(self, positions: Mapping[str, Mapping[Partition, int]]) -> None:
        kept = [
            [group, p.topic, p.partition, offset]
            for group, offsets in sorted(positions.items())
            for p, offset in sorted(offsets.items())
        ]
        self._keep("reading", kept)

    @property
    def drained(self) -> dict[Partition, OffsetSync] | None:
        """The points at which both sides were proved to end with the same record; ``None`` before that."""
        kept = self.values.get("drained")
        return None if kept is None else points_from_json(kept)

    def keep_drained(
        self, ends: Mapping[Partition, OffsetSync], compared: LastRecordsCompared | None = None
    ) -> None:
        self._keep("drained", points_to_json(ends))
        if compared is None:
            return
        counts = [[p.topic, p.partition, count] for p, count in sorted(compared.counts.items())]
        kept = {"counts": counts, "starts": points_to_json(compared.starts)}
        # (Only the record of the switch needs it: it must not take the room of what the stages need.)
        if len(packed({**self.values, "compared": kept})) <= FACTS_BYTES // 2:
            self._keep("compared", kept)

    @property
    def compared(self) -> LastRecordsCompared | None:
        """What the proof of the drained point has compared; ``None`` when nothing was compared, or not yet."""
        kept = self.values.get("compared")
        if kept is None:
            return None
        counts = {Partition(topic, index): count for topic, index, count in kept["counts"]}
        return LastRecordsCompared(None, counts, points_from_json(kept["starts"]))

    @property
    def loss(self) -> Loss | None:
        """The loss of a forced switch; ``None`` before it is assessed."""
        kept = self.values.get("loss")
        if kept is None:
            return None
        records = {Partition(topic, index): count for topic, index, count in kept["records"]}
        return Loss(records, kept["age"], points_from_json(kept["proved"]))

    def keep_loss(self, loss: Loss) -> None:
        records = [[p.topic, p.partition, count] for p, count in sorted(loss.records.items())]
        proved = points_to_json(loss.proved)
        self._keep("loss", {"records": records, "age": loss.seen_seconds_ago, "proved": proved})

    def denied(self, cluster: str) -> list[Denied]:
        """The write denials that the switch has created on ``cluster``, or was about to create.

        >>> StageContext({"denied": {"east": [["orders", "User:shop"]]}}).denied("east"), StageContext().denied("east")
        ([('orders', 'User:shop')], [])
        """
        return [(topic, principal) for topic, principal in self.values.get("denied", {}).get(cluster, ())]

    def keep_denied(self, cluster: str, rules: Iterable[Denied]) -> bool:
        """Note that the switch is about to create ``rules`` on ``cluster``, in addition to those noted before. Return
        whether ZooKeeper has room for that; if not, nothing is noted.
        """
        kept: dict[str, Any] = dict(self.values.get("denied", {}))
        kept[cluster] = sorted({*self.denied(cluster), *rules})
        # (Including the number, which may get another digit.)
        if len(packed({**self.values, "denied": kept, NUMBER: self.values.get(NUMBER, 0) + 1})) > FACTS_BYTES:
            return False
        self._keep("denied", kept)
        return True

    def room_for(
        self, seen: do.RecordSeen, partitions: Iterable[Partition], forced: bool = False
    ) -> int | None:
        """How many partitions ZooKeeper's node has room for, if that is fewer than ``partitions``; otherwise ``None``.

        :param seen: what will be stored when clients begin to wait. The offsets follow, which hardly compress.
        :param forced: whether the loss is stored, too.
        """
        wanted = list(partitions)
        values = {**self.values, "seen": _seen_to_json(seen)}
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


def _seen_to_json(seen: do.RecordSeen) -> dict[str, Any]:
    return {
        "clients": list(seen.clients),
        "groups": list(seen.groups),
        "activity": [list(pair) for pair in seen.activity],
    }


def points_to_json(points: Mapping[Partition, OffsetSync]) -> list[list[Any]]:
    """Points of partitions as JSON, for a switch's facts and its unreplicated records."""
    return [[p.topic, p.partition, point.source, point.target] for p, point in sorted(points.items())]


def points_from_json(value: Iterable[Any]) -> dict[Partition, OffsetSync]:
    """The points that :func:`points_to_json` wrote.

    >>> points_from_json([["orders", 0, 100, 60]])
    {Partition(topic='orders', partition=0): OffsetSync(source=100, target=60)}
    """
    return {Partition(t, p): OffsetSync(source, target) for t, p, source, target in value}


def _offset(partition: Partition, side: str) -> int:
    """A sample offset with the most digits possible, and as hard to compress as real ones."""
    digest = hashlib.blake2b(f"{partition} {side}".encode(), digest_size=8).digest()
    return MOST_OFFSET - int.from_bytes(digest) % (MOST_OFFSET // 10)

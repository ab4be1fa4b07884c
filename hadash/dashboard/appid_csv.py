"""The tables of an AppID's page as CSV: all of their rows, in the page's order and with its search. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hadash.dashboard.appid_parts import GroupLag, Right, TopicUse
from hadash.inventory.models import Access, InstanceID


@dataclass(frozen=True, slots=True)
class Table:
    """A table as CSV. ``head``: the names of its columns. ``row`` makes the cells of one of the page's rows."""

    head: tuple[str, ...]
    row: Callable[[Any], tuple[Any, ...]]

    def rows(self, rows: Iterable[Any]) -> Iterable[tuple[Any, ...]]:
        return map(self.row, rows)


def _connected(client: Mapping[str, Any]) -> tuple[Any, ...]:
    return (
        client["client_id"],
        [f"{cluster}:{count}" for cluster, count in client["clusters"]],
        [f"{cluster}:{count}" for cluster, count in client["left_open"]],
        client["parked"],
        client["library"],
        client["hosts"],
    )


def _bound(bound: Any) -> tuple[Any, ...]:
    binding = bound.binding
    return (
        str(bound.kind),
        str(bound.identity),
        binding.cluster,
        binding.state,
        binding.epoch,
        binding.switch,
        bound.at,
    )


def _seen(use: Access) -> tuple[Any, ...]:
    return (use.client_id, use.kind, use.resource, use.cluster, use.library, use.version, use.last_seen)


def _instance(instance: InstanceID) -> tuple[Any, ...]:
    return (instance.name, instance.note, instance.registered_at)


def _topic(use: TopicUse) -> tuple[Any, ...]:
    is_known = use.state is not None and use.state.is_fine
    return (
        use.topic,
        list(use.kinds),
        use.clients,
        use.mirror.name if use.mirror else None,
        str(use.state.word) if use.state else None,
        use.mirror.lag_seconds if use.mirror and is_known else None,
    )


def _lag(lag: GroupLag) -> tuple[Any, ...]:
    known = not lag.fault
    return (lag.group, lag.cluster, lag.members if known else None, lag.records if known else None, lag.fault)


def _right(right: Right) -> tuple[Any, ...]:
    return (
        right.resource_type,
        right.resource,
        right.pattern,
        right.operation,
        right.permission,
        right.host,
        right.first,
        right.second,
    )


CONNECTED = Table(("client_id", "connections", "left_open", "parked", "library", "hosts"), _connected)
BOUND = Table(("kind", "identity", "cluster", "state", "epoch", "put_there_by", "at"), _bound)
SEEN = Table(("client_id", "does", "resource", "cluster", "library", "version", "last_seen"), _seen)
INSTANCES = Table(("instance_id", "note", "registered_at"), _instance)
TOPICS = Table(("topic", "does", "clients", "mirror", "mirror_state", "lag_seconds"), _topic)
LAGS = Table(("group", "cluster", "members", "records_behind", "fault"), _lag)


def rights(first: str, second: str) -> Table:
    """Return the table of rules. ``first`` and ``second`` are the names of the pair's clusters: a column for each
    says whether that cluster has the rule.
    """
    return Table(
        ("resource_type", "resource", "pattern", "operation", "permission", "host", first, second), _right
    )

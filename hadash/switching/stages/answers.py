"""What commands are answered with, where it is more than a number or a text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from hadash.kafka.values import Committed, Partition


class MirrorFound(NamedTuple):
    """A mirror as it is now. ``lag`` in records; ``None``: nobody knows."""

    mirror: str
    state: str
    fault: str
    lag: int | None


class UsersFound(NamedTuple):
    """Clients, as a switch's log calls them, and groups that had members."""

    clients: Sequence[str]
    groups: Sequence[str]


@dataclass(frozen=True, slots=True)
class LastKnown:
    """What was known last of a source that is lost: where its partitions ended, where groups stood, and when
    that was noted (the oldest of each; seconds ago, ``None`` when nothing was).
    """

    ends: Mapping[Partition, int]
    ends_age: float | None
    positions: Mapping[str, Mapping[Partition, Committed]]
    positions_age: float | None


class Reader(NamedTuple):
    """A member as its connections name it. ``host`` is empty when no Gateway has seen it: any host may be its."""

    client_id: str
    host: str = ""


#: Group → partition → the members that were given it; ``None`` for a group that rebalances, of which its
#: coordinator does not tell.
Assigned = Mapping[str, Mapping[Partition, frozenset[Reader]] | None]


@dataclass(frozen=True, slots=True)
class UsedAssignors:
    """What stands in the way of quiescing the groups of a plan, as texts: groups that rebalance
    cooperatively, and groups of which it is not known.
    """

    cooperative: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuotaCheck:
    """What a comparison has found, as texts. All of it is empty where neither cluster has quotas.

    ``unknown`` says why nothing could be compared. ``missing`` is what would be copied to the target. All else is as it
    would be with these: what is ``less`` or ``more`` for clients that move; who is on the target already and would have
    less (``narrowed``). ``everywhere`` and ``addresses``: connections a second from any address, and from some, where
    the target allows fewer. ``brokers``: how many the source has, and the target; quotas are those of each broker.
    """

    unknown: str = ""
    missing: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    narrowed: tuple[str, ...] = ()
    everywhere: str = ""
    addresses: tuple[str, ...] = ()
    brokers: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class QuotasFound:
    """What is in effect for the movers on one cluster, as texts; ``unknown`` says why nobody knows."""

    unknown: str = ""
    found: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RightsCheck:
    """What rules say of the AppIDs that move, as texts.

    ``denied``: what the target denies them and the source does not. ``by_host``: the rules on which it depends
    from which address they come, without those for addresses that ``HADASH_SWITCH_ACL_HOSTS`` names.
    """

    denied: tuple[str, ...] = ()
    by_host: tuple[str, ...] = ()

"""The answers to commands, where they are more than a number or a text. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from hadash.kafka.values import Acl, Committed, Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import NOTHING, Sentence


class MirrorFound(NamedTuple):
    """The current state of a mirror. ``lag`` in records; ``None`` if it is not known."""

    mirror: str
    state: str
    fault: Sentence
    lag: int | None


class AuditFound(NamedTuple):
    """What auditors say of a mirror."""

    mirror: str
    is_equal: bool
    differs: bool
    says: Sentence


class PoolFound(NamedTuple):
    """A Topic that a consumer pool reads.

    ``cluster``: where it reads it; ``None``: at servers that are those of no cluster of the pair. ``is_stable``: every
    partition is read by its member. ``is_closed``: this switch has had all of them stopped, and every member has
    committed. ``fault``: why it cannot be moved now.
    """

    pool: str
    topic: str
    cluster: str | None
    is_stable: bool
    is_closed: bool
    fault: Sentence = NOTHING


@dataclass(frozen=True, slots=True)
class LastRecordsCompared:
    """The last records of both sides, compared by their checksums.

    :param difference: how they differ; ``None`` when they are the same.
    :param counts: by partition, how many records both sides still held and were compared.
    :param starts: the first offsets that each side still held.
    """

    difference: Sentence | None
    counts: Mapping[Partition, int]
    starts: Mapping[Partition, OffsetSync]


class UsersFound(NamedTuple):
    """Clients, by their names in the switch's log, and groups that had members."""

    clients: Sequence[str]
    groups: Sequence[str]


@dataclass(frozen=True, slots=True)
class LastKnown:
    """The last known state of a lost source: the ends of its partitions, the positions of groups, and the age of each
    (of the oldest entry, in seconds; ``None`` if nothing was noted).
    """

    ends: Mapping[Partition, int]
    ends_age: float | None
    positions: Mapping[str, Mapping[Partition, Committed]]
    positions_age: float | None


class Reader(NamedTuple):
    """A group member, by its connections. ``host`` is empty if no Gateway has seen it: it may be any host."""

    client_id: str
    host: str = ""


#: Maps group → partition → the members that it is assigned to. ``None`` for a group that rebalances: its coordinator
#: does not tell.
Assigned = Mapping[str, Mapping[Partition, frozenset[Reader]] | None]


@dataclass(frozen=True, slots=True)
class UsedAssignors:
    """The plan's groups that cannot be quiesced, as texts: those that rebalance cooperatively, and those of which
    it is not known.
    """

    cooperative: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuotaCheck:
    """The result of comparing quotas, as texts. Everything is empty if neither cluster has quotas.

    ``unknown``: why nothing could be compared. ``missing``: quotas that would be copied to the target. All further
    fields assume that they are copied. ``less`` and ``more``: what changes for clients that move. ``narrowed``:
    clients that are already on the target and would have less. ``everywhere`` and ``addresses``: connections a
    second from any address, and from certain ones, where the target allows fewer. ``brokers``: how many the source
    has, and the target, because quotas hold for each broker.
    """

    unknown: Sentence = NOTHING
    missing: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    narrowed: tuple[str, ...] = ()
    everywhere: str = ""
    addresses: tuple[str, ...] = ()
    brokers: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class QuotasFound:
    """The quotas in effect for the moving clients on one cluster, as texts; ``unknown`` says why they are not
    known.
    """

    unknown: Sentence = NOTHING
    found: tuple[str, ...] = ()


class RightsFound(NamedTuple):
    """The ACLs of both clusters that apply to the AppIDs that move."""

    source: Set[Acl]
    target: Set[Acl]


@dataclass(frozen=True, slots=True)
class RightsCheck:
    """The result of comparing the ACLs of the AppIDs that move, as texts.

    ``denied``: what the target denies them and the source does not. ``by_host``: ACLs that depend on the client's
    address, without those for addresses in ``HADASH_SWITCH_ACL_HOSTS``.
    """

    denied: tuple[str, ...] = ()
    by_host: tuple[str, ...] = ()

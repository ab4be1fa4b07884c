"""Compare ZooKeeper's bindings with the results of switches and manual changes in PostgreSQL, after either was
restored from a backup.

The two are restored from different moments, and an outdated binding routes clients to a cluster that they have left.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from hadash.bindings.model import BindingDocument, BindingState
from hadash.changes import Status as ChangeStatus
from hadash.identity.identity import Identity
from hadash.inventory.dialects import dialect_of
from hadash.inventory.models import Pair
from hadash.switching.machines.switches import Kind, Status
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.switches import Switch

#: Statuses of a switch that has moved its clients to the target, and of one whose clients may be on either side: it is
#: under way, or only a person knows. (With any other status they stayed where they were.)
_MOVED = frozenset({Status.SUCCEEDED})
_UNKNOWN = frozenset({Status.RUNNING, Status.PAUSED, Status.NEEDS_ATTENTION, Status.CLOSED})


@dataclass(frozen=True, slots=True)
class Left:
    """Where a switch or change has left an identity. ``cluster``: ``None`` if unbound; ``is_known``: False if only a
    person knows.
    """

    at: datetime
    by: str
    identity: Identity
    cluster: str | None
    is_known: bool = True


@dataclass(frozen=True, slots=True)
class Disagreement:
    """An identity that is not where it was left. ``bound``: its cluster in ZooKeeper, ``None`` if it has none;
    ``waits``: whether its clients are stopped there.
    """

    left: Left
    bound: str | None
    waits: bool = False

    def __str__(self) -> str:
        is_bound = f"is bound to {self.bound}" if self.bound else "is not bound"
        if self.waits:
            return f"{self.left.identity} {is_bound}, and waits there for a switch: see hadash-manage stray_bindings."
        if not self.left.is_known:
            return (
                f"{self.left.identity} {is_bound}; {self.left.by} has not ended where hadash could say where it "
                "belongs."
            )
        wanted = f"bound it to {self.left.cluster}" if self.left.cluster else "unbound it"
        return f"{self.left.identity} {is_bound}; {self.left.by} {wanted} at {self.left.at:%Y-%m-%d %H:%M:%S} UTC."


def compare(left: Iterable[Left], documents: Mapping[str, BindingDocument | None]) -> list[Disagreement]:
    """Find the disagreements. Pure. The last thing that was done to an identity counts.

    :param documents: by AppID; ``None`` for an unreadable one, which disagrees.
    """
    last: dict[Identity, Left] = {}
    for each in sorted(left, key=lambda one: one.at):
        last[each.identity] = each
    found = []
    for identity, one in last.items():
        document = documents.get(identity.appid, BindingDocument(identity.appid))
        binding = document.binding_of(identity) if document is not None else None
        bound = binding.cluster if binding is not None else None
        waits = binding is not None and binding.state is not BindingState.FORWARD
        if not one.is_known or document is None or bound != one.cluster or waits:
            found.append(Disagreement(one, bound, waits))
    return sorted(found, key=lambda each: str(each.left.identity))


def compare_pair(pair: Pair) -> list[Disagreement]:
    """The disagreements in a pair. :raises BindingError: the engine's servers do not answer."""
    return compare(_left(pair), dialect_of(pair).all_documents())


def _left(pair: Pair) -> Iterator[Left]:
    moving = [kind.value for kind in Kind if not kind.spec.changes_nothing]
    switches = Switch.objects.filter(
        pair=pair, kind__in=moving, status__in=[s.value for s in _MOVED | _UNKNOWN]
    )
    for switch in switches.select_related("target").iterator(chunk_size=200):
        at = switch.ended_at or switch.started_at or switch.requested_at
        for identity in switch.the_plan().identities:
            by = f"switch {switch.key}"
            yield Left(at, by, identity, switch.target.name, switch.current in _MOVED)
    for change in BindingChange.objects.filter(pair=pair, status=ChangeStatus.APPLIED.value).iterator(
        chunk_size=200
    ):
        for identity, cluster in change.the_edits.items():
            yield Left(change.ended_at or change.requested_at, f"change {change.key}", identity, cluster)

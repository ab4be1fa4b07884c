"""The commands of stages. :mod:`hadash.switching.execution.command_handler` carries them out; a command's docstring
names its answer after an arrow (→).

A stage is a generator: it yields one command at a time and is sent the answer. It does no I/O itself, so a test can
answer for the world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hadash.bindings.dialect import Waiting
from hadash.bindings.model import BindingState, GatewayMember
from hadash.bindings.pending_retries import ExpectedBack
from hadash.kafka.values import Committed, Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import Sentence
from hadash.switching.plan import Plan
from hadash.switching.stages.answers import (
    Assigned,
    AuditFound,
    LastKnown,
    LastRecordsCompared,
    MirrorFound,
    PoolFound,
    QuotaCheck,
    QuotasFound,
    Reader,
    RightsCheck,
    RightsFound,
    UsedAssignors,
    UsersFound,
)
from hadash.switching.stages.command import Command, Write


@dataclass(frozen=True, slots=True)
class Say(Command[None]):
    """Write a sentence into the log → ``None``."""

    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Pause(Command[float]):
    """Let ``seconds`` pass → seconds since the stage began."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ReadBindings(Command[Mapping[str, tuple[str, BindingState] | None]]):
    """→ (cluster, state) of each identity of the plan, by its text; ``None`` for one without a binding.

    ``before``: nothing was moved yet, so that the audit log keeps what was found.
    """

    before: bool = False


@dataclass(frozen=True, slots=True)
class WriteBindings(Command[int]):
    """Bind every identity of the plan to ``cluster`` in ``state`` → the epoch. Its transaction is fenced by itself."""

    audited: ClassVar[bool] = True

    cluster: str
    state: BindingState


@dataclass(frozen=True, slots=True)
class ReadGateways(Command[Sequence[GatewayMember]]):
    """→ list of :class:`hadash.bindings.model.GatewayMember`."""


@dataclass(frozen=True, slots=True)
class ReadWaiting(Command[Waiting]):
    """→ :class:`hadash.bindings.dialect.Waiting`: which engines have not put ``epoch`` into effect."""

    epoch: int


@dataclass(frozen=True, slots=True)
class ReadExpectedBack(Command[Sequence[ExpectedBack]]):
    """→ list of :class:`hadash.bindings.pending_retries.ExpectedBack`: Gateways that are gone whose clients, of
    the plan's AppIDs, may still resend what the source has already.
    """


@dataclass(frozen=True, slots=True)
class CheckCluster(Command[Sentence | None]):
    """→ ``None``, or why the cluster does not answer."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ComputePlan(Command[Plan | list[Sentence]]):
    """→ the plan of the same scope and target, from what every Gateway observes now; or the sentences that block
    it.
    """


@dataclass(frozen=True, slots=True)
class ReadPools(Command[list[PoolFound]]):
    """→ what consumer pools read of the plan's Topics, as it is now."""


@dataclass(frozen=True, slots=True)
class ClosePools(Write[Sentence | None]):
    """Have the members of the plan's pools stop reading its Topics, and commit → why a pool does not; ``None``: all are
    asked to. Idempotent.
    """


@dataclass(frozen=True, slots=True)
class OpenPools(Write[None]):
    """Let the members of the plan's pools read its Topics again, on ``cluster`` → ``None``. Idempotent."""

    cluster: str


@dataclass(frozen=True, slots=True)
class CheckAcks(Command[Sentence | None]):
    """→ the blocker if a client writes to the plan's replicated Topics with less than acks=all, or ``None``."""


@dataclass(frozen=True, slots=True)
class CheckAssignors(Command[UsedAssignors]):
    """→ :class:`hadash.switching.stages.answers.UsedAssignors` of the plan's groups on the source."""


@dataclass(frozen=True, slots=True)
class CheckMirrors(Command[list[MirrorFound]]):
    """→ the mirrors that copy from one cluster, or all.

    ``thorough``: for the check before clients are moved; see :func:`hadash.mirroring.probe.look`.
    """

    copying_from: str = ""
    thorough: bool = False


@dataclass(frozen=True, slots=True)
class CheckAudits(Command[list[AuditFound]]):
    """→ what auditors say of the plan's mirrors."""


@dataclass(frozen=True, slots=True)
class ReadWritten(Command[Mapping[str, str]]):
    """→ by Topic, the cluster on which it is written: the source of its mirror. Only Topics that a mirror carries."""


@dataclass(frozen=True, slots=True)
class CheckSelfAssigned(Command[Mapping[str, frozenset[str]]]):
    """→ by client (as text), the plan's Topics that it reads on the source without being a member of one of the plan's
    groups.
    """


@dataclass(frozen=True, slots=True)
class CheckReadingOn(Command[list[str]]):
    """→ the plan's members (as texts) whose library reads on while it rejoins."""


@dataclass(frozen=True, slots=True)
class ReadTopics(Command[dict[str, tuple[int, ...]]]):
    """→ by Topic name, the leaders of its partitions on ``cluster``."""

    cluster: str


@dataclass(frozen=True, slots=True)
class CopyAcls(Write[int]):
    """Copy the AppIDs' ACLs from the source to the target → how many were missing. Topics of which the target holds
    the mirror stay closed for writing there.
    """


@dataclass(frozen=True, slots=True)
class ReadRights(Command[RightsFound]):
    """→ the ACLs of both clusters that apply to the plan's AppIDs."""


@dataclass(frozen=True, slots=True)
class CheckRights(Command[RightsCheck]):
    """→ what the plan's AppIDs may do on both clusters, compared; for a forced switch, the target's ACLs only.

    ``found``: the ACLs, if they were read before; else they are read now.
    """

    found: RightsFound | None = None


@dataclass(frozen=True, slots=True)
class CheckQuotas(Command[QuotaCheck]):
    """→ :class:`hadash.switching.stages.answers.QuotaCheck`: the clients' quotas on both clusters, compared."""


@dataclass(frozen=True, slots=True)
class CopyQuotas(Write[list[str]]):
    """Set on the target the quotas that the AppIDs have on the source by name, if it has none in their place → the
    quotas set, as texts.
    """


@dataclass(frozen=True, slots=True)
class ReadQuotas(Command[QuotasFound]):
    """→ :class:`hadash.switching.stages.answers.QuotasFound` of the target, for when the source cannot be asked."""


@dataclass(frozen=True, slots=True)
class CheckSignIn(Command[Mapping[str, tuple[set[str], set[str]]]]):
    """→ by AppID of the plan, (source, target): its SCRAM mechanisms on each cluster; empty if it has none."""


@dataclass(frozen=True, slots=True)
class PublishPlacement(Write[None]):
    """Tell the Gateways where Topics and groups are on the target → ``None``."""

    leaders: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class AllowWrites(Write[int]):
    """Remove the write denials of the radius on ``cluster`` → how many."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadLateBrokers(Command[list[int]]):
    """→ the leaders on ``cluster`` that do not know the AppIDs' current ACLs yet."""

    cluster: str


@dataclass(frozen=True, slots=True)
class DenyWrites(Write[int]):
    """Deny writing to the radius on ``cluster`` to everybody but the mirror → the number of ACLs."""

    cluster: str


@dataclass(frozen=True, slots=True)
class WarmUp(Write[None]):
    """Read once what drain and translate will read, and write group offsets that translate will overwrite, so that
    connections are open and caches filled before clients wait for them → ``None``. Fails as those stages would.
    """

    #: It changes nothing that anybody would ask about.
    audited: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class ReadMembers(Command[Mapping[str, set[str]]]):
    """→ by group of the plan, the set of its member ids on ``cluster``."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadQuiesced(Command[Mapping[tuple[str, str], str]]):
    """→ by (group, member id), its state as the Gateways see it: active, held, parked or joining."""


@dataclass(frozen=True, slots=True)
class ReadEnds(Command[dict[Partition, int]]):
    """→ end offsets of every partition of the plan on ``cluster``."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadOffsetSyncs(Command[dict[Partition, OffsetSync]]):
    """→ the mirrors' offset syncs by partition."""


@dataclass(frozen=True, slots=True)
class CompareLastRecords(Command[LastRecordsCompared]):
    """Read the last records of both sides → what was compared, and how they differ."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class CompareNext(Command[Mapping[Partition, bool]]):
    """Read the records from these points on, on both sides → by partition, whether they are the same.

    ``ends``: the ends of both sides; records behind them are ignored.
    """

    points: Mapping[Partition, OffsetSync]
    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class RecordDrained(Command[None]):
    """Store the drained point for the stages that follow, also in another process → ``None``. For a read split it
    is where the source ended when its readers had stopped. ``compared``: what the proof has compared, for the record.
    """

    audited: ClassVar[bool] = True

    ends: Mapping[Partition, OffsetSync]
    compared: LastRecordsCompared | None = None


@dataclass(frozen=True, slots=True)
class ReadDrained(Command[dict[Partition, OffsetSync] | None]):
    """→ what :class:`RecordDrained` stored, or ``None``."""


@dataclass(frozen=True, slots=True)
class ReadGroupOffsets(Command[dict[str, dict[Partition, int]]]):
    """→ committed offsets of the plan's groups on ``cluster``: group → partition → offset."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadCommits(Command[dict[str, dict[Partition, Committed]]]):
    """→ the same with the metadata of each commit: group → partition → :class:`hadash.kafka.values.Committed`."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadAssigned(Command[Assigned]):
    """→ which partitions of the plan's Topics are assigned to the members of its groups on ``cluster``: see
    :data:`hadash.switching.stages.answers.Assigned`.
    """

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadPositions(Command[list[tuple[Reader, Partition, int]]]):
    """→ the lowest offsets that these client.ids of the plan's AppIDs have fetched on the source, as the Gateways
    saw it: a list of (:class:`~hadash.switching.stages.answers.Reader`, partition, offset).
    """

    client_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class RecordReading(Command[None]):
    """Store where members read partitions that their groups have not committed → ``None``: group → partition →
    offset.
    """

    positions: Mapping[str, Mapping[Partition, int]]


@dataclass(frozen=True, slots=True)
class ReadReading(Command[dict[str, dict[Partition, int]] | None]):
    """→ what :class:`RecordReading` stored, or ``None``."""


@dataclass(frozen=True, slots=True)
class ReadStarts(Command[dict[Partition, int]]):
    """→ first offsets of every partition of the plan on ``cluster``."""

    cluster: str


@dataclass(frozen=True, slots=True)
class WriteGroupOffsets(Write[None]):
    """Set committed offsets with their metadata on the target → ``None``."""

    offsets: Mapping[str, Mapping[Partition, Committed]]


@dataclass(frozen=True, slots=True)
class RemoveGroupOffsets(Write[None]):
    """Remove committed offsets from the target → ``None``."""

    partitions: Mapping[str, frozenset[Partition]]


@dataclass(frozen=True, slots=True)
class PauseMirrors(Write[None]):
    """Pause the plan's mirrors in their direction until :class:`ResumeMirrors` or :class:`ReverseMirrors` →
    ``None``. A Connect worker that restarts copies nothing for them either.
    """


@dataclass(frozen=True, slots=True)
class ResumeMirrors(Write[None]):
    """Undo :class:`PauseMirrors` → ``None``."""


@dataclass(frozen=True, slots=True)
class ReverseMirrors(Write[None]):
    """Turn the plan's mirrors round at the drained point → ``None``."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadClients(Command[Mapping[str, set[str]]]):
    """→ by client (see :meth:`Plan.who`), the set of clusters that it is on, for the connected clients that move,
    as the Gateways see it. Clients that move with a Topic's own binding count only if they used it in the last
    ``lately`` seconds (``None``: all): an idle one has no reason to connect to the other cluster.
    """

    lately: float | None = None


@dataclass(frozen=True, slots=True)
class ReadActivity(Command[set[tuple[str, str]]]):
    """→ set of (produce or consume, Topic): what the plan's clients have done on ``cluster`` in the last
    ``seconds``, as the Gateways see it.
    """

    cluster: str
    seconds: float


@dataclass(frozen=True, slots=True)
class RecordSeen(Command[None]):
    """Store the state before the move → ``None``: the clients, the groups that had members, and the activity (see
    :class:`ReadActivity`). Fails if ZooKeeper has no room for what later stages will store as well, the positions of
    readers apart.
    """

    clients: tuple[str, ...]
    groups: tuple[str, ...]
    activity: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ReadSeen(Command["RecordSeen"]):
    """→ the stored :class:`RecordSeen`."""


@dataclass(frozen=True, slots=True)
class CheckLost(Command[bool]):
    """→ whether the source does not answer, or a partition that moves has no leader there."""


@dataclass(frozen=True, slots=True)
class ReadNotTold(Command[Waiting]):
    """→ :class:`hadash.bindings.dialect.Waiting`: the engines that may not obey ``epoch`` yet."""

    epoch: int


@dataclass(frozen=True, slots=True)
class HoldMirrors(Write[None]):
    """Stop the plan's mirrors and their tasks for good → ``None``: nothing of a source that comes back is copied."""


@dataclass(frozen=True, slots=True)
class ReadCopied(Command[Mapping[Partition, int]]):
    """→ by partition, the offset of the last record that the plan's mirrors have copied, as Connect has committed it.
    Stopped mirrors have committed all that they could. Partitions of which nothing was copied are missing.
    """


@dataclass(frozen=True, slots=True)
class ReadRepeated(Command[Mapping[Partition, int]]):
    """→ by partition, how many records the target is known to hold twice before the mirror's offset sync."""


@dataclass(frozen=True, slots=True)
class ReadLastKnown(Command[LastKnown]):
    """→ :class:`LastKnown` of the plan's source."""


@dataclass(frozen=True, slots=True)
class RecordLoss(Command[None]):
    """Store what is known of the loss → ``None``: by partition, how many records the source was seen to hold and the
    target is not proved to; how many seconds ago the source was seen; and up to where the target is proved.
    """

    audited: ClassVar[bool] = True

    records: Mapping[Partition, int]
    seen_seconds_ago: float | None
    proved: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadProved(Command[dict[Partition, OffsetSync] | None]):
    """→ the ``proved`` of :class:`RecordLoss`; ``None`` if nothing was stored."""


@dataclass(frozen=True, slots=True)
class AwaitUnreplicated(Write[None]):
    """Note that the source has to be asked for its records beyond ``ends`` when it comes back → ``None``."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadUsers(Command[UsersFound]):
    """→ the clients and groups that used what moves shortly before its source was last seen."""

"""What a stage asks for. Each command is carried out by :mod:`hadash.switching.execution.command_handler`;
its answer is noted here.

A stage is a generator: it yields one command, is sent the answer, and says sentences on the way. It does no I/O
itself, so it can be tested by answering for the world.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hadash.bindings.dialect import Waiting
from hadash.bindings.model import BindingState, GatewayMember
from hadash.bindings.returning import ExpectedBack
from hadash.kafka.values import Committed, Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import Sentence
from hadash.switching.plan import Plan
from hadash.switching.stages.answers import (
    Assigned,
    LastKnown,
    MirrorFound,
    QuotaCheck,
    QuotasFound,
    Reader,
    RightsCheck,
    UsedAssignors,
    UsersFound,
)
from hadash.switching.stages.asking import Command


@dataclass(frozen=True, slots=True)
class Say(Command[None]):
    """Put a sentence into the log → ``None``."""

    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Pause(Command[float]):
    """Let ``seconds`` pass → seconds since the stage began."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ReadBindings(Command[Mapping[str, tuple[str, BindingState] | None]]):
    """→ (cluster, state) of each identity of the plan, by its text; ``None`` for one without a binding."""


@dataclass(frozen=True, slots=True)
class WriteBindings(Command[int]):
    """Bind every identity of the plan to ``cluster`` in ``state`` → the epoch."""

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
    """→ list of :class:`hadash.bindings.returning.ExpectedBack`: Gateways that have gone whose clients, of the plan's
    AppIDs, may still send again what the source has already."""


@dataclass(frozen=True, slots=True)
class CheckCluster(Command[str | None]):
    """→ ``None``, or why the cluster does not answer (a text)."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ComputePlan(Command[Plan | list[Sentence]]):
    """→ the plan of the same scope and target, from what every Gateway observes now; or the sentences that
    stand against it.
    """


@dataclass(frozen=True, slots=True)
class CheckAcks(Command[Sentence | None]):
    """→ what stands against it when somebody writes to the plan's replicated Topics with less than acks=all."""


@dataclass(frozen=True, slots=True)
class CheckAssignors(Command[UsedAssignors]):
    """→ :class:`hadash.switching.stages.answers.UsedAssignors` of the plan's groups on the source."""


@dataclass(frozen=True, slots=True)
class CheckMirrors(Command[list[MirrorFound]]):
    """→ the mirrors that copy from one cluster, or all.

    ``thorough``: before clients are moved; see :func:`hadash.mirroring.looking.look`."""

    copying_from: str = ""
    thorough: bool = False


@dataclass(frozen=True, slots=True)
class ReadWritten(Command[Mapping[str, str]]):
    """→ Topic → the cluster on which it is written: the source of its mirror. Only Topics that a mirror carries."""


@dataclass(frozen=True, slots=True)
class CheckSelfAssigned(Command[Mapping[str, frozenset[str]]]):
    """→ who of the plan's clients reads its Topics on the source without being a member of one of its groups:
    client (as texts) → the Topics that it reads.
    """


@dataclass(frozen=True, slots=True)
class CheckReadingOn(Command[list[str]]):
    """→ the plan's members (as texts) whose library reads on while it rejoins."""


@dataclass(frozen=True, slots=True)
class ReadTopics(Command[dict[str, tuple[int, ...]]]):
    """→ Topic name → leaders by partition, on ``cluster``."""

    cluster: str


@dataclass(frozen=True, slots=True)
class CopyAcls(Command[int]):
    """Copy what the AppIDs may do from the source to the target → how many rules were missing. Topics of
    which the target holds the mirror stay closed for writing there.
    """


@dataclass(frozen=True, slots=True)
class CheckRights(Command[RightsCheck]):
    """→ what the plan's AppIDs may do on both clusters, compared; of a forced switch what the target says."""


@dataclass(frozen=True, slots=True)
class CheckQuotas(Command[QuotaCheck]):
    """→ :class:`hadash.switching.stages.answers.QuotaCheck`: what the clients may use of both clusters,
    compared.
    """


@dataclass(frozen=True, slots=True)
class CopyQuotas(Command[list[str]]):
    """Give the target the quotas that the AppIDs have on the source by name, and that it has nothing in the place of
    → what that was, as texts."""


@dataclass(frozen=True, slots=True)
class ReadQuotas(Command[QuotasFound]):
    """→ :class:`hadash.switching.stages.answers.QuotasFound` of the target, when the source cannot be asked."""


@dataclass(frozen=True, slots=True)
class CheckSignIn(Command[Mapping[str, tuple[set[str], set[str]]]]):
    """→ by AppID of the plan (source, target): its SCRAM mechanisms on each cluster; empty where it has none."""


@dataclass(frozen=True, slots=True)
class PublishPlacement(Command[None]):
    """Tell the Gateways where Topics and groups are on the target → ``None``."""

    leaders: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class AllowWrites(Command[int]):
    """Remove the write denials of the radius on ``cluster`` → how many."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadLateBrokers(Command[list[int]]):
    """→ the leaders on ``cluster`` that have not heard yet what the AppIDs may do there."""

    cluster: str


@dataclass(frozen=True, slots=True)
class DenyWrites(Command[int]):
    """Deny writing to the radius on ``cluster`` to everybody but the mirror → how many rules."""

    cluster: str


@dataclass(frozen=True, slots=True)
class WarmUp(Command[None]):
    """Read once what drain and translate will read, and write group offsets that translate writes over, so that
    connections are open and caches filled before clients wait for it → ``None``. Fails as those would."""


@dataclass(frozen=True, slots=True)
class ReadMembers(Command[Mapping[str, set[str]]]):
    """→ member ids of every group of the plan on ``cluster``: group → set of ids."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadQuiesced(Command[Mapping[tuple[str, str], str]]):
    """→ (group, member id) → state, as the Gateways see it: active, held, parked, joining."""


@dataclass(frozen=True, slots=True)
class ReadEnds(Command[dict[Partition, int]]):
    """→ end offsets of every partition of the plan on ``cluster``."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadAnchors(Command[dict[Partition, OffsetSync]]):
    """→ the mirrors' anchors by partition."""


@dataclass(frozen=True, slots=True)
class CompareTails(Command[Sentence | None]):
    """Read the last records of both sides → ``None``, or the sentence that says how they differ."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class CompareNext(Command[Mapping[Partition, bool]]):
    """Read the records from these points on, on both sides → whether they are the same, by partition.

    ``ends``: of both sides; what lies behind them is left out.
    """

    points: Mapping[Partition, OffsetSync]
    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class RecordDrained(Command[None]):
    """Keep the drained point for the stages that follow, also in another process → ``None``. Of a read split: where the
    source ended when its readers had stopped."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadDrained(Command[dict[Partition, OffsetSync] | None]):
    """→ what :class:`RecordDrained` kept, or ``None``."""


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
    """→ which partitions of the plan's Topics the members of its groups were given on ``cluster``: see
    :data:`hadash.switching.stages.answers.Assigned`."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadPositions(Command[list[tuple[Reader, Partition, int]]]):
    """→ the lowest offsets that clients have asked for on the source, as the Gateways saw it: a list of
    (:class:`~hadash.switching.stages.answers.Reader`, partition, offset). Of these client.ids of the plan's AppIDs.
    """

    client_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class RecordReading(Command[None]):
    """Keep where members read what their groups have not committed → ``None``: group → partition → offset."""

    positions: Mapping[str, Mapping[Partition, int]]


@dataclass(frozen=True, slots=True)
class ReadReading(Command[dict[str, dict[Partition, int]] | None]):
    """→ what :class:`RecordReading` kept, or ``None``."""


@dataclass(frozen=True, slots=True)
class ReadStarts(Command[dict[Partition, int]]):
    """→ first offsets of every partition of the plan on ``cluster``."""

    cluster: str


@dataclass(frozen=True, slots=True)
class WriteGroupOffsets(Command[None]):
    """Set committed offsets with their metadata on the target → ``None``."""

    offsets: Mapping[str, Mapping[Partition, Committed]]


@dataclass(frozen=True, slots=True)
class RemoveGroupOffsets(Command[None]):
    """Remove committed offsets from the target → ``None``."""

    partitions: Mapping[str, frozenset[Partition]]


@dataclass(frozen=True, slots=True)
class Together(Command[list[Any]]):
    """Carry out several commands that do not depend on each other at the same time → their answers, in order."""

    commands: tuple[Command[Any], ...]


@dataclass(frozen=True, slots=True)
class PauseMirrors(Command[None]):
    """Pause the plan's mirrors in their direction, for good until :class:`ResumeMirrors` or :class:`ReverseMirrors`
    → ``None``. Also a Connect worker that starts again copies nothing for them."""


@dataclass(frozen=True, slots=True)
class ResumeMirrors(Command[None]):
    """Take :class:`PauseMirrors` back → ``None``."""


@dataclass(frozen=True, slots=True)
class ReverseMirrors(Command[None]):
    """Turn the plan's mirrors round at the drained point → ``None``."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadClients(Command[Mapping[str, set[str]]]):
    """→ client (see :meth:`Plan.who`) → set of clusters that it is on, for the connected clients that move,
    as the Gateways see it. Of those that move with a Topic's own binding only who used it in the last
    ``lately`` seconds (``None``: all): an idle one has no reason to go to the other cluster.
    """

    lately: float | None = None


@dataclass(frozen=True, slots=True)
class ReadActivity(Command[set[tuple[str, str]]]):
    """→ set of (produce or consume, Topic): what the plan's clients have done on ``cluster`` in the last ``seconds``,
    as the Gateways see it."""

    cluster: str
    seconds: float


@dataclass(frozen=True, slots=True)
class RecordSeen(Command[None]):
    """Keep what there was before the move → ``None``: the clients, the groups that had members, and what was going
    on (see :class:`ReadActivity`). Fails when ZooKeeper has no room for what later stages will keep besides."""

    clients: tuple[str, ...]
    groups: tuple[str, ...]
    activity: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ReadSeen(Command["RecordSeen"]):
    """→ the :class:`RecordSeen` that was kept."""


@dataclass(frozen=True, slots=True)
class CheckLost(Command[bool]):
    """→ whether the source does not answer, or a partition that moves has no leader there."""


@dataclass(frozen=True, slots=True)
class ReadNotTold(Command[Waiting]):
    """→ :class:`hadash.bindings.dialect.Waiting`: which engines may not obey ``epoch`` yet."""

    epoch: int


@dataclass(frozen=True, slots=True)
class HoldMirrors(Command[None]):
    """Stop the plan's mirrors for good, their tasks gone → ``None``: nothing of a source that comes back is copied."""


@dataclass(frozen=True, slots=True)
class ReadCopied(Command[Mapping[Partition, int]]):
    """→ partition → offset of the last record that the plan's mirrors have copied, as Connect has committed
    it. Stopped mirrors have committed all that they could. A partition is missing of which they have copied
    nothing.
    """


@dataclass(frozen=True, slots=True)
class ReadRepeated(Command[Mapping[Partition, int]]):
    """→ partition → how many records the target is known to hold twice before the mirror's anchor."""


@dataclass(frozen=True, slots=True)
class ReadSighted(Command[LastKnown]):
    """→ :class:`LastKnown` of the plan's source."""


@dataclass(frozen=True, slots=True)
class RecordLoss(Command[None]):
    """Keep what is lost as far as it is known → ``None``: records of each partition that the source was seen
    to hold and the target is not proved to, how many seconds ago the source was seen, and up to where it is
    proved.
    """

    records: Mapping[Partition, int]
    seen_seconds_ago: float | None
    proved: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadProved(Command[dict[Partition, OffsetSync] | None]):
    """→ up to where :class:`RecordLoss` has noted that it is proved; ``None`` when nothing was."""


@dataclass(frozen=True, slots=True)
class OpenTail(Command[None]):
    """Note that the source has to be asked for what it held beyond ``ends`` when it comes back → ``None``."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadUsers(Command[UsersFound]):
    """→ who used what moves shortly before its source was seen last."""


#: Commands that change the world, other than bindings: directly before each the executor makes sure that it is still
#: the one.
WRITES = (
    CopyAcls,
    CopyQuotas,
    PublishPlacement,
    AllowWrites,
    DenyWrites,
    WarmUp,
    WriteGroupOffsets,
    RemoveGroupOffsets,
    PauseMirrors,
    ResumeMirrors,
    ReverseMirrors,
    HoldMirrors,
    OpenTail,
)

#: Commands whose effects stand in the audit log, with what they answered.
AUDITED = (
    WriteBindings,
    *(command for command in WRITES if command is not WarmUp),
    RecordDrained,
    RecordLoss,
)

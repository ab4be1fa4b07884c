"""What a stage asks for. Each command is carried out by :mod:`hadash.switching.execution.command_handler`;
its answer is noted here.

A stage is a generator: it yields one command, is sent the answer, and says sentences on the way. It does no I/O
itself, so it can be tested by answering for the world.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from hadash.bindings.model import BindingState
from hadash.kafka.values import Committed, Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Say:
    """Put a sentence into the log → ``None``."""

    sentence: Sentence


@dataclass(frozen=True, slots=True)
class Pause:
    """Let ``seconds`` pass → seconds since the stage began."""

    seconds: float


@dataclass(frozen=True, slots=True)
class ReadBindings:
    """→ (cluster, state) of each identity of the plan, by its text; ``None`` for one without a binding."""


@dataclass(frozen=True, slots=True)
class WriteBindings:
    """Bind every identity of the plan to ``cluster`` in ``state`` → the epoch."""

    cluster: str
    state: BindingState


@dataclass(frozen=True, slots=True)
class ReadGateways:
    """→ list of :class:`hadash.bindings.model.GatewayMember`."""


@dataclass(frozen=True, slots=True)
class ReadWaiting:
    """→ :class:`hadash.bindings.dialect.Waiting`: which engines have not put ``epoch`` into effect."""

    epoch: int


@dataclass(frozen=True, slots=True)
class ReadExpectedBack:
    """→ list of :class:`hadash.bindings.returning.ExpectedBack`: Gateways that have gone whose clients, of the plan's
    AppIDs, may still send again what the source has already."""


@dataclass(frozen=True, slots=True)
class CheckCluster:
    """→ ``None``, or why the cluster does not answer (a text)."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ComputePlan:
    """→ the plan of the same scope and target, from what every Gateway observes now; or the sentences that
    stand against it.
    """


@dataclass(frozen=True, slots=True)
class CheckAcks:
    """→ who writes to the plan's replicated Topics with less than acks=all, as texts."""


@dataclass(frozen=True, slots=True)
class CheckAssignors:
    """→ :class:`hadash.switching.stages.assignors.UsedAssignors` of the plan's groups on the source."""


@dataclass(frozen=True, slots=True)
class CheckMirrors:
    """→ list of (mirror, state, fault, lag in records or ``None``), of those that copy from one cluster, or of all.

    ``thorough``: before clients are moved; see :func:`hadash.mirroring.looking.look`."""

    copying_from: str = ""
    thorough: bool = False


@dataclass(frozen=True, slots=True)
class ReadWritten:
    """→ Topic → the cluster on which it is written: the source of its mirror. Only Topics that a mirror carries."""


@dataclass(frozen=True, slots=True)
class CheckSelfAssigned:
    """→ who of the plan's clients reads its Topics on the source without being a member of one of its groups:
    client (as texts) → the Topics that it reads.
    """


@dataclass(frozen=True, slots=True)
class CheckReadingOn:
    """→ the plan's members (as texts) whose library reads on while it rejoins."""


@dataclass(frozen=True, slots=True)
class ReadTopics:
    """→ Topic name → leaders by partition, on ``cluster``."""

    cluster: str


@dataclass(frozen=True, slots=True)
class CopyAcls:
    """Copy what the AppIDs may do from the source to the target → how many rules were missing. Topics of
    which the target holds the mirror stay closed for writing there.
    """


@dataclass(frozen=True, slots=True)
class CheckDenials:
    """→ what the target denies the plan's AppIDs and the source does not, as texts."""


@dataclass(frozen=True, slots=True)
class CheckHosts:
    """→ the rules on which it depends from which address the plan's AppIDs come, without those for addresses that
    ``HADASH_SWITCH_ACL_HOSTS`` names, as texts. Of a forced switch those of the target only."""


@dataclass(frozen=True, slots=True)
class CheckQuotas:
    """→ :class:`hadash.switching.stages.quota_checks.QuotaCheck`: what the clients may use of both clusters,
    compared.
    """


@dataclass(frozen=True, slots=True)
class CopyQuotas:
    """Give the target the quotas that the AppIDs have on the source by name, and that it has nothing in the place of
    → what that was, as texts."""


@dataclass(frozen=True, slots=True)
class ReadQuotas:
    """→ :class:`hadash.switching.stages.quota_checks.QuotasFound` of the target, when the source cannot be asked."""


@dataclass(frozen=True, slots=True)
class CheckSignIn:
    """→ by AppID of the plan (source, target): its SCRAM mechanisms on each cluster; empty where it has none."""


@dataclass(frozen=True, slots=True)
class PublishPlacement:
    """Tell the Gateways where Topics and groups are on the target → ``None``."""

    leaders: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class AllowWrites:
    """Remove the write denials of the radius on ``cluster`` → how many."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadLateBrokers:
    """→ the leaders on ``cluster`` that have not heard yet what the AppIDs may do there."""

    cluster: str


@dataclass(frozen=True, slots=True)
class DenyWrites:
    """Deny writing to the radius on ``cluster`` to everybody but the mirror → how many rules."""

    cluster: str


@dataclass(frozen=True, slots=True)
class WarmUp:
    """Read once what drain and translate will read, and write group offsets that translate writes over, so that
    connections are open and caches filled before clients wait for it → ``None``. Fails as those would."""


@dataclass(frozen=True, slots=True)
class ReadMembers:
    """→ member ids of every group of the plan on ``cluster``: group → set of ids."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadSettled:
    """→ (group, member id) → state, as the Gateways see it: active, held, parked, joining."""


@dataclass(frozen=True, slots=True)
class ReadEnds:
    """→ end offsets of every partition of the plan on ``cluster``."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadAnchors:
    """→ the mirrors' anchors by partition."""


@dataclass(frozen=True, slots=True)
class CompareTails:
    """Read the last records of both sides → ``None``, or the sentence that says how they differ."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class CompareNext:
    """Read the records from these points on, on both sides → whether they are the same, by partition.

    ``ends``: of both sides; what lies behind them is left out.
    """

    points: Mapping[Partition, OffsetSync]
    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class RecordDrained:
    """Keep the drained point for the stages that follow, also in another process → ``None``. Of a read split: where the
    source ended when its readers had stopped."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadDrained:
    """→ what :class:`RecordDrained` kept, or ``None``."""


@dataclass(frozen=True, slots=True)
class ReadGroupOffsets:
    """→ committed offsets of the plan's groups on ``cluster``: group → partition → offset."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadCommits:
    """→ the same with the metadata of each commit: group → partition → :class:`hadash.kafka.values.Committed`."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadAssigned:
    """→ which partitions of the plan's Topics the members of its groups were given on ``cluster``: see
    :data:`hadash.switching.stages.positions.Assigned`."""

    cluster: str


@dataclass(frozen=True, slots=True)
class ReadPositions:
    """→ the lowest offsets that clients have asked for on the source, as the Gateways saw it: a list of
    (:class:`~hadash.switching.stages.positions.Reader`, partition, offset). Of these client.ids of the plan's AppIDs.
    """

    client_ids: frozenset[str]


@dataclass(frozen=True, slots=True)
class RecordReading:
    """Keep where members read what their groups have not committed → ``None``: group → partition → offset."""

    positions: Mapping[str, Mapping[Partition, int]]


@dataclass(frozen=True, slots=True)
class ReadReading:
    """→ what :class:`RecordReading` kept, or ``None``."""


@dataclass(frozen=True, slots=True)
class ReadStarts:
    """→ first offsets of every partition of the plan on ``cluster``."""

    cluster: str


@dataclass(frozen=True, slots=True)
class WriteGroupOffsets:
    """Set committed offsets with their metadata on the target → ``None``."""

    offsets: Mapping[str, Mapping[Partition, Committed]]


@dataclass(frozen=True, slots=True)
class RemoveGroupOffsets:
    """Remove committed offsets from the target → ``None``."""

    partitions: Mapping[str, frozenset[Partition]]


@dataclass(frozen=True, slots=True)
class Together:
    """Carry out several commands that do not depend on each other at the same time → their answers, in order."""

    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class PauseMirrors:
    """Pause the plan's mirrors in their direction, for good until :class:`ResumeMirrors` or :class:`ReverseMirrors`
    → ``None``. Also a Connect worker that starts again copies nothing for them."""


@dataclass(frozen=True, slots=True)
class ResumeMirrors:
    """Take :class:`PauseMirrors` back → ``None``."""


@dataclass(frozen=True, slots=True)
class ReverseMirrors:
    """Turn the plan's mirrors round at the drained point → ``None``."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadClients:
    """→ client (see :meth:`Plan.who`) → set of clusters that it is on, for the connected clients that move,
    as the Gateways see it. Of those that move with a Topic's own binding only who used it in the last
    ``lately`` seconds (``None``: all): an idle one has no reason to go to the other cluster.
    """

    lately: float | None = None


@dataclass(frozen=True, slots=True)
class ReadActivity:
    """→ set of (produce or consume, Topic): what the plan's clients have done on ``cluster`` in the last ``seconds``,
    as the Gateways see it."""

    cluster: str
    seconds: float


@dataclass(frozen=True, slots=True)
class RecordSeen:
    """Keep what there was before the move → ``None``: the clients, the groups that had members, and what was going
    on (see :class:`ReadActivity`). Fails when ZooKeeper has no room for what later stages will keep besides."""

    clients: tuple[str, ...]
    groups: tuple[str, ...]
    activity: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class ReadSeen:
    """→ the :class:`RecordSeen` that was kept."""


@dataclass(frozen=True, slots=True)
class CheckLost:
    """→ whether the source does not answer, or a partition that moves has no leader there."""


@dataclass(frozen=True, slots=True)
class ReadNotTold:
    """→ :class:`hadash.bindings.dialect.Waiting`: which engines may not obey ``epoch`` yet."""

    epoch: int


@dataclass(frozen=True, slots=True)
class HoldMirrors:
    """Stop the plan's mirrors for good, their tasks gone → ``None``: nothing of a source that comes back is copied."""


@dataclass(frozen=True, slots=True)
class ReadCopied:
    """→ partition → offset of the last record that the plan's mirrors have copied, as Connect has committed
    it. Stopped mirrors have committed all that they could. A partition is missing of which they have copied
    nothing.
    """


@dataclass(frozen=True, slots=True)
class ReadRepeated:
    """→ partition → how many records the target is known to hold twice before the mirror's anchor."""


@dataclass(frozen=True, slots=True)
class LastKnown:
    """What was known last of a source that is lost: where its partitions ended, where groups stood, and when
    that was noted (the oldest of each; seconds ago, ``None`` when nothing was).
    """

    ends: Mapping[Partition, int]
    ends_age: float | None
    positions: Mapping[str, Mapping[Partition, Committed]]
    positions_age: float | None


@dataclass(frozen=True, slots=True)
class ReadSighted:
    """→ :class:`LastKnown` of the plan's source."""


@dataclass(frozen=True, slots=True)
class RecordLoss:
    """Keep what is lost as far as it is known → ``None``: records of each partition that the source was seen
    to hold and the target is not proved to, how many seconds ago the source was seen, and up to where it is
    proved.
    """

    records: Mapping[Partition, int]
    seen_seconds_ago: float | None
    proved: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadProved:
    """→ up to where :class:`RecordLoss` has noted that it is proved; ``None`` when nothing was."""


@dataclass(frozen=True, slots=True)
class OpenTail:
    """Note that the source has to be asked for what it held beyond ``ends`` when it comes back → ``None``."""

    ends: Mapping[Partition, OffsetSync]


@dataclass(frozen=True, slots=True)
class ReadUsers:
    """→ clients that used what moves shortly before its source was seen last, as a switch's log calls them,
    and the groups that had members.
    """


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

Command = (
    Say
    | Pause
    | ReadBindings
    | WriteBindings
    | ReadGateways
    | ReadWaiting
    | ReadExpectedBack
    | CheckCluster
    | ComputePlan
    | CheckAcks
    | CheckAssignors
    | CheckMirrors
    | ReadWritten
    | CheckSelfAssigned
    | CheckReadingOn
    | ReadTopics
    | CopyAcls
    | CheckDenials
    | CheckHosts
    | CheckQuotas
    | CopyQuotas
    | ReadQuotas
    | CheckSignIn
    | PublishPlacement
    | AllowWrites
    | ReadLateBrokers
    | DenyWrites
    | WarmUp
    | ReadMembers
    | ReadSettled
    | ReadEnds
    | ReadAnchors
    | CompareTails
    | CompareNext
    | RecordDrained
    | ReadDrained
    | ReadGroupOffsets
    | ReadCommits
    | ReadAssigned
    | ReadPositions
    | RecordReading
    | ReadReading
    | ReadStarts
    | WriteGroupOffsets
    | RemoveGroupOffsets
    | Together
    | PauseMirrors
    | ResumeMirrors
    | ReverseMirrors
    | ReadClients
    | ReadActivity
    | RecordSeen
    | ReadSeen
    | CheckLost
    | ReadNotTold
    | HoldMirrors
    | ReadCopied
    | ReadRepeated
    | ReadSighted
    | RecordLoss
    | ReadProved
    | OpenTail
    | ReadUsers
)

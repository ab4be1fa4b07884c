"""The elements of every stage: a generator of commands, the failure that ends it, and its limits. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hadash.kafka.values import Partition
from hadash.mirroring.offsets import OffsetSync
from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask

#: A running stage: it yields commands, is sent their answers, and returns its outcome.
StageRun = Step[Sentence]


class AuditRule(StrEnum):
    """What a pair asks of its auditors before a switch."""

    #: They are not asked.
    IGNORED = "ignored"
    #: A mirror that differs is not switched; one that nobody has proved to be equal is, and the switch's log says so.
    DIFFERENCES_STOP = "differences"
    #: Only mirrors are switched that are proved to be equal.
    PROOF_NEEDED = "proof"


class StageFailed(Exception):
    """A stage that cannot be completed. ``sentence`` says why and what to do."""

    def __init__(self, sentence: Sentence) -> None:
        super().__init__(str(sentence))
        self.sentence = sentence


@dataclass(frozen=True, slots=True)
class Limits:
    """How long stages wait, in seconds, and how much lag they accept; see ``hadash/settings/switching.py``."""

    hold_heartbeats: float = 3.0
    quiesce: float = 45.0
    block: float = 10.0
    drain: float = 10.0
    #: For all stages together in which clients wait, until forward begins.
    blocked: float = 25.0
    forward: float = 60.0
    reverse: float = 60.0
    verify: float = 60.0
    verify_hold: float = 2.0
    active: float = 5.0
    max_lag: int = 5000
    audit: AuditRule = AuditRule.DIFFERENCES_STOP
    accept_acks_1: bool = False
    #: Whether lower quotas on the target, or unknown ones, are only logged.
    accept_quotas: bool = False
    #: Whether clients that assign partitions themselves are only logged, by the rules of the pair.
    accept_self_assigned: bool = False
    last_records: int = 16
    poll: float = 0.1
    fast_poll: float = 0.01


def drained() -> Step[dict[Partition, OffsetSync]]:
    """The points that drain has proved to correspond. :raises StageFailed: they were not stored."""
    ends = yield from ask(do.ReadDrained())
    if ends is None:
        raise StageFailed(say("The drained point of this switch is not known."))
    return ends


def check_blocked(seconds: float, plan: Plan, limits: Limits) -> None:
    """Check the total time that clients wait: before forward each stage has its own limit, or none.

    A forced switch has no limit: there is nothing to go back to.

    :param seconds: since the block began. :raises StageFailed: clients have waited too long.
    """
    if plan.kind.spec.source_lost or seconds <= limits.blocked:
        return
    raise StageFailed(
        say(
            "Clients have waited for %(seconds)s s, and soon they would give up what they hold back: at "
            "most %(limit)s s are allowed. "
            "They go on on %(cluster)s.",
            seconds=round(seconds, 1),
            limit=limits.blocked,
            cluster=plan.source,
        )
    )

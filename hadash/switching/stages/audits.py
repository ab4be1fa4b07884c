"""What auditors say of the plan's mirrors, for the precheck and for verify. Pure; see ``ways.py``."""

from __future__ import annotations

from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.run import AuditRule, Limits, StageFailed


def check_audits(plan: Plan, limits: Limits) -> Step[None]:
    """Stop a switch whose mirrors differ, or are not proved equal, as the pair's rule has it; tell the rest. A kind
    that findings do not stop is told of all.

    :raises StageFailed: the rule does not let it go on.
    """
    if limits.audit is AuditRule.IGNORED:
        return
    for each in (yield from ask(do.CheckAudits())):
        if each.is_equal:
            continue
        is_against = each.differs or limits.audit is AuditRule.PROOF_NEEDED
        if is_against and plan.kind.spec.findings_stop:
            raise StageFailed(_of(each.mirror, each.says))
        yield from ask(do.Say(_of(each.mirror, each.says)))


def tell_audits(limits: Limits) -> Step[None]:
    """Say in the switch's log what auditors say in the end."""
    if limits.audit is AuditRule.IGNORED:
        return
    for each in (yield from ask(do.CheckAudits())):
        yield from ask(do.Say(_of(each.mirror, each.says)))


def _of(mirror: str, says: Sentence) -> Sentence:
    return say("Auditors, mirror %(mirror)s: %(says)s", mirror=mirror, says=says)

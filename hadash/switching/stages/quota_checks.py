"""The clients' quotas on both clusters: which differences block a switch, are copied, or are only logged. Pure; see
``precheck.py`` and ``failover.py``.
"""

from __future__ import annotations

from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.answers import QuotaCheck
from hadash.switching.stages.command import Step, ask
from hadash.switching.stages.run import Limits, StageFailed


def check_quotas(plan: Plan, limits: Limits) -> Step[QuotaCheck]:
    """Moving clients must not have lower quotas than before. :raises StageFailed: they would, or it is not known."""
    found = yield from ask(do.CheckQuotas())
    for sentence in _faults(plan, found):
        if not limits.accept_quotas:
            raise StageFailed(sentence)
        yield from ask(do.Say(sentence))
    if found.more:
        yield from ask(
            do.Say(
                say(
                    "Quotas of %(target)s let clients do more than those of %(source)s: %(quotas)s.",
                    target=plan.target,
                    source=plan.source,
                    quotas=found.more,
                )
            )
        )
    if found.addresses:
        yield from ask(
            do.Say(
                say(
                    "%(target)s takes fewer connections from some addresses than %(source)s: %(quotas)s. "
                    "All clients of a "
                    "Gateway come from its address: if one of these is a Gateway's, they connect one after the other.",
                    target=plan.target,
                    source=plan.source,
                    quotas=found.addresses,
                )
            )
        )
    if found.brokers is not None:
        here, there = found.brokers
        yield from ask(
            do.Say(
                say(
                    "Quotas are those of each broker: %(source)s has %(here)s brokers and %(target)s has "
                    "%(there)s, so all "
                    "together clients may do less there.",
                    source=plan.source,
                    target=plan.target,
                    here=here,
                    there=there,
                )
            )
        )
    return found


def _faults(plan: Plan, found: QuotaCheck) -> list[Sentence]:
    sentences = []
    if found.unknown:
        sentences.append(
            say(
                "It is not known which quotas clients have: %(fault)s Let hadash's account describe the "
                "configs of both "
                "clusters (DESCRIBE_CONFIGS on the cluster; Kafka 2.6 or newer). HADASH_SWITCH_ACCEPT_QUOTAS "
                "accepts not to know.",
                fault=found.unknown,
            )
        )
    if found.less:
        sentences.append(
            say(
                "Quotas of %(target)s let clients do less than those of %(source)s: %(quotas)s. Set them there as they "
                "are on %(source)s (kafka-configs.sh --alter). HADASH_SWITCH_ACCEPT_QUOTAS accepts it.",
                target=plan.target,
                source=plan.source,
                quotas=found.less,
            )
        )
    if found.narrowed:
        sentences.append(
            say(
                "Clients of the same AppIDs are on %(target)s already, and could do less when the quotas "
                "of %(source)s are "
                "copied (%(copied)s): %(quotas)s. Set on %(target)s what shall hold for them "
                "(kafka-configs.sh --alter). HADASH_SWITCH_ACCEPT_QUOTAS accepts it.",
                target=plan.target,
                source=plan.source,
                copied=found.missing,
                quotas=found.narrowed,
            )
        )
    if found.everywhere:
        sentences.append(
            say(
                "%(target)s takes fewer connections from each address than %(source)s (%(quotas)s), and "
                "all clients of a "
                "Gateway come from its address. Set it there as it is on %(source)s (kafka-configs.sh --alter). "
                "HADASH_SWITCH_ACCEPT_QUOTAS accepts it.",
                target=plan.target,
                source=plan.source,
                quotas=found.everywhere,
            )
        )
    return sentences


def copy_quotas(plan: Plan, found: QuotaCheck) -> Step[None]:
    """Copy missing quotas before clients come. (Unknown ones are not copied; the person who accepts that was told.)"""
    if not found.missing:
        return
    copied = yield from ask(do.CopyQuotas())
    if copied:
        yield from ask(
            do.Say(say("Copied quotas to %(cluster)s: %(quotas)s.", cluster=plan.target, quotas=copied))
        )


def tell_quotas(plan: Plan) -> Step[None]:
    """Log the target's quotas. A lost source's are not known, and clients with little are better off than clients with
    nothing, so nothing is refused.
    """
    read = yield from ask(do.ReadQuotas())
    if read.unknown:
        yield from ask(
            do.Say(
                say(
                    "It is not known which quotas clients have on %(cluster)s: %(fault)s",
                    cluster=plan.target,
                    fault=read.unknown,
                )
            )
        )
    elif read.found:
        yield from ask(
            do.Say(
                say(
                    "These quotas hold on %(cluster)s, whatever those of %(source)s were: %(quotas)s.",
                    cluster=plan.target,
                    source=plan.source,
                    quotas=read.found,
                )
            )
        )


def tell_hosts(plan: Plan) -> Step[None]:
    """Log ACLs that depend on addresses. Other kinds are refused for them; here the source is lost."""
    found = yield from ask(do.CheckRights())
    if found.by_host:
        yield from ask(
            do.Say(
                say(
                    "What these clients may do on %(cluster)s depends on their address (%(rules)s), and "
                    "brokers see the "
                    "Gateway's.",
                    cluster=plan.target,
                    rules=found.by_host,
                )
            )
        )

"""What clients may use of both clusters: what stands against a switch, what is copied, and what is only said. Pure; see
``precheck.py`` and ``failover.py``."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from hadash.sentences import Sentence, say
from hadash.switching.plan import Plan
from hadash.switching.stages import commands as do
from hadash.switching.stages.run import Limits, StageFailed


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


def check_quotas(plan: Plan, limits: Limits) -> Generator[do.Command, Any, QuotaCheck]:
    """Whoever moves must not find less than he had. :raises StageFailed: he would, or nobody knows."""
    found: QuotaCheck = yield do.CheckQuotas()
    for sentence in _faults(plan, found):
        if not limits.accept_quotas:
            raise StageFailed(sentence)
        yield do.Say(sentence)
    if found.more:
        yield do.Say(
            say(
                "Quotas of %(target)s let clients do more than those of %(source)s: %(quotas)s.",
                target=plan.target,
                source=plan.source,
                quotas=found.more,
            )
        )
    if found.addresses:
        yield do.Say(
            say(
                "%(target)s takes fewer connections from some addresses than %(source)s: %(quotas)s. All clients of a "
                "Gateway come from its address: if one of these is a Gateway's, they connect one after the other.",
                target=plan.target,
                source=plan.source,
                quotas=found.addresses,
            )
        )
    if found.brokers is not None:
        here, there = found.brokers
        yield do.Say(
            say(
                "Quotas are those of each broker: %(source)s has %(here)s brokers and %(target)s has %(there)s, so all "
                "together clients may do less there.",
                source=plan.source,
                target=plan.target,
                here=here,
                there=there,
            )
        )
    return found


def _faults(plan: Plan, found: QuotaCheck) -> list[Sentence]:
    sentences = []
    if found.unknown:
        sentences.append(
            say(
                "It is not known which quotas clients have: %(fault)s Let hadash's account describe the configs of both "
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
                "Clients of the same AppIDs are on %(target)s already, and could do less when the quotas of %(source)s are "
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
                "%(target)s takes fewer connections from each address than %(source)s (%(quotas)s), and all clients of a "
                "Gateway come from its address. Set it there as it is on %(source)s (kafka-configs.sh --alter). "
                "HADASH_SWITCH_ACCEPT_QUOTAS accepts it.",
                target=plan.target,
                source=plan.source,
                quotas=found.everywhere,
            )
        )
    return sentences


def copy_quotas(plan: Plan, found: QuotaCheck) -> Generator[do.Command, Any, None]:
    """Before clients come. (What is not known is not copied: who accepts that has been told.)"""
    if not found.missing:
        return
    copied = yield do.CopyQuotas()
    if copied:
        yield do.Say(say("Copied quotas to %(cluster)s: %(quotas)s.", cluster=plan.target, quotas=copied))


def tell_quotas(plan: Plan) -> Generator[do.Command, Any, None]:
    """Of a lost source nobody knows them. Clients with little are better off than clients with nothing: it is only said
    what they will find."""
    read: QuotasFound = yield do.ReadQuotas()
    if read.unknown:
        yield do.Say(
            say(
                "It is not known which quotas clients have on %(cluster)s: %(fault)s",
                cluster=plan.target,
                fault=read.unknown,
            )
        )
    elif read.found:
        yield do.Say(
            say(
                "These quotas hold on %(cluster)s, whatever those of %(source)s were: %(quotas)s.",
                cluster=plan.target,
                source=plan.source,
                quotas=read.found,
            )
        )


def tell_hosts(plan: Plan) -> Generator[do.Command, Any, None]:
    """As the other kinds look for it, but nothing is refused for it: the source is lost."""
    rules = yield do.CheckHosts()
    if rules:
        yield do.Say(
            say(
                "What these clients may do on %(cluster)s depends on their address (%(rules)s), and brokers see the "
                "Gateway's.",
                cluster=plan.target,
                rules=rules,
            )
        )

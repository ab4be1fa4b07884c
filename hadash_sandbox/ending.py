"""The end of a trial: producers stop, consumers read to the end, and all records are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from confluent_kafka import KafkaException

from hadash_sandbox.errors import SandboxError
from hadash_sandbox.processes import describe_exit
from hadash_sandbox.traffic import fleet, libraries
from hadash_sandbox.traffic.client import FLUSH_AT_END_SECONDS
from hadash_sandbox.traffic.journal import Journal
from hadash_sandbox.traffic.log_reader import Sides, await_caught_up
from hadash_sandbox.traffic.logs import (
    CopiedTwice,
    LogsVerdict,
    fates,
    find_missing,
    held_numbers,
    judge_logs,
)
from hadash_sandbox.traffic.verdict import damages, journal_faults
from hadash_sandbox.trial import Trial
from hadash_sandbox.world import ClientSpec

#: Seconds that consumers, and then the mirrors, have to catch up after the producers have stopped.
CATCH_UP_SECONDS = 60.0
#: Seconds between the two looks that both have to find every group at the ends. It is longer than the default commit
#: interval of clients (5 s), so that a group that has gone back to read again shows it.
SETTLE_SECONDS = 6.0
#: Seconds that a client may take to end: longer than any of them waits for its last answers.
END_SECONDS = 10.0 + max(FLUSH_AT_END_SECONDS, libraries.END_SECONDS, fleet.ANSWER_SECONDS)


def finish(trial: Trial) -> dict[str, Any]:
    """Stop the producers, wait until every group is at the end of its Topics, stop the consumers, and count;
    also the records of each switch (:class:`~hadash_sandbox.trial.Measured`).

    :return: the verdict: counts over all clients, and ``faults``, sentences that say why the counts could be wrong. A
        verdict with a fault is never clean.
    """
    restarted = trial.restarted()
    world = trial.demo.world
    faults = _stop(trial, "produce")
    sides = Sides({name: cluster.client_config() for name, cluster in trial.demo.stack.kafka.items()})
    faults += await_caught_up(sides, _topics_by_group(world.clients), CATCH_UP_SECONDS, SETTLE_SECONDS)
    faults += _stop(trial, "consume")

    journals = {spec.name: trial.journal(spec) for spec in world.clients}
    for name, journal in journals.items():
        faults += journal_faults(journal, name in trial.killed)
    groups = trial.judge()
    faults += [f"no record was acknowledged that group {g.group} reads" for g in groups if not g.acked]
    topics = sorted(world.topics)
    producers = _producers(world.clients, journals)
    try:
        told = sides.await_same_size(topics, CATCH_UP_SECONDS, lambda: _copied_twice(trial))
        logs, unknown = _judge_logs(sides.logs(topics), producers, told)
    except (KafkaException, SandboxError) as error:
        faults.append(f"the logs of the clusters could not be read: {error}")
        logs, unknown = _judge_logs({}, producers, {})
    for measured in trial.switches:
        trial.judge_switch(measured)
    lost = sum(g.lost for g in groups)
    return {
        "records_sent": sum(r.last - r.first + 1 for j in journals.values() for r in j.acked),
        "lost": lost,
        "duplicated": sum(g.duplicated for g in groups),
        "out_of_order": sum(g.out_of_order for g in groups),
        "ambiguous": sum(g.ambiguous for g in groups),
        "rpo_records": lost,
        "delivery_failures": sum(len(journal.failed) for journal in journals.values()),
        "unknown": unknown,
        "damaged": [each for journal in journals.values() for each in damages(journal)],
        # Records that other programs have written into the trial's Topics.
        "strangers": sum(g.strangers for g in groups),
        "clients": len(world.clients),
        "clients_restarted": restarted,
        "cut_off": sum(len(journals[name].cut_off) for name in trial.killed),
        "faults": faults,
        "groups": [asdict(g) for g in groups],
        "logs": asdict(logs),
    }


def _stop(trial: Trial, role: str) -> list[str]:
    """Stop the clients of a role; return a sentence for each client that ended with an error."""
    trial.demo.stop_clients(role, END_SECONDS)
    return [
        f"client {spec.name} ended with {describe_exit(code)}: what it had under way is not in its journal"
        for spec in trial.demo.world.clients
        if spec.role == role and (code := trial.demo.clients[spec.name].exit_code) != 0
    ]


def _topics_by_group(clients: Sequence[ClientSpec]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for spec in clients:
        if spec.group:
            found.setdefault(spec.group, set()).update(spec.topics)
    return {group: sorted(topics) for group, topics in sorted(found.items())}


def _producers(
    clients: Sequence[ClientSpec], journals: dict[str, Journal]
) -> list[tuple[str, tuple[str, ...], Journal]]:
    """(library, Topics, journal) of each producer."""
    return [(s.library, s.topics, journals[s.name]) for s in clients if s.role == "produce"]


def _copied_twice(trial: Trial) -> CopiedTwice:
    """How many records of each log have been copied twice by a Connect worker that died, as hadash reports it.

    :raises SandboxError: hadash does not answer.
    """
    return {
        (each["cluster"], each["topic"], each["partition"]): each["records"]
        for pair in trial.operator.call("GET", "pairs/")
        for mirror in pair["mirrors"]
        for each in mirror["copied_twice"]
    }


def _judge_logs(
    sides: dict[str, Any], producers: Sequence[tuple[str, tuple[str, ...], Journal]], told: CopiedTwice
) -> tuple[LogsVerdict, list[str]]:
    """Judge the logs, and look in them for the records whose fate their producer does not know.

    :param sides: by cluster its logs; empty when they could not be read.
    :param told: what hadash reports as copied twice.
    :return: the verdict, and a sentence for each record whose producer does not know its fate.
    """
    verdict, unknown = judge_logs(sides, told), []
    for library, topics, journal in producers:
        held = held_numbers(sides, library, topics) if sides else None
        find_missing(verdict, journal, held)
        unknown += fates(journal, held)
    return verdict, unknown

"""The goals for the records of every trial, in one list, so that no trial leaves one out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hadash_sandbox.bench.report import Report


def judge_records(report: Report, verdicts: Sequence[dict[str, Any]], prefix: str = "") -> None:
    """Add the goals for all records of a trial, in journals and in the logs of both clusters.

    :param verdicts: one of :func:`hadash_sandbox.ending.finish` for each fleet that the trial used.
    :param prefix: for the name of each goal, if a report has the goals of several trials.
    """

    def none(name: str, found: int, unit: str = "records", of: str = "records_sent") -> None:
        report.at_most(f"{prefix}{name}", 0, found, unit, samples=total(of))

    def total(name: str) -> int:
        return sum(verdict[name] for verdict in verdicts)

    def count(name: str) -> int:
        return sum(len(verdict[name]) for verdict in verdicts)

    none("records lost", total("lost"))
    none("records duplicated", total("duplicated"))
    none("records out of order", total("out_of_order"))
    none("records whose order is not known", total("ambiguous"))
    none("records damaged", count("damaged"))
    none("records that a producer failed to deliver", total("delivery_failures"))
    none("records whose producer does not know their fate", count("unknown"))
    none("clients that were restarted or ended", count("clients_restarted"), "clients", "clients")
    none("gaps in what journals and groups say", count("faults"), "gaps", "clients")
    logged = sum(verdict["logs"]["records"] for verdict in verdicts)
    for name, what in {
        "written_twice": "records twice in a log, of which hadash does not know",
        "out_of_order": "records out of order in a log",
        "missing": "records acknowledged, and on no cluster",
        "different": "records that differ between the clusters",
    }.items():
        found = sum(verdict["logs"][name] for verdict in verdicts)
        report.at_most(f"{prefix}{what}", 0, found, "records", samples=logged)


def explain(verdict: dict[str, Any]) -> list[str]:
    """A sentence for everything that is wrong in a verdict."""
    return [
        *verdict["faults"],
        *verdict["unknown"],
        *verdict["damaged"],
        *(
            f"group {group['group']}: {example}"
            for group in verdict["groups"]
            for example in group["examples"]
        ),
        *verdict["logs"]["examples"],
        *(f"client {name} was restarted or has ended" for name in verdict["clients_restarted"]),
    ]

"""Queries for the rows that the jobs have published: of the last published run, and of pairs that a user may see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, QuerySet, Subquery, Sum
from django.utils import timezone

from hadash.accounts.roles import pairs_where
from hadash.governance.catalogue import WEIGHTS, Severity
from hadash.governance.models.findings import Acceptance, Finding
from hadash.governance.models.published import (
    AdviceStep,
    Coverage,
    CoverageCell,
    Edge,
    Found,
    Island,
    LagDay,
    Mark,
    Node,
    SharedBy,
    Sharing,
)
from hadash.governance.models.runs import Run

#: The tables of each job, by name.
TABLES: dict[Run.Job, dict[str, Any]] = {
    Run.Job.TOPOLOGY: {
        "edges": Edge,
        "nodes": Node,
        "marks": Mark,
        "islands": Island,
        "sharing": Sharing,
        "shared_by": SharedBy,
    },
    Run.Job.COVERAGE: {"coverage": Coverage, "coverage_cells": CoverageCell},
    Run.Job.ADVICE: {"advice": AdviceStep},
    Run.Job.RISK: {"findings": Found},
    Run.Job.LAG: {"lag_days": LagDay},
}


#: Runs whose counts a process caches: more than are kept.
REMEMBERED = 512


def pair_names(user: Any) -> list[str]:
    """Return the names of the pairs that a user may see, sorted."""
    return list(pairs_where(user).order_by("name").values_list("name", flat=True))


def published_runs(job: Run.Job) -> QuerySet[Run]:
    """Return the published runs of a job that are kept, the newest first."""
    return Run.objects.filter(job=job, state=Run.State.PUBLISHED).order_by("-pk")


def published(job: Run.Job) -> Run | None:
    """Return the last published run of a job, whose rows are shown; ``None``: there is none yet."""
    return published_runs(job).first()


def rows(model: Any, run: Run | None, pairs: Iterable[str]) -> QuerySet[Any]:
    """Return the rows of one run, of some pairs; none without a run."""
    if run is None:
        return model.objects.none()
    return model.objects.filter(run=run, pair__in=list(pairs))


# -- findings ----------------------------------------------------------------------------------------------------


def in_force() -> QuerySet[Acceptance]:
    """Return the acceptances that hold today."""
    return Acceptance.objects.filter(withdrawn_at=None, until__gte=timezone.now().date())


def findings(pairs: Iterable[str]) -> QuerySet[Finding]:
    """Return the findings of some pairs, the gravest first, each with ``accepted_until`` (``None``: not accepted)."""
    until = in_force().filter(finding=OuterRef("pk")).values("until")[:1]
    return Finding.objects.filter(pair__in=list(pairs)).annotate(accepted_until=Subquery(until))


def counting(pairs: Iterable[str]) -> QuerySet[Finding]:
    """Return the findings that count in the scores: those that are open and not accepted."""
    accepted = in_force().filter(finding=OuterRef("pk"))
    return Finding.objects.filter(~Exists(accepted), pair__in=list(pairs), state=Finding.State.OPEN)


@dataclass(frozen=True, slots=True)
class Score:
    """The sum of the weights of findings, and their numbers by severity."""

    score: int
    high: int
    medium: int
    low: int


def score(found: QuerySet[Finding]) -> Score:
    """Return the score of ``found``, all of which count."""
    counts = found.order_by().values_list("weight").annotate(Count("pk"))
    weights: Counter[int] = Counter(dict(counts))
    high, medium, low = (weights[WEIGHTS[each]] for each in (Severity.HIGH, Severity.MEDIUM, Severity.LOW))
    return Score(sum(weight * count for weight, count in weights.items()), high, medium, low)


def worst_appids(pairs: Iterable[str], most: int) -> list[dict[str, Any]]:
    """Return the AppIDs with the highest scores: ``pair``, ``appid``, ``score``."""
    found = counting(pairs).exclude(appid="").order_by().values("pair", "appid")
    ranked = found.annotate(score=Sum("weight")).order_by("-score", "pair", "appid")
    return [dict(row) for row in ranked[:most]]


#: The scores by pair, and the AppIDs with the highest scores.
Scores = tuple[dict[str, Score], list[dict[str, Any]]]


def scores(pairs: Sequence[str], most: int) -> Scores:
    """Return the score of each pair, and the AppIDs with the highest scores as in :func:`worst_appids`.

    The result is cached until a run is published, a finding is accepted, an acceptance is withdrawn, or a
    day is over: nothing else changes it. (A fleet of a hundred thousand AppIDs has as many findings.)
    """
    accepted = Acceptance.objects.aggregate(pk=Max("pk"), withdrawn=Max("withdrawn_at"))
    run = published(Run.Job.RISK)
    state = (run.pk if run else None, accepted["pk"], accepted["withdrawn"], timezone.now().date())
    return _scores(tuple(pairs), most, state)


@lru_cache(maxsize=REMEMBERED)
def _scores(pairs: tuple[str, ...], most: int, state: tuple[Any, ...]) -> Scores:
    return {pair: score(counting([pair])) for pair in pairs}, worst_appids(pairs, most)


# -- coverage over time ------------------------------------------------------------------------------------------


#: The counts of the clients of an AppID: columns of :data:`spark.schemas.COVERAGE`.
COVERAGE_COUNTS = ("clients", "registered", "nameless", "new_clients", "duplicates", "bypassing")


def coverage_over_time(pairs: Iterable[str], appid: str = "") -> list[dict[str, Any]]:
    """Return the coverage of each pair in each kept run of the job, the newest first.

    Each row has ``run``, ``at``, ``pair``, and :data:`COVERAGE_COUNTS` added up over AppIDs.

    :param appid: count only this AppID.
    """
    wanted = set(pairs)
    runs = list(published_runs(Run.Job.COVERAGE).values_list("pk", "ended_at"))
    counted = (
        _summed(Coverage.objects.filter(run__in=[run for run, _at in runs], appid=appid))
        if appid
        else {run: _coverage_counted(run) for run, _at in runs}
    )
    return [
        {"run": run, "at": at, "pair": pair, **counts}
        for run, at in runs
        for pair, counts in sorted(counted.get(run, {}).items())
        if pair in wanted
    ]


def _summed(rows: QuerySet[Coverage]) -> dict[int, dict[str, dict[str, int]]]:
    """Return the sums of the counts of some rows, by run and pair. One query."""
    sums: Iterable[Any] = (
        rows.order_by()
        .values("run", "pair")
        .annotate(**{f"all_{name}": Sum(name) for name in COVERAGE_COUNTS})
    )
    found: dict[int, dict[str, dict[str, int]]] = {}
    for row in sums:
        counts = {name: row[f"all_{name}"] for name in COVERAGE_COUNTS}
        found.setdefault(row["run"], {})[row["pair"]] = counts
    return found


@lru_cache(maxsize=REMEMBERED)
def _coverage_counted(run: int) -> dict[str, dict[str, int]]:
    """Return the sums over all AppIDs of a run, by pair. Cached: a published run does not change, and may have
    a hundred thousand rows.
    """
    return _summed(Coverage.objects.filter(run=run)).get(run, {})

"""Reads of what jobs have published, searched and ordered, for pages and for the API."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from copy import copy
from dataclasses import replace
from functools import lru_cache
from typing import Any

from django.db.models import CharField, Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Cast
from django.http import Http404
from django.utils.translation import gettext as _

from hadash.accounts.roles import VIEW, may, may_somewhere, pairs_where
from hadash.governance import selectors
from hadash.governance.catalogue import WEIGHTS, Code, Severity
from hadash.governance.models.findings import Finding
from hadash.governance.models.runs import Run
from hadash.mirroring.models import Mirror
from hadash.pipeline.schedules import Scheduled
from hadash.presentation.labels import CLIENT_KIND_WORDS, RUN_WORDS
from hadash.presentation.localized import sentence
from hadash.presentation.tables import Table
from hadash.sentences import Sentence, read_back, say

#: Most counts of published tables that a process caches.
REMEMBERED = 256

#: The filters for findings: open (not accepted) ones, those of them that got worse, accepted, resolved, and all.
SHOWS = ("open", "worse", "accepted", "resolved", "all")


def rows_of(
    table: Table, pairs: Iterable[str], query: str = "", sort: str = "", narrowed: Q | None = None
) -> QuerySet[Any]:
    """Return the rows of the last published run.

    :param query: a part of a name.
    :param narrowed: only these rows; see :meth:`hadash.presentation.tables.Table.narrowed`.
    :param sort: a column, or "-" and a column. Unknown values come last in both directions.
    """
    rows = selectors.rows(table.model, selectors.published(table.job), pairs)
    if query:
        rows = _looked_for(rows, table, query)
    if narrowed is not None:
        rows = rows.filter(narrowed)
    order: list[Any] = list(table.sort)
    if sort:
        column = F(sort.removeprefix("-"))
        first = column.desc(nulls_last=True) if sort.startswith("-") else column.asc(nulls_last=True)
        order.insert(0, first)
    return rows.order_by(*order, "pk")


@lru_cache(maxsize=REMEMBERED)
def count_of(model: Any, run: Run | None, pairs: tuple[str, ...], narrowed: Q | None = None) -> int:
    """Return how many rows the run has published for these pairs. Cached: a published run does not change, and
    may have a million rows.

    :param narrowed: only these rows; see :meth:`hadash.presentation.tables.Table.narrowed`.
    """
    return int(selectors.rows(model, run, pairs).filter(narrowed or Q()).count())


def _looked_for(rows: QuerySet[Any], table: Table, query: str) -> QuerySet[Any]:
    fits = Q()
    for name in table.searched:
        column = table.column(name)
        looked_in = name
        if column is not None and column.kind == "names":
            looked_in = f"{name}_text"
            rows = rows.annotate(**{looked_in: Cast(name, CharField())})
        fits |= Q(**{f"{looked_in}__icontains": query})
    return rows.filter(fits)


def filtered_findings(
    pairs: Iterable[str], severity: str = "", code: str = "", show: str = "open", query: str = ""
) -> QuerySet[Finding]:
    """Return the findings of some pairs. Empty parameters do not filter.

    :param show: one of :data:`SHOWS`.
    :param query: a part of an AppID, or of the name that the finding is about.
    """
    found: Any = selectors.findings(pairs)
    if severity:
        found = found.filter(weight=WEIGHTS[Severity(severity)])
    if code:
        found = found.filter(code=code)
    if query:
        found = found.filter(Q(appid__icontains=query) | Q(name__icontains=query))
    if show in ("open", "worse", "accepted"):
        accepted = Exists(selectors.in_force().filter(finding=OuterRef("pk")))
        found = found.filter(accepted if show == "accepted" else ~accepted, state=Finding.State.OPEN)
        if show == "worse":
            found = found.filter(worse_at__isnull=False)
    elif show == "resolved":
        found = found.filter(state=Finding.State.RESOLVED)
    narrowed: QuerySet[Finding] = found
    return narrowed


def the_finding(user: Any, pk: int) -> Finding:
    """Return the finding with this number.

    :raises Http404: there is none, or ``user`` may not see its pair.
    """
    found = selectors.findings(selectors.pair_names(user)).filter(pk=pk).first()
    if found is None:
        raise Http404(_("There is no finding with number %(pk)s.") % {"pk": pk})
    return found


def runs_for(user: Any) -> QuerySet[Run]:
    """Return all runs, the newest first; none for a user who may see no pair. Show them through :func:`seen_by`."""
    return Run.objects.order_by("-pk") if may_somewhere(user, VIEW) else Run.objects.none()


#: Values of a run's ``quality`` that name clusters, files or people: only users who may see every pair see them.
_NAMING = ("of_no_pair", "lacking", "broken", "lines_reasons", "unreadable_reasons")


def seen_by(user: Any) -> Callable[[Run], Run]:
    """Return a function that returns a run as ``user`` may see it: for a user who may see only some pairs, without
    the names of other pairs' clusters. (Do not save the result.)
    """
    if may(user, VIEW):
        return lambda run: run
    pairs = pairs_where(user).select_related("first", "second")
    own = {cluster.name for pair in pairs for cluster in pair.clusters}
    return lambda run: _without_names(run, own)


def _without_names(run: Run, own: Container[str]) -> Run:
    seen = copy(run)
    seen.quality = {name: value for name, value in run.quality.items() if name not in _NAMING}
    if "away" in seen.quality:
        seen.quality["away"] = [name for name in seen.quality["away"] if name in own]
    if run.fault:
        seen.fault = say("Why is shown to those who may see every pair.")
    if run.progress.get("step", "").removeprefix("publishing ") not in RUN_WORDS:
        seen.progress = {}
    return seen


def jobs_for(user: Any, found: list[Scheduled]) -> list[Scheduled]:
    """Return jobs as ``user`` may see them.

    :param found: see :func:`hadash.pipeline.schedules.overview`.
    """
    if may(user, VIEW):
        return found
    seen = seen_by(user)
    return [
        replace(
            each,
            under_way=each.under_way and seen(each.under_way),
            ended=each.ended and seen(each.ended),
            published=each.published and seen(each.published),
            alarm=say("It has failed.") if each.alarm and "fault" in each.alarm.values else each.alarm,
        )
        for each in found
    ]


def the_run(user: Any, pk: int) -> Run:
    """Return the run with this number, as ``user`` may see it.

    :raises Http404: there is none (any more), or ``user`` may see no pair.
    """
    found = runs_for(user).filter(pk=pk).first()
    if found is None:
        raise Http404(_("There is no run with number %(pk)s. Old ones are removed.") % {"pk": pk})
    return seen_by(user)(found)


def two_runs(now: Run, earlier: int | None) -> tuple[Run, Run]:
    """Return (the earlier, the later) of two published runs of one job.

    :raises Http404: they are not two published runs of one job.
    """
    before = Run.objects.filter(pk=earlier).first() if earlier is not None else None
    if (
        before is None
        or before == now
        or before.job != now.job
        or {before.state, now.state} != {Run.State.PUBLISHED}
    ):
        raise Http404(_("These two runs cannot be compared: choose two published runs of one job."))
    return (before, now) if before.pk < now.pk else (now, before)


def evidence_of(finding: Finding) -> dict[str, Any]:
    """Return a finding's evidence, with its codes; a sentence among it in the viewer's language."""
    evidence = dict(finding.evidence)
    if "why" in evidence:
        evidence["why"] = sentence(read_back(str(evidence["why"])))
    return evidence


def sentence_of(finding: Finding) -> Sentence:
    """Return a finding's sentence, with its evidence in the viewer's language and words for its codes."""
    text = finding.entry.evidence.text if finding.entry else "%(code)s"
    values = evidence_of(finding)
    if finding.code == Code.SEVERAL_KINDS and "kinds" in values:
        kinds = str(values["kinds"]).split(", ")
        values["kinds"] = [str(CLIENT_KIND_WORDS.get(kind, kind)) for kind in kinds]
    if finding.code == Code.STALLED and values.get("state") in Mirror.State.values:
        values["state"] = str(Mirror.State(values["state"]).label)
    return say(text, **{"code": finding.code, **values})

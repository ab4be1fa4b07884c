"""What the pages of clusters show from the database: how each answers, and how it was at each snapshot."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db.models import OuterRef, Subquery
from django.utils import timezone
from django.utils.translation import gettext as _

from hadash.accounts.roles import pairs_where
from hadash.dashboard.charts.chart import Chart
from hadash.dashboard.charts.lines import lines
from hadash.inventory.models import Cluster, ClusterSample, ClusterState, GatewaySample, Pair
from hadash.presentation import badges
from hadash.presentation.badges import State

#: Days of the state of partitions that are shown, and points of a line.
STATE_DAYS, MOST_POINTS = 30, 500


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster of a pair. ``newest``: how it was at the newest snapshot that has it; ``None``: at none yet.
    ``reached_by``: Gateways whom it answered when they asked it last; ``missed_by``: those whom it did not;
    both of those that have said how they are lately.
    """

    cluster: Cluster
    pair: Pair
    state: State
    newest: ClusterState | None
    milliseconds: float | None
    reached_by: tuple[str, ...]
    missed_by: tuple[str, ...]

    @property
    def twin(self) -> Cluster:
        return self.pair.other(self.cluster)


def rows_for(user: Any) -> list[ClusterRow]:
    """The clusters of the pairs that a user may see. Four queries."""
    pairs = list(pairs_where(user).select_related("first", "second").order_by("name"))
    newest = ClusterState.objects.filter(cluster=OuterRef("cluster")).order_by("-at").values("pk")[:1]
    known = {s.cluster_id: s for s in ClusterState.objects.filter(pk=Subquery(newest))}
    last = ClusterSample.objects.filter(cluster=OuterRef("cluster")).order_by("-at").values("pk")[:1]
    samples = {s.cluster_id: s for s in ClusterSample.objects.filter(pk=Subquery(last))}
    reached = _reached()
    return [
        ClusterRow(
            cluster,
            pair,
            badges.of_cluster(cluster),
            known.get(cluster.pk),
            samples[cluster.pk].milliseconds if cluster.pk in samples else None,
            *(_those(reached, cluster.name, answered) for answered in (True, False)),
        )
        for pair in pairs
        for cluster in pair.clusters
    ]


def _reached() -> dict[str, dict[str, bool]]:
    """By Gateway, whether each cluster answers it: as it has said last, of those that have said anything lately."""
    since = timezone.now() - timedelta(seconds=4 * settings.GATEWAY_SAMPLE_SECONDS)
    samples = GatewaySample.objects.filter(at__gte=since).order_by("at")
    return dict(samples.values_list("gateway", "reached"))


def _those(reached: Mapping[str, Mapping[str, bool]], cluster: str, answered: bool) -> tuple[str, ...]:
    return tuple(sorted(gateway for gateway, told in reached.items() if told.get(cluster) is answered))


@dataclass(frozen=True, slots=True)
class Controller:
    """A controller that took over. ``epoch``: ``None`` where the cluster does not tell."""

    at: datetime
    before: int | None
    now: int | None
    epoch: int | None


def controllers_of(known: Sequence[ClusterState]) -> list[Controller]:
    """When the controller changed, the newest first. One that came back to the same broker is seen by its epoch.

    :param known: in order.
    """
    found = [
        Controller(now.at, before.controller, now.controller, now.controller_epoch)
        for before, now in itertools.pairwise(known)
        if (before.controller, before.controller_epoch) != (now.controller, now.controller_epoch)
    ]
    return found[::-1]


def states_of(cluster: Cluster) -> list[ClusterState]:
    """In order."""
    since = timezone.now() - timedelta(days=STATE_DAYS)
    return list(ClusterState.objects.filter(cluster=cluster, at__gte=since).order_by("at"))


def charts_of(cluster: Cluster, known: Sequence[ClusterState]) -> list[Chart]:
    now = timezone.now()
    day = now - timedelta(hours=min(24.0, settings.SAMPLES_KEPT_HOURS))
    samples = list(
        ClusterSample.objects.filter(cluster=cluster, at__gte=day)
        .order_by("at")
        .values_list("at", "milliseconds")
    )
    every = -(-len(samples) // MOST_POINTS) or 1
    silent = sum(milliseconds is None for _at, milliseconds in samples)
    thinned = _thinned(samples, every)
    together = -(-len(known) // MOST_POINTS) or 1
    month = [known[begin : begin + together] for begin in range(0, len(known), together)]
    wrong: Mapping[str, list[float | None]] = {
        _("without a leader"): [_most(s.leaderless for s in part) for part in month],
        _("under min.insync.replicas"): [_most(s.under_min_isr for s in part) for part in month],
        _("under-replicated"): [_most(s.under_replicated for s in part) for part in month],
    }
    return [
        lines(
            "answers",
            _("Time to answer"),
            [at for at, _ms in thinned],
            {_("milliseconds"): [ms for _at, ms in thinned]},
            span=(day, now),
            every=every * timedelta(seconds=settings.CLUSTER_LOOK_SECONDS),
            unit="ms",
            says=_("It did not answer %(count)s of %(all)s times.")
            % {"count": f"{silent:,}", "all": f"{len(samples):,}"}
            if samples
            else "",
        ),
        lines(
            "partitions",
            _("Partitions that are not as they have to be"),
            [part[-1].at for part in month],
            wrong,
            span=(now - timedelta(days=STATE_DAYS), now),
            every=together * _usually_apart(known),
            unit=_("partitions"),
            digits=0,
            says=_("At each snapshot that is kept."),
        ),
    ]


def _most(values: Iterable[int | None]) -> float | None:
    """Of some states that are drawn as one the worst: what lasted for minutes is seen, too."""
    return max((value for value in values if value is not None), default=None)


def _usually_apart(known: Sequence[ClusterState]) -> timedelta:
    """How far snapshots are apart: what is missing between two that are much further is not known."""
    gaps = sorted(now.at - before.at for before, now in itertools.pairwise(known))
    return gaps[len(gaps) // 2] if gaps else timedelta(days=1)


def _thinned(
    samples: Sequence[tuple[datetime, float | None]], every: int
) -> list[tuple[datetime, float | None]]:
    """Of so many samples the slowest; one without an answer outweighs all."""
    found = []
    for begin in range(0, len(samples), every):
        part = samples[begin : begin + every]
        known = [ms for _at, ms in part if ms is not None]
        found.append((part[-1][0], max(known) if len(known) == len(part) else None))
    return found

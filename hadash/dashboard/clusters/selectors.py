"""Data for the pages of clusters from the database: how each answers, and its state at each snapshot."""

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
from django.utils.translation import gettext_lazy

from hadash.accounts.roles import pairs_where
from hadash.dashboard.charts.chart import Chart
from hadash.dashboard.charts.lines import lines
from hadash.inventory.models import Cluster, ClusterSample, ClusterState, GatewaySample, Pair
from hadash.presentation import badges
from hadash.presentation.badges import State

#: Days of partitions' states that are shown, and most points of a line.
STATE_DAYS, MOST_POINTS = 30, 500


@dataclass(frozen=True, slots=True)
class ClusterRow:
    """A cluster of a pair.

    :param newest: its state at the newest snapshot that has it; ``None`` when there is none.
    :param milliseconds: its last time to answer; ``None`` when it did not answer or was never asked.
    :param reached_by: the Gateways that it answered when they last asked.
    :param missed_by: the Gateways that it did not answer. Both lists have only Gateways that reported lately.
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
    """Return the clusters of the pairs that a user may see. Four queries."""
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
    """Return Gateway → cluster → whether it answers, by the last report of each Gateway that reported lately."""
    since = timezone.now() - timedelta(seconds=4 * settings.GATEWAY_SAMPLE_SECONDS)
    samples = GatewaySample.objects.filter(at__gte=since).order_by("at")
    return dict(samples.values_list("gateway", "reached"))


def _those(reached: Mapping[str, Mapping[str, bool]], cluster: str, answered: bool) -> tuple[str, ...]:
    return tuple(sorted(gateway for gateway, told in reached.items() if told.get(cluster) is answered))


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a cluster between two snapshots.

    :param what: what has changed: see :data:`CHANGING`.
    :param before: its value in the earlier snapshot, and ``now`` in the later one; ``None``: not known.
    :param epoch: that of the controller; ``None`` for other changes, and where the cluster does not report it.
    """

    at: datetime
    what: str
    before: int | str | None
    now: int | str | None
    epoch: int | None = None

    @property
    def word(self) -> Any:
        return CHANGING[self.what]


#: What of a state is compared with that before: its field, and how it is called.
CHANGING: Mapping[str, Any] = {
    "controller": gettext_lazy("controller"),
    "brokers": gettext_lazy("number of brokers"),
    "version": gettext_lazy("version of Kafka"),
    "mode": gettext_lazy("kept by"),
    "differing_settings": gettext_lazy("settings that differ from its twin's"),
    "differing_quotas": gettext_lazy("quotas that differ from its twin's"),
}


def changes_of(known: Sequence[ClusterState]) -> list[Change]:
    """Return the changes of a cluster, the newest first. A controller that changed and came back shows in the epoch.
    A value that is not known at one of two snapshots has not changed between them, but that of the controller has.

    :param known: states in order.
    """
    found: list[Change] = []
    for before, now in itertools.pairwise(known):
        if (before.controller, before.controller_epoch) != (now.controller, now.controller_epoch):
            found.append(
                Change(now.at, "controller", before.controller, now.controller, now.controller_epoch)
            )
        for what in CHANGING:
            old, new = getattr(before, what), getattr(now, what)
            if what != "controller" and old not in (None, "") and new not in (None, "") and old != new:
                found.append(Change(now.at, what, old, new))
    return found[::-1]


def states_of(cluster: Cluster) -> list[ClusterState]:
    """Return a cluster's states of the last :data:`STATE_DAYS`, in order."""
    since = timezone.now() - timedelta(days=STATE_DAYS)
    return list(ClusterState.objects.filter(cluster=cluster, at__gte=since).order_by("at"))


def charts_of(cluster: Cluster, known: Sequence[ClusterState]) -> list[Chart]:
    """Return the charts of a cluster: its time to answer over a day; and at each snapshot its unhealthy
    partitions, its brokers, and what differs from its twin.
    """
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
    brokers = {_("brokers"): [_least(s.brokers for s in part) for part in month]}
    differing: Mapping[str, list[float | None]] = {
        _("settings"): [_most(s.differing_settings for s in part) for part in month],
        _("quotas"): [_most(s.differing_quotas for s in part) for part in month],
    }
    at = [part[-1].at for part in month]
    common: dict[str, Any] = {
        "span": (now - timedelta(days=STATE_DAYS), now),
        "every": together * _usually_apart(known),
        "digits": 0,
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
            at,
            wrong,
            unit=_("partitions"),
            **common,
            says=_("At each snapshot that is kept."),
        ),
        lines(
            "brokers", _("Brokers"), at, brokers, unit=_("brokers"), says=_("At each snapshot that is kept."), **common
        ),
        lines(
            "twin", _("What differs from its twin"), at, differing, unit=_("differences"), says=_not_known(known),
            **common,
        ),
    ]  # fmt: skip


def _not_known(known: Sequence[ClusterState]) -> str:
    """Return what is said where it was not known at some snapshots in how much a cluster differs from its twin."""
    lacking = sum(each.differing_settings is None or each.differing_quotas is None for each in known)
    if not lacking:
        return _("At each snapshot that is kept.")
    return _("At %(count)s of %(all)s snapshots one of both did not tell all of it.") % {
        "count": f"{lacking:,}",
        "all": f"{len(known):,}",
    }


def _most(values: Iterable[int | None]) -> float | None:
    """Return the worst of some states that are drawn as one point, so that short incidents are seen, too."""
    return max((value for value in values if value is not None), default=None)


def _least(values: Iterable[int | None]) -> float | None:
    """Return the least of some states that are drawn as one point."""
    return min((value for value in values if value is not None), default=None)


def _usually_apart(known: Sequence[ClusterState]) -> timedelta:
    """Return the usual time between snapshots: a much longer time between two is a gap in the data."""
    gaps = sorted(now.at - before.at for before, now in itertools.pairwise(known))
    return gaps[len(gaps) // 2] if gaps else timedelta(days=1)


def _thinned(
    samples: Sequence[tuple[datetime, float | None]], every: int
) -> list[tuple[datetime, float | None]]:
    """Return the slowest of each ``every`` samples; ``None`` when one of them had no answer."""
    found = []
    for begin in range(0, len(samples), every):
        part = samples[begin : begin + every]
        known = [ms for _at, ms in part if ms is not None]
        found.append((part[-1][0], max(known) if len(known) == len(part) else None))
    return found

"""The overview's verdict on each pair: whether it can be switched now, and the mirrors that are furthest behind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import connection
from django.db.models import F, Window
from django.db.models.functions import RowNumber
from django.utils import timezone

from hadash.auditors import selectors
from hadash.inventory.models import Cluster, Pair
from hadash.mirroring.models import LagSample, Mirror
from hadash.presentation import badges
from hadash.presentation.badges import State
from hadash.presentation.engines import Engines
from hadash.presentation.posture import Standing
from hadash.presentation.readiness import (
    ClusterFacts,
    GatewayFacts,
    MirrorFacts,
    PairFacts,
    Readiness,
    readiness,
)
from hadash.switching import policy
from hadash.switching.machines.switches import Status
from hadash.switching.models.policies import Blackout
from hadash.switching.models.switches import Switch

#: Most mirrors of a pair on the overview: those that are furthest behind. All of them have a page.
MIRRORS_SHOWN = 6
#: Minutes of lag in the sparkline beside a mirror.
LAG_MINUTES = 5


@dataclass(frozen=True, slots=True)
class PairView:
    """A pair on the overview. ``mirrors``: those furthest behind, out of ``mirror_count``."""

    pair: Pair
    readiness: Readiness
    clusters: Sequence[tuple[Cluster, State]]
    mirrors: Sequence[tuple[Mirror, State]]
    mirror_count: int
    rpo_seconds: float
    #: What is known of all mirrors.
    lags: Sequence[MirrorFacts]


@dataclass(frozen=True, slots=True)
class WorstLag:
    """The mirror that has used up most of its pair's RPO."""

    pair: str
    mirror: str
    seconds: float
    rpo_seconds: float


def worst_lag(views: Iterable[PairView]) -> WorstLag | None:
    """Return the worst of the mirrors that run and whose lag is known; ``None`` when there is none."""
    known = [
        WorstLag(each.pair.name, mirror.name, mirror.seconds, each.rpo_seconds)
        for each in views
        for mirror in each.lags
        if mirror.fine and mirror.seconds is not None
    ]
    return max(known, key=lambda one: one.seconds / one.rpo_seconds, default=None)


def pair_views(
    pairs: Sequence[Pair], engines: Engines, silent: Collection[str], standing: Standing, workers: int
) -> list[PairView]:
    """Return the pairs' verdicts. Eight queries for any number of mirrors.

    :param pairs: pairs with their clusters.
    :param silent: ids of Gateways that did not report their connected clients.
    :param standing: the figures that runs have published about the pairs.
    :param workers: the number of workers that carry out switches.
    """
    rpos = policy.rpos(pairs)
    facts_of, worst = _mirrors(rpos), _worst(rpos)
    shown = {
        mirror.pk: mirror for mirror in _with_history(pairs, [pk for pks in worst.values() for pk in pks])
    }
    blackouts = _blackouts(pairs)
    running = _running(pairs)
    differences = selectors.differences_by_pair()
    gateways = _gateways(engines, silent)
    found = []
    for pair in pairs:
        clusters = [(cluster, badges.of_cluster(cluster)) for cluster in pair.clusters]
        posture = standing.newest.get(pair.name)
        counted = posture is not None and posture.appids is not None and posture.mirrored_appids is not None
        facts = PairFacts(
            pair=pair.name,
            rpo_seconds=rpos[pair.pk],
            generated=pair.generated,
            zookeeper_fault=engines.fault,
            clusters=[ClusterFacts(cluster.name, state.holds) for cluster, state in clusters],
            gateways=gateways,
            workers=workers,
            mirrors=facts_of[pair.pk],
            blackout=blackouts.get(pair.pk),
            switching=running[pair.pk],
            appids=posture.appids if posture else None,
            unmirrored=posture.appids - posture.mirrored_appids if posture and counted else None,  # type: ignore[operator]
            high=posture.high if posture else None,
            differences=differences.get(pair.pk, 0),
            key=pair.pk,
        )
        rows = [(shown[pk], badges.of_mirror(shown[pk])) for pk in worst[pair.pk] if pk in shown]
        count = sum(each.count for each in facts_of[pair.pk])
        lags = facts_of[pair.pk]
        found.append(PairView(pair, readiness(facts), clusters, rows, count, rpos[pair.pk], lags))
    return found


def _mirrors(rpos: Mapping[int, float]) -> dict[int, list[MirrorFacts]]:
    """Return the facts about each pair's mirrors. Mirrors in the same condition are grouped: there may be
    thousands, and every overview asks every two seconds.

    :param rpos: the pairs' RPOs in seconds, by primary key.
    """
    facts: dict[int, list[MirrorFacts]] = defaultdict(list)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pair_id, state, coalesce(looked_at >= %s, false) AS is_seen, lag_seconds > rpo.seconds "
            "AS is_late, count(*), max(lag_seconds),"
            " (array_agg(name ORDER BY lag_seconds DESC NULLS LAST, name))[1]"
            " FROM mirroring_mirror JOIN unnest(%s::bigint[], %s::float8[]) AS rpo (pair, seconds) ON "
            "rpo.pair = pair_id GROUP BY 1, 2, 3, 4",
            [badges.mirrors_seen_since(), list(rpos), list(rpos.values())],
        )
        for pair, state, is_seen, _is_late, count, seconds, name in cursor.fetchall():
            holds = badges.mirror_holds(state, is_seen)
            facts[pair].append(MirrorFacts(name, holds, seconds, state == Mirror.State.TURNING, count))
    return facts


def _worst(pairs: Iterable[int]) -> dict[int, list[int]]:
    """Return by pair the keys of the mirrors that are furthest behind; those with an unknown lag come first."""
    worst: dict[int, list[int]] = defaultdict(list)
    place = Window(
        RowNumber(), partition_by="pair_id", order_by=[F("lag_seconds").desc(nulls_first=True), "name"]
    )
    first = Mirror.objects.filter(pair__in=pairs).annotate(place=place).filter(place__lte=MIRRORS_SHOWN)
    for pair, pk in first.order_by("pair_id", "place").values_list("pair_id", "pk"):
        worst[pair].append(pk)
    return worst


def _with_history(pairs: Sequence[Pair], wanted: Sequence[int]) -> list[Mirror]:
    """Return mirrors of ``pairs`` with the ``lag_history`` of the last :data:`LAG_MINUTES`: (when, records)."""
    mirrors = list(Mirror.objects.filter(pk__in=wanted).defer(*Mirror.DETAILS))
    by_key = {pair.pk: pair for pair in pairs}
    for mirror in mirrors:
        mirror.pair = by_key[mirror.pair_id]
        mirror.source = next(cluster for cluster in mirror.pair.clusters if cluster.pk == mirror.source_id)
    since = timezone.now() - timedelta(minutes=LAG_MINUTES)
    history: dict[int, list[Any]] = defaultdict(list)
    samples = LagSample.objects.filter(mirror__in=mirrors, at__gte=since).order_by("at")
    for key, at, records in samples.values_list("mirror_id", "at", "records"):
        history[key].append((at, records))
    for mirror in mirrors:
        mirror.lag_history = history[mirror.pk]  # type: ignore[attr-defined]
    return mirrors


def _gateways(engines: Engines, silent: Collection[str]) -> list[GatewayFacts]:
    return [
        GatewayFacts(
            gateway.id,
            gateway.live,
            engines.epoch is None
            or (gateway.report.has(engines.epoch) and not gateway.report.is_ahead_of(engines.epoch)),
            gateway.id in silent,
        )
        for gateway in engines.gateways
        if not gateway.excluded
    ]


def _blackouts(pairs: Iterable[Pair]) -> dict[int, str]:
    """Return by pair the reason why nothing may be switched now."""
    now = timezone.now()
    found = Blackout.objects.filter(pair__in=list(pairs), begins__lte=now, ends__gt=now).order_by("ends")
    return {each.pair_id: each.reason for each in found}


def _running(pairs: Iterable[Pair]) -> dict[int, int]:
    found: dict[int, int] = defaultdict(int)
    running = Switch.objects.filter(pair__in=list(pairs), status=Status.RUNNING.value).order_by()
    for pair in running.values_list("pair_id", flat=True):
        found[pair] += 1
    return found

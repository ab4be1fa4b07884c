"""Daily figures that cannot be counted afterwards: the most clients of a day, the fewest clusters, Gateways and
workers, and the oldest age of the facts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils import timezone

from hadash.inventory import looks, workers
from hadash.inventory.gateways import ask_all, live_gateways
from hadash.inventory.models import DailyFigure, Pair

Name = DailyFigure.Name

#: Figures of which the smallest of a day is kept: half a day without a cluster must not look like a good day. Of the
#: others it is the largest.
FEWEST = frozenset({Name.CLUSTERS, Name.GATEWAYS, Name.WORKERS})


def note(facts_at: datetime | None) -> None:
    """Record the current figures where they exceed those of the day so far; of :data:`FEWEST` where they are less.

    :param facts_at: when the facts were last updated; ``None``: never.
    :raises StoreUnavailable: ZooKeeper does not answer.
    """
    now = timezone.now()
    day = now.astimezone(UTC).date()
    gateways = [member for member in live_gateways() if member.admin_url and not member.excluded]
    for pair, clients in _clients_of_pairs(ask_all("/connected", "connected", gateways)).items():
        _keep(day, pair, Name.CLIENTS, clients)
    for row in Pair.objects.select_related("first", "second"):
        looked_at = [found for each in row.clusters if (found := looks.answers(each)) is not None]
        if looked_at:  # (of those that nobody has looked at, nothing is known: that is not 0)
            _keep(day, row.name, Name.CLUSTERS, sum(looked_at))
    _keep(day, "", Name.GATEWAYS, len(gateways))
    _keep(day, "", Name.WORKERS, sum(workers.is_there(worker, now) for worker in workers.known()))
    if facts_at is not None:
        _keep(day, "", Name.FACTS_AGE, int((now - facts_at).total_seconds() // 60))


def _clients_of_pairs(entries: Iterable[Any]) -> dict[str, int]:
    """Return the number of clients that are connected to a cluster of each pair.

    :param entries: the connected clients as Gateways report them.
    """
    found: dict[str, set[tuple[str, str]]] = defaultdict(set)
    pairs = list(Pair.objects.select_related("first", "second"))
    by_cluster = {cluster.name: pair.name for pair in pairs for cluster in pair.clusters}
    for appid, client_id, cluster, *_counts in entries:
        if cluster in by_cluster:
            found[by_cluster[cluster]].add((appid, client_id))
    return {pair.name: len(found[pair.name]) for pair in pairs}


def _keep(day: date, pair: str, name: DailyFigure.Name, value: int) -> None:
    _, made = DailyFigure.objects.get_or_create(day=day, pair=pair, name=name, defaults={"value": value})
    if not made:
        beyond = {"value__gt": value} if name in FEWEST else {"value__lt": value}
        DailyFigure.objects.filter(day=day, pair=pair, name=name, **beyond).update(value=value)


def trim() -> None:
    """Delete figures older than :setting:`DAILY_FIGURES_KEPT_DAYS`."""
    today = timezone.now().astimezone(UTC).date()
    DailyFigure.objects.filter(day__lt=today - timedelta(days=settings.DAILY_FIGURES_KEPT_DAYS)).delete()

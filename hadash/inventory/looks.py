"""How long a look at a server counts: what was found earlier is unknown by now."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.utils import timezone

from hadash.inventory.models import Cluster

#: Looks that may be missed before their result is unknown: a worker may be busy once, or start again.
LOOKS_MISSED = 4
#: The least seconds for which a look counts: the demo looks each second.
LEAST_SECONDS = 10.0


def seen_since(every: float) -> datetime:
    """Return the time since which a look counts. :param every: seconds between two looks."""
    return timezone.now() - timedelta(seconds=max(LEAST_SECONDS, LOOKS_MISSED * every))


def is_old(looked_at: datetime | None, every: float) -> bool:
    """Whether a look does not count any more. :param every: seconds between two looks."""
    return looked_at is None or looked_at < seen_since(every)


def answers(cluster: Cluster) -> bool | None:
    """Whether the cluster answered at the last look; ``None`` when nobody has looked lately."""
    if cluster.generated or is_old(cluster.looked_at, settings.CLUSTER_LOOK_SECONDS):
        return None
    return not cluster.fault

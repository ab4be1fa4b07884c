"""What is known of a source that cannot be asked: whether it is lost, what it held, and which clients used it."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from hadash.governance.client_risks import has_joined
from hadash.inventory.models import Access, Cluster, Pair
from hadash.kafka.cluster import ClusterClient
from hadash.kafka.errors import ClusterUnavailable, KafkaError, SignInRefused
from hadash.kafka.values import Partition
from hadash.mirroring.models import Mirror
from hadash.mirroring.positions import positions_of
from hadash.sentences import say
from hadash.switching.plan import Plan
from hadash.switching.stages.answers import LastKnown, UsersFound


def is_lost(client: ClusterClient, plan: Plan) -> bool:
    """Whether a cluster does not answer, or a partition that moves has no leader there.

    :raises KafkaError: it is not known: the cluster is there, but refuses hadash's account or its request, or does not
        tell of a Topic.
    """
    try:
        client.brokers()
        found = client.topics(plan.topics)
    except SignInRefused as error:
        raise KafkaError(
            say(
                "%(error)s So the cluster is there, and nobody knows whether it is lost. Mend hadash's account; if no "
                "client can sign in there either, stop its brokers.",
                error=error,
            )
        ) from None
    except ClusterUnavailable:
        return True
    if any(-1 in topic.leaders for topic in found.values()):
        return True
    if missing := sorted(set(plan.topics) - found.keys()):
        raise KafkaError(
            say(
                "%(cluster)s answers, but does not tell of %(topics)s: deleted, or hidden from hadash's account. So "
                "nobody knows whether it is lost.",
                cluster=client.name,
                topics=missing,
            )
        )
    return False


def known_ends(pair: Pair, source: Cluster, plan: Plan) -> LastKnown:
    """The last notes about the source (see :func:`hadash.mirroring.probe.look`,
    :mod:`hadash.mirroring.positions`).
    """
    now = timezone.now()
    topics = set(plan.topics)
    mirrors = list(Mirror.objects.filter(pair=pair, name__in=plan.mirrors, known_ends_at__isnull=False))
    ends = {Partition(t, p): end for m in mirrors for t, p, end in m.known_ends if t in topics}
    seen_at = min((m.known_ends_at for m in mirrors if m.known_ends_at is not None), default=None)
    positions, noted_at = positions_of(pair, source, plan.groups)
    return LastKnown(
        ends,
        (now - seen_at).total_seconds() if seen_at is not None else None,
        {
            group: {p: o for p, o in offsets.items() if p.topic in topics}
            for group, offsets in positions.items()
        },
        (now - noted_at).total_seconds() if noted_at is not None else None,
    )


def users(pair: Pair, source: Cluster, plan: Plan) -> UsersFound:
    """The clients that used what moves shortly before the source was last seen, and the groups that had members."""
    mirrors = Mirror.objects.filter(pair=pair, name__in=plan.mirrors, known_ends_at__isnull=False)
    last = (
        max((m.known_ends_at for m in mirrors if m.known_ends_at is not None), default=None) or timezone.now()
    )
    rows = Access.objects.filter(
        pair=pair,
        cluster=source.name,
        appid__in=plan.appids,
        last_seen__gte=last - timedelta(seconds=settings.SWITCH_USED_LATELY_SECONDS),
    )
    clients, groups = set(), set()
    for row in rows:
        if not plan.covers_use(row.appid, row.client_id, row.kind, row.resource):
            continue
        clients.add(plan.who(row.appid, row.client_id))
        if row.kind == Access.Kind.GROUP and row.resource in plan.groups and has_joined(row.details):
            groups.add(row.resource)
    return UsersFound(sorted(clients), sorted(groups))

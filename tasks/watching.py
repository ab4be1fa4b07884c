"""Periodic tasks that look at mirrors, clusters, Gateways and access."""

from __future__ import annotations

import logging

from celery import shared_task
from django.conf import settings
from django.utils import timezone
from kazoo.exceptions import KazooException

from hadash.audit import anchors
from hadash.bindings.errors import BindingError, StoreUnavailable
from hadash.governance import selectors
from hadash.governance.models.runs import Run
from hadash.inventory import access, cluster_states, daily, gateway_samples, installation, workers
from hadash.inventory import services as inventory
from hadash.inventory.gateways import zookeeper
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.errors import KafkaError
from hadash.lake.store import Store
from hadash.mirroring import positions, probe, samples
from hadash.pools import history
from hadash.switching.handovers import counting as handovers
from hadash.switching.planning import overlaps
from hadash.switching.recovery.old_journals import remove_old_departures, remove_old_journals
from tasks.single import single

log = logging.getLogger(__name__)

#: Seconds after which a look at a pair that no worker has begun is dropped: later ones are queued already.
LOOK_EXPIRES_SECONDS = 5.0


@shared_task(name="watching.look_at_mirrors", ignore_result=True)
def look_at_mirrors() -> None:
    """Queue a look for each pair, so that a lost cluster delays only its own pair."""
    for pk in _pairs_with_mirrors():
        look_at_mirrors_of.apply_async((pk,), expires=LOOK_EXPIRES_SECONDS)


@shared_task(name="watching.look_at_mirrors_of", ignore_result=True)
def look_at_mirrors_of(pair_pk: int) -> None:
    with single(f"look at mirrors of pair {pair_pk}") as won:
        if won:
            pair = Pair.objects.get(pk=pair_pk)
            probe.look_at_pair(pair, overlaps.mirrors_moving(pair.name))


def _pairs_with_mirrors() -> list[int]:
    real = Pair.objects.filter(mirrors__isnull=False, first__generated=False)
    return list(real.order_by("pk").distinct().values_list("pk", flat=True))


@shared_task(name="watching.look_at_clusters", ignore_result=True)
def look_at_clusters() -> None:
    with single("look at clusters") as won:
        if won:
            for cluster in Cluster.objects.filter(generated=False):
                try:
                    inventory.look_at_cluster(cluster)
                except Exception:  # one failure does not stop the others
                    log.exception("cluster %s could not be looked at", cluster)


@shared_task(name="watching.sample_gateways", ignore_result=True)
def sample_gateways() -> None:
    with single("sample gateways") as won:
        if won:
            try:
                gateway_samples.sample_gateways()
                installation.note_epoch(installation.claimed(zookeeper()))
                facts = selectors.published(Run.Job.FACTS)
                daily.note(facts.ended_at if facts is not None else None)
            except (BindingError, KazooException) as error:
                log.warning("ZooKeeper does not say which Gateways there are: %s", error)


@shared_task(name="watching.collect_access", ignore_result=True)
def collect_access() -> None:
    with single("collect access") as won:
        if won:
            access.collect()


@shared_task(name="watching.note_positions", ignore_result=True)
def note_positions() -> None:
    """Queue a task for each pair, as for mirrors."""
    for pk in _pairs_with_mirrors():
        note_positions_of.apply_async((pk,), expires=LOOK_EXPIRES_SECONDS)


@shared_task(name="watching.note_positions_of", ignore_result=True)
def note_positions_of(pair_pk: int) -> None:
    with single(f"note positions of pair {pair_pk}") as won:
        if won:
            pair = Pair.objects.select_related("first", "second").get(pk=pair_pk)
            try:
                positions.note_positions(pair)
            except KafkaError as error:
                log.warning("the positions of groups of pair %s are not noted: %s", pair, error)


@shared_task(name="watching.anchor_audit", ignore_result=True)
def anchor_audit() -> None:
    """Store the audit log's newest digest outside the database, if that is configured."""
    if settings.AUDIT_ANCHORS:
        made = anchors.drop_anchor(Store(settings.AUDIT_ANCHORS))
        if made is not None:
            log.info("the audit log is anchored at entry %d", made.number)


@shared_task(name="watching.trim", ignore_result=True)
def trim() -> None:
    _trim_tables()
    try:
        remove_old_journals()
        remove_old_departures()
    except StoreUnavailable as error:
        log.warning("what ended switches and Gateways have left in ZooKeeper is not removed: %s", error)


def _trim_tables() -> None:
    samples.trim(timezone.now())
    cluster_states.trim()
    gateway_samples.trim(timezone.now())
    daily.trim()
    workers.trim()
    positions.trim_positions()
    handovers.trim()
    history.trim()

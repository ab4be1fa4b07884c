"""Looking at mirrors, clusters and access, again and again."""

from __future__ import annotations

import logging

from celery import shared_task

from hadash.inventory import services as inventory
from hadash.inventory.models import Cluster, Pair
from hadash.kafka.errors import KafkaError
from hadash.mirroring import looking, positions
from hadash.mirroring.models import Mirror
from tasks.single import single

log = logging.getLogger(__name__)


@shared_task(name="watching.look_at_mirrors", ignore_result=True)
def look_at_mirrors() -> None:
    with single("look at mirrors") as won:
        if won:
            for mirror in Mirror.objects.select_related("source", "pair__first", "pair__second"):
                looking.look(mirror)


@shared_task(name="watching.look_at_clusters", ignore_result=True)
def look_at_clusters() -> None:
    with single("look at clusters") as won:
        if won:
            for cluster in Cluster.objects.all():
                inventory.look_at_cluster(cluster)


@shared_task(name="watching.collect_access", ignore_result=True)
def collect_access() -> None:
    with single("collect access") as won:
        if won:
            inventory.collect_access()


@shared_task(name="watching.note_positions", ignore_result=True)
def note_positions() -> None:
    with single("note positions") as won:
        for pair in Pair.objects.select_related("first", "second") if won else ():
            try:
                positions.note_positions(pair)
            except KafkaError as error:
                log.warning("the positions of groups of pair %s are not noted: %s", pair, error)


@shared_task(name="watching.trim", ignore_result=True)
def trim() -> None:
    looking.trim_samples()
    positions.trim_positions()

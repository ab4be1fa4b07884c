"""Looking at mirrors, clusters and access, again and again."""

from __future__ import annotations

from celery import shared_task

from hadash.inventory import services as inventory
from hadash.inventory.models import Cluster
from hadash.mirroring import services as mirroring
from hadash.mirroring.models import Mirror
from tasks.single import single


@shared_task(name="watching.look_at_mirrors", ignore_result=True)
def look_at_mirrors() -> None:
    with single("look at mirrors") as won:
        if won:
            for mirror in Mirror.objects.select_related("source", "pair__first", "pair__second"):
                mirroring.look(mirror)


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


@shared_task(name="watching.trim", ignore_result=True)
def trim() -> None:
    mirroring.trim_samples()

"""Tasks of switches: one for each stage, and periodic ones that take over switches whose worker was lost."""

from __future__ import annotations

import logging
import threading

from celery import shared_task
from celery.signals import worker_ready
from django.db.models import Q

from hadash.api import idempotency
from hadash.inventory.models import Cluster
from hadash.kafka.errors import KafkaError
from hadash.mirroring.models import Mirror
from hadash.mirroring.services import cluster_client
from hadash.switching.approvals.decisions import SWITCHES
from hadash.switching.batches import carrying
from hadash.switching.execution import executor, leases, stage_audit
from hadash.switching.handovers import picking_up
from hadash.switching.handovers.handing_over import hand_over, start_switch
from hadash.switching.models.handovers import Work
from hadash.switching.models.unreplicated import Unreplicated
from hadash.switching.recovery import strays, unreplicated
from tasks.single import single

log = logging.getLogger(__name__)


@shared_task(name="switching.run_stage", ignore_result=True)
def run_stage(switch_pk: int, token: int) -> None:
    """Run the switch's current stage, and hand over the next one as another task."""
    following = executor.run_stage(switch_pk, token)
    if following is not None:
        hand_over(Work.STAGE, switch_pk, following)
    else:
        carrying.switch_ended(switch_pk)


@shared_task(name="switching.pick_up_orphans", ignore_result=True)
def pick_up_orphans() -> None:
    """Take over running switches whose executor is gone."""
    for switch in leases.orphans():
        found = picking_up.why(switch)
        token = leases.claim(switch)
        if token is not None:
            log.info("switch %s is taken over with token %d: %s", switch.key, token, found.way.value)
            picking_up.note(switch, found)
            hand_over(Work.STAGE, switch.pk, token)


@shared_task(name="switching.look_for_strays", ignore_result=True)
def look_for_strays() -> None:
    """Raise an alarm when clients wait for a switch that no worker runs."""
    with single("look for strays") as won:
        if won:
            strays.look()


@shared_task(name="switching.start_due", ignore_result=True)
def start_due() -> None:
    """Start the approved switches whose window has come."""
    SWITCHES.begin_due(start_switch)


@shared_task(name="switching.expire_requests", ignore_result=True)
def expire_requests() -> None:
    SWITCHES.expire_undecided()
    SWITCHES.drop_paused()
    stage_audit.record_forgotten_stages()
    idempotency.forget_old_answers()


@shared_task(name="switching.look_for_unreplicated", ignore_result=True)
def look_for_unreplicated() -> None:
    """Ask lost sources for their unreplicated records, and continue rebuilding those whose worker was lost."""
    with single("look for unreplicated records") as won:
        if won:
            try:
                unreplicated.look_for_unreplicated()
            except Exception:  # rebuilding continues nevertheless
                log.exception("lost sources could not be asked for their unreplicated records")
    # (A claim of its own: to rebuild takes minutes, in which another lost source may come back, and take writes.)
    with single("rebuild lost sides") as won:
        if not won:
            return
        for missing in Unreplicated.objects.filter(status=Unreplicated.Status.REBUILDING):
            try:
                unreplicated.carry_out(missing)
            except Exception:  # one failure does not stop the others
                log.exception("%s could not be rebuilt; it is tried again", missing)


@worker_ready.connect
def warm_up(**kwargs: object) -> None:
    """Open the connections that a switch needs before clients wait for one, and look for orphans at once."""
    threading.Thread(target=_warm_up, name="warm-up", daemon=True).start()
    pick_up_orphans.delay()


def _warm_up() -> None:
    from django.db import connection

    try:
        for cluster in Cluster.objects.filter(generated=False):
            mirrors = Mirror.objects.filter(Q(pair__first=cluster) | Q(pair__second=cluster))
            topics = {topic for mirror in mirrors for topic in mirror.topics}
            try:
                cluster_client(cluster).warm_up(topics)
            except KafkaError as error:
                log.warning("%s", error)
    finally:
        connection.close()

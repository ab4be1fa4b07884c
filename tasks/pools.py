"""Tasks of pools of consumers: keep what the coordinator has done, and write changes whose process was lost."""

from __future__ import annotations

import logging

from celery import shared_task

from hadash.bindings.errors import StoreUnavailable
from hadash.inventory.gateways import zookeeper
from hadash.pools import applier, history, live
from hadash.pools.decisions import POOL_CHANGES
from tasks.single import single

log = logging.getLogger(__name__)


@shared_task(name="pools.look", ignore_result=True)
def look() -> None:
    with single("look at pools") as won:
        if won:
            applier.apply_waiting()
            try:
                history.note(live.ask_leader(zookeeper()).status)
            except StoreUnavailable as error:
                log.warning("what the coordinator has done is not known: %s", error)


@shared_task(name="pools.expire", ignore_result=True)
def expire_changes() -> None:
    POOL_CHANGES.expire_undecided()

"""The Celery application: ``celery -A tasks worker`` and ``celery -A tasks beat``."""

from __future__ import annotations

import os

from celery import Celery
from celery.signals import beat_init, worker_init

from tasks import observed  # noqa: F401 (its receivers)
from tasks.database import keep_connections
from tasks.outliving import outlive_redis

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hadash.settings")

outlive_redis()
#: Seconds between two deletions of old rows, which are kept for days.
TRIM_SECONDS = 3600.0

app = Celery("hadash")
# A task uses the current application of its thread. Threads without one use the default application, which
# Celery would create itself, without a broker, when a schedule is evaluated before this module is imported.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
keep_connections(app)
app.autodiscover_tasks(["tasks"], related_name="presence")
app.autodiscover_tasks(["tasks"], related_name="switching")
app.autodiscover_tasks(["tasks"], related_name="retirement")
app.autodiscover_tasks(["tasks"], related_name="watching")
app.autodiscover_tasks(["tasks"], related_name="binding")
app.autodiscover_tasks(["tasks"], related_name="batches")
app.autodiscover_tasks(["tasks"], related_name="pipeline")
app.autodiscover_tasks(["tasks"], related_name="notices")
app.autodiscover_tasks(["tasks"], related_name="outbox")
app.autodiscover_tasks(["tasks"], related_name="pools")
app.autodiscover_tasks(["tasks"], related_name="reports")
app.autodiscover_tasks(["tasks"], related_name="full_audits")


@worker_init.connect
@beat_init.connect
def check_settings(**kwargs: object) -> None:
    """Keep a worker or beat with wrong settings from starting."""
    from hadash.starting import check_settings

    check_settings(web=False)


@app.on_after_finalize.connect
def schedule(sender: Celery, **kwargs: object) -> None:
    """Set the periodic tasks of beat. A task that still runs is not started again: see ``tasks/single.py``."""
    from django.conf import settings

    from tasks import (
        batches,
        binding,
        full_audits,
        notices,
        outbox,
        pipeline,
        pools,
        reports,
        retirement,
        switching,
        watching,
    )

    every = sender.add_periodic_task
    every(2.0, switching.pick_up_orphans.s(), name="pick up orphaned switches", expires=2)
    every(settings.STRAY_LOOK_SECONDS, switching.look_for_strays.s(), name="look for strays", expires=30)
    every(2.0, switching.start_due.s(), name="start due switches", expires=2)
    every(
        settings.UNREPLICATED_LOOK_SECONDS,
        switching.look_for_unreplicated.s(),
        name="look for unreplicated records",
        expires=5,
    )
    every(settings.RETIREMENT_LOOK_SECONDS, retirement.look.s(), name="retire old Topics", expires=10)
    every(60.0, switching.expire_requests.s(), name="expire requests", expires=60)
    every(5.0, binding.pick_up_changes.s(), name="pick up changes of bindings", expires=5)
    every(60.0, binding.expire_changes.s(), name="expire changes of bindings", expires=60)
    advance = settings.BATCH_ADVANCE_SECONDS
    every(advance, batches.advance_all.s(), name="move batches on", expires=advance)
    every(60.0, batches.expire_requests.s(), name="expire batches", expires=60)
    every(settings.LAG_SAMPLE_SECONDS, watching.look_at_mirrors.s(), name="look at mirrors", expires=5)
    every(settings.POSITION_NOTE_SECONDS, watching.note_positions.s(), name="note positions", expires=5)
    every(settings.ACCESS_COLLECT_SECONDS, watching.collect_access.s(), name="collect access", expires=5)
    every(settings.CLUSTER_LOOK_SECONDS, watching.look_at_clusters.s(), name="look at clusters", expires=15)
    every(settings.GATEWAY_SAMPLE_SECONDS, watching.sample_gateways.s(), name="sample gateways", expires=15)
    pool = settings.POOL_LOOK_SECONDS
    full = settings.FULL_AUDIT_LOOK_SECONDS
    every(full, full_audits.look.s(), name="look for full audits", expires=full)
    every(TRIM_SECONDS, full_audits.trim.s(), name="trim full audits", expires=600)
    every(pool, pools.look.s(), name="look at pools", expires=pool)
    every(60.0, pools.expire_changes.s(), name="expire changes of pools", expires=60)
    every(settings.PIPELINE_LOOK_SECONDS, pipeline.look.s(), name="look at jobs", expires=5)
    look = settings.OUTBOX_LOOK_SECONDS
    every(look, outbox.send.s(), name="send mail", expires=look)
    every(look, outbox.post.s(), name="post notices", expires=look)
    back = settings.BOUNCE_LOOK_SECONDS
    every(back, outbox.note_bounces.s(), name="look at what came back", expires=back)
    tell, watch = settings.NOTICE_TELL_SECONDS, settings.NOTICE_WATCH_SECONDS
    every(tell, notices.tell.s(), name="tell notices", expires=tell)
    every(watch, notices.watch.s(), name="watch for notices", expires=watch)
    every(TRIM_SECONDS, outbox.trim.s(), name="trim the outbox", expires=TRIM_SECONDS)
    of_reports = settings.REPORT_LOOK_SECONDS
    every(of_reports, reports.look.s(), name="look at reports", expires=of_reports)
    anchor = settings.AUDIT_ANCHOR_SECONDS
    every(anchor, watching.anchor_audit.s(), name="anchor the audit log", expires=anchor)
    every(TRIM_SECONDS, watching.trim.s(), name="trim samples", expires=600)

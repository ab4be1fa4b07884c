"""The metrics of the whole installation, read from PostgreSQL, Redis and ZooKeeper when Prometheus asks a web process.

Every web process reports the same values: take ``max`` over them. Metrics that cannot be read are missing, and
``hadash_fleet_up`` is 0 for their server: an old value is never reported as a current one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Count, F, Max, Min, Q, Sum
from django.db.models.functions import Coalesce
from django.utils import timezone
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric

from hadash.audit.models import unanchored_since
from hadash.auditors.models import AuditedPartition
from hadash.governance.models.posture import Posture
from hadash.governance.models.runs import Run
from hadash.inventory import workers
from hadash.inventory.gateways import gateway_members
from hadash.inventory.models import Cluster, Pair
from hadash.mirroring.models import Mirror
from hadash.monitoring.probes import Probe, ask_all
from hadash.monitoring.servers import redis_client
from hadash.notices.models import Incident
from hadash.outbox.models import Delivery, Transport
from hadash.outbox.states import State
from hadash.pools.models import PoolChange
from hadash.switching.approvals.four_eyes import AWAITING
from hadash.switching.machines.switches import OPEN, Status
from hadash.switching.models.batches import Batch
from hadash.switching.models.binding_changes import BindingChange
from hadash.switching.models.switches import Switch
from hadash.switching.policy import rpos
from hadash.switching.recovery import strays

log = logging.getLogger(__name__)

#: The Redis hash in which kombu keeps the tasks that workers have taken and not acknowledged yet.
_UNACKNOWLEDGED = "unacked"

Families = Iterable[Metric]


def queues() -> tuple[str, ...]:
    """Celery's queues: the general one, the outbox, and the pipeline where there is a lake."""
    return ("celery", "outbox", *(("pipeline",) if settings.LAKE else ()))


def _gauge(name: str, what: str, rows: Iterable[tuple[Any, ...]], *labels: str) -> Metric:
    """Return a gauge.

    :param rows: the labels' values, then the gauge's value; rows whose value is ``None`` are left out.
    """
    found = GaugeMetricFamily(name, what, labels=labels)
    for *values, value in rows:
        if value is not None:
            found.add_metric([str(each) for each in values], float(value))
    return found


def _switches() -> Families:
    counted = dict.fromkeys(((pair, status.value) for pair in _pairs() for status in OPEN), 0)
    rows = Switch.objects.filter(status__in=[status.value for status in OPEN]).order_by()
    for pair, status, count in rows.values_list("pair__name", "status").annotate(Count("pk")):
        counted[pair, status] = count
    yield _gauge(
        "hadash_switches", "Switches that have not ended, by where they are.",
        ((*key, count) for key, count in counted.items()), "pair", "status",
    )  # fmt: skip
    now = timezone.now()
    # (A switch that was paused has been running since it was resumed.)
    since: dict[Status, Any] = {
        Status.RUNNING: Coalesce("resumed_at", "started_at"),
        Status.PAUSED: "paused_at",
        Status.NEEDS_ATTENTION: "ended_at",
    }
    oldest = [
        (status.value, Switch.objects.filter(status=status.value).aggregate(at=Min(field))["at"])
        for status, field in since.items()
    ]
    yield _gauge(
        "hadash_switch_oldest_seconds", "Since the oldest switch there is so.",
        ((status, (now - at).total_seconds() if at else 0) for status, at in oldest), "status",
    )  # fmt: skip


#: The models of requests that other people approve, by the value of the label ``what``.
_ASKED: dict[str, Any] = {
    "switch": Switch,
    "batch": Batch,
    "binding change": BindingChange,
    "pool change": PoolChange,
}


def _approvals() -> Families:
    now = timezone.now()
    found = {
        what: model.objects.filter(status=AWAITING).aggregate(
            count=Count("pk"), oldest=Min("requested_at"), expires=Min("expires_at")
        )
        for what, model in _ASKED.items()
    }
    yield _gauge(
        "hadash_approvals_waiting", "Requests that wait for a person.",
        ((what, row["count"]) for what, row in found.items()), "what",
    )  # fmt: skip
    yield _gauge(
        "hadash_approvals_oldest_seconds", "For how long the oldest of them has waited.",
        ((what, (now - row["oldest"]).total_seconds()) for what, row in found.items() if row["oldest"]), "what",
    )  # fmt: skip
    yield _gauge(
        "hadash_approvals_expire_seconds", "Until the first of them expires.",
        ((what, (row["expires"] - now).total_seconds()) for what, row in found.items() if row["expires"]), "what",
    )  # fmt: skip


def _mirrors() -> Families:
    now = timezone.now()
    rows = list(
        Mirror.objects.filter(pair__first__generated=False)
        .order_by("pk")
        .values_list("pair__name", "name", "source__name", "state", "lag_records", "lag_seconds", "looked_at")
    )
    labels = ("pair", "mirror", "source")
    yield _gauge(
        "hadash_mirror_running",
        "1 while the mirror copies (or is turned round by a switch).",
        (
            (pair, name, source, state in (Mirror.State.RUNNING, Mirror.State.TURNING))
            for pair, name, source, state, *_ in rows
        ),
        *labels,
    )
    yield _gauge(
        "hadash_mirror_lag_records", "Records of the source that the mirror does not hold; missing when not known.",
        ((pair, name, source, records) for pair, name, source, _, records, _, _ in rows), *labels,
    )  # fmt: skip
    yield _gauge(
        "hadash_mirror_lag_seconds", "How late the mirror is; missing when not known.",
        ((pair, name, source, seconds) for pair, name, source, _, _, seconds, _ in rows), *labels,
    )  # fmt: skip
    yield _gauge(
        "hadash_mirror_look_age_seconds",
        "Since the mirror was looked at.",
        (
            (pair, name, source, (now - at).total_seconds() if at else None)
            for pair, name, source, *_, at in rows
        ),
        *labels,
    )
    pairs = list(Pair.objects.filter(first__generated=False))
    limits = rpos(pairs)
    yield _gauge(
        "hadash_rpo_seconds",
        "By how much a mirror of the pair may be late.",
        ((pair.name, limits[pair.pk]) for pair in pairs),
        "pair",
    )


def _audits() -> Families:
    now = timezone.now()
    known = {
        row["pair__name"]: row
        for row in AuditedPartition.objects.values("pair__name").annotate(
            found=Sum(F("different") - F("accepted")),
            oldest=Min("compared_at"),
            never=Count("pk", filter=Q(compared_at=None)),
        )
    }
    pairs = Pair.objects.filter(first__generated=False).order_by("name").values_list("name", flat=True)
    nothing: dict[str, Any] = {"found": 0, "oldest": None, "never": 0}
    rows = [(name, known.get(name, nothing)) for name in pairs]
    yield _gauge(
        "hadash_audit_differences",
        "Differences between both sides of a pair's mirrors that auditors found, and nobody accepted.",
        ((name, row["found"]) for name, row in rows), "pair",
    )  # fmt: skip
    yield _gauge(
        "hadash_audit_never_compared", "Partitions of a pair's mirrors of which not all was ever compared.",
        ((name, row["never"]) for name, row in rows), "pair",
    )  # fmt: skip
    yield _gauge(
        "hadash_audit_age_seconds",
        "Since auditors had compared all that both sides of a partition held: the longest of a pair.",
        ((name, (now - row["oldest"]).total_seconds() if row["oldest"] else None) for name, row in rows), "pair",
    )  # fmt: skip


def _clusters() -> Families:
    now = timezone.now()
    rows = list(Cluster.objects.filter(generated=False).values_list("name", "fault", "looked_at"))
    yield _gauge(
        "hadash_cluster_up", "1 if the cluster answered when it was looked at last.",
        ((name, not fault and at is not None) for name, fault, at in rows), "cluster",
    )  # fmt: skip
    yield _gauge(
        "hadash_cluster_look_age_seconds", "Since the cluster was looked at.",
        ((name, (now - at).total_seconds() if at else None) for name, _, at in rows), "cluster",
    )  # fmt: skip


def _governance() -> Families:
    days = Posture.objects.filter(pair__in=_pairs()).order_by("pair", "-day").distinct("pair")
    newest = {row.pair: row for row in days}
    yield _gauge(
        "hadash_findings",
        "Open risks, by severity, as the last run has found them.",
        (
            (pair, severity, getattr(row, severity))
            for pair, row in newest.items()
            for severity in ("high", "medium", "low")
        ),
        "pair",
        "severity",
    )
    yield _gauge(
        "hadash_appids",
        "AppIDs that were seen.",
        ((pair, row.appids) for pair, row in newest.items()),
        "pair",
    )
    yield _gauge(
        "hadash_appids_mirrored", "AppIDs all of whose Topics are mirrored.",
        ((pair, row.mirrored_appids) for pair, row in newest.items()), "pair",
    )  # fmt: skip
    yield _gauge(
        "hadash_clients",
        "Clients (client.ids) that were seen.",
        ((pair, row.clients) for pair, row in newest.items()),
        "pair",
    )
    yield _gauge(
        "hadash_clients_registered", "Clients whose InstanceID is registered.",
        ((pair, row.registered) for pair, row in newest.items()), "pair",
    )  # fmt: skip


def _pipeline() -> Families:
    now = timezone.now()
    ended = (
        Run.objects.order_by()
        .values("job")
        .annotate(
            published=Max("ended_at", filter=Q(state=Run.State.PUBLISHED)),
            failed=Max("ended_at", filter=Q(state=Run.State.FAILED)),
        )
    )
    rows = [(row["job"], row["published"], row["failed"]) for row in ended]
    yield _gauge(
        "hadash_pipeline_published_age_seconds", "Since the job published what it found.",
        ((job, (now - at).total_seconds() if at else None) for job, at, _ in rows), "pipeline_job",
    )  # fmt: skip
    yield _gauge(
        "hadash_pipeline_failed",
        "1 if the last run of the job that has ended has failed.",
        (
            (job, failed is not None and (published is None or failed > published))
            for job, published, failed in rows
        ),
        "pipeline_job",
    )
    waiting = Run.objects.filter(state=Run.State.WAITING).aggregate(at=Min("due_at"))["at"]
    yield _gauge(
        "hadash_pipeline_waiting_seconds", "For how long the job that waits longest should have begun.",
        [(max(0.0, (now - waiting).total_seconds()) if waiting else 0,)],
    )  # fmt: skip


def _outbox() -> Families:
    now = timezone.now()
    unsettled = [State.QUEUED, State.SENDING, State.HANDED_OVER, State.DEFERRED]
    rows = Delivery.objects.filter(state__in=unsettled).order_by()
    counted = rows.values_list("transport", "state").annotate(Count("pk"))
    yield _gauge(
        "hadash_outbox_deliveries", "Messages that have not arrived yet.", counted, "transport", "state"
    )
    # Only messages that were never tried are late: one mailbox that is full for a day is no outage. Where no mail
    # server is configured, mail is not late either: nothing sends it.
    sent_by_us = rows if settings.SMTP_HOST else rows.exclude(transport=Transport.MAIL)
    oldest = sent_by_us.filter(wanted_at__lte=now, tries=0).aggregate(at=Min("wanted_at"))["at"]
    yield _gauge(
        "hadash_outbox_late_seconds", "For how long the message that waits longest should have been sent.",
        [((now - oldest).total_seconds() if oldest else 0,)],
    )  # fmt: skip
    settled = Delivery.objects.filter(settled_at__gte=now - timedelta(hours=1)).order_by()
    counted = settled.values_list("transport", "state").annotate(Count("pk"))
    yield _gauge(
        "hadash_outbox_settled_last_hour",
        "Messages of the last hour, by what became of them.",
        counted,
        "transport",
        "state",
    )
    yield _gauge(
        "hadash_incidents",
        "What is not as it should be and was told, such as mirrors that are late.",
        [(Incident.objects.filter(is_told=True).count(),)],
    )


def _workers() -> Families:
    now = timezone.now()
    alive = dict.fromkeys(queues(), 0)
    for worker in workers.known():
        if workers.is_there(worker, now):
            for queue in worker.queues:
                alive[queue] = alive.get(queue, 0) + 1
    yield _gauge(
        "hadash_workers", "Workers that say they are there, by the queue they serve.", alive.items(), "queue"
    )


def _audit() -> Families:
    if settings.AUDIT_ANCHORS:
        since = unanchored_since()
        yield _gauge(
            "hadash_audit_unanchored_seconds", "For how long the audit log has had entries without an anchor outside.",
            [(max(0.0, (timezone.now() - since).total_seconds()) if since else 0,)],
        )  # fmt: skip


def _celery() -> Families:
    client = redis_client()
    yield _gauge(
        "hadash_queue_length",
        "Tasks that wait for a worker.",
        [(name, client.llen(name)) for name in queues()],
        "queue",
    )
    yield _gauge(
        "hadash_tasks_unacknowledged",
        "Tasks that workers have taken and not ended yet.",
        [(client.hlen(_UNACKNOWLEDGED),)],
    )


def _gateways() -> Families:
    found = gateway_members()
    counted = {
        "live": sum(each.live for each in found),
        "away": sum(not each.live and not each.excluded for each in found),
        "excluded": sum(each.excluded for each in found),
    }
    yield _gauge("hadash_gateways", "Gateways, as ZooKeeper knows them.", counted.items(), "state")


def _strays() -> Families:
    try:
        found = strays.find()
    except DatabaseError:
        return  # (missing: that PostgreSQL is away is told of its own figures)
    moved = sum(stray.moved for stray in found)
    yield _gauge(
        "hadash_stray_bindings", "Bindings of switches that PostgreSQL does not know or run.",
        [("waiting", len(found) - moved), ("moved", moved)], "state",
    )  # fmt: skip


def _pairs() -> list[str]:
    return list(Pair.objects.filter(first__generated=False).values_list("name", flat=True))


#: The functions that read the metrics, by the server they are read from.
SOURCES: dict[str, Callable[[], Iterator[Metric]]] = {}


def _source(name: str, *parts: Callable[[], Families]) -> None:
    def read() -> Iterator[Metric]:
        for part in parts:
            yield from part()

    SOURCES[name] = read


_source(
    "postgresql", _switches, _approvals, _mirrors, _audits, _clusters, _governance, _pipeline, _outbox, _workers, _audit
)  # fmt: skip
_source("redis", _celery)
_source("zookeeper", _gateways, _strays)


class _Held:
    """A collector for a registry, of families that were read already."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> Iterable[Metric]:
        return self._families


def _reading(name: str) -> Callable[[], str]:
    """Return a probe's question: it reads the families of a source as text."""

    def read() -> str:
        try:
            registry = CollectorRegistry(auto_describe=False)
            registry.register(_Held(SOURCES[name]()))
            return generate_latest(registry).decode()
        except (
            Exception
        ) as error:  # one log line, no traceback: Prometheus asks every few seconds while the server is away
            log.warning("the figures from %s could not be read: %r", name, error)
            raise
        finally:
            connection.close()

    return read


_PROBES = tuple(Probe(name, _reading(name), is_needed=False) for name in SOURCES)


def of_fleet() -> bytes:
    """Return the installation's metrics in Prometheus' text format, after ``METRICS_SECONDS`` at the latest.

    The metrics of a server that has not answered by then are missing.
    """
    answers = ask_all(_PROBES, settings.METRICS_SECONDS)
    up = [(answer.name, answer.holds is True) for answer in answers]
    registry = CollectorRegistry(auto_describe=False)
    families = [
        _gauge("hadash_fleet_up", "1 if the figures that are read from this server are here.", up, "server"),
        _gauge(
            "hadash_fleet_read_seconds",
            "How long that took.",
            ((a.name, a.seconds) for a in answers),
            "server",
        ),
    ]
    registry.register(_Held(families))
    texts = [answer.says for answer in answers if answer.holds]
    return generate_latest(registry) + "".join(texts).encode()

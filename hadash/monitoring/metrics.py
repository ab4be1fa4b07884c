"""The metrics that a process counts of its own work. All others are read when Prometheus asks
(:mod:`hadash.monitoring.fleet`).

Each web process, worker and beat has its own values: Prometheus adds them up.
"""

from __future__ import annotations

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)

from hadash import VERSION

#: Seconds of requests: from one for a small part of a page to one that asks slow clusters.
REQUEST_BOUNDS = (0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
#: Seconds of tasks: a periodic one takes hundredths, a stage minutes at most, a job of the pipeline up to hours.
TASK_BOUNDS = (0.01, 0.05, 0.2, 1.0, 5.0, 20.0, 60.0, 300.0, 1800.0, 7200.0)
#: Seconds of a stage: while clients wait every tenth counts; they wait 25 s at most.
STAGE_BOUNDS = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 60.0, 300.0)
#: Seconds from a request to its decision: minutes if an approver is at work, days over a weekend.
WAIT_BOUNDS = (60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 24 * 3600.0, 3 * 24 * 3600.0)

REGISTRY = CollectorRegistry()
ProcessCollector(registry=REGISTRY)
PlatformCollector(registry=REGISTRY)
GCCollector(registry=REGISTRY)

_build = Gauge("hadash_build_info", "1; the version of hadash as a label.", ["version"], registry=REGISTRY)
_build.labels(VERSION).set(1)

#: A stuck process still answers, so its ``up`` is 1 and it is counted among the workers, although it does nothing.
STUCK = Gauge(
    "hadash_process_stuck",
    "1 when a worker or beat begins nothing although there is something to do: start it again.",
    registry=REGISTRY,
)

REQUESTS = Counter(
    "hadash_http_requests", "Requests that were answered.", ["method", "view", "status"], registry=REGISTRY
)
REQUEST_SECONDS = Histogram(
    "hadash_http_request_seconds",
    "Time until the answer began.",
    ["method", "view"],
    buckets=REQUEST_BOUNDS,
    registry=REGISTRY,
)
TASKS = Counter("hadash_tasks", "Tasks that have ended here.", ["task", "state"], registry=REGISTRY)
TASK_SECONDS = Histogram(
    "hadash_task_seconds", "Time that tasks took.", ["task"], buckets=TASK_BOUNDS, registry=REGISTRY
)
TASKS_RUNNING = Gauge("hadash_tasks_running", "Tasks that are carried out here now.", registry=REGISTRY)
PUBLISHED = Counter(
    "hadash_tasks_published", "Tasks that this process has handed to Redis.", ["task"], registry=REGISTRY
)
STAGE_SECONDS = Histogram(
    "hadash_switch_stage_seconds",
    "Time that stages of switches took, by how they ended.",
    ["stage", "kind", "result"],
    buckets=STAGE_BOUNDS,
    registry=REGISTRY,
)
SWITCHES_ENDED = Counter(
    "hadash_switches_ended",
    "Switches that came to an end here, or to where a person is needed.",
    ["kind", "status"],
    registry=REGISTRY,
)
APPROVAL_SECONDS = Histogram(
    "hadash_approval_seconds",
    "Time from a request to what was decided about it.",
    ["what"],
    buckets=WAIT_BOUNDS,
    registry=REGISTRY,
)


def of_process() -> bytes:
    """Return this process' metrics in Prometheus' text format."""
    return bytes(generate_latest(REGISTRY))

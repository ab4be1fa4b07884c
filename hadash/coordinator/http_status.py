"""What a coordinator says of itself over HTTP: the pools that it decides for, to those who show their token; metrics
to everybody who can reach it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hadash.coordinator.pool_coordinator import PoolCoordinator, TopicStatus
from hadash.coordinator.process import Coordinator
from hadash.coordinator.states import State


def status(coordinator: Coordinator, name: str) -> dict[str, Any]:
    """All that a coordinator knows, as JSON. While another one decides, ``pools`` is empty."""
    return {
        "name": name,
        "decides": coordinator.fence is not None,
        "epoch": coordinator.fence.epoch if coordinator.fence is not None else None,
        "away": coordinator.away.to_json(),
        "errors": {pool: error.to_json() for pool, error in list(coordinator.errors.items())},
        "pools": {pool: _pool(found) for pool, found in list(coordinator.pools.items())},
        "time": time.time(),
    }


def _pool(pool: PoolCoordinator) -> dict[str, Any]:
    return {
        "discovery_error": pool.discovery_error.to_json(),
        "members": {
            member: _member(pool, member, url) for member, url in sorted((pool.listed or {}).items())
        },
        "topics": {topic: _topic(found) for topic, found in sorted(pool.topics.items())},
        "history": [
            {
                "at": taken.at,
                "topic": taken.topic,
                "event": taken.event,
                "state": taken.state,
                "moved": taken.moved,
            }
            for taken in list(pool.history)
        ],
    }


def _member(pool: PoolCoordinator, member: str, url: str) -> dict[str, Any]:
    said = pool.asking.answers.get(member)
    return {
        "url": url,
        "isolated": pool.view is not None and member in pool.view.isolated,
        "answered_seconds_ago": round(time.monotonic() - said.at, 1) if said is not None else None,
        "error": pool.asking.errors.get(member, ""),
        "reads": (
            {topic: sorted(report.running) for topic, report in sorted(said.topics.items())}
            if said is not None
            else None
        ),
        "bytes_per_second": sum(said.rates.values()) if said is not None else None,
        "lag": sum(said.lags.values()) if said is not None else None,
        "errors": dict(said.errors) if said is not None else {},
    }


def _topic(found: TopicStatus) -> dict[str, Any]:
    return {
        "state": found.state,
        "unstable_since": found.unstable_since,
        "overdue": found.is_overdue,
        "why": found.why.to_json(),
        "waiting_for": {member: sorted(own) for member, own in found.waiting_for.items()},
        "error": found.error.to_json(),
        "count_error": found.count_error.to_json(),
        "shadow": (
            {
                "moves": found.shadow.moves,
                "spread_now": found.shadow.spread_now,
                "spread_then": found.shadow.spread_then,
            }
            if found.shadow is not None
            else None
        ),
    }


class Figures(Collector):
    """What Prometheus reads."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._coordinator = coordinator

    def collect(self) -> Iterator[Metric]:
        coordinator = self._coordinator
        yield GaugeMetricFamily(
            "hadash_coordinator_decides",
            "1 while this coordinator decides, 0 while another does or ZooKeeper does not answer.",
            value=float(coordinator.fence is not None),
        )
        unstable = GaugeMetricFamily(
            "hadash_coordinator_unstable_seconds",
            "How long the assignment of a Topic has not been Stable; 0 when it is.",
            labels=["pool", "topic"],
        )
        states = GaugeMetricFamily(
            "hadash_coordinator_state",
            "1 for the state in which the assignment of a Topic is.",
            labels=["pool", "topic", "state"],
        )
        members = GaugeMetricFamily(
            "hadash_coordinator_members",
            "Members of a pool by how they are: listed, answering or isolated.",
            labels=["pool", "kind"],
        )
        errors = GaugeMetricFamily(
            "hadash_coordinator_errors",
            "Topics of a pool for which nothing can be decided, and 1 more when that is so for the whole pool.",
            labels=["pool"],
        )
        now = time.time()
        for name, pool in list(coordinator.pools.items()):
            for topic, found in list(pool.topics.items()):
                since = found.unstable_since
                unstable.add_metric([name, topic], max(0.0, now - since) if since is not None else 0.0)
                for state in State:
                    states.add_metric([name, topic, state], float(found.state is state))
            members.add_metric([name, "listed"], len(pool.listed or {}))
            members.add_metric([name, "answering"], len(pool.asking.answers) - len(pool.asking.errors))
            members.add_metric([name, "isolated"], len(pool.view.isolated) if pool.view is not None else 0)
            of_topics = sum(bool(found.error) for found in list(pool.topics.values()))
            errors.add_metric([name], of_topics + (name in coordinator.errors))
        yield from (unstable, states, members, errors)


def metrics(coordinator: Coordinator) -> Route:
    """The page ``/metrics``."""
    registry = CollectorRegistry()
    registry.register(Figures(coordinator))

    async def answer(request: Request) -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return Route("/metrics", answer)

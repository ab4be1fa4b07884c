"""The probes of PostgreSQL and its schema, Redis, ZooKeeper and the Kafka clusters."""

from __future__ import annotations

from datetime import timedelta
from functools import cache

import psycopg
import redis
from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from hadash.bindings.errors import ForeignStore
from hadash.inventory import gateways, installation
from hadash.inventory.models import Cluster
from hadash.monitoring.probes import NotFine, Probe


def _postgresql() -> str:
    """Check PostgreSQL and its migrations over a separate connection: the whole pool may be busy, which is no
    reason to take the process out of service.
    """
    options = dict(connection.get_connection_params())
    for name in ("cursor_factory", "context", "prepare_threshold"):
        options.pop(name, None)
    # A connection that hangs must end by itself, whether the server no longer answers or packets are lost.
    options |= {
        "connect_timeout": 5,
        "tcp_user_timeout": 5000,
        "keepalives_idle": 5,
        "keepalives_interval": 2,
        "keepalives_count": 2,
    }
    options["options"] = f"{options.get('options') or ''} -c statement_timeout=5000".strip()
    with psycopg.connect(**options, autocommit=True) as own:
        names = own.execute("SELECT app || '.' || name FROM django_migrations").fetchall()
    missing = _migrations() - {name for (name,) in names}
    if missing:
        raise NotFine(
            f"{len(missing)} migrations are missing, such as {min(missing)}: run hadash-manage migrate."
        )
    return "answers; every migration is there"


@cache
def _migrations() -> frozenset[str]:
    """Return this version's migrations, as ``app.name``."""
    loader = MigrationLoader(None)
    return frozenset(f"{app}.{name}" for app, name in loader.disk_migrations)


@cache
def _redis_client() -> redis.Redis:
    seconds = settings.HEALTH_SECONDS
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=seconds, socket_connect_timeout=seconds)


def redis_client() -> redis.Redis:
    """Return a client with timeouts of ``HEALTH_SECONDS``; it connects with its first command."""
    return _redis_client()


def _redis() -> str:
    redis_client().ping()
    return "answers"


def _zookeeper() -> str:
    return f"answers; its last epoch is {installation.epoch_of(gateways.zookeeper())}"


def _bindings() -> str:
    try:
        installation.check_not_forgotten(gateways.zookeeper())
    except ForeignStore as error:
        raise NotFine(str(error)) from None
    finally:
        connection.close()
    return "ZooKeeper has all changes that were seen"


def _kafka() -> str:
    """Check what the workers' last look at each cluster has found: a health page asks no cluster itself."""
    try:
        known = list(Cluster.objects.filter(generated=False).values_list("name", "fault", "looked_at"))
    finally:
        connection.close()
    if not known:
        return "no cluster is registered"
    oldest = timezone.now() - timedelta(seconds=3 * settings.CLUSTER_LOOK_SECONDS + settings.HEALTH_SECONDS)
    faults = [f"{name} does not answer" for name, fault, at in known if fault]
    faults += [
        f"{name} was not looked at lately"
        for name, fault, at in known
        if not fault and (at is None or at < oldest)
    ]
    if faults:
        raise NotFine("; ".join(faults))
    return f"{', '.join(name for name, *_ in known)} answered when they were looked at last"


def postgresql(*, is_needed: bool) -> Probe:
    """Whether PostgreSQL answers and has every migration of this version."""
    return Probe("postgresql", _postgresql, is_needed=is_needed)


def redis_server(*, is_needed: bool) -> Probe:
    """Whether Redis answers."""
    return Probe("redis", _redis, is_needed=is_needed)


def zookeeper(*, is_needed: bool) -> Probe:
    """Whether ZooKeeper answers."""
    return Probe("zookeeper", _zookeeper, is_needed=is_needed)


def bindings() -> Probe:
    """Whether ZooKeeper has lost changes that were seen. Never needed: pages show it, and writes are refused."""
    return Probe("bindings", _bindings, is_needed=False)


def kafka() -> Probe:
    """Whether all clusters answered lately. Never needed: people open hadash because a cluster is away."""
    return Probe("kafka", _kafka, is_needed=False)

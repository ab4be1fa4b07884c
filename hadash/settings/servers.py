"""The servers that hadash's processes share: PostgreSQL, Redis, ZooKeeper, Connect; and Celery."""

from __future__ import annotations

import os

import dj_database_url

from hadash.postgresql import ending_in_silence
from hadash.settings.environment import number, secret

#: The address of PostgreSQL, postgresql://user:password@host:port/name, and the seconds for which a thread keeps a
#: connection: opening one takes some milliseconds of each request.
DATABASES = {
    "default": dj_database_url.parse(
        secret("DATABASE_URL") or "postgresql://hadash@127.0.0.1:5432/hadash",
        conn_max_age=int(number("HADASH_DATABASE_CONNECTION_SECONDS", 60)),
        conn_health_checks=True,
    )
}
#: Seconds of silence after which both sides close a connection to the database. A machine that loses its power
#: does not close its connections: PostgreSQL would keep its worker's locks for two hours (Linux' default), and
#: no other worker could look after its switches.
DATABASE_SILENT_SECONDS = number("HADASH_DATABASE_SILENT_SECONDS", 20)
DATABASES["default"]["OPTIONS"] = ending_in_silence(
    DATABASES["default"].get("OPTIONS", {}), DATABASE_SILENT_SECONDS
)
#: Connections to the database that the requests of a web process share, and seconds for which a request waits
#: for one; 0: each thread keeps its own, as workers do. A web process has 30 unless this is set. (It serves each
#: request in a thread of its own: each would open a connection, and 200 people who open a page at once would open 200.
#: PostgreSQL's default max_connections is 100.)
DATABASE_POOL = int(number("HADASH_DATABASE_POOL", 0))
DATABASE_POOL_SECONDS = number("HADASH_DATABASE_POOL_SECONDS", 20)
if DATABASE_POOL:
    DATABASES["default"]["CONN_MAX_AGE"] = 0
    DATABASES["default"].setdefault("OPTIONS", {})["pool"] = {
        "min_size": 2,
        "max_size": DATABASE_POOL,
        "timeout": DATABASE_POOL_SECONDS,
    }

#: The addresses of the servers that hadash's processes share: Redis (redis://… or rediss://…), ZooKeeper (host:port,
#: separated by commas), and the Connect of pairs that name none of their own.
REDIS_URL = secret("REDIS_URL") or "redis://127.0.0.1:6379/0"
ZOOKEEPER_HOSTS = os.environ.get("ZOOKEEPER_HOSTS", "127.0.0.1:2181")
CONNECT_URL = os.environ.get("CONNECT_URL", "http://127.0.0.1:8083")

CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
#: A task is acknowledged when it has ended, so that the task of a killed worker is not lost. Stages are idempotent.
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
#: Celery's default is a pool of processes (prefork): each would keep connections to every cluster and to ZooKeeper,
#: and its counters would be missing in the worker's metrics. With this setting Celery takes ``--pool prefork`` for
#: threads, too.
CELERY_WORKER_POOL = "threads"
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
#: Redis delivers a stage that takes longer than this again; the second delivery has a used token and stops.
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 3600}
CELERY_TIMEZONE = "UTC"
#: Jobs of the pipeline have a worker of their own, so that switches do not wait for them.
CELERY_TASK_ROUTES = {
    "pipeline.run": {"queue": "pipeline"},
    "full_audits.carry_out": {"queue": "pipeline"},
    "outbox.send": {"queue": "outbox"},
    "outbox.post": {"queue": "outbox"},
    "outbox.trim": {"queue": "outbox"},
    "outbox.bounces": {"queue": "outbox"},
    "reports.look": {"queue": "outbox"},
    "notices.watch": {"queue": "outbox"},
    "notices.tell": {"queue": "outbox"},
}
CELERY_WORKER_HIJACK_ROOT_LOGGER = False

"""Which process runs a switch: the holder of the newest token, for as long as it gives signs of life."""

from __future__ import annotations

import logging
import os
import socket
import threading
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import close_old_connections, connection
from django.db.models import F, Q
from django.db.models.functions import Now

from hadash.inventory.dialects import dialect_of
from hadash.switching.machines.switches import Status
from hadash.switching.models.switches import Switch

log = logging.getLogger(__name__)

#: Seconds between two signs of life of an executor.
RENEW_SECONDS = 1.0


def executor_name() -> str:
    """This process's name for the lease; another process on the same host can check whether it still lives."""
    return f"{socket.gethostname()}:{os.getpid()}"


def is_dead(executor: str) -> bool:
    """Whether ``executor`` is a process of this host that is gone."""
    host, _, pid = executor.rpartition(":")
    if host != socket.gethostname() or not pid.isdigit():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False


def _lease() -> Any:
    """The time until which an executor counts as alive, by the database's clock, which all workers share. With its own
    clock, a worker that is an hour fast would leave a lease that nobody takes over while clients wait.
    """
    return Now() + timedelta(seconds=settings.SWITCH_LEASE_SECONDS)


def orphans() -> list[Switch]:
    """Running switches whose executor has given no sign of life, or is a dead process of this host."""
    running = Switch.objects.filter(status=Status.RUNNING.value)
    silent = running.filter(Q(lease_until=None) | Q(lease_until__lt=Now()))
    keys = set(silent.values_list("pk", flat=True))
    return [switch for switch in running if switch.pk in keys or is_dead(switch.executor)]


def claim(switch: Switch) -> int | None:
    """Take an orphan from its executor. Return the token to run it with, or ``None`` if another worker was faster.

    Until a worker takes it, it has no executor.
    """
    return take(switch, switch.token, executor="")


def release(switch: Switch) -> None:
    """Release a switch that cannot continue while a server does not answer: it is retried when the lease has ended."""
    Switch.objects.filter(pk=switch.pk, token=switch.token).update(released=True)


def newest_in_zookeeper(switch: Switch) -> int:
    """The newest token that has written for ``switch``. A PostgreSQL that has lost tokens would issue smaller ones."""
    journal = dialect_of(switch.pair).journal(switch.key)
    return 0 if journal is None else journal.token


def take(switch: Switch, token: int, newest: int = 0, executor: str | None = None) -> int | None:
    """Become the only executor of ``switch``. Return the new token, or ``None`` if ``token`` is used up.

    :param newest: see :func:`newest_in_zookeeper`; the new token is larger.
    :param executor: its name; ``None`` for this process.
    """
    own = max(token, newest) + 1
    name = executor_name() if executor is None else executor
    won = Switch.objects.filter(pk=switch.pk, token=token, status=Status.RUNNING.value).update(
        token=own, executor=name, lease_until=_lease(), released=False
    )
    if won:
        switch.refresh_from_db()
    return own if won else None


def claim_first(switch: Switch) -> int:
    """Take and return the token with which a switch that has just begun, or is run again, is handed over."""
    Switch.objects.filter(pk=switch.pk).update(
        token=F("token") + 1, lease_until=_lease(), executor="", released=False
    )
    switch.refresh_from_db(fields=["token"])
    return switch.token


class Renewal:
    """Renews the lease while a stage runs, in a thread of its own because a stage may wait in one long call."""

    def __init__(self, switch: Switch, token: int) -> None:
        self._query = Switch.objects.filter(pk=switch.pk, token=token)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"lease-{switch.key}", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._stop.wait(RENEW_SECONDS):
                try:
                    self._query.update(lease_until=_lease())
                except Exception:  # the database may be away; the token fences what follows
                    log.exception("the lease could not be renewed")
                    close_old_connections()
        finally:
            connection.close()
